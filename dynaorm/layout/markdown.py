"""The keys and the questions of a table in Markdown: two tables that a repository or a wiki can show."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from dynaorm.description.description import (
    AccessPattern,
    ClassDescription,
    FieldDescription,
    IndexDescription,
    IndexKeyDescription,
    TableDescription,
    TemplateDescription,
    check_description,
)
from dynaorm.item.text import printable
from dynaorm.record import record

Sides: TypeAlias = tuple[tuple[TemplateDescription, ...], tuple[TemplateDescription, ...]]
"""The templates of a partition key and of a sort key."""


@record
class KeyedPlace:
    """The keys of a class in the table or in one of its indexes.

    Attributes:
        name: the name of the place, an attribute of the class; empty for the table.
        partition: the templates of its partition key attributes.
        sort: the templates of its sort key attributes.
        when: under which condition an entity is there, in words; empty for every entity.
    """

    name: str
    partition: tuple[TemplateDescription, ...]
    sort: tuple[TemplateDescription, ...]
    when: str = ""


@record
class KeyRow:
    """A class, with its keys in the table, then in each index.

    Attributes:
        cls: the class.
        places: in the table, then in each index; a class may have several places in one index, or none.
        unique: its unique constraints, in words.
        also: what else it has, in words: versions, an expiry time, totals.
    """

    cls: ClassDescription
    places: tuple[tuple[KeyedPlace, ...], ...]
    unique: tuple[str, ...]
    also: tuple[str, ...]


def key_rows(description: TableDescription) -> tuple[KeyRow, ...]:
    """The keys of every class."""
    return tuple(
        KeyRow(
            cls,
            ((_in_table(cls),), *(tuple(_in_index(cls, index)) for index in description.indexes)),
            tuple(_unique(cls)),
            tuple(_also(cls)),
        )
        for cls in description.classes
    )


def _in_table(cls: ClassDescription) -> KeyedPlace:
    return KeyedPlace("", (cls.partition,), () if cls.sort is None else (cls.sort,))


def _in_index(cls: ClassDescription, index: IndexDescription) -> Iterator[KeyedPlace]:
    for place in cls.places:
        if place.index == index.name:
            yield KeyedPlace(place.name, place.partition, place.sort, when_of(place))


def when_of(place: IndexKeyDescription) -> str:
    """Under which condition an entity is in a place, in words."""
    set_ = f"if {' and '.join(place.absent_if)} {_are(place.absent_if)} set" if place.absent_if else ""
    when = f"when {place.when}" if place.when is not None else ""
    return ", ".join(filter(None, (when, set_)))


def _are(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"


def _unique(cls: ClassDescription) -> Iterator[str]:
    for one in cls.unique:
        fields = " + ".join(one.fields)
        named = fields if one.name in (fields, "_".join(one.fields)) else f"{one.name}: {fields}"
        when = f" when {one.when}" if one.when is not None else ""
        normal = f" by {one.normalize}" if one.normalize is not None else ""
        yield f"{named}{normal}{when}"


def _also(cls: ClassDescription) -> Iterator[str]:
    if cls.versions is not None:
        yield f"every version kept: {cls.versions}"
    if cls.expires is not None:
        yield f"expires: {cls.expires}"
    for total in cls.totals:
        fields = [*([total.count] if total.count is not None else []), *total.sums.values()]
        when = f" when {total.when}" if total.when is not None else ""
        yield f"counted in {', '.join(f'{total.target}.{name}' for name in fields)}{when}"
    for name, keeper in cls.totals_kept.items():
        yield f"total: {name} of {keeper.partition('.')[0]}"


def read_together(description: TableDescription) -> tuple[AccessPattern, ...]:
    """The groups of classes, or of places of one class, that one request reads."""
    return tuple(question for question in description.questions if question.kind == "collection")


def names_together(question: AccessPattern) -> tuple[str, ...]:
    """The classes that a question reads, each with its places if it has several: ``Issue (open, closed)``."""
    places = question.places
    return tuple(
        f"{name} ({', '.join(places[name])})" if len(places.get(name, ())) > 1 else name
        for name in question.classes
    )


def key_names(description: TableDescription) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """The table and each index: its name, its key attributes, and what it has besides ALL; for headings."""
    table = [one.name for one in (*description.partition, *description.sort)]
    return (
        ("Table", tuple(table), ""),
        *(
            (index.name, tuple(key.name for key in (*index.partition, *index.sort)), _projection(index))
            for index in description.indexes
        ),
    )


def _projection(index: IndexDescription) -> str:
    if index.projection == "ALL":
        return ""
    return "keys only" if isinstance(index.projection, str) else f"keys, {', '.join(index.projection)}"


def texts_of(templates: Iterable[TemplateDescription]) -> str:
    """Templates in one text, as they are stored."""
    return " · ".join(template.whole_text for template in templates)


# An underscore inside a word is no emphasis.
_SPECIAL: Final = re.compile(r"([\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def render_markdown(description: TableDescription) -> str:
    """The description of a table as Markdown: the keys, what is read together, and the questions.

    Args:
        description: of the table.

    Examples:
        >>> print(render_markdown(describe(app)).splitlines()[0])
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
    return "<br>".join(_place(place) for place in places) or "-"


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
            _words(question.text),
            _code(question.call()),
            _words(question.index or "table"),
            _words(cost_of(question)),
            _words(", ".join(question.order) or "-"),
        ]
        for question in description.questions
    ]
    return f"## Questions\n\n{_table(['Question', 'Call', 'Asks', 'Requests', 'Sorted by'], rows)}"


