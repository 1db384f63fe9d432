"""A table as text for a terminal: one tree for each partition, and no line longer than the width.

```
app (PK, SK)  1 class, 0 indexes, 2 items

USER#u1
└ PROFILE  User  email=bobby@tables.com  full_name=Bobby Tables

guard items
  email#bobby@tables.com  reserves email for User(user_id='u1')
```
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final, Literal, NamedTuple, TypeAlias
from unicodedata import combining, east_asian_width

from dynaorm.argument import check_count, check_flag, check_kind
from dynaorm.item.text import printable
from dynaorm.layout.view import ItemRow, KeyPiece, PartitionBlock, ShownAttribute, TableView, check_view

ELLIPSIS: Final = "…"


def one_line(text: str) -> str:
    """The text as a terminal may show it: without control characters, line breaks and marks of direction."""
    return printable(text)


def width_of(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(one) for one in text)


def _width(one: str) -> int:
    if combining(one):
        return 0
    return 2 if east_asian_width(one) in "WF" else 1


def beginning(text: str, width: int) -> str:
    """As much of a text as a width has room for."""
    if text.isascii():
        return text[:width]
    left = width
    for at, one in enumerate(text):
        left -= _width(one)
        if left < 0:
            return text[:at]
    return text


def shortened(text: str, width: int) -> str:
    """The text if it has the width, otherwise its beginning and an ellipsis."""
    if width_of(text) <= width:
        return text
    return f"{beginning(text, width - 1)}{ELLIPSIS}" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """The text with spaces up to the width."""
    return text + " " * (width - width_of(text))


Mark: TypeAlias = Literal["+", "~", "-"]
"""What happened to an item: it was put, changed or deleted."""

GOLDEN_WIDTH: Final = 80
_NARROWEST: Final = 40
_LINES: Final = 2  # of attributes, for each item
_WIDEST_VALUE: Final = 44
_MORE: Final = 2  # for the ellipsis that stands for further attributes

COLOURS: Final = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95, 93, 96)
_STYLES: Final[Mapping[str, str]] = {"": "", "dim": "2", "bold": "1", "+": "32", "~": "33", "-": "31"}
_RESET: Final = "\x1b[0m"


# Every line is padded to the width.
_WIDEST: Final = 100_000


class Span(NamedTuple):
    """A piece of a line, and how it looks: ``""``, ``"dim"``, ``"bold"``, a mark, or SGR codes such as ``"1;34"``."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]


def render_text(
    view: TableView,
    *,
    width: int = GOLDEN_WIDTH,
    colour: bool = False,
    marks: Mapping[int, Mark] | None = None,
    whole: bool = False,
) -> str:
    """A table or an index as text.

    Args:
        view: what to show.
        width: the cells of a line; a smaller number than 40 is taken as 40.
        colour: write the codes that colour text in a terminal.
        marks: what happened to an item, by the position of its entry. Marks stand before the lines.
        whole: show every attribute, in as many lines as it takes. Otherwise an item has two lines, and an ellipsis
            stands for what has no room.

    Returns:
        Lines that end with a line break; none is longer than the width.

    Examples:
        >>> view = view_of(describe(app), samples(app))
        >>> print(render_text(view, width=60))
        app ...
    """
    check_view(view)
    check_count("width={}", width, least=0, most=_WIDEST)
    check_flag("colour={}", colour)
    check_flag("whole={}", whole)
    if marks is not None:
        check_kind("marks={}", marks, Mapping, "a mapping", remedy="give marks by the positions of entries")
    lines = lines_of(view, max(width, _NARROWEST), marks, whole=whole)
    return "".join(f"{_written(line, colour=colour)}\n" for line in lines)


def lines_of(
    view: TableView, width: int, marks: Mapping[int, Mark] | None = None, *, whole: bool = False
) -> Iterator[Line]:
    """The lines of ``render_text`` as pieces with their styles."""
    return _Writer(view, width, marks, whole=whole).lines()


def _written(line: Line, *, colour: bool) -> str:
    if not colour:
        return "".join(one.text for one in line).rstrip()
    return "".join(_coloured(one) for one in line)


def _coloured(span: Span) -> str:
    codes = _STYLES.get(span.style, span.style)
    return f"\x1b[{codes}m{span.text}{_RESET}" if codes and span.text.strip() else span.text


