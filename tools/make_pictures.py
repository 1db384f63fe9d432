"""Makes the pictures and texts that documents show, from the programs that they show: ``make pictures``.

The picture of README.md and of the site's first page has the items that their first program leaves, and that of a
recipe those of all its programs.
The golden files of ``tests/layout`` have the samples of some examples in every form that ``dynaorm.layout`` has.
"""

import contextlib
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

from dynaorm import Session, Table
from dynaorm.description import classify, describe, samples
from dynaorm.layout.markdown import render_markdown, render_mermaid
from dynaorm.layout.text import render_svg, render_text
from dynaorm.layout.view import view_of
from dynaorm.testing import strict_moto
from dynaorm.transport import Call

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
PICTURE: Final = ROOT / "docs" / "start.svg"
START: Final = ROOT / "tools" / "site" / "index.md"
RECIPES: Final = [page for page in sorted((ROOT / "docs" / "recipes").glob("*.md")) if page.stem != "index"]
GOLDEN: Final = ROOT / "tests" / "layout" / "golden"

EXAMPLES: Final = {
    "equipment_audits": "equipment",
    "fastapi_service": "shop",
    "issues": "github",
    "online_shop": "shop",
    "tickets_overloaded": "project",
    "two_tables": "users",
}
"""The examples with golden files, each with the name of its table."""

_REVISION: Final = re.compile(r"\b[0-9a-f]{32}\b")
_CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}


class Ran(NamedTuple):
    """A program that has run: what it printed, its table, and the items that it left there."""

    printed: str
    table: Table
    items: list[dict[str, Any]]


def programs(text: str) -> list[str]:
    """The Python programs of a page in Markdown."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@contextlib.contextmanager
def in_memory() -> Iterator[None]:
    """DynamoDB in this process, for programs that open sessions of their own."""
    with mock.patch.dict(os.environ, _CREDENTIALS), strict_moto():
        yield


def run(program: str) -> dict[str, Any]:
    """Run a program, and return its variables."""
    variables: dict[str, Any] = {"__name__": "readme"}
    exec(compile(program, "readme", "exec"), variables)  # noqa: S102 - programs of our own documents
    return variables


def first_program() -> Ran:
    """The first program of README.md, run."""
    return _ran(programs(README.read_text(encoding="utf-8"))[0])


def recipe(page: Path) -> Ran:
    """All programs of a recipe, run on an empty DynamoDB one after the other."""
    return _ran("\n\n".join(programs(page.read_text(encoding="utf-8"))))


def _ran(program: str) -> Ran:
    printed = io.StringIO()
    with in_memory(), contextlib.redirect_stdout(printed):
        variables = run(program)
        (table,) = (value for value in variables.values() if isinstance(value, Table))
        # Each session on "memory:" has tables of its own.
        session = variables.get("session") or Session(region="eu-west-1")
        answer: Any = session._transport.call(Call("Scan", {"TableName": table.name}))
    # A revision is another one in every run.
    return Ran(_REVISION.sub("0c5b…", printed.getvalue()), table, answer["Items"])


def picture_of(ran: Ran) -> str:
    """The items that a program left, as an SVG."""
    entries = [classify(item, ran.table) for item in ran.items]
    return render_svg(view_of(describe(ran.table), entries))


def golden_files() -> Iterator[tuple[Path, str]]:
    """Each golden file, and what it should hold."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        for module, name in EXAMPLES.items():
            table: Table = getattr(importlib.import_module(module), name)
            description, entries = describe(table), samples(table)
            views = [view_of(description, entries, index) for index in (None, *table.indexes)]
            yield GOLDEN / f"{module}.txt", "\n\n".join(map(render_text, views))
            yield GOLDEN / f"{module}.md", render_markdown(description)
            yield GOLDEN / f"{module}.mmd", render_mermaid(description)
            yield GOLDEN / f"{module}.svg", render_svg(views[0])
    finally:
        sys.path.remove(str(ROOT / "examples"))


def main() -> None:
    """Write every file."""
    GOLDEN.mkdir(exist_ok=True)
    recipes = ((page.with_suffix(".svg"), picture_of(recipe(page))) for page in RECIPES)
    start = (PICTURE, picture_of(first_program()))
    for path, text in (start, *recipes, *golden_files()):
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
