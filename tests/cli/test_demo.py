"""The demo shows each scene and what it did to the items, and its page has them."""

import webbrowser
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from dynaorm.cli.entry import main


def test_the_demo_shows_what_each_write_does_within_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    for shown in (
        "+ └ PROFILE  User  email=Bobby@Example.com\n",
        "-   email#bobby@example.com  reserves email for User(user_id='u1')\n",
        "UniqueViolation: ",
        "StaleEntity: ",
        "~ ├ PROJECT     Project  open_tickets=1\n",
        "dynaorm demo --open\n",
    ):
        assert shown in said
    assert [line for line in said.splitlines() if len(line) > 80] == []


def test_the_page_of_the_demo_has_its_items(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def keep(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", keep)
    assert main(["demo", "--open"]) == 0
    page = Path(url2pathname(urlparse(opened[0]).path))
    assert "ann@tables.com" in page.read_text("utf-8")
    page.unlink()
