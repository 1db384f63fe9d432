"""A table as text for a terminal: one tree for each partition, and no line longer than the width.

```
app  2 classes, 0 indexes, 4 items

USER#u1
└ PROFILE  User  email=bobby@tables.com  full_name=Bobby Tables

guard items
  email#bobby@tables.com  reserves email for User(user_id='u1')
```
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from dynaorm.layout.cells import one_line, padded, shortened, width_of
from dynaorm.layout.key_pieces import KeyPiece
from dynaorm.layout.view import ItemRow, PartitionBlock, TableView

Mark: TypeAlias = Literal["+", "~", "-"]
"""What happened to an item: it was put, changed or deleted."""

GOLDEN_WIDTH: Final = 80
_NARROWEST: Final = 40
_LINES: Final = 2  # of attributes, for each item
_WIDEST_VALUE: Final = 44
_MORE: Final = 2  # for the ellipsis that stands for further attributes

_COLOURS: Final = (34, 31, 32, 35, 33, 36, 94, 91, 92, 95, 93, 96)
_STYLES: Final[Mapping[str, str]] = {"": "", "dim": "2", "bold": "1", "+": "32", "~": "33", "-": "31"}
_RESET: Final = "\x1b[0m"


class Span(NamedTuple):
    """A piece of a line, and how it looks: ``""``, ``"dim"``, ``"bold"``, a mark, or SGR codes such as ``"1;34"``."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]


def text_of(
    view: TableView,
    *,
    width: int = GOLDEN_WIDTH,
    colour: bool = False,
    marks: Mapping[int, Mark] | None = None,
) -> str:
    """A table or an index as text.

    Args:
        view: what to show.
        width: the cells of a line; a smaller number than 40 is taken as 40.
        colour: write the codes that colour text in a terminal.
        marks: what happened to an item, by the position of its entry. Marks stand before the lines.

    Returns:
        Lines that end with a line break; none is longer than the width.
    """
    lines = _Writer(
        view, max(width, _NARROWEST), {} if marks is None else marks, has_marks=marks is not None
    ).lines()
    return "".join(f"{_written(line, colour=colour)}\n" for line in lines)


def _written(line: Line, *, colour: bool) -> str:
    if not colour:
        return "".join(one.text for one in line).rstrip()
    return "".join(_coloured(one) for one in line)


def _coloured(span: Span) -> str:
    codes = _STYLES.get(span.style, span.style)
    return f"\x1b[{codes}m{span.text}{_RESET}" if codes and span.text.strip() else span.text


