"""Random entity classes, and random rows of them: what the laws are tested with.

``schemas()`` draws a ``Schema``: plain data that prints well and shrinks well. ``declare`` makes a table and classes of
it. ``rows()`` draws the values of entities, and ``of_others`` gives items as other writers store them.
A new kind of declaration is a new field of ``ClassSpec`` or ``Schema``, drawn in ``schemas`` and used in ``declare``.
"""

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Annotated, Any, Final, Literal

from hypothesis import strategies as st
from pydantic import computed_field

from dynaorm import (
    Attribute,
    BinaryKey,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    LocalIndex,
    NumberKey,
    NumberRevision,
    OneOf,
    Table,
)
from tests.laws.conditions import CONDITIONS, SIZES, WHENS, size, size_of

# -- fields ------------------------------------------------------------------------------------------------------------

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
TIMES: Final = tuple(
    NOON + timedelta(microseconds=step)
    for step in (0, 1, 15_000, 1_000_000, 59_123_000, 60_000_000, 3_600_000_000, 86_400_000_000)
)
PARTS: Final = (1, 2, 3)
# DynamoDB deletes what expired the day before, and keeps what did so long ago.
YESTERDAY: Final = NOON - timedelta(days=1)
LONG_AGO, LATER = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

ANNOTATIONS: Final[Mapping[str, Any]] = {
    "a": str,
    "b": str,
    "c": str,
    "n": int,
    "m": int,
    "at": datetime,
    "v": int,
    "blob": bytes,
    "note": str | None,
    "flag": int,
    "part": int,
    "until": Annotated[datetime | None, ExpiresAt()],
    "row": int,
}
DEFAULTS: Final[Mapping[str, Any]] = {"note": None, "flag": 7, "until": None}

_texts = st.sampled_from(["x", "x", "X", "x#", "1", "10"])
_numbers = st.sampled_from([1, 1, 5, 10])
VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "a": st.sampled_from(["p", "p", "p", "q"]),
    "b": _texts,
    "c": st.sampled_from(["x", "x", "x", "y#"]),
    "n": _numbers,
    "m": _numbers,
    "at": st.sampled_from(TIMES),
    "v": st.integers(-3, 12),
    "blob": st.sampled_from([b"\x00", b"\x00\xff", b"\x01", b"\xff", b"a"]),
    "note": st.sampled_from([None, "x", "y"]),
    "flag": st.sampled_from([7, 0, 1]),
    "part": st.sampled_from(PARTS),
    "until": st.sampled_from([None, None, LATER, YESTERDAY, LONG_AGO]),
}


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Values of a field of the pool, or of the computed one."""
    return SIZES if name == "size" else VALUES[name]


# -- schemas -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IndexSpec:
    """A class's place in an index: its templates (``|`` separates several), and the name of its condition."""

    name: str
    pk: str | None
    sk: str | None
    when: str | None = None


@dataclass(frozen=True)
class ClassSpec:
    """One class.

    Attributes:
        name: its name.
        parent: the class it derives from; None for one with keys of its own.
        pk: the template of the partition key.
        sk: the template of the sort key; None on a table without one.
        renamed: names of its own for fields of the pool: ``{"a": "owner"}``.
        indexes: its indexes by attribute name.
        in_key: fields that are stored in the key alone.
    """

    name: str
    parent: str | None
    pk: str
    sk: str | None
    renamed: tuple[tuple[str, str], ...]
    indexes: tuple[tuple[str, IndexSpec], ...]
    in_key: tuple[str, ...] = ()

    def own(self, name: str) -> str:
        """What the class calls a field of the pool."""
        return dict(self.renamed).get(name, name)


@dataclass(frozen=True)
class Schema:
    """A table and its classes.

    Attributes:
        kind: the type of the table's sort key: S, N, B, or an empty text for none.
        has_type: the items have a type attribute.
        projection: that of the second index; the first projects all.
        classes: in the order of declaration.
        revision: the attribute of a number that others keep as the revision; an empty text for dynaorm's own.
        told: a field of each class says the type of its items. That of the first class may have any type.
    """

    kind: str
    has_type: bool
    projection: str | tuple[str, ...]
    classes: tuple[ClassSpec, ...]
    revision: str = ""
    told: bool = False


# Sort keys of one collection, told apart by their literals or levels; {0} is the class's number.
_LEVELS: Final = (
    "K{0}",
    "K{0}#{{n:03d}}",
    "K{0}#{{b}}",
    "K{0}#{{b}}#{{n:03d}}",
    "K{0}#{{b:upper}}#{{m:02d}}",
    "K{0}#{{at}}",
    "K{0}#{{n:03d:desc}}#{{b}}",
    "K{0}#{{size}}#{{n:03d}}",
)
_NESTED: Final = ("ORDER#{b}", "ORDER#{b}#ITEM#{n:03d}", "ORDER#{b}#ITEM#{n:03d}#PART#{c}")
_INDEX_PARTITIONS: Final = ("X#{c}", "X#{c}#{n:shard3}", "X#{c}#{part}", "{part}", "{c}", "X#{size}")
_INDEX_SORTS: Final = (
    "{n:03d}#{a}",
    "{at}",
    "{m:03d}#{b}",
    "{m:03d}#{b}#{n:03d}",
    "S#{b}",
    "{b:upper}",
    "{size}#{m:03d}",
)
_NATIVE_SORTS: Final = ("{b}|{n:03d}", "{m:03d}|{at}", "{at}|{b}", "{at}|{n:03d}", "{b:upper}|S#{m:02d}")


