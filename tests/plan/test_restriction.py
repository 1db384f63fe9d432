"""Targets that cannot be deleted while something is counted in them."""

import pytest

from dynaorm import Aggregate, Entity, F, Key, Session, Table
from dynaorm.errors import ConditionFailed, EntityNotFound, InvalidValue, StaleEntity, StillCounted
from dynaorm.item.condition import And, Attr, Compare, Or, equals, missing
from dynaorm.plan.intent import Deletion
from tests.plan.compiling import loaded, plan_of, saved

app = Table("restriction-app")
plain = Table("restriction-plain", type_attribute=None, revision_attribute=None)


class Group(Entity, table=app, pk="GROUP#{group}", sk="G"):
    group: str
    members: int = 0
    hours: int = 0
    notes: int = 0


class Member(Entity, table=app, pk="MEMBER#{name}", sk="M"):
    name: str
    group: str | None
    hours: int = 2
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"}, restrict=True)


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    group: str
    about = Aggregate(Group, count="notes")


class Shelf(Entity, table=plain, pk="SHELF#{shelf}", sk="S"):
    shelf: str
    books: int = 0


class Book(Entity, table=plain, pk="BOOK#{title}", sk="B"):
    title: str
    shelf: str
    on_shelf = Aggregate(Shelf, count="books", restrict=True)


GROUP = Key(Group, group="g")


def join(session: Session, *names: str) -> list[Member]:
    return [session.save(Member(name=name, group="g")) for name in names]


@pytest.mark.parametrize("by_key", [True, False])
def test_a_target_is_deleted_only_when_nothing_is_counted_in_it(session: Session, by_key: bool) -> None:
    (liz,) = join(session, "liz")
    with pytest.raises(StillCounted, match=r"Member\.in_group counts \(members is 1, hours is 2\)") as caught:
        session.delete(GROUP if by_key else session.get_one(GROUP))
    assert caught.value.aggregates == ("Member.in_group",)
    assert caught.value.totals == {"members": 1, "hours": 2}
    assert caught.value.key == GROUP
    session.delete(liz)
    session.delete(GROUP if by_key else session.get_one(GROUP))
    assert session.get(GROUP) is None


def test_totals_that_do_not_restrict_are_lost(session: Session) -> None:
    session.save(Note(name="n", group="g"))
    session.delete(GROUP)
    assert session.get(GROUP) is None


def test_a_target_is_deleted_together_with_all_that_it_counts(session: Session) -> None:
    members = join(session, "liz", "bob")
    with pytest.raises(StillCounted), session.transaction() as tx:
        tx.delete(GROUP)
        tx.delete(members[0])
    with session.transaction() as tx:
        tx.delete(GROUP)
        for one in members:
            tx.delete(one)
    assert [*session.scan(Group), *session.scan(Member)] == []


def test_a_target_is_moved_only_when_nothing_is_counted_in_it(session: Session) -> None:
    (liz,) = join(session, "liz")
    group = session.get_one(GROUP)
    group.group = "h"
    with pytest.raises(StillCounted):
        session.move(group)
    session.delete(liz)
    group = session.get_one(GROUP)
    group.group = "h"
    session.move(group)
    assert session.get_one(Group, group="h").members == 0


def test_other_reasons_are_told_apart(session: Session) -> None:
    with pytest.raises(EntityNotFound):
        session.delete(GROUP)
    group = session.save(Group(group="g"))
    with pytest.raises(ConditionFailed) as caught:
        session.delete(GROUP, condition=F.notes > 0)
    assert type(caught.value) is ConditionFailed
    join(session, "liz")
    with pytest.raises(StaleEntity):
        session.delete(group)


def test_a_table_without_type_and_revision_refuses_it_too(session: Session) -> None:
    book = session.save(Book(title="b", shelf="s"))
    with pytest.raises(StillCounted):
        session.delete(Key(Shelf, shelf="s"))
    with pytest.raises(StillCounted):
        session.delete(session.get_one(Shelf, shelf="s"))
    session.delete(book)
    session.delete(Key(Shelf, shelf="s"))


def test_a_deletion_requires_the_totals_that_the_block_itself_ends() -> None:
    group, member = loaded(Group(group="g"), members=1, hours=2), saved(Member(name="liz", group="g"))
    mine, members, hours = equals("_rev", {"S": "w1"}), Attr(("members",)), Attr(("hours",))
    (alone,) = plan_of(Deletion(group)).actions
    none = (Or((missing(one.path[0]), Compare(one, "=", {"N": "0"}))) for one in (members, hours))
    assert alone.action.condition == And((mine, *none))
    both = plan_of(Deletion(group), Deletion(member)).actions[0]
    assert both.action.condition == And(
        (mine, Compare(members, "=", {"N": "1"}), Compare(hours, "=", {"N": "2"}))
    )


def test_a_deletion_with_more_than_a_total_can_hold_is_refused_naming_the_total() -> None:
    members = [saved(Member(name=name, group="g", hours=10**38 - 1)) for name in "ab"]
    with pytest.raises(InvalidValue) as caught:
        plan_of(Deletion(saved(Group(group="g"))), *map(Deletion, members))
    assert (caught.value.entity, caught.value.field) == ("Group", "hours")


def test_the_plan_names_the_totals() -> None:
    (planned,) = plan_of(Deletion(saved(Group(group="g")))).explain().splitlines()[1:]
    assert "delete Group(group='g'), if its revision is still w1" in planned
    assert planned.endswith(", and only if nothing is counted in members and hours any more")
