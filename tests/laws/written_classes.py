"""Random entity classes for the laws of writing, with validators, constraints and defaults of all kinds."""

import types
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from math import inf, isfinite
from typing import Annotated, Any, Final, Literal, NamedTuple

from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from dynaorm import (
    Aggregate,
    AnyValue,
    Attribute,
    Computed,
    CreatedAt,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    NumberRevision,
    Stored,
    Table,
    Unique,
    UpdatedAt,
)
from dynaorm.codecs import EPOCH_MILLISECONDS, ISO_SECONDS
from dynaorm.item.condition import Condition
from tests.dynamodb_json import Item


class Colour(str, Enum):  # noqa: UP042 - equal to its text, which must not hide the conversion
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    city: Annotated[str, AfterValidator(str.lower)]
    floor: Annotated[int, Field(ge=0)] = 0


LEVELS: Final = 32
"""How many levels of values DynamoDB has."""


def nested(levels: int) -> Any:
    """A text on this level of lists."""
    return "deep" if levels == 1 else [nested(levels - 1)]


def is_storable(value: Any, level: int = 1) -> bool:
    """Whether DynamoDB has such a value, which pydantic may accept anyway."""
    if isinstance(value, BaseModel):
        value = vars(value)
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and is_storable(list(value.values()), level)
    if isinstance(value, list | tuple | set | frozenset):
        return level <= LEVELS and all(is_storable(one, level + 1) for one in value)
    if isinstance(value, str):
        return level <= LEVELS and not any("\ud800" <= one <= "\udfff" for one in value)
    if isinstance(value, Decimal):
        return value.is_finite() and len(str(value)) <= 38
    return isinstance(value, int | datetime | None) or (isinstance(value, float) and isfinite(value))


class Kind(NamedTuple):
    """A type of a field, a default, and what a careless caller may assign: valid, to be converted, or wrong."""

    annotation: Any
    default: Any
    inputs: tuple[Any, ...]


def _grows(text: str) -> str:
    """A validator that changes what it returned."""
    return text if len(text) > 3 else f"{text}!"


def _spaced(text: Any) -> Any:
    return " ".join(text.split()) if isinstance(text, str) else text


