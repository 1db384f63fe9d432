"""The figures of docs/performance.md and docs/comparison.md are those of the committed results."""

import re

import pytest

from benchmarks.page import RESULTS
from benchmarks.summary import (
    ASYNC,
    COMPARISON,
    NAMES,
    PAGE,
    PICTURES,
    REFERENCE,
    SESSION,
    compared,
    picture,
    ratios,
    summarised,
)

FIGURES = RESULTS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_drawn_from_the_results(name: str) -> None:
    assert (PAGE.parent / name).read_text(encoding="utf-8") == picture(FIGURES, PICTURES[name])


def test_the_page_lists_what_the_results_list() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == summarised(page, FIGURES)


def test_the_comparison_shows_what_was_measured() -> None:
    page = COMPARISON.read_text(encoding="utf-8")
    assert page == compared(page, FIGURES)


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_readable_in_light_and_dark(name: str) -> None:
    drawn = picture(FIGURES, PICTURES[name])
    assert min(int(size) for size in re.findall(r"(?:font|font-size): (\d+)px", drawn)) >= 12
    assert "prefers-color-scheme: dark" in drawn


@pytest.mark.parametrize("name", PICTURES)
def test_everything_is_inside_the_picture(name: str) -> None:
    layout = PICTURES[name]
    drawn = picture(FIGURES, layout)
    assert f'width="{layout.width}"' in drawn
    places = [float(x) for x in re.findall(r' (?:x|cx|x1|x2)="([\d.]+)"', drawn)]
    assert min(places) >= 0
    assert max(places) <= layout.width


def test_every_operation_of_both_sessions_is_drawn() -> None:
    found = ratios(FIGURES)
    assert found.keys() == NAMES.keys()
    for row in found.values():
        assert row[REFERENCE] == 1.0
        assert {SESSION, ASYNC} <= row.keys()
