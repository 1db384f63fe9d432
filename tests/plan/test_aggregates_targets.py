"""Targets that are written in the same unit of work as what counts in them: one action, one revision, one outcome."""

from typing import Any

import pytest

from dynaorm import Aggregate, Entity, F, Key, Table, detached
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import EntityNotFound, InvalidValue, SameItemTwice, UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.item.action import Update
from dynaorm.item.condition import And, Or, equals, exists, missing
from dynaorm.item.update import SetTo
from dynaorm.plan import intent
from dynaorm.plan.edit import check_changes
from dynaorm.plan.intent import Edit, Move, Save
from dynaorm.plan.plan import Plan
from dynaorm.plan.reads import Reads
from tests.plan.compiling import OWN_REVISION, committed, loaded, plan_of, stored

app = Table("targets")
bare = Table("bare-targets", revision_attribute=None)


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str = "x"
    members: int = 0


class Club(Group):
    games: int = 0


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    in_group = Aggregate(Group, count="members")


class Game(Entity, table=app, pk="GROUP#{group_id}", sk="GAME#{day}"):
    group_id: str
    day: str
    played = Aggregate(Club, count="games")


class Shelf(Entity, table=bare, pk="SHELF#{shelf}", sk="INFO"):
    shelf: str
    label: str = ""
    books: int = 0


class Book(Entity, table=bare, pk="BOOK#{isbn}", sk="BOOK"):
    isbn: str
    shelf: str = "a"
    on_shelf = Aggregate(Shelf, count="books")


GROUP: dict[str, Any] = {"PK": {"S": "GROUP#g"}, "SK": {"S": "INFO"}}


def joining(number: int = 2, group: str = "g") -> list[Save]:
    return [Save(Membership(group_id=group, user_id=str(one))) for one in range(number)]


def known_as(entity: Entity, item: dict[str, Any] | None) -> Reads:
    mapping = mapping_of(type(entity))
    return Reads({ident_of(mapping.table, mapping.primary_key.of(vars(entity))): item})


def purposes(plan: Plan) -> list[str]:
    return [planned.purpose.value for planned in plan.actions]


# -- inserted, replaced, moved -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [detached(loaded(Group(group_id="g"), members=4)), Group(group_id="g", members=4)]
)
def test_a_target_is_inserted_with_totals_of_zero_only(given: Group) -> None:
    with pytest.raises(InvalidValue) as caught:
        plan_of(Save(given))
    assert str(caught.value) == (
        "Group.members = 4: is kept by Membership.in_group, and begins at 0; leave it out (detached(..., members=0) "
        "for a copy): saving what Membership.in_group counts changes it"
    )


def test_a_target_that_is_overwritten_keeps_its_totals() -> None:
    group, item = Group(group_id="g", name="new"), stored(Group(group_id="g"), members=4)
    plan = plan_of(Save(group, overwrite=True), *joining(), reads=known_as(group, item))
    assert plan.actions[0].after == {**item, "name": {"S": "new"}, "members": {"N": "6"}, "_rev": {"S": "w2"}}
    committed(plan)
    assert group.members == 6
    same = Save(Group(group_id="g", members=4), overwrite=True)
    assert plan_of(same, reads=known_as(group, item)).actions[0].after == {**item, "_rev": {"S": "w2"}}
    with pytest.raises(InvalidValue, match=r"Group.members = 5"):
        plan_of(Save(Group(group_id="g", members=5), overwrite=True), reads=known_as(group, item))


def test_a_moved_target_leaves_its_totals_with_the_key_that_is_named() -> None:
    group = loaded(Group(group_id="g"), members=4)
    group.group_id = "h"
    plan = plan_of(Move(group), *joining(1, "h"))
    assert [planned.after and planned.after.get("members") for planned in plan.actions] == [
        None,
        {"N": "1"},
        None,
    ]
    committed(plan)
    assert group.members == 1


# -- updated -----------------------------------------------------------------------------------------------------------


def test_without_a_revision_the_total_itself_is_the_condition() -> None:
    shelf = loaded(Shelf(shelf="a"), books=4)
    shelf.label = "new"
    plan = plan_of(Save(shelf), Save(Book(isbn="1")))
    action = plan.actions[0].action
    assert isinstance(action, Update)
    assert action.condition == And(
        (
            exists("PK"),
            equals("_type", {"S": "Shelf"}),
            equals("books", {"N": "4"}),
            equals("label", {"S": ""}),
            equals("shelf", {"S": "a"}),
        )
    )
    assert SetTo(("books",), {"N": "5"}) in action.changes


