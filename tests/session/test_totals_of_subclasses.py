"""A class is counted in items of a class that derives from its target, which keeps totals of its own, too.

The three classes are in three tables, so whoever verifies one of them has to find out which others count.
"""

from itertools import combinations
from typing import Any

import pytest

from dynaorm import Aggregate, Entity, Session, Table, tools
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.transport import Transport
from tests.cast.seen import items, put

teams, people, awards = Table("teams-counted"), Table("people-counted"), Table("awards-counted")


class Team(Entity, table=teams, pk="TEAM#{team}", sk="TEAM"):
    team: str
    people: int = 0


class Club(Team):
    awards: int = 0


class Person(Entity, table=people, pk="PERSON#{name}", sk="PERSON"):
    name: str
    team: str
    in_team = Aggregate(Team, key={"team": "team"}, count="people")


class Award(Entity, table=awards, pk="AWARD#{award}", sk="AWARD"):
    award: str
    team: str
    in_club = Aggregate(Club, key={"team": "team"}, count="awards")


SCOPES: list[tuple[Any, ...]] = [
    some for size in (1, 2) for some in combinations((Team, Club, Person, Award, teams, people, awards), size)
]


def written(session: Session) -> None:
    session.save_many([Team(team="a"), Club(team="b")])
    session.save_many([Person(name="p", team="a"), Person(name="q", team="b"), Award(award="x", team="b")])


def test_sound_totals_are_sound_whatever_is_verified(session: Session) -> None:
    written(session)
    assert session.get_one(Club, team="b") == Club.model_validate({"team": "b", "people": 1, "awards": 1})
    assert {some: list(tools.verify(session, *some)) for some in SCOPES} == {some: [] for some in SCOPES}


@pytest.mark.parametrize(
    "named", [Club, Award, awards, Team, Person], ids=["Club", "Award", "awards", "Team", "Person"]
)
def test_an_unreadable_item_makes_totals_of_a_subclass_doubtful(
    session: Session, moto: Transport, named: Any
) -> None:
    written(session)
    stored = items(moto, people)
    put(moto, {**stored["PERSON#q PERSON"], "team": {"L": []}}, people)
    unread, total = tools.verify(session, named)
    assert (unread.kind, unread.entity) == (FindingKind.UNREADABLE, "Person")
    assert (total.kind, total.repairable) == (FindingKind.TOTAL, False)
    assert total.uncertain_because.startswith("an item of Person cannot be read")
    assert all(one.is_left for one in tools.repair(session, named))
    assert items(moto, teams)["TEAM#b TEAM"]["people"] == {"N": "1"}


def test_totals_of_a_subclass_are_repaired_from_all_its_sources(session: Session, moto: Transport) -> None:
    written(session)
    club = items(moto, teams)["TEAM#b TEAM"]
    put(moto, {**club, "people": {"N": "7"}, "awards": {"N": "9"}}, teams)
    (mended,) = tools.repair(session, Person)
    assert mended.outcome is Outcome.REPAIRED
    assert session.get_one(Club, team="b").people == 1
    assert session.get_one(Club, team="b").awards == 1
