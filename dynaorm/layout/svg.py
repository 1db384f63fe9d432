"""A table as a picture: an SVG for documents, light or dark as the reader's system is.

Rule 1. It is closed: no font, script or address of anything else.
Rule 2. The widths of texts are estimated, because nothing measures them here. A text that could be too long is cut.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import Final, NamedTuple

from dynaorm.argument import check_kind
from dynaorm.layout.text import beginning, one_line, shortened, width_of
from dynaorm.layout.view import ItemRow, KeyPiece, PartitionBlock, ShownAttribute, TableView, check_view

WIDTH: Final = 860
_MARGIN: Final = 16
_COLUMNS: Final = (_MARGIN, 236, 410)  # where the partition, the sort key and the attributes begin
_TOP: Final = 48
_LINE: Final = 16
_ATTRIBUTE: Final = 32  # a name over a value
_ROW: Final = 42
_GAP: Final = 8
_MONO: Final = 7.3  # of a cell, at 12 px
_SMALL: Final = 6.0  # of a cell, at 10.5 px
_WIDEST_VALUE: Final = 40  # cells
_MOST_LINES: Final = 2  # of attributes, for each item

_LIGHT: Final = ("#1d4ed8", "#b3261e", "#15803d", "#7e3bb8", "#9a5b00", "#0e7490", "#9d174d", "#4d7c0f")
_DARK: Final = ("#8ab4ff", "#ff9b93", "#7ddc9b", "#d0a8ff", "#ffc46b", "#6fdcee", "#f9a8d4", "#bef264")
_STYLE: Final = (
    "text{{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1b1e22}}"
    ".m{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}}"
    ".l,.s,.h{{fill:#5d646d}}.s{{font-size:10.5px}}.h{{font-size:11px}}.b{{font-size:12px;font-weight:600}}"
    ".v{{font-weight:600}}.i{{font-style:italic}}"
    ".g{{fill:#fbfbf9;stroke:#dfe1dd}}.r{{fill:#fff;stroke:#dfe1dd}}"
    ".k{{fill:#f5f5f1;stroke:#c9ccc6;stroke-dasharray:4 3}}"
    "{light}@media(prefers-color-scheme:dark){{text{{fill:#e7e9ea}}.l,.s,.h{{fill:#9aa3ac}}"
    ".g{{fill:#111315;stroke:#2b3035}}.r{{fill:#181b1e;stroke:#2b3035}}.k{{fill:#1f2327;stroke:#444b52}}{dark}}}"
)


def render_svg(view: TableView, said: str = "") -> str:
    """A table or an index as an SVG document, 860 px wide and as high as its items.

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
    drawing = _Drawing(view)
    drawing.draw()
    drawing.say(said)
    height = drawing.y + _MARGIN - _GAP
    label = (
        f"The items of {view.index or 'the table'} {'of ' if view.index else ''}{view.table}: {view.summary}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{_text(label)}"><style>{_style()}</style>\n'
        f'<rect class="g" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>\n'
        + "".join(f"{part}\n" for part in drawing.parts)
        + "</svg>\n"
    )


def _style() -> str:
    light = "".join(f".c{at},.f{at}{{fill:{one}}}" for at, one in (*enumerate(_LIGHT), ("u", "#6b7280")))
    dark = "".join(f".c{at},.f{at}{{fill:{one}}}" for at, one in (*enumerate(_DARK), ("u", "#9ca3af")))
    return _STYLE.format(light=light, dark=dark)


class _Cell(NamedTuple):
    """An attribute in its place."""

    x: int
    line: int
    name: str
    value: str


