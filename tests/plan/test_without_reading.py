"""Which edits by key are sent without reading, and the conditions that hold them to the rules of their fields."""

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

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, InKey, Key, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import And, Attr, Compare, Condition, Or, SizeOf, exists, missing
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.plan.bounds import bounds_of
from dynaorm.plan.without_reading import edit_without_reading
from tests.plan.test_edit import (
    NOON,
    Account,
    Audit,
    Document,
    Fleeting,
    Picky,
    Ticket,
    Twofold,
)

app = Table("blind-app", indexes=[GlobalIndex("GSI1")])
BLIND, READS = False, True


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


class Nested(Entity, table=app, pk="NESTED#{name}", sk="N"):
    name: str
    boxes: dict[str, Label] = Field(default_factory=dict)
    encoded: Annotated[
        int, Field(multiple_of=2), Attribute(encode=lambda n: {"N": str(n)}, decode=lambda one: int(one["N"]))
    ] = 0
    spelled: Annotated[str, Field(min_length=1)] = "a"


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
    return mapping.primary_key(
        {name: 1 if entity.model_fields[name].annotation is int else "x" for name in mapping.key_fields}
    )


def needs_reading(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> bool:
    try:
        return edit_without_reading(mapping, key, changes) is None
    except InvalidValue:
        return False  # refused at once


@pytest.mark.parametrize(
    ("entity", "changes", "expected"),
    [
        (Ticket, [F.visits.add(1)], BLIND),
        (Ticket, [F.title.set("x"), F.parts.append("p")], BLIND),
        (Ticket, [F.address.city.set("x")], BLIND),
        (Ticket, [F.status.set("done"), F.queue.set("r")], BLIND),
        (Ticket, [F.status.set("done")], READS),
        (Ticket, [F.status.remove(), F.queue.set("r")], READS),
        (Account, [F.note.set("x")], BLIND),
        (Account, [F.email.set("x")], READS),
        (Account, [F.number.add(1)], READS),
        (Account, [F.tenant.set("x")], READS),
        (Account, [F.until.set(NOON)], READS),
        (Fleeting, [F.until.set(NOON)], BLIND),
        (Picky, [F.note.set("y")], READS),
        (Document, [F.text.set("y")], READS),
        (Audit, [F.note.set("y")], BLIND),
        (Audit, [F.result.set("y")], READS),
    ],
)
def test_an_update_reads_only_where_something_derived_depends_on_it(
    entity: type[Entity], changes: list[Change], expected: bool
) -> None:
    assert needs_reading(mapping_of(entity), key_of(entity), tuple(changes)) is expected


def test_a_field_that_may_be_stored_under_a_former_name_needs_reading() -> None:
    assert needs_reading(mapping_of(Twofold), key_of(Twofold), (F.note.set("x"),))
    assert not needs_reading(mapping_of(Twofold), key_of(Twofold), (F.size.add(1),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.plain.add(1), BLIND),
        (F.small.add(1), BLIND),
        (F.even.add(2), READS),
        (F.share.add(0.5), READS),
        (F.exact.add(1), READS),
        (F.shown.set("X"), BLIND),
        (F.few.append("x"), BLIND),
        (F.few[0].set("x"), READS),
        (F.tags.add("x"), BLIND),
        (F.tags.discard("x"), BLIND),
        (F.some.add("x"), BLIND),
        (F.some.discard("x"), READS),
        (F.lower.append("x"), READS),
        (F.part["size"].set(1), READS),
        (F.part.set(Part()), READS),
        (F.part.remove(), BLIND),
        (F.shown.remove(), BLIND),
        (F.small.add("x"), BLIND),
        (F.shown.add(1), BLIND),
        (F.label.text.set("x"), BLIND),
        (F.label.text.remove(), READS),
        (F.part["size"].remove(), READS),
        (F.counts["a"].remove(), BLIND),
        (F.counts["a"].add(1), BLIND),
        (F.levels["a"].set(1), BLIND),
        (F.levels["a"].add(1), READS),
        (F.colours.add("x"), READS),
        (F.colours.discard("x"), READS),
        (F.own_size.add(1), READS),
        (F.price.add(1), BLIND),
        (F.price.add(Decimal("1e-100")), READS),
    ],
)
def test_an_update_reads_where_the_rules_of_a_field_depend_on_more_than_the_change(
    change: Change, expected: bool
) -> None:
    assert needs_reading(mapping_of(Ruled), key_of(Ruled), (change,)) is expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.before.set(1), READS),
        (F.before.add(1), READS),
        (F.before.remove(), READS),
        (F.before.set_if_missing(1), READS),
        (F.part["size"].add(1), READS),
        (F.seen.set("x"), READS),
        (F.after.set(1), READS),  # the field in the key is declared after it, and looks at it
        (F.last.set(1), BLIND),
        (F.last.add(1), BLIND),
    ],
)
def test_an_update_reads_if_a_validator_of_another_field_may_look_at_what_changes(
    change: Change, expected: bool
) -> None:
    assert needs_reading(mapping_of(Looking), key_of(Looking), (change,)) is expected


def test_what_a_factory_makes_of_other_fields_has_to_be_stored_for_an_update_that_reads_nothing() -> None:
    mapping, key = mapping_of(Made), key_of(Made)
    assert bounds_of(mapping, (F.title.set("x"),)) == exists("slug")
    assert bounds_of(mapping, (F.size.add(1),)) == exists("slug")
    assert bounds_of(mapping, (F.last.add(1),)) is None
    assert bounds_of(mapping, (F.title.set("x"), F.slug.set("y"))) is None
    assert not needs_reading(mapping, key, (F.title.set("x"),))
    assert not needs_reading(mapping, key, (F.slug.set("y"),))
    assert needs_reading(mapping, key, (F.slug.remove(),))


def test_a_field_that_lives_in_an_index_key_reads_only_if_its_validators_look_at_others() -> None:
    both = (F.place.set("a"), F.watched.set("b"))
    assert needs_reading(mapping_of(Looking), key_of(Looking), both)

    class Placed(Entity, table=app, pk="PLACED#{name}", sk="P"):
        name: str
        place: Annotated[str, InKey()] = ""
        by_place = Index("GSI1", pk="AT#{place}", sk="{place}")

    assert not needs_reading(mapping_of(Placed), key_of(Placed), (F.place.set("a"),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.boxes["a"].label.remove(), READS),
        (F.boxes["a"].set(Label(text="x")), READS),
        (F.boxes["a"].text.set("x"), BLIND),
        (F.boxes["a"].remove(), BLIND),
        (F.encoded.add(1), READS),
        (F.spelled.add("a"), BLIND),
    ],
    ids=[
        "no part of a model",
        "a model over another",
        "a part of a model",
        "a model",
        "an encoding of its own",
        "no number",
    ],
)
def test_an_update_reads_where_the_change_may_leave_what_does_not_load(
    change: Change, expected: bool
) -> None:
    assert needs_reading(mapping_of(Nested), key_of(Nested), (change,)) is expected


def test_an_update_of_a_field_that_the_key_is_computed_from_reads() -> None:
    assert needs_reading(mapping_of(Slugged), Key(Slugged, slug="liz").primary_key, (F.name.set("Liz"),))


def test_every_update_of_a_class_with_model_validators_reads() -> None:
    assert needs_reading(mapping_of(Whole), key_of(Whole), (F.size.set(1),))


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
