"""The keys and the questions of a table in Markdown: two tables that a repository or a wiki can show."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from dynaorm.description.description import Question, TableDescription, check_description
from dynaorm.item.printable import printable
from dynaorm.layout.keys import (
    KeyedPlace,
    KeyRow,
    key_names,
    key_rows,
    names_together,
    read_together,
    texts_of,
)

# An underscore inside a word is no emphasis.
_SPECIAL: Final = re.compile(r"([\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def markdown_of(description: TableDescription) -> str:
    """The description of a table as Markdown: the keys, what is read together, and the questions.

    Args:
        description: of the table.

    Examples:
        >>> print(markdown_of(describe(app)).splitlines()[0])
        # app
    """
    check_description(description)
    sections = [
        f"# {_words(description.name)}",
        _keys(description),
        _together(description),
        _questions(description),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _keys(description: TableDescription) -> str:
    names = key_names(description)
    heads = [f"{_words(name)}<br>{_code(' · '.join(keys))}{_beside(told)}" for name, keys, told in names]
    rows = [
        [_class(row), *(_places(places) for places in row.places), _list(row.unique), _list(row.also)]
        for row in key_rows(description)
    ]
    return f"## Keys\n\n{_table(['Entity', *heads, 'Unique', 'Also'], rows)}"


def _beside(told: str) -> str:
    return f"<br>{_words(told)}" if told else ""


def _class(row: KeyRow) -> str:
    doc = f"<br>{_words(row.cls.doc)}" if row.cls.doc else ""
    return f"**{_words(row.cls.name)}**{doc}"


def _places(places: Iterable[KeyedPlace]) -> str:
    return "<br>".join(_place(one) for one in places) or "-"


def _place(place: KeyedPlace) -> str:
    lines = []
    if place.name or place.when:
        lines.append(" ".join(filter(None, (f"*{_words(place.name)}*", _words(place.when)))))
    lines += [_code(one.whole_text) for one in (*place.partition, *place.sort)]
    return "<br>".join(lines)


def _together(description: TableDescription) -> str:
    found = read_together(description)
    if not found:
        return ""
    by_name = {row.cls.name: row for row in key_rows(description)}
    lines = []
    for one in found:
        name, at = one.sources[0]
        templates = next(
            place.partition for places in by_name[name].places for place in places if place.name == (at or "")
        )
        where = f"{_words(one.index)} " if one.index is not None else ""
        lines.append(f"- {where}{_code(texts_of(templates))}: {', '.join(map(_words, names_together(one)))}")
    return "## Read together, in one request\n\n" + "\n".join(lines)


def _questions(description: TableDescription) -> str:
    if not description.questions:
        return ""
    rows = [
        [
            _words(one.text),
            _code(one.call()),
            _words(one.index or "table"),
            _words(cost_of(one)),
            _words(", ".join(one.order) or "-"),
        ]
        for one in description.questions
    ]
    return f"## Questions\n\n{_table(['Question', 'Call', 'Asks', 'Requests', 'Sorted by'], rows)}"


def cost_of(question: Question) -> str:
    """What a question costs, in words: ``4 x Query``, and whether the answer can be strongly consistent."""
    each = Counter(question.operations)
    if len(each) == 1 or question.kind in ("query", "collection"):
        each[question.operations[0]] = question.requests
    told = " + ".join(name if number == 1 else f"{number} x {name}" for name, number in each.items())
    consistent = {"always": ", consistent", "optional": "", "never": ", eventually consistent"}
    return f"{told}{consistent[question.consistent]}"


def _list(texts: Iterable[str]) -> str:
    return "<br>".join(map(_words, texts)) or "-"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(text: str) -> str:
    """Text that Markdown shows as it is, on one line and in one cell."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _code(text: str) -> str:
    """Text in a code span, which ends at no backtick of its own, and in one cell of a table."""
    text = printable(text).replace("|", "\\|")
    if not text:
        return ""
    runs = {len(one) for one in re.findall(r"`+", text)}
    fence = "`" * next(number for number in range(1, len(runs) + 2) if number not in runs)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