TEXTS: Final = ("a", "A", "Bob", "BOB", " bob ", "long enough", 5, None)
TEXT: Final = (
    Kind(str, "x", TEXTS),
    Kind(Annotated[str, AfterValidator(str.lower)], "x", TEXTS),
    Kind(Annotated[str, BeforeValidator(_spaced)], "x", TEXTS),
    Kind(Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True)], "x", TEXTS),
    Kind(Annotated[str, StringConstraints(to_lower=True, pattern="^[a-zA-Z]*$")], "x", TEXTS),
    Kind(Annotated[str, AfterValidator(_grows)], "grown", TEXTS),
)
NUMBERS: Final = (-1, 0, 1, 3, 10, 11, "5", "x", None)
NUMBER: Final = (
    Kind(int, 0, NUMBERS),
    Kind(Annotated[int, Field(ge=0)], 0, NUMBERS),
    Kind(Annotated[int, Field(ge=0, le=10)], 5, NUMBERS),
    Kind(Annotated[int, Field(gt=-1, lt=11, multiple_of=1)], 1, NUMBERS),
    Kind(Annotated[int, AfterValidator(abs)], 0, NUMBERS),
    Kind(Annotated[Decimal, Field(ge=0, max_digits=2)], Decimal(1), (*NUMBERS, Decimal("1.5"))),
)
LISTS: Final[tuple[Any, ...]] = ([], ["a"], ("a", "B"), ["a", "b", "C"], ["a"] * 4, "x", [1])
MANY: Final = (
    Kind(list[str], [], LISTS),
    Kind(Annotated[list[str], Field(max_length=3)], [], LISTS),
    Kind(list[Annotated[str, AfterValidator(str.lower)]], [], LISTS),
    Kind(
        Annotated[set[str], Field(max_length=3)],
        frozenset(),
        (set(), {"a"}, {"a", "b", "c", "d"}, ["a", "a"], 1),
    ),
    Kind(
        frozenset[Annotated[str, AfterValidator(str.lower)]], frozenset(), (frozenset({"A", "a"}), {"b"}, "x")
    ),
    Kind(tuple[int, ...], (), ((1, 2), [1], ["5"], ["x"])),
)
OTHERS: Final = (
    Kind(Colour, Colour.RED, (Colour.BLUE, "red", "green")),
    Kind(Colour | None, None, (Colour.BLUE, "red", "green", None)),
    Kind(Place, Place(city="rome"), (Place(city="Oslo"), {"city": "BERN"}, Place.model_construct(city="PARIS", floor=1),
         Place.model_construct(city="x", floor=-1), {"city": 1})),
    Kind(Place | None, None, (Place(city="Oslo"), {"city": "BERN", "floor": "2"}, None)),
    Kind(dict[str, Annotated[int, Field(ge=0)]], {}, ({}, {"a": 1}, {"a": "2"}, {"a": -1})),
    Kind(float, 0.5, (1, 0.25, "0.5", "x", inf)),
    Kind(Decimal | None, None, (Decimal("0.10"), Decimal("1" * 38), Decimal("1" * 39), "NaN")),
    Kind(AnyValue, None, (None, "a", {"a": [1, 2.5]}, [None, True], nested(32), nested(33), inf,
         ["\ud800"], {"a": 1j}, {1: "a"})),
    Kind(bool, False, (True, 0, "yes", "perhaps")),
)  # fmt: skip
KEPT: Final = ("created", "changed", "created_ms", "changed_iso")
"""The fields of times that the session keeps, in classes that have them."""
TIMES: Final = (
    None,
    datetime(2100, 1, 1, 12, 0, 0, 123_456, UTC),
    datetime(2101, 1, 1, tzinfo=UTC),
    "2102-01-01T00:00:00Z",
    "soon",
)


class Spec(NamedTuple):
    """What distinguishes a class: see ``make``."""

    name: Kind
    text: Kind
    number: Kind
    many: Kind
    other: Kind
    optional_text: bool
    unique: bool
    indexed: bool
    versioned: bool
    expires: bool
    milliseconds: bool
    typed: str
    revision: str
    rule: str
    looks: bool
    places: bool
    together: bool
    times: bool
    computed: bool
    kept: bool
    told: bool
    conditional: bool
    by_function: bool
    counted: bool


REVISIONS: Final = ("", "text", "text", "number")
"""How a table keeps a revision: not at all, as a text, or as a number."""


TYPED: Final = ("", "", "own", "own", "own", "field", "any")
"""Who says the type of an item: nobody, dynaorm, a field with two values, or a field with any."""


_ANY: Final = st.builds(
    Spec,
    name=st.sampled_from(TEXT[:4]),
    text=st.sampled_from(TEXT),
    number=st.sampled_from(NUMBER),
    many=st.sampled_from(MANY),
    other=st.sampled_from(OTHERS),
    optional_text=st.booleans(),
    unique=st.booleans(),
    indexed=st.booleans(),
    versioned=st.booleans(),
    expires=st.booleans(),
    milliseconds=st.booleans(),
    typed=st.sampled_from(TYPED),
    revision=st.sampled_from(REVISIONS),
    rule=st.sampled_from(["", "", "bounded", "derived", "filled"]),
    looks=st.booleans(),
    places=st.booleans(),
    together=st.booleans(),
    times=st.booleans(),
    computed=st.booleans(),
    kept=st.booleans(),
    told=st.booleans(),
    conditional=st.booleans(),
    by_function=st.booleans(),
    counted=st.booleans(),
)


def _plain(spec: Spec) -> Spec:
    number = (
        spec.number if spec.number in NUMBER[:4] else NUMBER[0]
    )  # their bounds are conditions of an update
    many = spec.many if spec.many in (MANY[1], MANY[3]) else MANY[0]
    spec = spec._replace(name=TEXT[0], text=TEXT[0], number=number, many=many, rule="", looks=False)
    return spec._replace(versioned=False, unique=False, counted=False, places=False)


