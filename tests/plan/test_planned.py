"""What becomes of an entity while the outcome of its write is not known, and afterwards."""

import pickle
from typing import Annotated

from dynaorm import Entity, Table, Unique, inspect
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import Loaded, PendingWrite, state_of, unsettled_of
from dynaorm.item.value import Item
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.guards import GUARDS
from dynaorm.plan.intent import NOTHING_READ, Save, UnitOfWork
from dynaorm.plan.own_item import OWN_ITEM
from dynaorm.plan.plan import Effect, Plan
from dynaorm.plan.token import TOKEN_ITEMS
from dynaorm.plan.versions import VERSIONS
from dynaorm.record import replace
from tests.plan.compiling import NOW

app = Table("planned")


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    text: str = ""


class User(Entity, table=app, pk="USER#{name}", sk="U", versioned=True):
    name: str
    email: Annotated[str | None, Unique()] = None


STORED: Item = {
    "PK": {"S": "NOTE#a"}, "SK": {"S": "N"}, "_type": {"S": "Note"}, "_rev": {"S": "w1"},
    "name": {"S": "a"}, "text": {"S": "old"},
}  # fmt: skip


def note() -> Note:
    found: Note = mapping_of(Note).loader.hydrate(STORED)
    return found


def plan_of(one: Note) -> Plan:
    one.text = "new"
    return compile_plan(merge_intents([Save(one)], NOW), NOTHING_READ, UnitOfWork(NOW, "w2", str))


def test_a_pickled_plan_has_the_kinds_of_this_process() -> None:
    user = User(name="a", email="a@x")
    merged = merge_intents([Save(user)], NOW)
    plan = compile_plan(merged, NOTHING_READ, UnitOfWork(NOW, "w2", str, "token", remember=60.0))
    again = pickle.loads(pickle.dumps(plan.actions))
    assert again == plan.actions
    assert [one.kind for one in again] == [OWN_ITEM, VERSIONS, GUARDS, TOKEN_ITEMS]
    assert [one.reason for one in again] == [one.reason for one in plan.actions]


def test_an_entity_whose_write_got_no_answer_awaits_that_plan_and_no_other() -> None:
    one = note()
    plan, other = plan_of(one), plan_of(note())
    (effect,) = plan.effects
    assert not effect.is_awaited(plan)
    effect.unsettle(plan)
    assert unsettled_of(one) == PendingWrite(plan, effect, state_of(note()))
    assert (effect.is_awaited(plan), effect.is_awaited(other)) == (True, False)


def test_an_effect_can_be_that_of_another_object_with_other_values() -> None:
    one, other = note(), note()
    effect = Effect(one, Loaded(STORED), {"text": "told"})
    assert effect.for_object(other) == replace(effect, entity=other)
    told = effect.for_object(other, {"name": "b", "text": "given"})
    assert (told.entity is other, told.values, told.spares_frozen) == (
        True,
        {"name": "b", "text": "told"},
        True,
    )
    assert replace(effect, values=None).for_object(other, {"name": "b"}).values == {"name": "b"}


def test_an_entity_whose_write_proves_to_be_in_effect_is_as_it_was_sent() -> None:
    one = note()
    plan = plan_of(one)
    plan.effects[0].unsettle(plan)
    plan.effects[0].apply()
    assert (unsettled_of(one), inspect(one).revision, inspect(one).changes) == (None, "w2", {})


def test_an_entity_whose_item_is_stored_a_little_otherwise_is_as_that_is() -> None:
    one = note()
    (effect,) = plan_of(one).effects
    item: Item = {**STORED, "text": {"S": "new"}, "_rev": {"S": "w2"}, "seen": {"N": "7"}}
    effect.with_item(mapping_of(Note), item).apply()
    assert state_of(one) == Loaded(item)
    assert (one.text, inspect(one).changes) == ("new", {})


def test_a_default_that_is_stored_now_is_none_any_more() -> None:
    known = Loaded(STORED, {"text": None, "gone": None})
    assert Effect(note(), known).with_item(mapping_of(Note), STORED).state == Loaded(STORED, {"gone": None})


def test_of_a_partial_update_the_fields_that_follow_are_those_stored() -> None:
    one = note()
    effect = Effect(one, Loaded(STORED), {"text": "as it was thought to be"})
    effect.with_item(mapping_of(Note), {**STORED, "text": {"S": "as it is"}}).apply()
    assert one.text == "as it is"
    assert Effect(one, Loaded(STORED)).with_item(mapping_of(Note), STORED).values is None


def test_an_effect_can_be_that_of_an_equal_block_which_gave_the_item_its_revision() -> None:
    effect = Effect(note(), Loaded(STORED), {"text": "told"})
    theirs = effect.with_revision(mapping_of(Note), "theirs")
    assert theirs == replace(effect, state=Loaded({**STORED, "_rev": {"S": "theirs"}}))
