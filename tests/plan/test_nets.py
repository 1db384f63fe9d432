"""What happens to each item, given what is known of it; and what must be read before that can be said."""

from datetime import UTC, datetime
from typing import Annotated, TypeVar

import pytest

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, InKey, Key, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import Loaded
from dynaorm.entity.state import state_of as _state_of
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    EntityNotFound,
    InvalidValue,
    SameItemTwice,
    StaleEntity,
    UnknownField,
)
from dynaorm.item.condition import And, Condition, equals
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.fold import fold
from dynaorm.plan.intent import Check, Edit, Intent, Move, Remove, Save
from dynaorm.plan.known import NOTHING_KNOWN, Known, Setting, ident_of
from dynaorm.plan.net import Before, Net, Write
from dynaorm.plan.nets import net_of, reads_of

E = TypeVar("E")


def state_of(entity: object) -> Loaded:
    found = _state_of(entity)
    assert found is not None
    return found


NOW = 1_700_000_000.0
SETTING = Setting(NOW, "w2", str)

app = Table("nets-app", indexes=[GlobalIndex("GSI1")])
loose = Table("nets-loose", revision_attribute=None)


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Fragile(Stock):
    padding: int = 0


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str


class Loose(Entity, table=loose, pk="LOOSE#{name}", sk="L"):
    name: str
    left: int = 0


class Renamed(Entity, table=app, pk="RENAMED#{name}", sk="R"):
    name: str
    left: int = 0
    kind: Annotated[str, Attribute("sort_of", formerly=("category",))] = ""


class Held(Entity, table=app, pk="HELD#{name}", sk="H"):
    name: str
    place: Annotated[str | None, InKey()] = None
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{name}")


def saved(entity: E, write_id: str = "w1") -> E:
    plan = compile_plan(fold([Save(entity)], NOW), NOTHING_KNOWN, Setting(NOW, write_id, str))
    for effect in plan.effects:
        effect.apply()
    return entity


def net(*intents: Intent, stored: Item | str | None = "unread") -> Net | None:
    (slot,) = fold(intents, NOW)
    known = NOTHING_KNOWN
    if not isinstance(stored, str):
        known = Known({ident_of(slot.mapping.table, slot.key): stored})
    return net_of(slot, known, SETTING)


def fine(*intents: Intent, stored: Item | str | None = "unread") -> Net:
    found = net(*intents, stored=stored)
    assert found is not None
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
EXPIRED = stock_item(until={"N": str(int(NOW))})
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
        ([Save(Stock(sku="a"), overwrite=True)], ["STOCK#a"]),
        ([EDIT], []),
        ([Edit(Key(User, user_id="1"), (SetTo(("email",), "x"),))], ["USER#1"]),
        ([Edit(saved(User(user_id="1", email="e")), (SetTo(("email",), "x"),))], []),
        ([Remove(KEY)], []),
        ([Remove(Key(User, user_id="1"))], ["USER#1"]),
        ([Remove(Key(Document, doc_id="d"))], ["DOC#d"]),
        ([Remove(saved(User(user_id="1", email="e")))], []),
        ([Remove(KEY), Save(Stock(sku="a"))], ["STOCK#a"]),
        ([Check(Key(User, user_id="1"))], []),
        ([Check(Key(Renamed, name="a"), F.kind == "x")], ["RENAMED#a"]),
        ([Check(Key(Renamed, name="a"), F.left == 1)], []),
        ([Move(moved())], ["LOOSE#l"]),
    ],
)
def test_only_what_a_plan_depends_on_is_read(intents: list[Intent], expected: list[str]) -> None:
    assert [key["PK"]["S"] for _, key in reads_of(fold(intents, NOW))] == expected


def test_a_move_under_a_revision_reads_nothing() -> None:
    stock = saved(Stock(sku="a"))
    stock.sku = "b"
    assert reads_of(fold([Move(stock)], NOW)) == []


def test_a_blind_delete_and_update_know_nothing_of_the_item() -> None:
    assert (fine(Remove(KEY)).knowledge, fine(Remove(KEY)).write) == (Before.UNKNOWN, Write.DELETE)
    assert (fine(EDIT).knowledge, fine(EDIT).write) == (Before.UNKNOWN, Write.EDIT)


@pytest.mark.parametrize("intent", [EDIT, Remove(KEY)])
@pytest.mark.parametrize("stored", [None, EXPIRED, STRANGER], ids=["absent", "expired", "of another class"])
def test_what_is_not_there_cannot_be_updated_or_deleted(intent: Intent, stored: Item | None) -> None:
    with pytest.raises(EntityNotFound) as raised:
        net(intent, stored=stored)
    assert raised.value.key == KEY


def test_what_was_loaded_is_known() -> None:
    stock = saved(Stock(sku="a"))
    assert [fine(Remove(stock)).knowledge, fine(Save(stock), Check(stock)).knowledge] == [Before.KNOWN] * 2


def test_what_is_known_of_one_item_says_nothing_of_another() -> None:
    other = Known({ident_of(app, Key(Stock, sku="b").primary_key): None})
    (slot,) = fold([EDIT], NOW)
    found = net_of(slot, other, SETTING)
    assert found is not None
    assert (found.knowledge, found.write) == (Before.UNKNOWN, Write.EDIT)


