"""The documents stay short: bytes of the first pages, words of all pages, tabs of the site."""

import pytest
import yaml

from tests.conftest import ROOT

KB = 1024


@pytest.mark.parametrize(("name", "most"), [("README.md", 9 * KB), ("CHANGELOG.md", 9 * KB)])
def test_a_first_page_is_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_bytes()) <= most


def test_the_pages_have_at_most_45000_words() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 45_000


def test_the_site_has_six_tabs() -> None:
    text = (ROOT / "tools" / "site" / "mkdocs.yml").read_text("utf-8")
    assert len(yaml.safe_load(text)["nav"]) == 6
