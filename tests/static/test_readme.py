"""The README shows what its programs do: they run, they pass mypy --strict, and its picture and output are theirs.

The page about types passes mypy --strict, too, in the same run.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.make_pictures import (
    PICTURE,
    PICTURE_OF_START,
    README,
    START,
    first_program,
    in_memory,
    picture_of,
    programs,
    run,
)

ROOT = Path(__file__).parents[2]
TEXT = README.read_text(encoding="utf-8")
PROGRAMS = dict(
    zip(
        ("first", "queries", "tests", "unknown", "asynchronous", "service", "direct"),
        programs(TEXT),
        strict=True,
    )
)
PAGE_ABOUT_TYPES = "\n\n".join(programs((ROOT / "docs" / "typing.md").read_text(encoding="utf-8")))
RUNNABLE = {name: program for name, program in PROGRAMS.items() if name != "tests"}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the README's programs, all but the one that is a test, of a page, and of misspelt imports."""
    folder = tmp_path_factory.mktemp("readme")
    misspelt = "from dynaorm import Sesion\nfrom dynaorm.testing import FakeClok\n"
    checked_programs = {**RUNNABLE, "page_about_types": PAGE_ABOUT_TYPES, "misspelt": misspelt}
    for name, program in checked_programs.items():
        (folder / f"{name}.py").write_text(program)
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            "--cache-dir",
            str(ROOT / ".mypy_cache" / "readme"),
            *sorted(one.name for one in folder.glob("*.py")),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return checked.stdout + checked.stderr


def test_the_programs_of_the_readme_and_the_page_about_types_pass_mypy_strict(complaints: str) -> None:
    assert [line for line in complaints.splitlines() if not line.startswith("misspelt.py")][:-1] == []


def test_a_misspelt_import_is_reported(complaints: str) -> None:
    found = re.findall(
        r'^misspelt\.py:\d: error: Module "([\w.]+)" has no attribute "(\w+)"', complaints, re.MULTILINE
    )
    assert found == [("dynaorm", "Sesion"), ("dynaorm.testing", "FakeClok")]


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_program_runs_alone_and_again(name: str) -> None:
    with in_memory(), contextlib.redirect_stdout(io.StringIO()):
        run(RUNNABLE[name])
        run(RUNNABLE[name])


def test_the_programs_run_one_after_the_other() -> None:
    with in_memory(), contextlib.redirect_stdout(io.StringIO()):
        for program in RUNNABLE.values():
            run(program)


def test_the_test_of_the_readme_passes(tmp_path: Path) -> None:
    (tmp_path / "test_readme.py").write_text(PROGRAMS["tests"])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_readme.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"^1 passed", ran.stdout, re.MULTILINE), ran.stdout


def test_the_output_and_the_picture_are_those_of_the_first_program() -> None:
    ran = first_program()
    shown = re.findall(r"^```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert shown == [ran.printed]
    assert PICTURE.read_text(encoding="utf-8") == picture_of(ran), "run `make pictures`"


def test_the_picture_of_the_site_is_of_the_items_that_its_first_program_leaves() -> None:
    assert PICTURE_OF_START.read_text(encoding="utf-8") == picture_of(first_program(START)), (
        "run `make pictures`"
    )


def test_the_picture_comes_before_the_first_program() -> None:
    assert TEXT.index("](docs/readme.svg)") < TEXT.index("```python")
