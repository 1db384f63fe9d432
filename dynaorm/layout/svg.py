"""A table as a picture: the lines of its text as an SVG, light or dark as the reader's system is.

Rule 1. It is closed: no font, script or address of anything else.
Rule 2. Each piece of a line has its own place, so no font can move a column.
"""

from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import Final

from dynaorm.argument import check_kind
from dynaorm.layout.text import COLOURS, GOLDEN_WIDTH, Line, Span, lines_of, one_line, width_of
from dynaorm.layout.view import TableView, check_view

_CELL: Final = 7.25
_LINE: Final = 18
_MARGIN: Final = 16
_BASELINE: Final = 13

_LIGHT: Final = ("#1d4ed8", "#b3261e", "#15803d", "#7e3bb8", "#9a5b00", "#0e7490", "#9d174d", "#4d7c0f")
_DARK: Final = ("#8ab4ff", "#ff9b93", "#7ddc9b", "#d0a8ff", "#ffc46b", "#6fdcee", "#f9a8d4", "#bef264")
_STYLE: Final = (
    "text{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1e22;"
    "white-space:pre}}rect{{fill:#fbfbf9;stroke:#dfe1dd}}.d{{fill:#5d646d}}.b{{font-weight:600}}{light}"
    "@media(prefers-color-scheme:dark){{text{{fill:#e7e9ea}}rect{{fill:#111315;stroke:#2b3035}}.d{{fill:#9aa3ac}}{dark}}}"
)


def render_svg(view: TableView, said: str = "") -> str:
    """A table or an index as an SVG document, as wide as the text of a terminal and as high as its items.

    Args:
        view: what to show.
        said: a text that stands below the items, such as where they are from.

    Examples:
        >>> view = view_of(describe(app), samples(app))
        >>> render_svg(view).startswith("<svg")
        True
    """
    check_view(view)
    check_kind("said={}", said, str, "a str")
    lines = list(lines_of(view, GOLDEN_WIDTH))
    if said:
        lines += [[], *([Span(line, "dim")] for line in wrap(one_line(said), GOLDEN_WIDTH))]
    width, height = round(GOLDEN_WIDTH * _CELL) + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN
    label = f"The items of {f'{view.index} of ' if view.index else 'the table '}{view.table}: {view.summary}"
    light, dark = (
        "".join(f".c{at}{{fill:{colour}}}" for at, colour in enumerate(colours))
        for colours in (_LIGHT, _DARK)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(label)}"><style>{_STYLE.format(light=light, dark=dark)}</style>\n'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>\n'
        + "".join(
            f'<text y="{_MARGIN + _BASELINE + at * _LINE}">{"".join(_spans(line))}</text>\n'
            for at, line in enumerate(lines)
            if line
        )
        + "</svg>\n"
    )


def _spans(line: Line) -> Iterator[str]:
    at = 0
    for text, style in line:
        if text.strip():
            yield f'<tspan x="{_MARGIN + at * _CELL:g}"{_class(style)}>{escape(text)}</tspan>'
        at += width_of(text)


def _class(style: str) -> str:
    weight, _, code = style.rpartition(";")
    names = ["d"] * (style == "dim") + ["b"] * ("bold" in style or weight == "1")
    if code.isdecimal():
        names.append(f"c{COLOURS.index(int(code)) % len(_LIGHT)}")
    return f' class="{" ".join(names)}"' if names else ""