# -- checked and deleted -----------------------------------------------------------------------------------------------


def test_a_deleted_target_drops_what_is_due_to_it() -> None:
    group, member = loaded(Group(group_id="g"), members=1), loaded(Membership(group_id="g", user_id="1"))
    assert purposes(plan_of(intent.Deletion(group), intent.Deletion(member))) == ["delete", "delete"]
    by_key = intent.Deletion(Key(Group, group_id="g"))
    assert purposes(plan_of(intent.Deletion(member), by_key)) == ["delete", "delete"]


# -- of another class --------------------------------------------------------------------------------------------------


def test_a_derived_target_takes_both_its_own_totals_and_those_of_its_base() -> None:
    club = Club(group_id="g")
    plan = plan_of(Save(club), *joining(), Save(Game(group_id="g", day="mon")))
    committed(plan)
    assert (club.members, club.games) == (2, 1)
    both = plan_of(*joining(), Save(Game(group_id="g", day="mon")))
    (action,) = [planned for planned in both.actions if planned.purpose.value == "aggregate"]
    assert action.mapping.entity is Club
    assert isinstance(action.action, Update)
    assert action.action.condition == Or((missing("PK"), And((equals("_type", {"S": "Club"}), OWN_REVISION))))


def test_what_joins_a_target_of_another_class_finds_none() -> None:
    group = loaded(Group(group_id="g"))
    group.name = "new"
    with pytest.raises(EntityNotFound, match=r"Club.*'g'"):
        plan_of(Save(group), Save(Game(group_id="g", day="mon")))
    game = loaded(Game(group_id="g", day="mon"))
    assert purposes(plan_of(Save(group), intent.Deletion(game))) == ["update", "delete"]


def test_an_update_by_the_key_of_a_base_class_leaves_open_which_target_it_is() -> None:
    edit = Edit(Key(Group, group_id="g"), (SetTo(("name",), "new"),))
    with pytest.raises(SameItemTwice, match="is written as a Group and counted in as a Club"):
        plan_of(edit, Save(Game(group_id="g", day="mon")))


# -- by hand -----------------------------------------------------------------------------------------------------------

BY_HAND = (
    "Group.members is kept by Membership.in_group, and is not written by hand; "
    "leave it as it is: saving and deleting what Membership.in_group counts changes it"
)


def test_a_total_is_not_saved_by_hand() -> None:
    group = loaded(Group(group_id="g"), members=4)
    group.members = 5
    for one in (Save(group), Move(group)):
        with pytest.raises(UsageError) as caught:
            plan_of(one)
        assert str(caught.value) == BY_HAND


def test_a_moved_total_is_not_written_by_hand() -> None:
    group = loaded(Group(group_id="g"), members=4)
    group.group_id, group.members = "h", 5
    with pytest.raises(InvalidValue, match="begins at 0"):
        plan_of(Move(group))


@pytest.mark.parametrize("change", [F.members.add(1), F.members.set(4), F.members.remove()])
def test_a_total_is_not_updated_by_hand(change: Any) -> None:
    with pytest.raises(UsageError) as caught:
        check_changes(mapping_of(Group), (change,))
    assert str(caught.value) == BY_HAND
    for target in (loaded(Group(group_id="g"), members=4), Key(Group, group_id="g")):
        with pytest.raises(UsageError, match="is kept by"):
            edit_of(target, (F.name.set("x"), change), None)


def test_a_total_of_a_derived_class_is_not_updated_through_its_base() -> None:
    table = Table("bases")

    class Base(Entity, table=table, pk="B#{id}", sk="B"):
        id: str
        parts: int = 0

    class Derived(Base):
        pass

    class Piece(Entity, table=table, pk="P#{id}", sk="P"):
        id: str
        part_of = Aggregate(Derived, count="parts")

    edit = Edit(Key(Base, id="1"), (F.parts.add(1),))
    item = {**stored(Derived(id="1")), "parts": {"N": "4"}}
    with pytest.raises(UsageError, match=r"Derived\.parts is kept by"):
        plan_of(edit, reads=known_as(Base(id="1"), item))
