"""The guide is short, its programs run one after the other, and it names every method and every name of the root."""

import contextlib
import inspect
import io
import re

import pytest

import dynaorm
from dynaorm import Session
from dynaorm.cli.entry import main
from tests.conftest import ROOT
from tools.make_pictures import programs, run
from tools.site.pages import pages

GUIDE = (ROOT / "dynaorm" / "guide.md").read_text("utf-8")


def test_the_command_prints_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide"]) == 0
    assert capsys.readouterr().out == GUIDE


def test_the_guide_is_a_page_of_the_site_and_its_llms_txt() -> None:
    made = pages()
    assert made["guide.md"] == GUIDE
    assert made["llms.txt"] == GUIDE.encode()


def test_the_programs_of_the_guide_run_one_after_the_other() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        run("\n\n".join(programs(GUIDE)))
    assert "insert Page(slug='home')" in said.getvalue()


def test_the_guide_fits_12_kb() -> None:
    assert len(GUIDE.encode()) <= 12 * 1024


def test_the_guide_names_every_method_of_a_session() -> None:
    words = set(re.findall(r"\w+", GUIDE))
    methods = [
        name for name, _ in inspect.getmembers(Session, inspect.isfunction) if not name.startswith("_")
    ]
    assert [name for name in methods if name not in words] == []


def test_the_guide_names_what_declarations_import() -> None:
    words = set(re.findall(r"\w+", GUIDE))
    names = [name for name in vars(dynaorm)["__all__"] if _module(name).startswith("dynaorm.entity")]
    assert len(names) > 25
    assert [name for name in names if name not in words | {"Version"}] == []


def _module(name: str) -> str:
    return str(getattr(getattr(dynaorm, name), "__module__", ""))
