"""Targets that cannot be deleted while something is counted in them."""

from decimal import Decimal

import pytest

from dynaorm import Aggregate, Entity, F, Key, Session, Table
from dynaorm.errors import ConditionFailed, EntityNotFound, InvalidValue, StaleEntity, StillCounted
from dynaorm.item.condition import And, Attr, Compare, Or, equals, missing
from dynaorm.plan.intent import Deletion
from tests.cast.people import Member, Team
from tests.cast.tickets import Issue, Repo
from tests.plan.compiling import loaded, plan_of, saved

plain = Table("restriction-plain", type_attribute=None, revision_attribute=None)


class Shelf(Entity, table=plain, pk="SHELF#{shelf}", sk="S"):
    shelf: str
    books: int = 0


class Book(Entity, table=plain, pk="BOOK#{title}", sk="B"):
    title: str
    shelf: str
    on_shelf = Aggregate(Shelf, count="books", restrict=True)


TEAM = Key(Team, team="red")


def join(session: Session, *names: str) -> list[Member]:
    return [session.save(Member(name=name, team="red", hours=Decimal(2))) for name in names]


@pytest.mark.parametrize("by_key", [True, False])
def test_a_target_is_deleted_only_when_nothing_is_counted_in_it(session: Session, by_key: bool) -> None:
    (liz,) = join(session, "liz")
    with pytest.raises(StillCounted, match=r"Member\.in_team counts \(members is 1, hours is 2\)") as caught:
        session.delete(TEAM if by_key else session.get_one(TEAM))
    assert caught.value.aggregates == ("Member.in_team",)
    assert caught.value.totals == {"members": 1, "hours": 2}
    assert caught.value.key == TEAM
    session.delete(liz)
    session.delete(TEAM if by_key else session.get_one(TEAM))
    assert session.get(TEAM) is None


def test_totals_that_do_not_restrict_are_lost(session: Session) -> None:
    session.save(Issue(repo="r", number=1))
    session.delete(Key(Repo, repo="r"))
    assert session.get(Repo, repo="r") is None


def test_a_target_is_deleted_together_with_all_that_it_counts(session: Session) -> None:
    members = join(session, "liz", "bob")
    with pytest.raises(StillCounted), session.transaction() as tx:
        tx.delete(TEAM)
        tx.delete(members[0])
    with session.transaction() as tx:
        tx.delete(TEAM)
        for one in members:
            tx.delete(one)
    assert [*session.scan(Team), *session.scan(Member)] == []


def test_a_target_is_moved_only_when_nothing_is_counted_in_it(session: Session) -> None:
    (liz,) = join(session, "liz")
    team = session.get_one(TEAM)
    team.team = "blue"
    with pytest.raises(StillCounted):
        session.move(team)
    session.delete(liz)
    team = session.get_one(TEAM)
    team.team = "blue"
    session.move(team)
    assert session.get_one(Team, team="blue").members == 0


def test_other_reasons_are_told_apart(session: Session) -> None:
    with pytest.raises(EntityNotFound):
        session.delete(TEAM)
    team = session.save(Team(team="red"))
    with pytest.raises(ConditionFailed) as caught:
        session.delete(TEAM, condition=F.goal > 10)
    assert type(caught.value) is ConditionFailed
    join(session, "liz")
    with pytest.raises(StaleEntity):
        session.delete(team)


def test_a_table_without_type_and_revision_refuses_it_too(session: Session) -> None:
    book = session.save(Book(title="b", shelf="s"))
    with pytest.raises(StillCounted):
        session.delete(Key(Shelf, shelf="s"))
    with pytest.raises(StillCounted):
        session.delete(session.get_one(Shelf, shelf="s"))
    session.delete(book)
    session.delete(Key(Shelf, shelf="s"))


def test_a_deletion_requires_the_totals_that_the_block_itself_ends() -> None:
    team, member = (
        loaded(Team(team="red"), members=1, hours=2),
        saved(Member(name="liz", team="red", hours=Decimal(2))),
    )
    mine, members, hours = equals("_rev", {"S": "w1"}), Attr(("members",)), Attr(("hours",))
    (alone,) = plan_of(Deletion(team)).actions
    none = (Or((missing(one.path[0]), Compare(one, "=", {"N": "0"}))) for one in (members, hours))
    assert alone.action.condition == And((mine, *none))
    both = plan_of(Deletion(team), Deletion(member)).actions[0]
    assert both.action.condition == And(
        (mine, Compare(members, "=", {"N": "1"}), Compare(hours, "=", {"N": "2"}))
    )


def test_a_deletion_with_more_than_a_total_can_hold_is_refused_naming_the_total() -> None:
    members = [saved(Member(name=name, team="red", hours=Decimal(10**38 - 1))) for name in "ab"]
    with pytest.raises(InvalidValue) as caught:
        plan_of(Deletion(saved(Team(team="red"))), *map(Deletion, members))
    assert (caught.value.entity, caught.value.field) == ("Team", "hours")


def test_the_plan_names_the_totals() -> None:
    (planned,) = plan_of(Deletion(saved(Team(team="red")))).explain().splitlines()[1:]
    assert "delete Team(team='red'), if its revision is still w1" in planned
    assert planned.endswith(", and only if nothing is counted in members and hours any more")
