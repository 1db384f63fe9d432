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
from dynaorm.item.condition import And, Attr, Compare, Condition, Or, SizeOf, missing
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.blind import bounds_of, decided_index_keys, edits_without_reading
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
from tests.plan.test_image import Both

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
    seen: str = ""
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
    place: Annotated[str, InKey()] = ""
    watched: Annotated[str, InKey()] = ""
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{place}#{watched}")

    @field_validator("seen", "watched")
    @classmethod
    def look(cls, seen: str, info: ValidationInfo) -> str:
        return seen or str(info.data.get("seen", ""))


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


class Sorted(Entity, table=app, pk="SORTED#{name}", sk="S"):
    name: str
    kind: str = "k"
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{name}")


class Either(Entity, table=app, pk="EITHER#{name}", sk="E"):
    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="ONE#{one}", sk="{name}")
    by_other = Index("GSI1", pk="OTHER#{other}", sk="{name}")


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
        return edits_without_reading(mapping, key, changes) is None
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
        (F.part.set(Part()), BLIND),
        (F.seen.set("x"), READS),
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


def test_a_field_that_lives_in_an_index_key_reads_only_if_its_validators_look_at_others() -> None:
    both = (F.place.set("a"), F.watched.set("b"))
    assert needs_reading(mapping_of(Ruled), key_of(Ruled), both)

    class Placed(Entity, table=app, pk="PLACED#{name}", sk="P"):
        name: str
        place: Annotated[str, InKey()] = ""
        by_place = Index("GSI1", pk="AT#{place}", sk="{place}")

    assert not needs_reading(mapping_of(Placed), key_of(Placed), (F.place.set("a"),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.boxes["a"].label.remove(), READS),
        (F.boxes["a"].remove(), BLIND),
        (F.encoded.add(1), READS),
        (F.spelled.add("a"), BLIND),
    ],
    ids=["a part of a model", "a model", "an encoding of its own", "no number"],
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
        (F.grid[0].append("x"), None),
        (F.counts["a"].add(1), None),
    ],
)
def test_bounds_become_conditions_on_what_is_stored(change: Change, expected: Condition | None) -> None:
    assert bounds_of(mapping_of(Ruled), (change,)) == expected


def test_index_keys_that_the_edit_fixes_come_along() -> None:
    mapping, key = mapping_of(Ticket), key_of(Ticket)
    assert decided_index_keys(mapping, key, (F.status.set("done"), F.queue.set("r"))) == (
        SetTo(("GSI1PK",), {"S": "STATUS#done"}),
        SetTo(("GSI1SK",), {"S": "r"}),
    )
    assert decided_index_keys(mapping, key, (F.status.set(None), F.queue.set("r"))) == (
        Remove(("GSI1PK",)),
        Remove(("GSI1SK",)),
    )


def test_the_keys_of_all_indexes_that_an_edit_fixes_come_along() -> None:
    changes = (F.one.set("a"), F.other.set(None))
    assert decided_index_keys(mapping_of(Twofold), key_of(Twofold), changes) == (
        SetTo(("GSI1PK",), {"S": "ONE#a"}), SetTo(("GSI1SK",), {"S": "a"}),
        Remove(("GSI2PK",)), Remove(("GSI2SK",)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((F.other.set(None),), None),
        (
            (F.other.set(None), F.one.set("a")),
            (SetTo(("X",), {"S": "BOTH"}), SetTo(("Y",), {"S": "a"}), Remove(("Z",))),
        ),
        ((F.other.set(None), F.one.set(None)), (Remove(("X",)), Remove(("Y",)), Remove(("Z",)))),
    ],
)
def test_a_key_attribute_of_two_indexes_goes_only_if_neither_needs_it(
    changes: tuple[Change, ...], expected: tuple[Change, ...] | None
) -> None:
    assert decided_index_keys(mapping_of(Both), key_of(Both), changes) == expected


def test_the_key_and_the_edit_together_decide_an_index() -> None:
    mapping, key = mapping_of(Sorted), Key(Sorted, name="a").primary_key
    assert decided_index_keys(mapping, key, (F.kind.set("x"),)) == (
        SetTo(("GSI1PK",), {"S": "KIND#x"}),
        SetTo(("GSI1SK",), {"S": "a"}),
    )


def test_of_two_places_in_an_index_the_one_that_the_edit_fills_is_decided() -> None:
    mapping, key = mapping_of(Either), Key(Either, name="a").primary_key
    for one, other, filled in (("x", None, "ONE#x"), (None, "x", "OTHER#x")):
        keys = decided_index_keys(mapping, key, (F.one.set(one), F.other.set(other)))
        assert keys == (SetTo(("GSI1PK",), {"S": filled}), SetTo(("GSI1SK",), {"S": "a"}))


# -- indexes whose keys are the fields' own attributes -----------------------------------------------------------------

shop = Table("blind-shop", indexes=[GlobalIndex("BySku", pk="sku", sk="SK")])


class Line(Entity, table=shop, pk="CART#{cart}", sk="LINE#{number:03d}"):
    cart: str
    number: int
    sku: str
    by_sku = Index("BySku", pk="{sku}")


def test_a_field_that_is_an_index_key_itself_is_set_without_reading() -> None:
    mapping, key = mapping_of(Line), Key(Line, cart="c", number=1).primary_key
    assert not needs_reading(mapping, key, (F.sku.set("x"),))
    assert decided_index_keys(mapping, key, (F.sku.set("x"),)) == ()
    with pytest.raises(InvalidValue, match="sku"):
        decided_index_keys(mapping, key, (F.sku.set(""),))


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
        ((F.state.set("new"), F.size.set(10), F.note.set("also")), None),
    ],
    ids=[
        "one place",
        "other place",
        "no place",
        "size unknown",
        "state unknown",
        "removed",
        "two places",
    ],
)
def test_an_index_with_conditions_is_decided_by_an_edit_that_decides_all_of_them(
    changes: tuple[Change, ...], keys: tuple[Change, ...] | None
) -> None:
    mapping, key = mapping_of(Job), Key(Job, name="a").primary_key
    assert decided_index_keys(mapping, key, changes) == keys
    assert needs_reading(mapping, key, changes) is (keys is None)