@st.composite
def schemas(draw: st.DrawFn, *, families: bool = True, numbered: bool = False) -> Schema:
    """Any table with one to three classes, and subclasses. ``numbered``: its revision may be a number."""
    kind = draw(st.sampled_from(["S", "S", "S", "S", "N", "B", ""]))
    has_type = draw(st.sampled_from([True, True, False]))
    projection: Any = draw(st.sampled_from(["KEYS_ONLY", ("a",), ("_type", "until"), ("n", "b", "_type")]))
    nested = kind == "S" and draw(st.booleans())
    partition = draw(st.sampled_from(["P#{a}", "P#{a}", "P#{a}#{part}"]))
    classes: list[ClassSpec] = []
    for number in range(draw(st.integers(1, 3))):
        renamed = draw(st.sampled_from([(), (), (("a", f"owner{number}"),), (("b", f"name{number}"),)]))
        if kind != "S":
            pk, sk = f"P{number}#{{a}}", {"N": "{v}", "B": "{blob}", "": None}[kind]
            pk = pk if kind else f"P{number}#{{a}}#{{n}}"
        else:
            pk = partition
            sk = _NESTED[number] if nested else draw(st.sampled_from(_LEVELS)).format(number)
        in_key = ("b",) if sk is not None and "{b}" in sk and draw(st.booleans()) else ()
        spec = ClassSpec(f"C{number}", None, pk, sk, renamed, draw(_indexes(kind)), in_key)
        classes.append(_in_own_names(spec))
        if families and has_type and draw(st.booleans()):
            own = classes[-1]
            classes.append(ClassSpec(f"D{number}", own.name, own.pk, own.sk, renamed, own.indexes, in_key))
    revision = draw(st.sampled_from(["", "changes"])) if numbered else ""
    told = numbered and has_type and all(one.parent is None for one in classes) and draw(st.booleans())
    return Schema(kind, has_type, projection, tuple(classes), revision, told)


@st.composite
def _indexes(draw: st.DrawFn, kind: str) -> tuple[tuple[str, IndexSpec], ...]:
    found = []
    for attribute, name in (("one", "GSI1"), ("two", "GSI2")):
        if draw(st.booleans()):
            whens: tuple[str | None, ...] = draw(st.sampled_from([(None,), (None,), *WHENS]))
            found += [
                (attribute + "x" * number, replace(_index(draw, name), when=when))
                for number, when in enumerate(whens)
            ]
    if draw(st.booleans()):
        found.append(("own", IndexSpec("Own", None, None)))
    if draw(st.booleans()):
        found.append(("native", IndexSpec("Native", "X#{c}|{a}", draw(st.sampled_from(_NATIVE_SORTS)))))
    if kind and draw(st.booleans()):  # a table without a sort key has no local index
        found.append(("local", IndexSpec("LSI1", None, draw(st.sampled_from(_INDEX_SORTS)))))
    return tuple(found)


def _index(draw: st.DrawFn, name: str) -> IndexSpec:
    return IndexSpec(name, draw(st.sampled_from(_INDEX_PARTITIONS)), draw(st.sampled_from(_INDEX_SORTS)))


def _in_own_names(spec: ClassSpec) -> ClassSpec:
    def own(text: str | None) -> Any:
        return None if text is None else _FIELD.sub(lambda found: "{" + spec.own(found[1]) + found[2], text)

    indexes = tuple((at, IndexSpec(one.name, own(one.pk), own(one.sk), one.when)) for at, one in spec.indexes)
    return ClassSpec(spec.name, spec.parent, own(spec.pk), own(spec.sk), spec.renamed, indexes, spec.in_key)


# -- declared ----------------------------------------------------------------------------------------------------------

NATIVE_SORT: Final = ("NativeSK1", "NativeSK2")
_FIELD: Final = re.compile(r"\{(\w+)((?:!s)?(?::[^{}]+)?\})")
_numbers_of_tables = count()


@dataclass(frozen=True, eq=False)
class Declared:
    """The classes of a schema."""

    schema: Schema
    table: Table
    classes: Mapping[str, type[Entity]]

    def spec(self, entity: type[Entity]) -> ClassSpec:
        return next(one for one in self.schema.classes if one.name == entity.__name__)

    def fields(self, entity: type[Entity]) -> tuple[str, ...]:
        """The fields of a class by the names of the pool, without ``row``."""
        return tuple(name for name in VALUES if self.spec(entity).own(name) in entity.model_fields)


