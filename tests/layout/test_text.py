"""A table as text: what it shows whole, what it marks, and the example of its documentation."""

import re
from pathlib import Path
from typing import Annotated, Any

import pytest

from dynaorm import Entity, Table, Unique
from dynaorm.description import describe, samples
from dynaorm.layout import render_text, view_of

ROOT = Path(__file__).parents[2]

app = Table("texts")


class Page(Entity, table=app, pk="PAGE#{slug}", sk="TEXT"):
    slug: str
    path: Annotated[str, Unique()]
    text: str = "Long, longer, longest: " + "a" * 70
    more: str = "more"
    last: str = "last"


VIEW = view_of(describe(app), samples(app, 1))


def test_an_item_has_two_lines_and_an_ellipsis_for_the_rest() -> None:
    assert render_text(VIEW) == (
        "texts (PK, SK)  1 class, 0 indexes, 2 items\n"
        "\n"
        "PAGE#slug-1\n"
        "└ TEXT  Page  path=path-1  text=Long, longer, longest: aaaaaaaaaaaaaaaaaaaa…\n"
        "              more=more  last=last\n"
        "\n"
        "guard items\n"
        "  path#path-1  reserves path for Page(slug='slug-1')\n"
    )


def test_whole_text_has_every_attribute_and_cuts_nothing() -> None:
    assert render_text(VIEW, width=56, whole=True) == (
        "texts (PK, SK)  1 class, 0 indexes, 2 items\n"
        "\n"
        "PAGE#slug-1\n"
        "└ TEXT  Page  slug=slug-1  path=path-1\n"
        "              text=Long, longer, longest: aaaaaaaaaaaaaa\n"
        "              aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
        "              aaaaaaaaaaaaaa  more=more  last=last\n"
        "              _rev='00000000000000000000000000000001'\n"
        "              _type=Page\n"
        "\n"
        "guard items\n"
        "  path#path-1  reserves path for Page(slug='slug-1')\n"
        "    owner={PK: PAGE#slug-1, SK: TEXT}\n"
    )


def test_marks_stand_before_the_lines_of_an_item() -> None:
    lines = render_text(VIEW, marks={0: "+", 1: "-"}).splitlines()
    assert [line[:2] for line in lines if line] == ["  ", "+ ", "+ ", "+ ", "  ", "- "]


@pytest.mark.parametrize("width", [0, 39])
def test_no_text_is_narrower_than_40_columns(width: int) -> None:
    assert render_text(VIEW, width=width) == render_text(VIEW, width=40)


def test_the_documented_text_is_what_the_program_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = (ROOT / "docs" / "see-your-table.md").read_text(encoding="utf-8")
    before, _, rest = document.partition("## As text and pictures")
    section = rest.partition("\n## ")[0]
    variables: dict[str, Any] = {"__name__": "documented"}
    for program in re.findall(r"^```python\n(.*?)^```$", before + section, re.MULTILINE | re.DOTALL):
        exec(program, variables)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out == f"{shown}\n"
    assert (tmp_path / "app.svg").read_text(encoding="utf-8").startswith("<svg ")
