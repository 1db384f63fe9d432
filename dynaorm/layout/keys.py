"""The keys that were designed: what each class writes into each key attribute, as rows of words for every renderer."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from dynaorm.description.description import (
    ClassDescription,
    IndexDescription,
    PlaceDescription,
    Question,
    TableDescription,
    TemplateDescription,
)
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
            ((_in_table(cls),), *(tuple(_in_index(cls, one)) for one in description.indexes)),
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


def when_of(place: PlaceDescription) -> str:
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
    for one in cls.totals:
        fields = [*([one.count] if one.count is not None else []), *one.sums.values()]
        when = f" when {one.when}" if one.when is not None else ""
        yield f"counted in {', '.join(f'{one.target}.{name}' for name in fields)}{when}"
    for name, keeper in cls.totals_kept.items():
        yield f"total: {name} of {keeper.partition('.')[0]}"


def read_together(description: TableDescription) -> tuple[Question, ...]:
    """The groups of classes, or of places of one class, that one request reads."""
    return tuple(one for one in description.questions if one.kind == "collection")


def names_together(question: Question) -> tuple[str, ...]:
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
            (one.name, tuple(key.name for key in (*one.partition, *one.sort)), _projection(one))
            for one in description.indexes
        ),
    )


def _projection(index: IndexDescription) -> str:
    if index.projection == "ALL":
        return ""
    return "keys only" if isinstance(index.projection, str) else f"keys, {', '.join(index.projection)}"


def texts_of(templates: Iterable[TemplateDescription]) -> str:
    """Templates in one text, as they are stored."""
    return " · ".join(one.whole_text for one in templates)