def declare(schema: Schema) -> Declared:
    """The table and classes of a schema, under names that nothing else has."""
    sorts: Mapping[str, Any] = {"S": "SK", "N": NumberKey("SK"), "B": BinaryKey("SK"), "": None}
    table = Table(
        f"laws-{next(_numbers_of_tables)}",
        sk=sorts[schema.kind],
        type_attribute="_type" if schema.has_type else None,
        revision_attribute=NumberRevision(schema.revision) if schema.revision else "_rev",
        indexes=[
            GlobalIndex("GSI1"),
            GlobalIndex("GSI2", projection=schema.projection),
            GlobalIndex("Own", pk="c", sk="when"),
            GlobalIndex("Native", pk=("NativePK1", "NativePK2"), sk=NATIVE_SORT),
            *([LocalIndex("LSI1", sk="LSI1SK")] if schema.kind else []),
        ],
    )
    classes: dict[str, type[Entity]] = {}
    for spec in schema.classes:
        classes[spec.name] = _class(table, spec, classes, schema)
    return Declared(schema, table, classes)


def _class(
    table: Table, spec: ClassSpec, classes: Mapping[str, type[Entity]], schema: Schema
) -> type[Entity]:
    if spec.parent is not None:
        more = {"__annotations__": {"more": int}, "more": 0, "__module__": __name__}
        return types.new_class(spec.name, (classes[spec.parent],), {}, lambda own: own.update(more))
    annotations = {spec.own(name): _annotation(name, spec) for name in ANNOTATIONS}
    space: dict[str, Any] = {"__annotations__": annotations, "__module__": __name__}
    space |= {spec.own(name): default for name, default in DEFAULTS.items()}
    space |= {
        at: Index(
            one.name, pk=_parts(one.pk), sk=_parts(one.sk), when=CONDITIONS[one.when][0] if one.when else None
        )
        for at, one in spec.indexes
    }
    space["size"] = computed_field(property(size))
    keywords: dict[str, Any] = {"table": table, "pk": spec.pk}
    if schema.told:
        keywords["name"] = None
        kind = Literal[f"{spec.name}-0", f"{spec.name}-1"] if classes else str
        annotations["kind"] = Annotated[kind, Attribute("_type")]
    if spec.sk is not None:
        keywords["sk"] = spec.sk
    made: type[Entity] = types.new_class(spec.name, (Entity,), keywords, lambda own: own.update(space))
    return made


def _parts(text: str | None) -> Any:
    return tuple(text.split("|")) if text is not None and "|" in text else text


def _annotation(name: str, spec: ClassSpec) -> Any:
    found = ANNOTATIONS[name]
    if name == "at":
        return Annotated[found, Attribute("when")]
    partitions = (spec.pk, *(one.pk or "" for _, one in spec.indexes))
    if name == "part" and any("{part}" in text for text in partitions):
        return Annotated[found, OneOf(PARTS)]
    return Annotated[found, InKey()] if name in spec.in_key else found


# -- rows --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """An entity to store: its class and its values, by the names of the pool.

    ``bare`` omits an attribute whose value is the default. ``more`` adds an attribute that no class has.
    """

    kind: str
    values: tuple[tuple[str, Any], ...]
    bare: bool = False
    more: bool = False

    def value(self, name: str) -> Any:
        """The value of a field of the pool, or of the computed one."""
        found = dict(self.values)
        return size_of(found["n"]) if name == "size" else found[name]


@st.composite
def rows(draw: st.DrawFn, schema: Schema, *, most: int = 15, others: bool = True) -> tuple[Row, ...]:
    """Rows of the classes of a schema; ``others``: some as other writers would store them."""
    found = []
    for _ in range(draw(st.integers(most // 3, most))):
        spec = draw(st.sampled_from(schema.classes))
        values = tuple((name, draw(strategy)) for name, strategy in VALUES.items())
        bare, more = (others and draw(st.booleans()) for _ in range(2))
        found.append(Row(spec.name, values, bare, more))
    return tuple(found)


def entity_of(declared: Declared, row: Row, number: int) -> Any:
    """The entity of a row; its field ``row`` has the number."""
    kind: Any = declared.classes[row.kind]
    spec = declared.spec(kind)
    told = {"kind": f"{row.kind}-{number % 2}"} if declared.schema.told else {}
    return kind(**{spec.own(name): value for name, value in row.values}, **told, row=number)


def of_others(item: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """An item as another writer stores it."""
    found = dict(item)
    if row.more:
        found["added"] = {"M": {"by": {"S": "others"}}}
    if row.bare and dict(row.values)["flag"] == DEFAULTS["flag"]:
        found.pop("flag")
    return found


# -- templates, as a reader of the declaration understands them --------------------------------------------------------


def levels(texts: Sequence[str | None]) -> Iterator[tuple[str, str]]:
    """The fields of templates with their specs, in order."""
    for text in texts:
        for found in _FIELD.finditer(text or ""):
            yield found[1], found[2][1:-1]