SPECS: Final = _ANY | _ANY.map(_plain)
"""Classes of all kinds, and as often those whose updates by key read nothing and validate only what changes."""


def bounded(self: Any) -> Any:
    """A rule about two fields."""
    if self.number > 2 and self.note == "small":
        raise ValueError("what is small has a number of 2 at most")
    return self


def derived(self: Any) -> Any:
    """A rule that sets one field from another."""
    vars(self)["note"] = f"n{self.number}"
    return self


def filled(values: Any) -> Any:
    """A rule that completes what is given."""
    return {**values, "note": values.get("note") or "filled"} if isinstance(values, dict) else values


def no_echo(value: str, info: ValidationInfo) -> str:
    """A rule about a field and those before it."""
    if value == "echo" and info.data.get("number") == 3:
        raise ValueError("3 has no echo")
    return value


RULES: Final[Mapping[str, Callable[[], Any]]] = {
    "bounded": lambda: model_validator(mode="after")(bounded),
    "derived": lambda: model_validator(mode="after")(derived),
    "filled": lambda: model_validator(mode="before")(staticmethod(filled)),
}


INDEXES: Final = (GlobalIndex("GSI1"), GlobalIndex("GSI2", pk="GSI1PK", sk="GSI2SK"))
"""Two that share a key attribute."""

SMALL: Final = 3
"""A smaller number puts an entity into the first of two places in an index."""


def is_small(spec: Spec) -> Condition | Callable[[Any], bool]:
    """A condition of places, unique values and totals: as data, or as a function."""
    return (lambda one: bool(one.number < SMALL)) if spec.by_function else F.number < SMALL


def is_large(spec: Spec) -> Condition | Callable[[Any], bool]:
    return (lambda one: bool(one.number >= SMALL)) if spec.by_function else F.number >= SMALL


def label(self: Any) -> str | None:
    """A computed field, of two fields."""
    return None if self.text is None else f"{self.number}:{self.text}"


def place_of(spec: Spec, entity: Any) -> str | None:
    """The partition key of an entity in the index."""
    if spec.places and entity.number < SMALL:
        return f"SMALL#{entity.number}"
    if spec.together and not spec.places:
        return None if entity.text is None and entity.note is None else "ALL"
    if entity.text is None:
        return None
    kind = "LARGE#" if spec.places else f"LABEL#{entity.number}:" if spec.computed else "TEXT#"
    return f"{kind}{entity.text}"


def sort_of(spec: Spec, entity: Any) -> str | None:
    """The sort key of an entity in the index."""
    if spec.together and not spec.places:
        return entity.text  # type: ignore[no-any-return]  # of a class made here
    return entity.name if place_of(spec, entity) is not None else None


def note_of(spec: Spec, entity: Any) -> str | None:
    """The sort key of an entity in the other index, which has the same partition key."""
    has_partition = not spec.places and (spec.together or entity.text is not None)
    return f"N#{entity.note}" if has_partition and entity.note is not None else None


def claim_of(spec: Spec, entity: Any) -> str | None:
    """The unique value that an entity claims."""
    if not spec.unique or (spec.conditional and not entity.number < SMALL):
        return None
    return label(entity) if spec.computed else entity.text


def is_counted(spec: Spec) -> bool:
    """Whether entities are counted; those that expire cannot be."""
    return spec.counted and (spec.versioned or not spec.expires)


def totals_of(spec: Spec, entities: Iterable[Any]) -> dict[str, tuple[int, Decimal]]:
    """The number of the entities and the sum of their numbers, by what they are counted by."""
    found: dict[str, tuple[int, Decimal]] = {}
    for one in entities:
        of = label(one) if spec.computed else one.text
        if of is not None and (one.number < SMALL or not spec.conditional):
            count, total = found.get(of, (0, Decimal(0)))
            found[of] = count + 1, total + one.number
    return found


