"""Intents of a unit of work are merged item by item, or refused if the order of calls would decide."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from dynaorm import Entity, F, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.state import state_of
from dynaorm.errors import KeyChanged, SameItemTwice, StaleEntity, UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.item.condition import And
from dynaorm.item.update import SetTo, apply_changes
from dynaorm.plan.changes import ItemIntents, merge_intents
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save
from dynaorm.plan.stored import ItemEdit
from dynaorm.record import replace
from tests.plan.cast import Coupon, Document, Fragile, Stock, User
from tests.plan.compiling import NOW, committed, loaded, plan_of, saved

app = Table("merged")


class Labelled(Entity, table=app, pk="LABELLED#{sku}", sk="L"):
    sku: str
    left: int = 0
    label: Annotated[str, AfterValidator(str.lower)] = ""


class Doubtful(Labelled):
    none: int = None  # type: ignore[assignment]  # that is the fault
    low: Annotated[int, Field(ge=1)] = 0


def merged(*intents: Intent) -> ItemIntents:
    (one,) = merge_intents(intents, NOW)
    return one


def given(one: ItemIntents) -> tuple[Intent | None, Intent | None]:
    """The intents that delete and write the item, as merged."""
    removal, write = one.removal, one.write
    return None if removal is None else removal.intent, None if write is None else write.intent


def write_of(*intents: Intent) -> Intent | None:
    return given(merged(*intents))[1]


def refused(*intents: Intent) -> SameItemTwice:
    with pytest.raises(SameItemTwice) as refusal:
        merge_intents(intents, NOW)
    return refusal.value


def ordered(order: int, *intents: Intent) -> tuple[Intent, ...]:
    return intents[::order]


def left(number: int) -> SetTo:
    return SetTo(("left",), number)


def note(text: str) -> SetTo:
    return SetTo(("note",), text)


KEY = Key(Stock, sku="a")


def test_items_come_in_the_order_in_which_items_are_first_named() -> None:
    one, two = saved(Stock(sku="1")), Stock(sku="2")
    merged = merge_intents([Save(two), Check(one), Save(two)], NOW)
    assert [item.key["PK"] for item in merged] == [{"S": "STOCK#2"}, {"S": "STOCK#1"}]


def moved(sku: str, to: str) -> Stock:
    stock = saved(Stock(sku=sku))
    stock.sku = to
    return stock


def replacing(number: int) -> Save:
    return Save(STOCK, overwrite=True, replacing=F.left == number)


STOCK, COPY, MOVED = saved(Stock(sku="a")), saved(Stock(sku="a")), moved("b", "c")
CITY = SetTo(("address", "city"), "x")
TWICE = "is written twice, and the outcome would depend on the order"


@pytest.mark.parametrize(
    ("intents", "problem"),
    [
        ((Save(Stock(sku="a")), Save(Stock(sku="a"))), TWICE),
        ((Save(STOCK), Save(STOCK.model_copy(update={"left": 1}))), TWICE),
        ((Edit(KEY, (left(1),)), Edit(STOCK, (note("x"),))), TWICE),
        ((Edit(KEY, (left(1),)), Edit(KEY, (left(2),))), "has left changed twice"),
        ((Edit(KEY, (SetTo(("note", "deep"), 1),)), Edit(KEY, (note("x"),))), "has note"),
        ((Edit(KEY, (CITY,)), Edit(KEY, (CITY,))), "has address.city changed twice"),
        ((Deletion(KEY), Edit(KEY, (left(1),))), "is both deleted and changed"),
        ((Deletion(STOCK), Save(STOCK)), "is both deleted and changed"),
        ((Deletion(STOCK), Save(COPY)), "is both deleted and changed"),
        ((Deletion(STOCK), Deletion(COPY)), "is deleted twice, by two different objects"),
        ((Deletion(MOVED), Move(MOVED)), "is both deleted and moved"),
        ((replacing(1), replacing(2)), "is saved twice, with two conditions on what it replaces"),
    ],
)
@pytest.mark.parametrize("order", [1, -1], ids=["", "turned around"])
def test_what_the_order_of_calls_would_decide_is_refused(
    intents: tuple[Intent, ...], problem: str, order: int
) -> None:
    assert refused(*ordered(order, *intents)).problem.startswith(problem)


FEW, NOTED = F.left == 1, F.note == "x"
REPLACING = replacing(1)
EDITS = Edit(KEY, (left(1),)), Edit(Key(Stock, sku="a"), (note("x"),))
BOTH = Edit(KEY, (left(1), note("x")))
NEW, OLD = Stock(sku="a"), saved(Stock(sku="a"))


@pytest.mark.parametrize(
    ("intents", "removal", "write"),
    [
        ((Save(STOCK, FEW), Save(STOCK, NOTED)), None, Save(STOCK, And((FEW, NOTED)))),
        ((Save(NEW, overwrite=True), Save(NEW)), None, Save(NEW, overwrite=True)),
        ((REPLACING, REPLACING), None, REPLACING),
        (EDITS, None, BOTH),
        ((replace(EDITS[0], touches=True), EDITS[1]), None, replace(BOTH, touches=True)),
        ((EDITS[0], replace(EDITS[1], touches=True)), None, replace(BOTH, touches=True)),
        (
            (replace(EDITS[0], condition=FEW), replace(EDITS[1], condition=NOTED)),
            None,
            replace(BOTH, condition=And((FEW, NOTED))),
        ),
        ((Deletion(OLD), Save(NEW)), Deletion(OLD), Save(NEW)),
        ((Save(NEW), Deletion(OLD)), Deletion(OLD), Save(NEW)),
        ((Deletion(STOCK, FEW), Deletion(STOCK, NOTED)), Deletion(STOCK, And((FEW, NOTED))), None),
        ((Deletion(KEY, FEW), Deletion(Key(Stock, sku="a"))), Deletion(KEY, FEW), None),
        ((Check(STOCK), Save(STOCK), Check(KEY, FEW)), None, Save(STOCK)),
        ((Move(STOCK),), None, Save(STOCK)),
    ],
    ids=["conditions of saves", "an overwrite stays one", "one replacement twice", "edits of different fields",
         "edits that touch", "edits of which the second touches", "conditions of edits", "deleted and created anew",
         "created anew and deleted", "an object deleted twice", "a key deleted twice", "checks stand beside",
         "a move that changes no key"],
)  # fmt: skip
def test_what_is_said_of_one_item_is_merged(
    intents: tuple[Intent, ...], removal: Intent | None, write: Intent | None
) -> None:
    one = merged(*intents)
    assert (one.key, *given(one)) == (KEY.primary_key, removal, write)
    assert [check.intent for check in one.checks] == [one for one in intents if isinstance(one, Check)]


def test_the_values_of_an_edit_are_those_of_its_validators_and_are_validated_once() -> None:
    edit = edit_of(Key(Labelled, sku="a"), [{"label": "Red"}], None)
    assert edit.changes == (SetTo(("label",), "red"),)
    judged_before = replace(edit, changes=(SetTo(("label",), "Red"),))
    assert write_of(judged_before) == judged_before


def test_a_default_that_its_class_would_refuse_is_no_input_where_nothing_is_stored_of_it() -> None:
    new, old = Doubtful(sku="a", low=1), loaded(Doubtful(sku="a", low=1), none=None, low=None)
    old.left = 1
    for intent, spared in ((Save(new), "none"), (Save(old), "low")):
        write = merged(intent).write
        assert write is not None
        assert write.valid.values[spared] == Doubtful.model_fields[spared].default


def test_a_move_is_a_removal_here_and_a_write_there() -> None:
    stock = saved(Stock(sku="a"))
    stock.sku = "b"
    old, new = merge_intents([Move(stock)], NOW)
    assert (old.key["PK"], *given(old)) == ({"S": "STOCK#a"}, Move(stock), None)
    assert (new.key["PK"], *given(new)) == ({"S": "STOCK#b"}, None, Move(stock))


def test_a_changed_key_names_old_and_new_and_the_fields() -> None:
    stock = saved(Stock(sku="a"))
    stock.sku = "b"
    with pytest.raises(KeyChanged, match=r"session\.move.*detached") as raised:
        merge_intents([Save(stock)], NOW)
    error = raised.value
    assert (error.before, error.after, error.fields) == (Key(Stock, sku="a"), Key(Stock, sku="b"), ("sku",))


@pytest.mark.parametrize("intent", [Deletion, lambda one: Edit(one, (left(1),)), Check, Move])
def test_what_is_new_cannot_be_deleted_updated_checked_or_moved(intent: type[Deletion]) -> None:
    with pytest.raises(UsageError, match="is new"):
        merge_intents([intent(Stock(sku="a"))], NOW)


def test_a_merged_intent_is_of_the_class_that_is_written_not_of_the_key_that_named_it_first() -> None:
    fragile = saved(Fragile(sku="a", padding=1))
    for intent in (Check(KEY), Check(fragile)):
        assert merged(intent, Save(fragile)).mapping.entity is Fragile
    assert merged(Deletion(KEY), Save(Fragile(sku="a"))).mapping.entity is Fragile
    assert merged(Check(KEY), Deletion(fragile)).mapping.entity is Fragile
    assert merged(Save(Fragile(sku="a")), Deletion(KEY)).mapping.entity is Fragile


def test_merging_changes_no_entity() -> None:
    user = saved(User(user_id="1", email="a@x"))
    user.email = "b@x"
    before = (dict(vars(user)), state_of(user))
    merge_intents([Save(user), Check(user), Save(user)], NOW)
    assert (dict(vars(user)), state_of(user)) == before


def test_what_has_expired_since_it_was_loaded_is_stale_whatever_is_to_become_of_it() -> None:
    coupon = saved(Coupon(code="t", until=datetime.fromtimestamp(NOW + 5, UTC)))
    other = Save(Stock(sku="a"))
    blocks: list[list[Intent]] = [[Save(coupon), other], [Move(coupon)], [Move(coupon), other]]
    blocks += [[Check(coupon)], [Edit(coupon, (SetTo(("until",), datetime.now(UTC)),))]]
    for intents in blocks:
        assert merge_intents(intents, NOW + 4)
        with pytest.raises(StaleEntity):
            merge_intents(intents, NOW + 5)
    assert merge_intents([Deletion(coupon)], NOW + 5)


def test_an_object_moved_twice_is_moved_once_and_another_one_under_its_new_key_is_refused() -> None:
    stock, other = saved(Stock(sku="a")), saved(Stock(sku="b"))
    stock.sku = "c"
    old, new = merge_intents([Move(stock), Move(stock)], NOW)
    assert (given(old), given(new)) == ((Move(stock), None), (None, Move(stock)))
    other.sku = "c"
    assert refused(Move(stock), Move(other)).problem == (
        "is written twice, and the outcome would depend on the order"
    )
    assert refused(Move(stock), Save(Stock(sku="c"))).key == Key(Stock, sku="c")


def test_what_cannot_be_planned_comes_with_its_remedy() -> None:
    document = saved(Document(doc_id="d"))
    with pytest.raises(UsageError) as versioned:
        merge_intents([Move(document)], NOW)
    assert versioned.value.remedy == "save detached(entity) as a new one, and delete the old one"
    nameless: Key[Stock] = Key(Stock, sku="a")
    nameless.entity = None
    with pytest.raises(UsageError) as classless:
        merge_intents([Deletion(nameless)], NOW)
    assert classless.value.remedy == "name the class: Key(Class, ...)"


def test_upserts_of_one_entity_are_one_upsert_and_no_update() -> None:
    key = Key(Stock, sku="s")
    adding, noting = Edit(key, (F.left.add(1),), creates=True), Edit(key, (F.note.set("x"),), creates=True)
    one = merged(adding, noting)
    assert one.write is not None
    assert one.write.intent == Edit(key, (*adding.changes, *noting.changes), creates=True)
    assert isinstance(one.write.blind, ItemEdit)
    made = apply_changes(one.key, one.write.blind.edits)
    assert mapping_of(Stock).loader.hydrate(made) == Stock(sku="s", left=1, note="x")
    with pytest.raises(SameItemTwice) as refused:
        merged(adding, Edit(key, noting.changes))
    assert str(refused.value) == (
        "Key(Stock, sku='s') is both updated, which requires it, and upserted; "
        "leave out one of the two, or make them in two transactions"
    )


@pytest.mark.parametrize("overwrites", [(True, False), (False, True)])
def test_an_entity_that_is_saved_and_overwritten_is_validated_as_a_whole(
    overwrites: tuple[bool, bool],
) -> None:
    stock = loaded(Labelled(sku="s"), label={"S": "Red"})
    vars(stock)["label"] = "Red"  # as it is stored, and not as its validator makes it
    one = merged(*(Save(stock, overwrite=overwrite) for overwrite in overwrites))
    alone = merged(Save(stock, overwrite=True))
    assert one.write is not None
    assert alone.write is not None
    assert (one.write.valid, one.write.changes) == (alone.write.valid, alone.write.changes)
    assert one.write.valid.values["label"] == "red"
    assert one.write.intent == Save(stock, overwrite=True)


# -- values of other types that are stored as the value that loads -----------------------------------------------------


alike = Table("stored-alike")


class Colour(Enum):
    RED = "red"


class Loosely(Entity, table=alike, pk="LOOSELY#{name}", sk="L"):
    name: str
    price: Decimal = Decimal(1)
    share: float = 1.0
    colour: Colour = Colour.RED
    words: list[str] = Field(default_factory=lambda: ["a"])
    ranks: tuple[str, ...] = ("a",)
    tags: set[str] = Field(default_factory=lambda: {"a"})
    prices: dict[str, Decimal] = Field(default_factory=lambda: {"a": Decimal(1)})


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("price", 1, Decimal(1)),
        ("share", 1, 1.0),
        ("colour", "red", Colour.RED),
        ("words", ("a",), ["a"]),
        ("ranks", ["a"], ("a",)),
        ("tags", frozenset({"a"}), {"a"}),
        ("prices", {"a": 1}, {"a": Decimal(1)}),
    ],
)
def test_a_value_of_another_type_that_is_stored_alike_becomes_what_loads_without_a_request(
    name: str, given: object, expected: object
) -> None:
    entity = saved(Loosely(name="a"))
    setattr(entity, name, given)
    plan = plan_of(Save(entity))
    committed(plan)
    assert plan.actions == ()
    assert is_equal(getattr(entity, name), expected)
