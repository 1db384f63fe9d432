"""What happens to each item, given what is known of it; and what must be read before that can be said."""

from typing import Annotated, TypeVar

import pytest
from pydantic import AfterValidator, Field, ValidationInfo

from dynaorm import (
    Entity,
    F,
    Key,
    Table,
    inspect,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import LOADING, Loaded
from dynaorm.entity.state import state_of as _state_of
from dynaorm.entity.table import ident_of
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    EntityNotFound,
    InvalidValue,
    SameItemTwice,
    StaleEntity,
    UnknownField,
)
from dynaorm.item.condition import Attr, Compare, Condition, Or, equals, holds, missing
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import item_change_of, items_to_read, merge_intents
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Move, Reads, Save, UnitOfWork
from dynaorm.plan.stored import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    StoredItem,
)
from dynaorm.record import replace
from tests.cast.events import Note
from tests.plan.cast import Coupon, Document, Fragile, Held, Loose, Numbered, Renamed, Stock, User, loose
from tests.plan.compiling import NOW, committed, plan_of, saved

T = TypeVar("T")


def state_of(entity: object) -> Loaded:
    found = _state_of(entity)
    assert found is not None
    return found


UNIT = UnitOfWork(NOW, "w2", str)


def change(*intents: Intent, stored: Item | str | None = "unread") -> ItemChange | None:
    (one,) = merge_intents(intents, NOW)
    reads = NOTHING_READ if isinstance(stored, str) else Reads({one.ident: stored})
    return item_change_of(one, reads, UNIT)


def only(kind: type[T], *intents: Intent, stored: Item | str | None = "unread") -> T:
    found = change(*intents, stored=stored)
    assert isinstance(found, kind)
    return found


def stock_item(kind: str = "Stock", **attributes: AttributeValue) -> Item:
    return {
        "PK": {"S": "STOCK#a"},
        "SK": {"S": "S"},
        "_type": {"S": kind},
        "_rev": {"S": "w9"},
        "sku": {"S": "a"},
        "left": {"N": "4"},
        **attributes,
    }


KEY = Key(Stock, sku="a")
EDIT = Edit(KEY, (SetTo(("left",), 1),))
COUPON = Key(Coupon, code="a")
EXPIRED: Item = {**COUPON.primary_key, "_type": {"S": "Coupon"}, "until": {"N": str(int(NOW))}}
STRANGER = stock_item("User")
TOMBSTONE: Item = {
    "PK": {"S": "DOC#d"}, "SK": {"S": "v0_D"}, "version": {"N": "2"}, "deleted": {"BOOL": True},
    "_rev": {"S": "w9"},
}  # fmt: skip


def moved() -> Loose:
    one = saved(Loose(name="l"))
    one.name = "m"
    return one


@pytest.mark.parametrize(
    ("intents", "expected"),
    [
        ([Save(Stock(sku="a"))], []),
        ([Save(saved(User(user_id="1", email="e")))], []),
        ([Save(Stock(sku="a"), overwrite=True)], []),
        ([Save(Stock(sku="a"), F.left == 1, overwrite=True)], ["STOCK#a"]),
        ([Save(User(user_id="1", email="e"), overwrite=True)], ["USER#1"]),
        ([Save(Document(doc_id="d"), overwrite=True)], ["DOC#d"]),
        ([Save(Note(note="n"), overwrite=True)], ["NOTE#n"]),  # it keeps the time of its creation
        ([Save(Numbered(name="n"), overwrite=True)], ["NUMBERED#n"]),
        ([Save(Loose(name="l"), overwrite=True)], []),
        ([EDIT], []),
        ([Edit(Key(User, user_id="1"), (SetTo(("email",), "x"),))], ["USER#1"]),
        ([Edit(saved(User(user_id="1", email="e")), (SetTo(("email",), "x"),))], []),
        ([Deletion(KEY)], []),
        ([Deletion(Key(User, user_id="1"))], ["USER#1"]),
        ([Deletion(Key(Document, doc_id="d"))], ["DOC#d"]),
        ([Deletion(saved(User(user_id="1", email="e")))], []),
        ([Deletion(KEY), Save(Stock(sku="a"))], ["STOCK#a"]),
        ([Check(Key(User, user_id="1"))], []),
        ([Check(Key(Renamed, name="a"), F.kind == "x")], []),
        ([Check(Key(Renamed, name="a"), F.left == 1)], []),
        ([Move(moved())], ["LOOSE#l"]),
    ],
)
def test_only_what_a_plan_depends_on_is_read(intents: list[Intent], expected: list[str]) -> None:
    assert [key["PK"]["S"] for _, key in items_to_read(merge_intents(intents, NOW))] == expected