def cost_of(question: AccessPattern) -> str:
    """What a question costs, in words: ``4 x Query``, and whether the answer can be strongly consistent."""
    each = Counter(question.operations)
    if len(each) == 1 or question.kind in ("query", "collection"):
        each[question.operations[0]] = question.requests
    told = " + ".join(name if number == 1 else f"{number} x {name}" for name, number in each.items())
    consistent = {"always": ", consistent", "optional": "", "never": ", eventually consistent"}
    beside = f", reads {' and '.join(question.beside)}, too" if question.beside else ""
    return f"{told}{consistent[question.consistent]}{beside}"


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


# What a name of an entity, an attribute or a type may have in Mermaid.
_WORD: Final = re.compile(r"[^0-9A-Za-z_]+")
_TYPE: Final = re.compile(r"[^0-9A-Za-z_\[\]]+")
# Quotes end a text, "#" begins an entity, "%%" a comment, and pages may take "<" for a tag.
_INSTEAD: Final = {'"': "'", "#": "no. ", "%": "percent ", "<": "(", ">": ")", "\\": "/", "`": "'"}
_NO_TEXT: Final = re.compile(r"[\"#%<>\\`]")


def render_mermaid(description: TableDescription) -> str:
    """The description of a table as an ``erDiagram`` of Mermaid, without fences.

    Args:
        description: of the table.

    Examples:
        >>> print(render_mermaid(describe(app)).splitlines()[0])
        erDiagram
    """
    check_description(description)
    return "".join(f"{line}\n" for line in ("erDiagram", *_lines(description)))


def _lines(description: TableDescription) -> Iterator[str]:
    names = {one.name: f"c{at}" for at, one in enumerate(description.classes)}
    for cls in description.classes:
        yield f"    {names[cls.name]}[{_quoted(cls.name)}] {{"
        yield from (f"        {_type(one.type)} {_word(one.name)}{_marks(cls, one)}" for one in cls.fields)
        yield "    }"
    for cls in description.classes:
        counted = (one for one in cls.totals if one.target in names)
        for total in counted:
            yield f"    {names[total.target]} ||--o{{ {names[cls.name]} : {_quoted(total.name)}"
    for question in read_together(description):
        where = question.index or description.name
        first, *others = (names[name] for name in question.classes)
        yield from (f"    {first} }}o..o{{ {other} : {_quoted(where)}" for other in others)


def _marks(cls: ClassDescription, field: FieldDescription) -> str:
    is_unique = any(field.name in one.fields for one in cls.unique)
    keys = [mark for mark, is_it in (("PK", field.name in cls.key_fields), ("UK", is_unique)) if is_it]
    told = [one for one in field.marks if one != "unique"]
    comment = f" {_quoted(', '.join(told))}" if told else ""
    return f"{' ' if keys else ''}{', '.join(keys)}{comment}"


def _type(text: str) -> str:
    """A Python type as one word of Mermaid."""
    return _word(text.replace(" | None", ""), _TYPE)


def _word(text: str, others: re.Pattern[str] = _WORD) -> str:
    """A text as one word of Mermaid, which begins with a letter."""
    found = others.sub("_", text).strip("_") or "x"
    return found if found[0].isalpha() else f"x{found}"


def _quoted(text: str) -> str:
    """A text in quotes, without what Mermaid or a page would read as something else than text."""
    return f'"{_NO_TEXT.sub(lambda found: _INSTEAD[found[0]], printable(text)) or " "}"'