def stored_totals(items: Iterable[Item]) -> dict[str, tuple[int, Decimal]]:
    """The same, of stored items; without those of which nothing is left."""
    zero = {"N": "0"}  # a total that is absent
    found = {
        str(one["of"]["S"]): (int(one.get("things", zero)["N"]), Decimal(one.get("numbers", zero)["N"]))
        for one in items
        if "of" in one
    }
    return {of: totals for of, totals in found.items() if any(totals)}


def check_derived(spec: Spec, items: Iterable[Item], loaded: Mapping[str, Any]) -> None:
    """The stored items are those of the loaded entities, with the index keys, guards, versions and totals of these."""
    items = list(items)
    mains = [
        one
        for one in items
        if one["PK"]["S"].startswith("THING#") and one["SK"]["S"] in ("T", "v0_T") and "deleted" not in one
    ]
    assert sorted(f"THING#{name}" for name in loaded) == sorted(str(one["PK"]["S"]) for one in mains)
    for main in mains:
        _check_main(spec, main, items, loaded[str(main["PK"]["S"]).removeprefix("THING#")])
    claims = {claim_of(spec, one) for one in loaded.values()} - {None}
    guards = {str(one["PK"]["S"]) for one in items if str(one["PK"]["S"]).startswith("claim#")}
    assert guards == {f"claim#{claim}" for claim in claims}
    if is_counted(spec):
        assert stored_totals(items) == totals_of(spec, loaded.values())


def _check_main(spec: Spec, main: Item, items: Iterable[Item], entity: Any) -> None:
    if spec.indexed:
        assert main.get("GSI1PK", {}).get("S") == place_of(spec, entity)
        assert main.get("GSI1SK", {}).get("S") == sort_of(spec, entity)
        assert main.get("GSI2SK", {}).get("S") == note_of(spec, entity)
    kept = label(entity) if spec.computed and spec.kept else None
    assert main.get("theLabel", {}).get("S") == kept
    if (claim := claim_of(spec, entity)) is not None:
        (guard,) = [one for one in items if one["PK"]["S"] == f"claim#{claim}"]
        assert guard["owner"]["M"] == {name: main[name] for name in ("PK", "SK")}
        assert guard.get("until") == main.get("until")
    if spec.versioned:
        sort = f"v{main['version']['N']}_T"
        (version,) = [one for one in items if one["PK"] == main["PK"] and one["SK"]["S"] == sort]
        assert _versioned(spec, version) == _versioned(spec, main)


_UNVERSIONED: Final = frozenset(
    {"SK", "_type", "GSI1PK", "GSI1SK", "GSI2SK", "_rev", "version_number", "previous_deletion"}
)


def _versioned(spec: Spec, item: Item) -> Item:
    """What a version repeats of the latest copy."""
    return {name: one for name, one in item.items() if name not in _UNVERSIONED}


def _counted(spec: Spec, table: Table) -> Aggregate:
    class Total(Entity, table=table, pk="TOTAL#{of}", sk="TOTAL"):
        of: str
        things: int = 0
        numbers: Decimal = Decimal(0)

    when = is_small(spec) if spec.conditional else None
    by = "label" if spec.computed else "text"
    return Aggregate(Total, count="things", sum={"number": "numbers"}, key={"of": by}, when=when)


def make(spec: Spec) -> type[Entity]:
    """A class on a table of its own, which is named by its settings."""
    annotations, defaults = fields_of(spec)
    body: dict[str, Any] = dict(defaults)
    keywords: dict[str, Any] = {"table": table_of(spec), "pk": "THING#{name}", "sk": "T"}
    if spec.computed:
        body["label"] = computed_field(property(labelled(spec)))
    if is_counted(spec):
        body["is_counted"] = _counted(spec, keywords["table"])
    if spec.indexed:
        body |= _indexes(spec)
    if spec.looks:
        body["no_echo"] = field_validator("note")(staticmethod(no_echo))
    if spec.rule:
        body["rule"] = RULES[spec.rule]()
    if spec.versioned:
        keywords["versioned"] = True
    if says_type(spec):
        keywords["name"] = None
    members = {"__annotations__": annotations, "__module__": __name__, **body}
    return types.new_class("Thing", (Entity,), keywords, lambda namespace: namespace.update(members))