class _Writer:
    def __init__(self, view: TableView, width: int, marks: Mapping[int, Mark] | None, *, whole: bool) -> None:
        self.view, self.whole = view, whole
        self.marks, self.has_marks = marks or {}, marks is not None
        self.width = width - (2 if self.has_marks else 0)
        rows = [row for block in view.blocks for row in block.rows]
        most = width // 3
        keys = [width_of(one_line(row.sort_text)) for row in rows]
        # A longer key has a line of its own, and leaves the column as it is.
        self.key_width = max((key for key in keys if key <= most), default=0)
        self.name_width = max((min(width_of(_title(row)), most) for row in rows), default=0)

    def lines(self) -> Iterator[Line]:
        yield from self._marked(None, [self._head()])
        for block in self.view.blocks:
            yield []
            yield from self._block(block)
        if self.view.apart:
            yield []
            yield from self._marked(None, [[Span(self.view.apart_title, "bold")]])
            for block in self.view.apart:
                for row in block.rows:
                    yield from self._marked(row, self._apart(block, row))
        if self.view.absence:
            yield []
            yield from self._marked(None, [[Span(self.view.absence, "dim")]])

    def _marked(self, row: ItemRow | None, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines with a mark before each; all lines are indented if any has one."""
        mark = None if row is None else self.marks.get(row.entry)
        for line in lines:
            yield [Span(f"{mark} ", mark), *line] if mark else [Span("  "), *line] if self.has_marks else line

    def _head(self) -> Line:
        view = self.view
        name = one_line(view.table if view.index is None else f"{view.index} of {view.table}")
        keys = one_line(f" ({', '.join((*view.partition, *view.sort))})")
        told = f"  {view.summary}"
        name = shortened(name, self.width - width_of(told))
        keys = keys if width_of(name + keys + told) <= self.width else ""
        return [Span(name, "bold"), Span(f"{keys}{told}", "dim")]

    # -- entities and their versions -----------------------------------------------------------------------------------

    def _block(self, block: PartitionBlock) -> Iterator[Line]:
        marked = block.rows[0] if len(block.rows) == 1 else None
        yield from self._marked(marked, self._key_lines(_spans(block.key, bold=True), self.width))
        for row in block.rows:
            is_last = row is block.rows[-1]
            yield from self._marked(row, self._row(row, is_last=is_last))

    def _row(self, row: ItemRow, *, is_last: bool) -> Iterator[Line]:
        branch, trunk = ("└ ", "  ") if is_last else ("├ ", "│ ")
        key, indent = _spans(row.sort), self.key_width
        title, style = shortened(_title(row), self.width // 3), _style(row)
        head = [Span(padded(title, self.name_width), style)]
        wide = self.width - len(branch)
        has_own_line = _columns(key) > self.key_width
        if has_own_line:
            for number, line in enumerate(self._key_lines(key, wide)):
                yield [Span(trunk if number else branch, "dim"), *line]
        left = indent + 2 if indent else 0
        rest = wide - left - self.name_width - 2
        wrapped = list(self._attributes(row, rest)) or [[]]
        for number, words in enumerate(wrapped):
            begin = [Span(trunk if number or has_own_line else branch, "dim")]
            if number:
                begin.append(Span(" " * (left + self.name_width)))
            elif has_own_line:
                begin += [Span(" " * left), *head]
            else:
                begin += [*key, Span(" " * (left - _columns(key))), *head]
            yield [*begin, Span("  "), *words] if words else begin

    # -- guards and token items ----------------------------------------------------------------------------------------

    def _apart(self, block: PartitionBlock, row: ItemRow) -> Iterator[Line]:
        key = _spans(block.key)
        # A guard has one text in both of its keys.
        if row.sort and row.sort_text != block.text:
            key += [Span(" · ", "dim"), *_spans(row.sort)]
        said = one_line(row.said)
        if 2 + _columns(key) + 2 + width_of(said) <= self.width:
            yield [Span("  "), *key, Span(f"  {said}", "dim")]
        else:
            yield from ([Span("  "), *line] for line in self._key_lines(key, self.width - 2))
            yield from (
                [Span("    "), *line] for line in self._key_lines([Span(said, "dim")], self.width - 4)
            )
        if self.whole:
            yield from ([Span("    "), *line] for line in self._attributes(row, self.width - 4))

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _key_lines(self, spans: Line, width: int) -> list[Line]:
        return _folded(spans, width) if self.whole else [_fitting(spans, width)]

    def _word(self, one: ShownAttribute) -> Line:
        return [Span(f"{one_line(one.name)}=", "dim"), Span(one_line(one.text))]

    def _attributes(self, row: ItemRow, width: int) -> Iterator[Line]:
        """The attributes of an item in lines of a width, and the other indexes that it is in."""
        words: list[Line] = []
        if row.kind == "tombstone":
            words.append([Span(one_line(row.said), "dim")])
        words += map(self._word, row.attributes if self.whole else row.shown)
        if others := [place for place in row.places if place != self.view.index]:
            words.append([Span(f"→ {' '.join(map(one_line, others))}", "dim")])
        if self.whole:
            return _wrapped([line for word in words for line in _folded(word, width)], width)
        return _wrapped([_short_word(word, width - _MORE) for word in words], width, _LINES)


def _title(row: ItemRow) -> str:
    number = "" if row.number is None else str(row.number)
    titles = {"entity": row.cls or "?", "version": f"v{number}", "tombstone": "deleted", "unknown": "unknown"}
    return one_line(titles.get(row.kind, row.kind))


def _style(row: ItemRow) -> str:
    if row.position is None:
        return "dim"
    colour = COLOURS[row.position % len(COLOURS)]
    return f"1;{colour}" if row.kind == "entity" else f"2;{colour}"


def _spans(key: Iterable[Iterable[KeyPiece]], *, bold: bool = False) -> Line:
    """A key with its literal texts dimmed."""
    found: Line = []
    for number, pieces in enumerate(key):
        if number:
            found.append(Span(" · ", "dim"))
        for one in pieces:
            found.append(Span(one_line(one.text), "dim" if one.kind == "literal" else "bold" if bold else ""))
    return found


def _columns(spans: Iterable[Span]) -> int:
    return sum(width_of(span.text) for span in spans)


def _fitting(spans: Line, width: int) -> Line:
    """The spans, cut where the width ends."""
    if _columns(spans) <= width:
        return spans
    found: Line = []
    for span in spans:
        left = width - _columns(found)
        if width_of(span.text) >= left:
            return [*found, Span(shortened(f"{span.text} ", left), span.style)]
        found.append(span)
    return found


def _folded(spans: Line, width: int) -> list[Line]:
    """The spans in as many lines of a width as they take."""
    lines: list[Line] = [[]]
    left = width
    for span in spans:
        text = span.text
        while text:
            part = beginning(text, left) or (text[0] if left == width else "")
            text = text[len(part) :]
            if part:
                lines[-1].append(Span(part, span.style))
                left -= width_of(part)
            if text:
                lines.append([])
                left = width
    return lines


def _short_word(word: Line, width: int) -> Line:
    """An attribute that has room in one line: neither its name nor its value is too long."""
    *names, value = word
    found = [Span(shortened(name.text, width // 2), name.style) for name in names]
    most = width - _columns(found)
    return [*found, Span(shortened(value.text, min(most, _WIDEST_VALUE) if found else most), value.style)]


def _wrapped(words: Sequence[Line], width: int, most: int | None = None) -> Iterator[Line]:
    """The words in at most so many lines; if they do not fit, the last line ends with an ellipsis."""
    line: Line = []
    number = 1
    for at, word in enumerate(words):
        gap = 2 if line else 0
        # The last line keeps room for the ellipsis, unless this is the last word.
        room = width - (_MORE if number == most and at < len(words) - 1 else 0)
        if line and _columns(line) + gap + _columns(word) > room:
            if number == most:
                yield [*line, Span(" …", "dim")]
                return
            yield line
            line, gap, number = [], 0, number + 1
        line += [Span(" " * gap), *word] if gap else word
    if line:
        yield line


# A table as a picture: the lines of its text as an SVG, light or dark as the reader's system is.
#
# Rule 1. It is closed: no font, script or address of anything else.
# Rule 2. Each piece of a line has its own place, so no font can move a column.

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
            f'<text y="{_MARGIN + _BASELINE + at * _LINE}">{"".join(_tspans(line))}</text>\n'
            for at, line in enumerate(lines)
            if line
        )
        + "</svg>\n"
    )


def _tspans(line: Line) -> Iterator[str]:
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