def test_a_tombstone_cannot_be_deleted_again() -> None:
    with pytest.raises(EntityNotFound):
        change(Deletion(Key(Document, doc_id="d")), stored=TOMBSTONE)


@pytest.mark.parametrize("intent", [EDIT, Deletion(KEY), Check(KEY)])
def test_the_stored_type_decides_the_class(intent: Intent) -> None:
    item = stock_item("Fragile", padding={"N": "1"})
    found = change(intent, stored=item)
    assert found is not None
    assert (found.mapping, found.key) == (mapping_of(Fragile), KEY.primary_key)
    assert found.before == StoredItem(mapping_of(Fragile), item, from_read=True)


def test_an_insert_over_what_expired_is_an_insert() -> None:
    for overwrite in (False, True):
        found = only(ItemInsert, Save(Coupon(code="a"), overwrite=overwrite), stored=EXPIRED)
        assert (found.before, found.found_nothing) == (None, overwrite)


def test_an_insert_over_a_live_entity_is_refused_and_an_overwrite_of_its_kind_is_not() -> None:
    with pytest.raises(AlreadyExists) as raised:
        change(Save(Stock(sku="a")), stored=stock_item())
    assert (raised.value.key, raised.value.violations) == (KEY, ())
    with pytest.raises(AlreadyExists):
        change(Save(Stock(sku="a"), overwrite=True), stored=STRANGER)
    found = only(ItemInsert, Save(Stock(sku="a"), overwrite=True), stored=stock_item("Fragile"))
    assert found.mapping is mapping_of(Stock)
    assert found.before == StoredItem(mapping_of(Fragile), stock_item("Fragile"), from_read=True)


def test_an_upsert_does_not_replace_an_entity_of_the_base_and_asks_its_condition_of_nothing() -> None:
    upsert = Edit(Key(Fragile, sku="a"), (F.left.set(1),), creates=True, read_first=True)
    with pytest.raises(AlreadyExists) as taken:
        change(upsert, stored=stock_item())
    with pytest.raises(ConditionFailed) as failed:
        change(replace(upsert, condition=F.left == 9), stored=None)
    assert taken.value.key == failed.value.key == Key(Fragile, sku="a")


def test_a_save_that_stores_nothing_gives_the_object_what_validation_makes_of_it() -> None:
    one = saved(Loud(name="a", text="N"))
    one.text = "n"
    plan = plan_of(Save(one))
    assert plan.actions == ()
    committed(plan)
    assert (one.text, inspect(one).loaded, inspect(one).revision) == ("N", True, "w1")


def test_a_key_deleted_and_created_anew_takes_over_what_was_read() -> None:
    new = Fragile(sku="a")
    found = only(ItemInsert, Deletion(KEY), Save(new), stored=stock_item())
    assert (found.mapping, found.entity, found.deleted) == (mapping_of(Fragile), new, None)
    assert found.before == StoredItem(mapping_of(Stock), stock_item(), from_read=True)
    overwritten = only(ItemInsert, Deletion(KEY), Save(new, overwrite=True), stored=stock_item())
    assert (overwritten.before, overwritten.found_nothing) == (found.before, False)


def test_a_check_without_condition_binds_a_blind_write_to_the_loaded_revision() -> None:
    stock = saved(Stock(sku="a"))
    assert only(ItemUpdate, Check(stock), EDIT).before.item["_rev"] == {"S": "w1"}


def test_a_check_with_a_condition_asks_for_nothing_else() -> None:
    found = only(ItemCheck, Check(saved(Stock(sku="a")), F.left == 0))
    assert (found.before, found.condition) == (None, Or((missing("left"), equals("left", {"N": "0"}))))
    edit = only(ItemEdit, EDIT, Check(saved(Fragile(sku="a")), F.left == 2))
    assert (edit.mapping, edit.before) == (mapping_of(Stock), None)


@pytest.mark.parametrize("intent", [EDIT, Deletion(KEY)])
def test_a_check_of_an_older_copy_than_was_read_is_stale(intent: Intent) -> None:
    with pytest.raises(StaleEntity) as raised:
        change(intent, Check(saved(Stock(sku="a"))), stored=stock_item())
    assert (raised.value.expected, raised.value.found) == ("w1", "w9")
    assert raised.value.stored == mapping_of(Stock).loader.hydrate(stock_item())


