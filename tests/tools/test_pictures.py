"""The pictures of the documentation are those that the tool draws, and readable at the width of a page."""

import re
from xml.etree import ElementTree as ET

import pytest

from tools.pictures.__main__ import FOLDER, pictures

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", pictures())
def test_a_picture_is_what_the_tool_draws(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pictures()[name]


@pytest.mark.parametrize("name", pictures())
def test_a_picture_says_what_it_shows_and_asks_for_no_other_file(name: str) -> None:
    picture = ET.fromstring(pictures()[name])  # noqa: S314 - our own text
    assert picture.get("aria-label")
    assert not re.search(r"href|<script|<image|url\((?!#)", pictures()[name])


@pytest.mark.parametrize("name", pictures())
def test_everything_in_a_picture_lies_inside_of_it(name: str) -> None:
    picture = ET.fromstring(pictures()[name])  # noqa: S314 - our own text
    width, height = float(picture.get("width", "0")), float(picture.get("height", "0"))
    for box in picture.iter(f"{SVG}rect"):
        x, y = float(box.get("x", "0")), float(box.get("y", "0"))
        assert 0 <= x <= x + float(box.get("width", "0")) <= width
        assert 0 <= y <= y + float(box.get("height", "0")) <= height
    for line in picture.iter(f"{SVG}polyline"):
        for point in line.get("points", "").split():
            across, down = map(float, point.split(","))
            assert 0 <= across <= width
            assert 0 <= down <= height
