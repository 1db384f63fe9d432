"""Which edits by key are sent without reading, and the conditions that hold them to the rules of their fields."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Table,
    Unique,
)
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import (
    And,
    Attr,
    Compare,
    Condition,
    Or,
    SizeOf,
    UnknownAttribute,
    exists,
    missing,
)
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read, merge_intents
from dynaorm.plan.intent import Edit
from dynaorm.plan.rule_conditions import bounds_of
from dynaorm.plan.without_reading import edit_without_reading, index_changes
from tests.plan.cast import Audit, Both, Coupon, Document, Held, Person, Renamed, Stock
from tests.plan.compiling import NOW

app = Table(
    "blind-app",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("GSI2"),
        GlobalIndex("Ranks", sk=NumberKey("rank")),
        GlobalIndex("Titles", sk="heading"),
    ],
)
BLIND, READS = False, True
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Part(BaseModel):
    size: Annotated[int, Field(ge=0)] = 0


class Label(BaseModel):
    text: str


class Ruled(Entity, table=app, pk="RULED#{name}", sk="R"):
    name: str
    plain: int = 0
    small: Annotated[int, Field(ge=0, lt=10)] = 0
    even: Annotated[int, Field(multiple_of=2)] = 0
    share: Annotated[float, Field(gt=0)] = 1.0
    exact: Annotated[Decimal, Field(max_digits=3)] = Decimal(0)
    shown: Annotated[str, AfterValidator(str.lower)] = ""
    few: Annotated[list[str], Field(max_length=3)] = Field(default_factory=list)
    tags: Annotated[set[str], Field(min_length=0, max_length=3)] = Field(default_factory=set)
    some: Annotated[set[str], Field(min_length=1)] = Field(default_factory=lambda: {"a"})
    lower: list[Annotated[str, AfterValidator(str.lower)]] = Field(default_factory=list)
    part: Part = Part()
    label: Label = Label(text="l")
    colours: set[str] | str = Field(default={"red"})
    counts: dict[str, int] = Field(default_factory=dict)
    levels: dict[str, Literal[1, 2]] = Field(default_factory=dict)
    bits: Annotated[set[str], Field(min_length=1, max_length=3)] = Field(default_factory=set)
    grid: Annotated[list[list[str]], Field(max_length=3)] = Field(default_factory=list)
    own_size: Annotated[
        int, Field(ge=0), Attribute(encode=lambda n: {"N": str(-n)}, decode=lambda one: -int(one["N"]))
    ] = 0
    price: Annotated[Decimal, Field(ge=5)] = Decimal(5)
    maybe: set[str] | None = None
    spelled: Annotated[str, Field(min_length=1)] = "a"
    doubled: Annotated[
        int, Field(multiple_of=2), Attribute(encode=lambda n: {"N": str(n)}, decode=lambda one: int(one["N"]))
    ] = 0


class Twice(Entity, table=app, pk="TWICE#{name}", sk="T"):
    name: str
    home: Label
    work: Label | None = None
    labels: list[Label] = Field(default_factory=list)
    part: Part = Part()
    parts: list[Part] = Field(default_factory=list)


class Ranked(Entity, table=app, pk="RANKED#{name}", sk="R"):
    name: str
    queue: str = "q"
    rank: int = 0
    heading: str | None = None
    by_rank = Index("Ranks", pk="QUEUE#{queue}", sk="{rank}")
    by_heading = Index("Titles", pk="QUEUE#{queue}", sk="{heading}")
    by_name = Index("GSI1", pk="NAMES", sk="{name}")


class Boxed(Entity, table=app, pk="BOXED#{name}", sk="B"):
    name: str
    boxes: dict[str, Label] = Field(default_factory=dict)


class Looking(Entity, table=app, pk="LOOKING#{name}", sk="L"):
    name: str
    before: int = 0
    part: Part = Part()
    seen: str = ""
    after: int = 0
    place: Annotated[str, InKey()] = ""
    watched: Annotated[str, InKey()] = ""
    last: int = 0
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{place}#{watched}")

    @field_validator("seen", "watched")
    @classmethod
    def look(cls, seen: str, info: ValidationInfo) -> str:
        return seen or str(info.data.get("seen", ""))


class Made(Entity, table=app, pk="MADE#{name}", sk="M"):
    name: str
    title: str = ""
    size: int = 0
    slug: str = Field(default_factory=lambda data: str(data["title"]).lower())
    tags: set[str] = Field(default_factory=lambda data: {str(data["title"])})
    last: int = 0
    by_title = Index("GSI1", pk="TITLE#{title}", sk="{name}")


class Address(BaseModel):
    city: str = ""


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T"):
    number: int
    status: str | None = "open"
    queue: str = "q"
    visits: Annotated[int, Field(ge=0)] = 0
    title: Annotated[str, Attribute("name_of_it")] = ""
    parts: list[str] = Field(default_factory=list)
    address: Address = Address()
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{queue}")


class Fleeting(Entity, table=app, pk="FLEETING#{name}", sk="F"):
    name: str
    until: Annotated[datetime | None, ExpiresAt()] = None


class Slugged(Entity, table=app, pk="SLUGGED#{slug}", sk="S"):
    name: str

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def slug(self) -> str:
        return self.name.lower()


class Whole(Entity, table=app, pk="WHOLE#{name}", sk="W"):
    name: str
    size: int = 0

    @model_validator(mode="after")
    def check(self) -> "Whole":
        return self


def key_of(entity: type[Entity]) -> Item:
    """Some key of the class."""
    mapping = mapping_of(entity)
    return mapping.primary_key.of({name: 1 if name == "number" else "x" for name in mapping.key_fields})


def needs_reading(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> bool:
    try:
        return isinstance(edit_without_reading(mapping, key, changes), str)
    except InvalidValue:
        return False  # refused at once


# Per class, the changes that are sent without reading, and those that are not.
CASES: dict[type[Entity], tuple[list[Any], list[Any]]] = {
    Ticket: (
        [F.visits.add(1), (F.title.set("x"), F.parts.append("p")), F.address.city.set("x"),
         (F.status.set("done"), F.queue.set("r")), (F.status.remove(), F.queue.set("r"))],
        [F.status.set("done"), F.status.remove()],
    ),
    Twice: (
        [F.home.text.set("x"), F.work.text.set("y"), F.labels.append(Label(text="x"))],
        [F.part["size"].set(1), F.parts.append(Part())],
    ),
    Ranked: (  # a text that may be None decides whether the entity is in the index
        [F.rank.set(1), F.rank.add(1), F.rank.set_if_missing(1)],
        [F.queue.set("r"), F.heading.set("x"), F.heading.remove()],
    ),
    Coupon: ([F.left.add(1)], [F.alias.set("x"), F.until.set(NOON)]),
    Fleeting: ([F.until.set(NOON)], []),
    Person: ([], [F.email.set("x"), F.seat.add(1), F.tenant.set("x"), F.note.set("y")]),  # when= may look at a note
    Document: ([], [F.text.set("y")]),
    Audit: ([F.note.set("y")], [F.result.set("y")]),
    Renamed: ([F.left.add(1)], [F.kind.set("x")]),  # it may be stored under a former name
    Whole: ([], [F.size.set(1)]),  # a validator of the model looks at all
    Held: ([F.place.set("a")], []),
    Stock: ([F.note.set("x")], []),
    Made: (
        [F.title.set("x"), F.slug.set("y")],  # the first only if what a factory makes of the title is stored
        [F.slug.remove()],
    ),
    Looking: (  # a validator of another field may look at what changes
        [F.last.set(1), F.last.add(1)],
        [F.before.set(1), F.before.add(1), F.before.remove(), F.before.set_if_missing(1), F.part["size"].add(1),
         F.seen.set("x"),
         F.after.set(1),  # the field in the key is declared after it, and looks at it
         (F.place.set("a"), F.watched.set("b"))],
    ),
    Ruled: (  # the rules of a field depend on more than the change
        [F.plain.add(1), F.small.add(1), F.shown.set("X"), F.few.append("x"), F.tags.add("x"), F.tags.discard("x"),
         F.some.add("x"), F.part.remove(), F.shown.remove(), F.small.add("x"), F.shown.add(1), F.label.text.set("x"),
         F.counts["a"].remove(), F.counts["a"].add(1), F.levels["a"].set(1), F.price.add(1),
         F.spelled.add("a")],
        [F.even.add(2), F.share.add(0.5), F.exact.add(1), F.few[0].set("x"), F.some.discard("x"), F.lower.append("x"),
         F.part["size"].set(1), F.part.set(Part()), F.label.text.remove(), F.part["size"].remove(),
         F.levels["a"].add(1), F.colours.add("x"), F.colours.discard("x"), F.own_size.add(1),
         F.price.add(Decimal("1e-100")), F.doubled.add(1)],
    ),
    Boxed: (
        [F.boxes["a"].text.set("x"), F.boxes["a"].remove()],
        [F.boxes["a"].label.remove(),  # no part of a model
         F.boxes["a"].set(Label(text="x"))],  # a model over another
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("entity", "changes", "expected"),
    [
        pytest.param(
            kind, one if isinstance(one, tuple) else (one,), expected, id=f"{kind.__name__}: {one!r}"
        )
        for kind, cases in CASES.items()
        for expected, changes in zip((BLIND, READS), cases, strict=True)
        for one in changes
    ],
)
def test_an_update_reads_only_where_what_follows_depends_on_what_is_stored(
    entity: type[Entity], changes: tuple[Change, ...], expected: bool
) -> None:
    assert needs_reading(mapping_of(entity), key_of(entity), changes) is expected


def test_an_update_of_a_field_that_the_key_is_computed_from_reads() -> None:
    assert needs_reading(mapping_of(Slugged), Key(Slugged, slug="liz").primary_key, (F.name.set("Liz"),))


def test_what_a_factory_makes_of_other_fields_has_to_be_stored_for_an_update_that_reads_nothing() -> None:
    mapping = mapping_of(Made)
    assert bounds_of(mapping, (F.title.set("x"),)) == exists("slug")
    assert bounds_of(mapping, (F.size.add(1),)) == exists("slug")
    assert bounds_of(mapping, (F.last.add(1),)) is None
    assert bounds_of(mapping, (F.title.set("x"), F.slug.set("y"))) is None


def size(operator: str, path: str, bound: int) -> Condition:
    # The type of an operand is that of a field; a size is one, too.
    operand: Any = SizeOf((path,))
    return Compare(operand, operator, {"N": str(bound)})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.plain.add(1), None),
        (F.shown.set("X"), None),
        (
            F.small.add(-2),
            And(
                (
                    Compare(Attr(("small",)), ">=", {"N": "2"}),
                    Compare(Attr(("small",)), "<", {"N": "12"}),
                )
            ),
        ),
        (F.few.append("x", "y"), size("<=", "few", 1)),
        (F.few.prepend("x"), size("<=", "few", 2)),
        (F.tags.add({"x", "y"}), Or((missing("tags"), size("<=", "tags", 1)))),
        (F.some.add("x"), size(">=", "some", 1)),
        (F.tags.add("xy"), Or((missing("tags"), size("<=", "tags", 2)))),
        (F.bits.add("x"), And((size(">=", "bits", 1), Or((missing("bits"), size("<=", "bits", 2)))))),
        (
            F.bits.add({"x", "y", "z"}),
            And((size(">=", "bits", 1), Or((missing("bits"), size("<=", "bits", 0))))),
        ),
        (F.tags.discard("x"), None),
        (F.maybe.discard("x", "y"), Or((missing("maybe"), size(">", "maybe", 2)))),
        (F.counts["a"].add(1), None),
    ],
)
def test_bounds_become_conditions_on_what_is_stored(change: Change, expected: Condition | None) -> None:
    assert bounds_of(mapping_of(Ruled), (change,)) == expected


# -- which index keys follow from an edit by key alone -----------------------------------------------------------------


class Twofold(Entity, table=app, pk="TWOFOLD#{name}", sk="T"):
    """In two indexes, and in one of two places of a third."""

    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="ONE#{one}", sk="{one}")
    by_other = Index("GSI2", pk="OTHER#{other}", sk="{other}")


class Either(Entity, table=app, pk="EITHER#{name}", sk="E"):
    """In one of two places of an index."""

    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="ONE#{one}", sk="{name}")
    by_other = Index("GSI1", pk="OTHER#{other}", sk="{name}")


def keys_after(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> tuple[Change, ...] | None:
    """The changes of index keys; None if they depend on what is stored."""
    try:
        return index_changes(mapping, key, changes)
    except UnknownAttribute:
        return None


@pytest.mark.parametrize(
    ("kind", "one", "other", "expected"),
    [
        (Twofold, "a", None, {"GSI1PK": "ONE#a", "GSI1SK": "a", "GSI2PK": None, "GSI2SK": None}),
        (Both, "unchanged", None, None),
        (Both, "a", None, {"X": "BOTH", "Y": "a", "Z": None}),
        (Both, None, None, {"X": None, "Y": None, "Z": None}),
        (Either, "x", None, {"GSI1PK": "ONE#x", "GSI1SK": "x"}),
        (Either, None, "x", {"GSI1PK": "OTHER#x", "GSI1SK": "x"}),
    ],
    ids=["two indexes", "one of two that share an attribute", "both, of which one needs it", "both, and neither does",
         "one of two places", "the other place"],
)  # fmt: skip
def test_index_keys_follow_from_an_edit_that_decides_all_that_share_an_attribute(
    kind: type[Entity], one: str | None, other: str | None, expected: dict[str, str | None] | None
) -> None:
    changes = (F.other.set(other), *(() if one == "unchanged" else (F.one.set(one),)))
    found = keys_after(mapping_of(kind), key_of(kind), changes)
    assert found == (
        None
        if expected is None
        else tuple(
            Remove((name,)) if value is None else SetTo((name,), {"S": value})
            for name, value in expected.items()
        )
    )


# -- indexes whose keys are the fields' own attributes -----------------------------------------------------------------


states = Table(
    "blind-states",
    indexes=[
        GlobalIndex("ByState", pk="state", sk="at"),
        GlobalIndex("Rank", pk="state", sk=NumberKey("rank")),
    ],
)


class Task(Entity, table=states, pk="TASK#{name}", sk="T"):
    name: str
    state: str | None
    at: str
    rank: int = 0
    by_state = Index("ByState", pk="{state}", sk="{at}")
    ranked = Index("Rank", pk="{state}", sk="{rank}")


@pytest.mark.parametrize("change", [F.state.set(""), F.at.set(""), F.at.set("x" * 1025)])
def test_a_value_that_cannot_be_the_key_of_an_index_is_refused_without_reading(change: Change) -> None:
    with pytest.raises(InvalidValue, match="key"):
        index_changes(mapping_of(Task), Key(Task, name="a").primary_key, (change,))


class Job(Entity, table=app, pk="JOB#{name}", sk="J"):
    name: str
    state: str = "new"
    size: int = 0
    note: str = ""
    pending = Index("GSI1", pk="PENDING#{state}", sk="{name}", when=F.state == "new")
    large = Index("GSI1", pk="LARGE", sk="{size:04d}", when=(F.state != "new") & (F.size > 9))
    noted = Index("GSI1", pk="NOTED", sk="{note}", when=F.note == "also")


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        (
            (F.state.set("new"), F.note.set("x")),
            (SetTo(("GSI1PK",), {"S": "PENDING#new"}), SetTo(("GSI1SK",), {"S": "a"})),
        ),
        (
            (F.state.set("done"), F.size.set(10), F.note.set("x")),
            (SetTo(("GSI1PK",), {"S": "LARGE"}), SetTo(("GSI1SK",), {"S": "0010"})),
        ),
        ((F.state.set("done"), F.size.set(3), F.note.set("x")), (Remove(("GSI1PK",)), Remove(("GSI1SK",)))),
        ((F.state.set("done"),), None),
        ((F.size.set(3),), None),
        ((F.state.remove(),), None),
    ],
    ids=[
        "one place",
        "other place",
        "no place",
        "size unknown",
        "state unknown",
        "removed",
    ],
)
def test_an_index_with_conditions_is_decided_by_an_edit_that_decides_all_of_them(
    changes: tuple[Change, ...], keys: tuple[Change, ...] | None
) -> None:
    mapping, key = mapping_of(Job), Key(Job, name="a").primary_key
    assert keys_after(mapping, key, changes) == keys
    assert needs_reading(mapping, key, changes) is (keys is None)


def test_two_places_that_an_edit_fills_are_refused() -> None:
    changes = (F.state.set("new"), F.size.set(10), F.note.set("also"))
    with pytest.raises(InvalidValue, match=r"puts the entity into pending .* and noted"):
        index_changes(mapping_of(Job), Key(Job, name="a").primary_key, changes)


# -- what the key of an item says about every entity that may be stored under it ---------------------------------------


known = Table("known-entity", indexes=[GlobalIndex("GSI1")])


class Shelf(Entity, table=known, pk="SHELF#{name}", sk="S"):
    name: str
    books: int = 0


class Book(Entity, table=known, pk="BOOK#{kind}", sk="{number:03d}"):
    """Only novels are in the index, have a unique title and are counted."""

    kind: str
    number: int
    title: Annotated[str | None, Unique(when=F.kind == "novel")] = None
    shelf: str | None = None
    read: bool = False
    on_shelf = Aggregate(Shelf, count="books", key={"name": "shelf"}, when=F.kind == "novel")
    by_title = Index("GSI1", pk="{title}", sk="{number:03d}", when=F.kind == "novel")


class Alike(Entity, table=known, pk="ALIKE#{name:lower}", sk="A"):
    """Its key does not say how the name is written, and only one way to write it is in the index."""

    name: str
    seen: int = 0
    by_name = Index("GSI1", pk="ALIKE", sk="{name}", when=F.name == "Ann")


def reads(target: Key[Any], *changes: Change, creates: bool = False) -> bool:
    return bool(items_to_read(merge_intents([Edit(target, changes, creates=creates)], NOW)))


@pytest.mark.parametrize("creates", [False, True])
@pytest.mark.parametrize(("kind", "expected"), [("novel", True), ("atlas", False)])
def test_a_condition_on_the_key_decides_about_indexes_and_guards(
    kind: str, expected: bool, creates: bool
) -> None:
    key = Key(Book, kind=kind, number=1)
    assert reads(key, F.title.set("x"), creates=creates) is expected
    # A book that is created so has neither a title nor a shelf: nothing is claimed or counted.
    assert not reads(key, F.read.set(True), creates=creates)


def test_an_upsert_reads_where_entities_under_one_key_differ_in_what_an_index_asks() -> None:
    # Of "ann" and "Ann", only the second is in the index, and the item under their key may be of either.
    assert reads(Key(Alike, name="Ann"), F.seen.add(1), creates=True)
    assert not reads(Key(Alike, name="ann"), F.seen.add(1), creates=True)