def _indexes(spec: Spec) -> dict[str, Index]:
    if spec.places:
        return {
            "small": Index("GSI1", pk="SMALL#{number!s}", sk="{name}", when=is_small(spec)),
            "large": Index("GSI1", pk="LARGE#{text}", sk="{name}", when=is_large(spec)),
        }
    if spec.together:  # either keeps the entity in the partition
        return {
            "by_text": Index("GSI1", pk="ALL", sk="{text}"),
            "by_note": Index("GSI2", pk="ALL", sk="N#{note}"),
        }
    text = "LABEL#{label}" if spec.computed else "TEXT#{text}"
    return {"by_text": Index("GSI1", pk=text, sk="{name}"), "by_note": Index("GSI2", pk=text, sk="N#{note}")}


def labelled(spec: Spec) -> Callable[[Any], Any]:
    """The function of the computed field, with markers if that is unique, or says what it looks at."""

    def computed(self: Any) -> Any:
        return label(self)

    kind: Any = str | None
    if spec.kept:
        kind = Annotated[kind, Stored("theLabel")]
    if spec.told:
        kind = Annotated[kind, Computed(of=("number", "text"))]
    computed.__annotations__["return"] = Annotated[kind, _unique(spec)] if spec.unique else kind
    return computed


def _unique(spec: Spec) -> Unique:
    return Unique("claim", when=is_small(spec) if spec.conditional else None)


def fields_of(spec: Spec) -> tuple[dict[str, Any], dict[str, Any]]:
    """The annotations and the defaults of the fields."""
    text: Any = spec.text.annotation | None if spec.optional_text else spec.text.annotation
    annotations: dict[str, Any] = {
        "name": spec.name.annotation,
        "number": spec.number.annotation,
        "text": Annotated[text, _unique(spec)] if spec.unique and not spec.computed else text,
        "note": str | None,
        "many": spec.many.annotation,
        "other": spec.other.annotation,
    }
    defaults: dict[str, Any] = {
        "number": spec.number.default,
        "note": None,
        "many": Field(default_factory=lambda: spec.many.default),
        "other": spec.other.default,
    }
    if spec.optional_text:
        defaults["text"] = None
    if spec.expires and not spec.versioned:
        annotations["until"] = Annotated[datetime | None, ExpiresAt(unit="ms" if spec.milliseconds else "s")]
        defaults["until"] = None
    if spec.times:
        annotations |= {
            "created": Annotated[datetime | None, CreatedAt()],
            "changed": Annotated[datetime | None, UpdatedAt()],
            "created_ms": Annotated[datetime | None, CreatedAt(), Attribute(codec=EPOCH_MILLISECONDS)],
            "changed_iso": Annotated[datetime | None, UpdatedAt(), Attribute("changedAt", codec=ISO_SECONDS)],
        }
        defaults |= dict.fromkeys(KEPT)
    if says_type(spec):
        annotations["kind"] = Literal["x", "y"] if spec.typed == "field" else str
        defaults["kind"] = "x"
    return annotations, defaults


def says_type(spec: Spec) -> bool:
    """Whether a field of the class is the type attribute. Versions have no type."""
    return spec.typed in ("field", "any") and not spec.versioned


def table_of(spec: Spec) -> Table:
    settings: dict[str, Any] = {}
    if not spec.typed:
        settings["type_attribute"] = None
    if says_type(spec):
        settings["type_attribute"] = "kind"
    if spec.revision != "text":
        settings["revision_attribute"] = NumberRevision("version_number") if spec.revision else None
    return Table("written", indexes=INDEXES, **settings)