class _Writer:
    def __init__(self, view: TableView, width: int, marks: Mapping[int, Mark], *, has_marks: bool) -> None:
        self.view, self.marks, self.has_marks = view, marks, has_marks
        self.width = width - (2 if has_marks else 0)
        rows = [row for block in view.blocks for row in block.rows]
        most = width // 3
        keys = [width_of(one_line(row.sort_text)) for row in rows]
        # A longer key has a line of its own, and leaves the column as it is.
        self.key_width = max((one for one in keys if one <= most), default=0)
        self.name_width = max((min(width_of(_title(row)), most) for row in rows), default=0)

    def lines(self) -> Iterator[Line]:
        yield from self._marked(None, [self._head()])
        for block in self.view.blocks:
            yield []
            yield from self._block(block)
        if self.view.apart:
            yield []
            yield from self._marked(None, [[Span("guard items", "bold")]])
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
        name = (
            one_line(view.table) if view.index is None else f"{one_line(view.table)} {one_line(view.index)}"
        )
        told = f"  {view.summary}"
        name = shortened(name, self.width - width_of(told))
        return [Span(name, "bold"), Span(told, "dim")]

    # -- entities and their versions -----------------------------------------------------------------------------------

    def _block(self, block: PartitionBlock) -> Iterator[Line]:
        marked = block.rows[0] if len(block.rows) == 1 else None
        key = _fitting(_spans(block.key, bold=True), self.width)
        yield from self._marked(marked, [key])
        for row in block.rows:
            is_last = row is block.rows[-1]
            yield from self._marked(row, self._row(row, is_last=is_last))

    def _row(self, row: ItemRow, *, is_last: bool) -> Iterator[Line]:
        branch, trunk = ("└ ", "  ") if is_last else ("├ ", "│ ")
        key, indent = _spans(row.sort), self.key_width
        title, style = shortened(_title(row), self.width // 3), _style(row)
        head = [Span(padded(title, self.name_width), style)]
        wide = self.width - len(branch)
        has_own_line = _width(key) > self.key_width
        if has_own_line:
            yield [Span(branch, "dim"), *_fitting(key, wide)]
        left = indent + 2 if indent else 0
        rest = wide - left - self.name_width - 2
        wrapped = list(_wrapped(_words(row, self.view.index, rest), rest)) or [[]]
        for number, words in enumerate(wrapped):
            begin = [Span(trunk if number or has_own_line else branch, "dim")]
            if number:
                begin.append(Span(" " * (left + self.name_width)))
            elif has_own_line:
                begin += [Span(" " * left), *head]
            else:
                begin += [*key, Span(" " * (left - _width(key))), *head]
            yield [*begin, Span("  "), *words] if words else begin

    # -- guards and token items ----------------------------------------------------------------------------------------

    def _apart(self, block: PartitionBlock, row: ItemRow) -> Iterator[Line]:
        key = _spans(block.key)
        # A guard has one text in both of its keys.
        if row.sort and row.sort_text != block.text:
            key += [Span(" · ", "dim"), *_spans(row.sort)]
        said = one_line(row.said)
        if 2 + _width(key) + 2 + width_of(said) <= self.width:
            yield [Span("  "), *key, Span(f"  {said}", "dim")]
        else:
            yield [Span("  "), *_fitting(key, self.width - 2)]
            yield [Span(f"    {shortened(said, self.width - 4)}", "dim")]


def _title(row: ItemRow) -> str:
    number = "" if row.number is None else str(row.number)
    titles = {"entity": row.cls or "?", "version": f"v{number}", "tombstone": "deleted", "unknown": "unknown"}
    return one_line(titles.get(row.kind, row.kind))


def _style(row: ItemRow) -> str:
    if row.position is None:
        return "dim"
    colour = _COLOURS[row.position % len(_COLOURS)]
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


def _width(spans: Iterable[Span]) -> int:
    return sum(width_of(one.text) for one in spans)


def _fitting(spans: Line, width: int) -> Line:
    """The spans, cut where the width ends."""
    if _width(spans) <= width:
        return spans
    found: Line = []
    for one in spans:
        left = width - _width(found)
        if width_of(one.text) >= left:
            return [*found, Span(shortened(f"{one.text} ", left), one.style)]
        found.append(one)
    return found


# -- attributes --------------------------------------------------------------------------------------------------------


def _words(row: ItemRow, index: str | None, width: int) -> list[Line]:
    """The attributes of an item, each as short as a line needs it, and the other indexes that it is in."""
    words: list[Line] = []
    if row.kind == "tombstone":
        words.append([Span(shortened(one_line(row.said), width - _MORE), "dim")])
    for one in row.shown:
        name = shortened(f"{one_line(one.name)}=", width // 2)
        value = shortened(one_line(one.short), min(width - width_of(name) - _MORE, _WIDEST_VALUE))
        words.append([Span(name, "dim"), Span(value)])
    if others := [one for one in row.places if one != index]:
        places = " ".join(map(one_line, others))
        words.append([Span(shortened(f"→ {places}", width - _MORE), "dim")])
    return words


def _wrapped(words: Sequence[Line], width: int) -> Iterator[Line]:
    """The words in as many lines as an item has; if they do not fit, the last line ends with an ellipsis."""
    line: Line = []
    number = 1
    for at, word in enumerate(words):
        gap = 2 if line else 0
        # The last line keeps room for the ellipsis, unless this is the last word.
        room = width - (_MORE if number == _LINES and at < len(words) - 1 else 0)
        if line and _width(line) + gap + _width(word) > room:
            if number == _LINES:
                yield [*line, Span(" …", "dim")]
                return
            yield line
            line, gap, number = [], 0, number + 1
        line += [Span(" " * gap), *word] if gap else word
    if line:
        yield line