def test_a_check_of_an_older_copy_than_is_saved_is_stale() -> None:
    older, newer = saved(Stock(sku="a")), saved(Stock(sku="a"), "w5")
    newer.left = 1
    with pytest.raises(StaleEntity):
        change(Save(newer), Check(older))
    assert only(ItemUpdate, Save(newer), Check(newer.model_copy())).before.as_loaded


def test_what_is_checked_as_loaded_cannot_be_inserted() -> None:
    with pytest.raises(SameItemTwice) as refusal:
        change(Save(Stock(sku="a")), Check(saved(Stock(sku="a"))))
    assert refusal.value.problem == "is inserted as new, and checked to be stored already"


def test_a_move_that_found_the_item_changed_is_stale() -> None:
    one = moved()
    old, _ = merge_intents([Move(one)], NOW)
    item: Item = {"PK": {"S": "LOOSE#l"}, "SK": {"S": "L"}, "_type": {"S": "Loose"}, "name": {"S": "l"}}
    for stored in (None, {**item, "left": {"N": "5"}}, {**item, "left": {"N": "0"}, "new": {"S": "x"}}):
        with pytest.raises(StaleEntity, match=r"Key\(Loose, name='l'\)") as stale:
            item_change_of(old, Reads({ident_of(loose, old.key): stored}), UNIT)
        assert stale.value.stored == (stored and mapping_of(Loose).loader.hydrate(stored))
    same = Reads({ident_of(loose, old.key): {**item, "left": {"N": "0.0"}}})
    assert isinstance(item_change_of(old, same, UNIT), ItemDelete)


def test_conditions_are_resolved_against_the_class_each_intent_names() -> None:
    fragile = saved(Fragile(sku="a", padding=1))
    fragile.padding = 2
    assert only(ItemUpdate, Check(KEY, F.left == 0), Save(fragile, F.padding == 1)).condition is not None
    with pytest.raises(UnknownField):
        change(Check(KEY, F.padding == 1), Save(fragile))


# -- conditions --------------------------------------------------------------------------------------------------------


def test_a_condition_on_a_renamed_field_is_asked_wherever_it_is_stored() -> None:
    key = Key(Renamed, name="a")
    for intent in (Edit(key, (SetTo(("left",), 2),), F.kind == "x"), Deletion(key, F.kind == "x")):
        assert not items_to_read(merge_intents([intent], NOW))
        found = change(intent)
        assert found is not None
        assert found.condition is not None
        for item, expected in [
            ({"category": {"S": "x"}}, True),
            ({"sort_of": {"S": "x"}}, True),
            ({"sort_of": {"S": "y"}, "category": {"S": "x"}}, False),
            ({}, False),
        ]:
            assert holds(found.condition, item) is expected


def test_an_edit_and_a_deletion_by_key_are_made_of_the_class_their_check_was_loaded_as() -> None:
    fragile = mapping_of(Fragile).loader.hydrate(stock_item("Fragile"))
    for intent in (EDIT, Deletion(KEY)):
        found = change(intent, Check(fragile))
        assert isinstance(found, ItemUpdate | ItemDelete)
        assert found.mapping is mapping_of(Fragile)
        assert found.before == StoredItem(mapping_of(Fragile), state_of(fragile).item, True, True)


def test_a_check_of_what_was_read_knows_it() -> None:
    read = stock_item("Fragile")
    assert only(ItemCheck, Check(KEY, F.left > 0), stored=read) == ItemCheck(
        mapping_of(Fragile),
        KEY.primary_key,
        StoredItem(mapping_of(Fragile), read, from_read=True),
        condition=Compare(Attr(("left",)), ">", {"N": "0"}),
    )


def test_a_field_that_lives_in_an_index_key_alone_is_known_to_the_new_image() -> None:
    held = saved(Held(name="h", place="x"))
    held.place = "y"
    assert only(ItemUpdate, Save(held)).image["GSI1PK"] == {"S": "PLACE#y"}
    held.name = "i"
    _, new = merge_intents([Move(held)], NOW)
    moved = item_change_of(new, NOTHING_READ, UNIT)
    assert isinstance(moved, ItemInsert)
    assert moved.image["GSI1PK"] == {"S": "PLACE#y"}
    edit = Edit(Key(Held, name="h"), (SetTo(("place",), "z"),))
    assert only(ItemUpdate, edit, stored=dict(state_of(held).item)).image["GSI1PK"] == {"S": "PLACE#z"}


