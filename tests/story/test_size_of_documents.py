"""The documents stay short: bytes of the first pages."""

import pytest

from tests.conftest import ROOT

KB = 1024


@pytest.mark.parametrize(("name", "most"), [("README.md", 9 * KB), ("CHANGELOG.md", 9 * KB)])
def test_a_first_page_is_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_bytes()) <= most
