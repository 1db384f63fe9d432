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
from typing import Any

import boto3
import pytest

from dynaorm.errors import DynaormError
from tools.make_pictures import PICTURE, README, START, first_program, in_memory, picture_of, programs, run

ROOT = Path(__file__).parents[2]
TEXT = README.read_text(encoding="utf-8")
FIRST, BY_HAND = programs(TEXT)
PAGE_ABOUT_TYPES = "\n\n".join(programs((ROOT / "docs" / "typing.md").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the README's first program, of a page, and of misspelt imports."""
    folder = tmp_path_factory.mktemp("readme")
    misspelt = "from dynaorm import Sesion\nfrom dynaorm.testing import FakeClok\n"
    checked_programs = {"first": FIRST, "page_about_types": PAGE_ABOUT_TYPES, "misspelt": misspelt}
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


def test_the_first_program_and_the_page_about_types_pass_mypy_strict(complaints: str) -> None:
    assert [line for line in complaints.splitlines() if not line.startswith("misspelt.py")][:-1] == []


def test_a_misspelt_import_is_reported(complaints: str) -> None:
    found = re.findall(
        r'^misspelt\.py:\d: error: Module "([\w.]+)" has no attribute "(\w+)"', complaints, re.MULTILINE
    )
    assert found == [("dynaorm", "Sesion"), ("dynaorm.testing", "FakeClok")]


def test_the_first_program_has_twelve_lines() -> None:
    assert len([line for line in FIRST.splitlines() if line]) == 12


def test_the_output_and_the_picture_are_those_of_the_first_program() -> None:
    ran = first_program()
    assert shown("text") == [ran.printed]
    assert PICTURE.read_text(encoding="utf-8") == picture_of(ran), "run `make pictures`"


def test_the_site_starts_with_the_same_program_and_output() -> None:
    page = START.read_text(encoding="utf-8")
    assert programs(page) == [FIRST]
    assert shown("text")[0] in page


def test_the_lines_after_the_first_program_print_what_is_shown() -> None:
    (dialogue,) = shown("pycon")
    with contextlib.redirect_stdout(io.StringIO()):
        names = run(FIRST)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for line in re.findall(r"^>>> (.*)", dialogue, re.MULTILINE):
            said.write(f">>> {line}\n")
            try:
                exec(line, names)
            except DynaormError as error:
                said.write(f"{type(error).__name__}: {error}\n")
    assert re.sub(r"\b[0-9a-f]{32}\b", "0c5b…", said.getvalue()) == dialogue


def test_the_program_by_hand_stores_the_same_keys_and_finds_the_same_user() -> None:
    said = io.StringIO()
    with in_memory(), contextlib.redirect_stdout(said):
        run(BY_HAND)
        items: list[Any] = boto3.client("dynamodb", region_name="eu-west-1").scan(TableName="app")["Items"]
    assert keys(items) == keys(first_program().items)
    assert "'email': {'S': 'liz@example.com'}, 'visits': {'N': '1'}" in said.getvalue()


def keys(items: list[Any]) -> set[tuple[str, str]]:
    return {(item["PK"]["S"], item["SK"]["S"]) for item in items}


def shown(language: str) -> list[str]:
    """The fenced blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