@pytest.mark.parametrize("stored", [None, STRANGER], ids=["nothing", "another class"])
@pytest.mark.parametrize("intent", [EDIT, Deletion(KEY), Check(KEY), Check(KEY, F.left > 0)])
def test_what_is_not_there_cannot_be_updated_deleted_or_checked(intent: Intent, stored: Item | None) -> None:
    with pytest.raises(EntityNotFound) as raised:
        change(intent, stored=stored)
    assert raised.value.key == KEY
    there = "an item of User is stored under Key(Stock, sku='a'), and no Stock"
    assert (there in str(raised.value)) is (stored is STRANGER)
    for expired in (Edit(COUPON, EDIT.changes), Check(COUPON)):
        with pytest.raises(EntityNotFound):
            change(expired, stored=EXPIRED)


# -- what of an entity is validated when it is saved -------------------------------------------------------------------


validated = Table("changes-validated")


def _lower_unless_stored(text: str, info: ValidationInfo) -> str:
    if info.context is not LOADING and not text.islower():
        raise ValueError("new codes are in lower case")
    return text


class Measured(Entity, table=validated, pk="MEASURED#{name}", sk="M"):
    name: str
    size: Annotated[int, Field(ge=0, le=9)] = 0
    code: Annotated[str, AfterValidator(_lower_unless_stored)] = "a"
    note: str = ""


class Loud(Entity, table=validated, pk="LOUD#{name}", sk="L"):
    name: str
    text: Annotated[str, AfterValidator(str.upper)] = ""


MEASURED: Item = {
    "PK": {"S": "MEASURED#a"}, "SK": {"S": "M"}, "_type": {"S": "Measured"}, "_rev": {"S": "w1"},
    "name": {"S": "a"}, "size": {"N": "9"}, "code": {"S": "OLD"}, "note": {"S": "full"},
}  # fmt: skip


def measured() -> Measured:
    found: Measured = mapping_of(Measured).loader.hydrate(MEASURED)
    return found


def test_what_was_loaded_and_stays_may_break_a_rule_for_new_values() -> None:
    old, moved = measured(), measured()
    old.note, moved.name = "n", "b"
    (saved,) = plan_of(Save(old)).actions
    assert saved.after == {**MEASURED, "note": {"S": "n"}, "_rev": {"S": "w2"}}
    _, there = plan_of(Move(moved)).actions
    assert there.after == {**MEASURED, "PK": {"S": "MEASURED#b"}, "name": {"S": "b"}, "_rev": {"S": "w2"}}


# -- edits: the bounds they carry, and what comes first where they cannot be made --------------------------------------


@pytest.mark.parametrize(
    ("condition", "error"),
    [(None, InvalidValue), (F.note == "full", InvalidValue), (F.note == "empty", ConditionFailed)],
)
def test_the_callers_condition_comes_before_a_rule_that_the_outcome_breaks(
    condition: Condition | None, error: type[Exception]
) -> None:
    edit = Edit(Key(Measured, name="a"), (F.size.add(1),), condition)
    with pytest.raises(error) as refusal:
        change(edit, stored=MEASURED)
    if isinstance(refusal.value, ConditionFailed):
        assert refusal.value.key == Key(Measured, name="a")


def test_the_condition_of_a_loaded_entity_is_not_judged_by_what_it_was_loaded_with() -> None:
    with pytest.raises(InvalidValue):
        change(Edit(measured(), (F.size.add(1),), F.note == "empty"))


def test_an_edit_that_changes_nothing_checks_its_condition_and_knows_what_it_named() -> None:
    one = measured()
    found = only(ItemCheck, Edit(one, (F.note.set("full"),), F.size > 3))
    assert found.loaded is not None
    assert (found.loaded.entity is one, found.image, found.edited) == (True, MEASURED, frozenset({"note"}))


# -- what was read -----------------------------------------------------------------------------------------------------


def test_more_reads_are_added_and_the_newer_item_counts() -> None:
    before = Reads({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
    after = before.with_more({("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None}, frozenset({("t", "h")}))
    assert after == Reads(
        {("t", "a"): {"n": {"N": "1"}}, ("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None},
        frozenset({("t", "g"), ("t", "h")}),
    )
    assert before == Reads({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