def test_no_object_stands_for_what_is_named_by_its_key() -> None:
    assert [fine(one, stored=stock_item()).entities for one in (EDIT, Remove(KEY))] == [(), ()]


def test_a_tombstone_cannot_be_deleted_again() -> None:
    with pytest.raises(EntityNotFound):
        net(Remove(Key(Document, doc_id="d")), stored=TOMBSTONE)


@pytest.mark.parametrize("intent", [EDIT, Remove(KEY), Check(KEY)])
def test_the_stored_type_decides_the_class(intent: Intent) -> None:
    found = fine(intent, stored=stock_item("Fragile", padding={"N": "1"}))
    assert found.mapping is mapping_of(Fragile)
    assert (found.knowledge, found.from_read) == (Before.KNOWN, True)


@pytest.mark.parametrize("stored", [None, EXPIRED, STRANGER])
def test_a_check_of_what_is_not_there_fails(stored: Item | None) -> None:
    with pytest.raises(ConditionFailed):
        net(Check(KEY), stored=stored)


def test_an_insert_over_what_expired_is_an_insert() -> None:
    found = fine(Save(Stock(sku="a")), stored=EXPIRED)
    assert (found.knowledge, found.before) == (Before.ABSENT, None)


def test_an_insert_over_a_tombstone_replaces_it() -> None:
    found = fine(Save(Document(doc_id="d")), stored=TOMBSTONE)
    assert (found.knowledge, found.before, found.from_read) == (Before.KNOWN, TOMBSTONE, True)


def test_an_insert_over_a_live_entity_is_refused_and_an_overwrite_is_not() -> None:
    with pytest.raises(AlreadyExists) as raised:
        net(Save(Stock(sku="a")), stored=stock_item())
    assert (raised.value.key, raised.value.violations) == (KEY, ())
    found = fine(Save(Stock(sku="a"), overwrite=True), stored=stock_item("Fragile"))
    assert (found.before_mapping, found.mapping) == (mapping_of(Fragile), mapping_of(Stock))


def test_an_overwrite_of_another_kind_of_entity_is_refused() -> None:
    with pytest.raises(AlreadyExists):
        net(Save(Stock(sku="a"), overwrite=True), stored=STRANGER)


def test_an_unchanged_entity_has_no_net() -> None:
    assert net(Save(saved(Stock(sku="a")))) is None


def test_an_unchanged_entity_that_is_checked_is_a_check() -> None:
    stock = saved(Stock(sku="a"))
    found = fine(Save(stock), Check(stock))
    assert (found.write, found.entities) == (Write.CHECK, (stock,))


def test_a_key_deleted_and_created_anew_takes_over_what_was_read() -> None:
    new = Fragile(sku="a")
    found = fine(Remove(KEY), Save(new), stored=stock_item())
    assert (found.write, found.mapping, found.before_mapping) == (
        Write.PUT,
        mapping_of(Fragile),
        mapping_of(Stock),
    )
    assert (found.knowledge, found.from_read, found.entities) == (Before.KNOWN, True, (new,))


def test_a_check_without_condition_binds_a_blind_write_to_the_loaded_revision() -> None:
    stock = saved(Stock(sku="a"))
    found = fine(Check(stock), EDIT)
    assert (found.knowledge, found.write) == (Before.KNOWN, Write.UPDATE)
    assert found.before is not None
    assert found.before["_rev"] == {"S": "w1"}


def test_a_check_with_a_condition_asks_for_nothing_else() -> None:
    found = fine(Check(saved(Stock(sku="a")), F.left == 0))
    assert (found.knowledge, found.before) == (Before.UNKNOWN, None)
    assert found.condition is not None


@pytest.mark.parametrize("intent", [EDIT, Remove(KEY)])
def test_a_check_of_an_older_copy_than_was_read_is_stale(intent: Intent) -> None:
    with pytest.raises(StaleEntity) as raised:
        net(intent, Check(saved(Stock(sku="a"))), stored=stock_item())
    assert (raised.value.expected, raised.value.found) == ("w1", "w9")


def test_a_check_of_an_older_copy_than_is_saved_is_stale() -> None:
    older, newer = saved(Stock(sku="a")), saved(Stock(sku="a"), "w5")
    newer.left = 1
    with pytest.raises(StaleEntity):
        net(Save(newer), Check(older))
    assert fine(Save(newer), Check(newer.model_copy())).write is Write.UPDATE


def test_what_is_checked_as_loaded_cannot_be_inserted() -> None:
    with pytest.raises(SameItemTwice) as refusal:
        net(Save(Stock(sku="a")), Check(saved(Stock(sku="a"))))
    assert refusal.value.problem == "is inserted as new, and checked to be stored already"


