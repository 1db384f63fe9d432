"""Intents of a unit of work are merged item by item, or refused if the order of calls would decide."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from dynaorm import Entity, ExpiresAt, F, Key, Table, Unique
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import KeyChanged, SameItemTwice, StaleEntity, UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.item.condition import And
from dynaorm.item.update import SetTo, apply_changes
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save
from dynaorm.plan.merge_intents import ItemIntents, merge_intents
from dynaorm.record import replace
from tests.plan.compiling import NOW, committed, loaded, plan_of, saved

app = Table("fold-app")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    note: str = ""


class Labelled(Stock):
    label: Annotated[str, AfterValidator(str.lower)] = ""


class Doubtful(Labelled):
    none: int = None  # type: ignore[assignment]  # that is the fault
    low: Annotated[int, Field(ge=1)] = 0


class Fragile(Stock):
    padding: int = 0


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""


class Login(Entity, table=app, pk="LOGIN#{token}", sk="L"):
    token: str
    until: Annotated[datetime, ExpiresAt()]


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


def test_conditions_of_one_object_saved_twice_are_combined() -> None:
    stock = saved(Stock(sku="a"))
    first, second = F.left == 1, F.note == "x"
    assert write_of(Save(stock, first), Save(stock, second)) == Save(stock, And((first, second)))


def test_an_overwrite_of_an_object_that_is_saved_too_stays_an_overwrite() -> None:
    stock = Stock(sku="a")
    assert write_of(Save(stock, overwrite=True), Save(stock)) == Save(stock, overwrite=True)
    replaced = replacing(1)
    assert write_of(replaced, replaced) == replaced


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


def test_edits_of_different_fields_by_one_key_are_combined() -> None:
    edits = Edit(KEY, (left(1),)), Edit(Key(Stock, sku="a"), (note("x"),))
    assert write_of(*edits) == Edit(KEY, (left(1), note("x")))
    one, other = edits
    for touching in ((replace(one, touches=True), other), (one, replace(other, touches=True))):
        assert write_of(*touching) == Edit(KEY, (left(1), note("x")), touches=True)


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


def test_edits_of_one_loaded_entity_are_one_edit_of_it() -> None:
    stock = saved(Stock(sku="a"))
    one = merged(Edit(stock, (F.left.add(1),)), Edit(stock, (F.note.set("n"),)))
    assert one.write is not None
    assert one.write.state is state_of(stock)


def test_conditions_of_edits_are_combined() -> None:
    first, second = F.left == 1, F.note == "x"
    edits = Edit(KEY, (left(1),), first), Edit(KEY, (note("x"),), second)
    assert write_of(*edits) == Edit(KEY, (left(1), note("x")), And((first, second)))


@pytest.mark.parametrize("order", [1, -1], ids=["delete first", "delete last"])
def test_delete_and_create_anew_are_one_write_whatever_the_order(order: int) -> None:
    old, new = saved(Stock(sku="a")), Stock(sku="a")
    assert given(merged(*ordered(order, Deletion(old), Save(new)))) == (Deletion(old), Save(new))


def test_one_object_deleted_twice_is_deleted_once_under_both_conditions() -> None:
    stock = saved(Stock(sku="a"))
    first, second = F.left == 1, F.note == "x"
    deletion, _ = given(merged(Deletion(stock, first), Deletion(stock, second)))
    assert deletion == Deletion(stock, And((first, second)))


def test_one_key_deleted_twice_keeps_the_first_condition() -> None:
    condition = F.left == 1
    deletion, _ = given(merged(Deletion(KEY, condition), Deletion(Key(Stock, sku="a"))))
    assert deletion == Deletion(KEY, condition)


def test_checks_stand_beside_the_write_of_their_item() -> None:
    stock = saved(Stock(sku="a"))
    condition = F.left == 1
    one = merged(Check(stock), Save(stock), Check(KEY, condition))
    assert given(one) == (None, Save(stock))
    assert [check.intent for check in one.checks] == [Check(stock), Check(KEY, condition)]


def test_a_move_is_a_removal_here_and_a_write_there() -> None:
    stock = saved(Stock(sku="a"))
    stock.sku = "b"
    old, new = merge_intents([Move(stock)], NOW)
    assert (old.key["PK"], *given(old)) == ({"S": "STOCK#a"}, Move(stock), None)
    assert (new.key["PK"], *given(new)) == ({"S": "STOCK#b"}, None, Move(stock))


def test_a_move_onto_the_key_of_a_deleted_entity_is_one_write() -> None:
    mover, gone = saved(Stock(sku="a")), saved(Stock(sku="b"))
    mover.sku = "b"
    merged = merge_intents([Deletion(gone), Move(mover)], NOW)
    assert [given(one) for one in merged] == [(Deletion(gone), Move(mover)), (Move(mover), None)]


def test_a_new_entity_is_not_moved() -> None:
    with pytest.raises(UsageError, match="is new"):
        merge_intents([Move(Stock(sku="a"))], NOW)


def test_a_changed_key_names_old_and_new_and_the_fields() -> None:
    stock = saved(Stock(sku="a"))
    stock.sku = "b"
    with pytest.raises(KeyChanged, match=r"session\.move.*detached") as raised:
        merge_intents([Save(stock)], NOW)
    error = raised.value
    assert (error.before, error.after, error.fields) == (Key(Stock, sku="a"), Key(Stock, sku="b"), ("sku",))


@pytest.mark.parametrize("intent", [Deletion, lambda one: Edit(one, (left(1),)), Check])
def test_what_is_new_cannot_be_deleted_updated_or_checked(intent: type[Deletion]) -> None:
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
    login = saved(Login(token="t", until=datetime.fromtimestamp(NOW + 5, UTC)))
    other = Save(Stock(sku="a"))
    blocks: list[list[Intent]] = [[Save(login), other], [Move(login)], [Move(login), other]]
    blocks += [[Check(login)], [Edit(login, (SetTo(("until",), datetime.now(UTC)),))]]
    for intents in blocks:
        assert merge_intents(intents, NOW + 4)
        with pytest.raises(StaleEntity):
            merge_intents(intents, NOW + 5)
    assert merge_intents([Deletion(login)], NOW + 5)


def test_a_move_that_changes_no_key_is_a_save_under_it() -> None:
    stock = saved(Stock(sku="a"))
    one = merged(Move(stock))
    assert (one.key, *given(one)) == (Key(Stock, sku="a").primary_key, None, Save(stock))


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
    assert one.write.blind is not None
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


def test_it_becomes_what_loads_also_beside_a_change_of_another_field() -> None:
    entity = saved(Loosely(name="a"))
    vars(entity).update(price=1, words=["b"])
    committed(plan_of(Save(entity)))
    assert is_equal((entity.price, entity.words), (Decimal(1), ["b"]))
