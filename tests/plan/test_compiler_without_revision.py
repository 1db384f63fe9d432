"""Plans without revisions: what was loaded is the condition, and a single action is a plain write."""

import types
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, Key, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.condition import And, equals, exists, missing
from dynaorm.item.update import SetTo
from dynaorm.plan.intent import Deletion, Save
from dynaorm.plan.kinds.own_item import ItemPurpose
from tests.plan.compiling import actions_of, plan_of, reads_of, saved, stored

app = Table("compiler-app")
bare = Table("compiler-bare", type_attribute=None, revision_attribute=None)
told = Table("compiler-told", revision_attribute=None)


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


class Plain(Entity, table=bare, pk="PLAIN#{name}", sk="P"):
    name: str
    left: int = 0
    note: str | None = None
    email: Annotated[str | None, Unique("mail")] = None


class Loose(Entity, table=bare, pk="LOOSE#{name}", sk="L"):
    name: str
    left: int = 0
    note: str | None = None


class Club(Entity, table=told, pk="CLUB#{club}", sk="C"):
    club: str


class Choir(Club):
    voices: int = 0


class Singer(Entity, table=told, pk="SINGER#{name}", sk="S"):
    name: str
    choir: str
    sings_in = Aggregate(Choir, count="voices", key={"club": "choir"})


def test_without_revisions_a_save_is_conditional_on_the_values_it_changes() -> None:
    loose = saved(Loose(name="l", left=1))
    loose.left = 2
    plan = plan_of(Save(loose))
    assert actions_of(plan) == [
        (
            ItemPurpose.UPDATE,
            Update(
                "compiler-bare",
                {"PK": {"S": "LOOSE#l"}, "SK": {"S": "L"}},
                (SetTo(("left",), {"N": "2"}),),
                And((exists("PK"), equals("left", {"N": "1"}), equals("name", {"S": "l"}))),
            ),
        )
    ]
    assert (plan.operation, plan.token) == ("UpdateItem", None)


def test_without_revisions_absent_values_are_part_of_the_condition() -> None:
    loose = saved(Loose(name="l"))
    loose.note = "n"
    ((_, action),) = actions_of(plan_of(Save(loose)))
    assert isinstance(action, Update)
    assert isinstance(action.condition, And)
    assert missing("note") in action.condition.parts


def test_without_revisions_what_takes_the_place_of_a_deleted_item_relies_on_all_of_it() -> None:
    deleted = saved(Loose(name="l", left=1))
    ((_, replaced),) = actions_of(plan_of(Deletion(deleted), Save(Loose(name="l", left=2))))
    ((_, gone),) = actions_of(plan_of(Deletion(deleted)))
    assert isinstance(replaced, Put)
    assert isinstance(gone, Delete)
    assert replaced.condition == gone.condition


def test_without_revisions_the_values_guards_are_made_of_are_part_of_the_condition() -> None:
    plain = saved(Plain(name="p", email="a@x"))
    plain.left = 5
    ((_, action),) = actions_of(plan_of(Save(plain)))
    assert isinstance(action, Update)
    assert action.condition == And(
        (
            exists("PK"),
            equals("email", {"S": "a@x"}),
            equals("left", {"N": "0"}),
            equals("name", {"S": "p"}),
        )
    )


def test_an_item_that_has_no_revision_yet_is_saved_under_its_values_and_gets_one() -> None:
    item = {
        "PK": {"S": "STOCK#a"},
        "SK": {"S": "S"},
        "_type": {"S": "Stock"},
        "sku": {"S": "a"},
        "left": {"N": "0"},
    }
    old = mapping_of(Stock).hydrate(item)
    old.left = 3
    plan = plan_of(Save(old))
    ((_, action),) = actions_of(plan)
    assert isinstance(action, Update)
    assert SetTo(("_rev",), {"S": "w2"}) in action.changes
    assert isinstance(action.condition, And)
    assert equals("left", {"N": "0"}) in action.condition.parts
    assert plan.token is None


def wide(attributes: int, table: Table) -> Any:
    """A saved entity with this many fields."""
    names = [f"f{number:03d}" for number in range(attributes)]
    body = {"__annotations__": {"name": str, **dict.fromkeys(names, int)}, "__module__": __name__}
    kind: Any = types.new_class(
        "Wide",
        (Entity,),
        {"table": table, "pk": "WIDE#{name}", "sk": "W"},
        lambda own: own.update(body | dict.fromkeys(names, 0)),
    )
    return saved(kind(name="w"))


def test_an_entity_with_too_many_attributes_to_compare_is_refused_with_the_way_out() -> None:
    assert len(plan_of(Deletion(wide(140, Table("wide", revision_attribute=None)))).actions) == 1
    entity = wide(160, Table("wider", revision_attribute=None))
    message = r"this Wide has no revision .* compares 16\d attributes of it.* 300; give .*Key\(Wide"
    with pytest.raises(UsageError, match=message):
        plan_of(Deletion(entity))
    with pytest.raises(UsageError, match=message):
        plan_of(Deletion(entity), Save(Loose(name="l")))
    assert len(plan_of(Deletion(Key(type(entity), name="w"))).actions) == 1
    assert len(plan_of(Deletion(wide(160, Table("wide-revised")))).actions) == 1


def test_without_revisions_a_total_that_the_replaced_class_does_not_have_is_compared_too() -> None:
    before = stored(Club(club="c"))
    intents = Save(Choir(club="c"), overwrite=True), Save(Singer(name="s", choir="c"))
    replaced = plan_of(*intents, reads=reads_of(told, before)).actions[0]
    assert replaced.after == {**before, "_type": {"S": "Choir"}, "voices": {"N": "1"}}
    assert replaced.expected_values == {"_type": {"S": "Club"}, "club": {"S": "c"}, "voices": None}