def test_a_move_that_found_the_item_changed_is_stale() -> None:
    one = moved()
    old, _ = fold([Move(one)], NOW)
    item: Item = {"PK": {"S": "LOOSE#l"}, "SK": {"S": "L"}, "_type": {"S": "Loose"}, "name": {"S": "l"}}
    for stored in (None, {**item, "left": {"N": "5"}}, {**item, "left": {"N": "0"}, "new": {"S": "x"}}):
        with pytest.raises(StaleEntity, match=r"Key\(Loose, name='l'\)"):
            net_of(old, Known({ident_of(loose, old.key): stored}), SETTING)
    same = net_of(old, Known({ident_of(loose, old.key): {**item, "left": {"N": "0.0"}}}), SETTING)
    assert same is not None
    assert same.write is Write.DELETE


def test_conditions_are_resolved_against_the_class_each_intent_names() -> None:
    fragile = saved(Fragile(sku="a", padding=1))
    fragile.padding = 2
    found = fine(Check(KEY, F.left == 0), Save(fragile, F.padding == 1))
    assert found.condition is not None
    with pytest.raises(UnknownField):
        net(Check(KEY, F.padding == 1), Save(fragile))


def test_a_new_entity_is_validated_as_a_whole_and_a_loaded_one_where_it_changed() -> None:
    new = Stock(sku="a")
    new.left = "many"  # type: ignore[assignment]  # what a careless caller does
    with pytest.raises(InvalidValue, match=r"Stock\.left"):
        net(Save(new))
    old = saved(Stock(sku="a", until=datetime.fromtimestamp(NOW + 100, UTC)))
    old.left = None  # type: ignore[assignment]  # likewise
    with pytest.raises(InvalidValue, match=r"Stock\.left"):
        net(Save(old))


# -- conditions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["write", "removal", "check beside a write"])
def test_a_condition_on_a_renamed_field_is_planned_from_what_is_stored(place: str) -> None:
    key = Key(Renamed, name="a")
    one, blind = F.kind == "x", F.left == 1

    def intents(condition: Condition) -> list[Intent]:
        edit = (SetTo(("left",), 2),)
        if place == "write":
            return [Edit(key, edit, condition)]
        return [Remove(key, condition)] if place == "removal" else [Edit(key, edit), Check(key, condition)]

    assert reads_of(fold(intents(one), NOW)) == [(mapping_of(Renamed), key.primary_key)]
    assert reads_of(fold(intents(F.kind.exists() & blind), NOW))
    assert not reads_of(fold(intents(blind), NOW))
    former: Item = {**key.primary_key, "_type": {"S": "Renamed"}, "name": {"S": "a"}, "category": {"S": "x"}}
    assert fine(*intents(one), stored=former).condition == equals("category", {"S": "x"})


def test_every_condition_of_one_item_has_to_hold() -> None:
    found = fine(Edit(KEY, EDIT.changes, F.left < 9), Check(KEY, F.left > 1), Check(KEY, F.left != 5))
    assert isinstance(found.condition, And)
    assert len(found.condition.parts) == 3


def test_an_edit_and_a_deletion_by_key_are_made_of_the_class_their_check_was_loaded_as() -> None:
    fragile = mapping_of(Fragile).hydrate(stock_item("Fragile"))
    for intent in (EDIT, Remove(KEY)):
        found = fine(intent, Check(fragile))
        assert (found.mapping, found.before) == (mapping_of(Fragile), state_of(fragile).item)


def test_a_check_of_what_was_read_knows_it() -> None:
    found = fine(Check(KEY, F.left > 0), stored=stock_item("Fragile"))
    assert (found.write, found.knowledge) == (Write.CHECK, Before.KNOWN)
    assert (found.key, found.mapping, found.before_mapping) == (
        KEY.primary_key, mapping_of(Fragile), mapping_of(Fragile),
    )  # fmt: skip
    assert found.before == stock_item("Fragile")
    with pytest.raises(ConditionFailed) as absent:
        net(Check(KEY, F.left > 0), stored=None)
    assert absent.value.key == KEY


def test_what_changed_since_a_check_was_loaded_is_stale_and_says_which() -> None:
    loaded = mapping_of(Stock).hydrate(stock_item())
    with pytest.raises(StaleEntity) as stale:
        net(Check(loaded), Edit(KEY, EDIT.changes), stored=stock_item(_rev={"S": "w10"}))
    assert (stale.value.key, stale.value.expected, stale.value.found) == (KEY, "w9", "w10")
    same = fine(Check(loaded), Edit(KEY, EDIT.changes), stored=stock_item(legacy={"S": "x"}))
    assert same.as_loaded


def test_a_field_that_lives_in_an_index_key_alone_is_known_to_the_new_image() -> None:
    held = saved(Held(name="h", place="x"))
    held.place = "y"
    found = fine(Save(held))
    assert found.after is not None
    assert found.after["GSI1PK"] == {"S": "PLACE#y"}
    held.name = "i"
    _, new = fold([Move(held)], NOW)
    moved = net_of(new, NOTHING_KNOWN, SETTING)
    assert moved is not None
    assert moved.after is not None
    assert moved.after["GSI1PK"] == {"S": "PLACE#y"}
    edited = fine(Edit(Key(Held, name="h"), (SetTo(("place",), "z"),)), stored=dict(state_of(held).item))
    assert edited.after is not None
    assert edited.after["GSI1PK"] == {"S": "PLACE#z"}