class _Drawing:
    def __init__(self, view: TableView) -> None:
        self.view = view
        self.parts: list[str] = []
        self.y = _TOP

    def draw(self) -> None:
        for x, names, what in (
            (_COLUMNS[0], self.view.partition, "partition key"),
            (_COLUMNS[1], self.view.sort, "sort key"),
            (_COLUMNS[2], (), "attributes"),
        ):
            if names or what == "attributes":
                names_text = " · ".join(map(one_line, names))
                self.parts.append(
                    f'<text class="h" x="{x + 14}" y="33"><tspan class="v">{_text(names_text)}</tspan> {what}</text>'
                )
        for block in self.view.blocks:
            self._block(block)
        if self.view.apart:
            self._heading(self.view.apart_title)
            for block in self.view.apart:
                self._block(block)
        if self.view.absence:
            self._heading(self.view.absence)

    def say(self, text: str) -> None:
        """Draw a text below the items, in lines as wide as the picture."""
        for line in wrap(one_line(text), _cells(WIDTH - 2 * _MARGIN - 28)):
            self._line(line)
            self.y += _LINE
        self.y += _GAP if text else 0

    def _line(self, text: str) -> None:
        self.parts.append(
            f'<text class="h" x="{_COLUMNS[0] + 14}" y="{self.y + 16}">{_text(one_line(text))}</text>'
        )

    def _heading(self, text: str) -> None:
        self._line(text)
        self.y += 26 + _GAP

    def _block(self, block: PartitionBlock) -> None:
        top = self.y
        wide = _cells(_COLUMNS[1] - _COLUMNS[0] - 24)
        key = _broken(_flat(block.key), wide)
        for row in block.rows:
            least = 14 + _LINE * len(key) + 8 if len(block.rows) == 1 else 0
            self._row(row, block, least)
        self.parts.append(_rect("r", _COLUMNS[0], top, width=_COLUMNS[1] - _COLUMNS[0], height=self.y - top))
        self._lines(key, _COLUMNS[0] + 14, top + 25)
        self.y += _GAP

    def _row(self, row: ItemRow, block: PartitionBlock, least: int) -> None:
        sort = self._sort_lines(row, block)
        cells = list(_placed(row.shown, self._places(row)))
        lines = 1 + max((one.line for one in cells), default=0)
        height = max(_ROW + _ATTRIBUTE * (lines - 1), 26 + _LINE * len(sort), least)
        left, top, colour = _COLUMNS[1], self.y, _colour(row)
        kind = "r" if row.kind == "entity" else "k"
        self.parts.append(_rect(kind, left, top, width=WIDTH - _MARGIN - left, height=height))
        self.parts.append(f'<rect class="f{colour}" x="{left}" y="{top}" width="4" height="{height}"/>')
        title = shortened(one_line(_title(row)), _cells(_COLUMNS[2] - left - 20))
        self.parts.append(f'<text class="c{colour} b" x="{left + 14}" y="{top + 18}">{_text(title)}</text>')
        self._lines(sort, left + 14, top + 34)
        if row.kind in ("guard", "token", "tombstone"):
            said = shortened(one_line(row.said), int((WIDTH - _MARGIN - _COLUMNS[2] - 20) / _SMALL))
            self.parts.append(f'<text class="s" x="{_COLUMNS[2] + 14}" y="{top + 26}">{_text(said)}</text>')
        for one in cells:
            y = top + 17 + one.line * _ATTRIBUTE
            x = _COLUMNS[2] + 14 + one.x
            self.parts.append(f'<text class="s" x="{x}" y="{y}">{_text(one.name)}</text>')
            self.parts.append(f'<text class="m" x="{x}" y="{y + 16}">{_text(one.value)}</text>')
        self.y += height

    def _places(self, row: ItemRow) -> list[tuple[str, str]]:
        return [(index, name) for index, name in row.places.items() if index != self.view.index]

    def _sort_lines(self, row: ItemRow, block: PartitionBlock) -> list[list[KeyPiece]]:
        if row.kind in ("guard", "token") and row.sort_text == block.text:
            return [[KeyPiece("the same", "literal")]]
        return _broken(_flat(row.sort), _cells(_COLUMNS[2] - _COLUMNS[1] - 18)) if row.sort else []

    def _lines(self, lines: Iterable[Iterable[KeyPiece]], x: int, y: int) -> None:
        for at, line in enumerate(lines):
            spans = "".join(_span(one) for one in line)
            self.parts.append(
                f'<text class="m" x="{x}" y="{y + at * _LINE}" xml:space="preserve">{spans}</text>'
            )


def _title(row: ItemRow) -> str:
    of = row.cls or "an unknown class"
    titles = {"entity": of, "guard": f"guard of {of}", "version": f"{of} version {row.number}"}
    return titles.get(row.kind, f"{of} deleted" if row.kind == "tombstone" else f"{row.kind} item")


def _colour(row: ItemRow) -> str:
    """The end of the style's names for a class; an item of no class is grey."""
    return "u" if row.position is None else str(row.position % len(_LIGHT))


def _rect(kind: str, x: int, y: int, *, width: int, height: int) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"/>'


def _span(piece: KeyPiece) -> str:
    style = {"literal": "l", "value": "v", "shard": "i", "masked": "l"}[piece.kind]
    return f'<tspan class="{style}">{_text(one_line(piece.text))}</tspan>'


def _text(text: str) -> str:
    return escape(text)


def _cells(pixels: int) -> int:
    return int(pixels / _MONO)


# -- keys --------------------------------------------------------------------------------------------------------------


def _flat(key: Sequence[Iterable[KeyPiece]]) -> Iterator[KeyPiece]:
    for number, pieces in enumerate(key):
        if number:
            yield KeyPiece(" · ", "literal")
        yield from pieces


def _broken(pieces: Iterable[KeyPiece], width: int, most: int = 3) -> list[list[KeyPiece]]:
    """A key in lines of a width, the last of which is cut."""
    lines: list[list[KeyPiece]] = [[]]
    left = width
    for piece in pieces:
        text = one_line(piece.text)
        while text:
            part = beginning(text, left)
            text = text[len(part) :]
            if part:
                lines[-1].append(KeyPiece(part, piece.kind))
            left -= width_of(part)
            if text:
                lines.append([])
                left = width
    if len(lines) > most:
        lines = lines[:most]
        last = lines[-1][-1]
        lines[-1][-1] = KeyPiece(f"{last.text[:-1]}…", last.kind)
    return lines


# -- attributes --------------------------------------------------------------------------------------------------------


def _placed(attributes: Iterable[ShownAttribute], places: Iterable[tuple[str, str]]) -> Iterator[_Cell]:
    """The attributes side by side, in as many lines as an item has; what has no room is left out with an ellipsis."""
    room = WIDTH - _MARGIN - _COLUMNS[2] - 28
    found = [
        *((one.name, one.text) for one in attributes),
        *((index, f"→ {name}") for index, name in places),
    ]
    pairs = [tuple(shortened(one_line(text), _WIDEST_VALUE) for text in pair) for pair in found]
    x = line = 0
    for at, (name, value) in enumerate(pairs):
        wide = int(max(width_of(value) * _MONO, width_of(name) * _SMALL)) + 16
        more = 16 if line == _MOST_LINES - 1 and at < len(pairs) - 1 else 0
        if x and x + wide - 16 + more > room:
            if line == _MOST_LINES - 1:
                yield _Cell(x, line, "", "…")
                return
            x, line = 0, line + 1
        yield _Cell(x, line, name, value)
        x += wide
