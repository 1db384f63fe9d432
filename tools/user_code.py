"""The programs of the documents as files, so that pyright checks them: ``python -m tools.user_code``.

A line of a page is the same line of its file: ``build/user_code/docs/writing.py:17`` is ``docs/writing.md:17``.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

ALONE: Final = {"README.md"}
"""Pages whose programs are independent: each becomes a file."""

EXCERPTS: Final = {f"docs/{page}.md" for page in ("errors", "integrity", "queries", "testing", "transports")}
"""Pages whose programs use names that they do not declare."""

FILES: Final = "docs/tutorial"
"""The folder whose programs are parts of several files, which its own test puts together."""

UNTYPED: Final = {"docs/from-boto3.md", "docs/pynamodb.md"}
"""Pages with programs of libraries whose types are not strict."""

_TEST: Final = re.compile(r"^(async )?def test_|^@pytest\.fixture", re.MULTILINE)
"""Tests take fixtures, which have no types."""

_SESSION: Final = 'from dynaorm import Session as _Session; session = _Session(region="eu-west-1")'


def programs(text: str) -> Iterator[tuple[int, list[str]]]:
    """The programs of a page that are no tests, each with the number of lines before it."""
    for fence in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not _TEST.search(fence[1]):
            yield text.count("\n", 0, fence.start(1)), fence[1].splitlines()


def files(text: str, page: str) -> list[str]:
    """The programs of a page as one file, or each as a file of its own."""
    found = list(programs(text))
    groups = [[one] for one in found] if page in ALONE else [found] if found else []
    written: list[str] = []
    for group in groups:
        lines = [""] * (text.count("\n") + 1)
        for start, program in group:
            lines[start : start + len(program)] = program
        # A page begins with its title and an empty line.
        if not any(line.startswith("session = ") for line in lines):
            lines[0] = _SESSION
        if page in UNTYPED:
            lines[1] = "# pyright: basic"
        written.append("\n".join(lines).rstrip() + "\n")
    return written


def write(target: Path) -> None:
    """Write the programs of README.md and of ``docs``. The folder is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        name = page.relative_to(ROOT)
        if name.as_posix() in EXCERPTS or name.is_relative_to(FILES):
            continue
        for number, text in enumerate(files(page.read_text(encoding="utf-8"), name.as_posix())):
            path = (target / name).with_suffix(f".{number}.py" if number else ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / "build" / "user_code")
