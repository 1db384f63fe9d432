"""``repair`` and ``backfill`` write nothing that depends on a class, a table or a declaration that is not loaded.

Each test lets one program write with all of its declarations, and another repair with fewer or older ones.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique, tools
from dynaorm.flow.call import Call, Reply
from dynaorm.flow.integrity.finding import FindingKind, Outcome, RepairResult
from dynaorm.integrity.run import RunOptions, backfill, repair, verify
from dynaorm.testing.clock import FakeClock
from tests.integrity.zoo import Raw, key_of, text
from tests.memory import MEMORY

# What the writers declare.
guards = Table("guards", sk=None)
whole = Table("staff", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")], guard_table=guards)
other = Table("other", guard_table=guards)


class Team(Entity, table=whole, pk="TEAM#{team}", sk="TEAM"):
    team: str
    members: int = 0
    hours: Decimal = Decimal(0)


class Person(Entity, table=whole, pk="TEAM#{team}", sk="PERSON#{name}"):
    team: str
    name: str
    email: Annotated[str | None, Unique(shared=True)] = None
    hours: Decimal = Decimal(0)
    grade: str = "a"
    desk: str | None = None
    by_grade = Index("GSI1", pk="GRADE#{grade}#{team}", sk="{name}")
    by_desk = Index("GSI2", pk="DESK#{desk}", sk="{name}")
    in_team = Aggregate(Team, count="members", sum={"hours": "hours"})


class Guest(Person):
    host: str = "?"


class Customer(Entity, table=other, pk="CUSTOMER#{number}", sk="CUSTOMER"):
    number: str
    email: Annotated[str, Unique(shared=True)]


# What the repairing program has loaded: an older Person, no Guest, no Customer.
old_guards = Table("guards", sk=None)
old = Table("staff", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")], guard_table=old_guards)


class OldTeam(Entity, table=old, pk="TEAM#{team}", sk="TEAM", name="Team"):
    team: str
    members: int = 0
    hours: Decimal = Decimal(0)


class OldPerson(Entity, table=old, pk="TEAM#{team}", sk="PERSON#{name}", name="Person"):
    team: str
    name: str
    email: Annotated[str | None, Unique(shared=True)] = None
    hours: Decimal = Decimal(0)
    grade: str = "a"
    by_grade = Index("GSI1", pk="GRADE#{grade}#{team}", sk="{name}")
    in_team = Aggregate(OldTeam, count="members", sum={"hours": "hours"})


@pytest.fixture
def raw(moto_line: Any) -> Iterator[Raw]:
    with MEMORY.empty():
        transport, client = moto_line
        found = Raw(client, str, transport)
        found.create(whole, other)
        yield found


@pytest.fixture
def team(raw: Raw) -> Raw:
    """A team of two, as the writers store it."""
    raw.session.save(Team(team="a"))
    for name in ("ann", "bob"):
        raw.session.save(Person(team="a", name=name, email=f"{name}@x", hours=Decimal(2)))
    return raw


def told(mended: Any) -> list[tuple[FindingKind, Outcome, bool]]:
    return [(one.finding.kind, one.outcome, bool(one.finding.uncertain_because)) for one in mended]


def both(raw: Raw, *named: Any, **options: Any) -> list[RepairResult]:
    """What a repair and then a backfill do."""
    given = RunOptions(**options)
    return [
        *repair(raw.session, *named, options=given),
        *backfill(raw.session, *named, options=given),
    ]


def unchanged(raw: Raw, *named: Any) -> list[RepairResult]:
    """What a repair and a backfill report that write nothing."""
    before = raw.items(whole, other, guards)
    mended = both(raw, *named)
    assert raw.items(whole, other, guards) == before
    assert all(one.is_left for one in mended)
    return mended


@pytest.mark.parametrize("named", [old, OldTeam, OldPerson])
def test_a_total_that_may_count_an_unknown_class_is_only_reported(team: Raw, named: Any) -> None:
    """Without the module of Guest the team looks as if it had a member too many."""
    team.session.save(Guest(team="a", name="gil"))
    assert list(tools.verify(team.session, whole)) == []
    totals = [one for one in unchanged(team, named) if one.finding.kind is FindingKind.TOTAL]
    assert [one.finding.item_key for one in totals] == [key_of("TEAM#a", "TEAM")] * 2
    assert all("'Guest'" in one.finding.uncertain_because for one in totals)


def test_an_unknown_class_saved_during_a_recount_is_noticed(team: Raw) -> None:
    team.change(whole, key_of("TEAM#a", "TEAM"), members={"N": "7"})
    clock, transport = FakeClock(), team.transport

    class Meanwhile:
        reads = 0

        def call(self, call: Call, /) -> Reply:
            if call.operation == "Query":
                self.reads += 1
                if self.reads == 1:
                    team.session.save(Guest(team="a", name="gil"))
            return transport.call(call)

    session = Session(transport=Meanwhile(), clock=clock)
    assert told(repair(session, old)) == [(FindingKind.TOTAL, Outcome.SKIPPED, True)]


def test_untyped_items_of_others_do_not_prevent_repair_of_totals(team: Raw) -> None:
    team.put(whole, key_of("JOB#1", "JOB"), state=text("done"))
    team.change(whole, key_of("TEAM#a", "TEAM"), members={"N": "7"})
    assert told(repair(team.session, old)) == [
        (FindingKind.UNKNOWN_ITEM, Outcome.NEEDS_DECISION, False),
        (FindingKind.TOTAL, Outcome.REPAIRED, False),
    ]


def test_a_guard_that_another_table_owns_is_not_taken_over(team: Raw) -> None:
    """Both hold the value; the guard is the customer's, of which this program knows nothing."""
    team.session.save(Customer(number="1", email="cy@x"))
    team.change(whole, key_of("TEAM#a", "PERSON#ann"), email=text("cy@x"))
    team.delete(guards, {"PK": text("email#ann@x")})
    reported = told(unchanged(team, old))
    assert (FindingKind.WRONG_OWNER, Outcome.SKIPPED, True) in reported


@pytest.mark.parametrize(
    "attributes",
    [
        {"owner": {"M": {"table": text("staff"), **key_of("TEAM#a", "PERSON#no")}}, "payload": text("!")},
        {"owner": text("TEAM#a")},
        {"payload": text("!")},
        {},
    ],
    ids=["payload", "owner is a text", "no owner", "nothing"],
)
def test_what_only_looks_like_a_guard_is_not_deleted(team: Raw, attributes: Any) -> None:
    team.put(guards, {"PK": text("email#no@x")}, **attributes)
    assert FindingKind.ORPHAN_GUARD in [one.finding.kind for one in unchanged(team, old)]


def test_a_guard_with_a_payload_is_not_replaced(team: Raw) -> None:
    owner = {"M": {"table": text("staff"), **key_of("TEAM#a", "PERSON#no")}}
    team.change(guards, {"PK": text("email#ann@x")}, owner=owner, payload=text("!"))
    kinds = [one.finding.kind for one in unchanged(team, old)]
    assert FindingKind.WRONG_OWNER in kinds
    assert FindingKind.EXTRA_ATTRIBUTES in kinds


# -- entities that a newer declaration wrote ---------------------------------------------------------------------------


@pytest.fixture
def newer(team: Raw) -> Raw:
    """A person whose newer fields and index the repairing program does not know."""
    team.session.save(Person(team="a", name="cyd", email="cyd@x", desk="7"))
    return team


@pytest.mark.parametrize("foreign", [(), ("desk", "GSI2PK", "GSI2SK")])
def test_attributes_that_are_named_as_foreign_make_nothing_doubtful(newer: Raw, foreign: Any) -> None:
    person = key_of("TEAM#a", "PERSON#cyd")
    newer.change(whole, person, GSI1PK=text("GRADE#x#a"))
    repaired = list(repair(newer.session, old, options=RunOptions(foreign_attributes=foreign)))
    wrong = [one for one in repaired if one.finding.item_key == person and "GSI1PK is" in one.finding.detail]
    assert [one.outcome for one in wrong] == [Outcome.REPAIRED if foreign else Outcome.SKIPPED]


def test_an_adopted_item_is_repaired_in_every_respect(team: Raw) -> None:
    """The repair of its index keys must not make it look as if a newer declaration had written it."""
    person = key_of("TEAM#a", "PERSON#dan")
    kinds = {"_type": text("Person"), "team": text("a"), "name": text("dan"), "email": text("dan@x")}
    team.put(whole, person, **kinds, GSI1PK=text("?"), GSI1SK=text("?"), shoe_size=text("43"))
    found = [one.kind for one in verify(team.session, OldPerson)]
    assert {FindingKind.INDEX_KEYS, FindingKind.MISSING_GUARD} <= {*found}
    assert {one.outcome for one in repair(team.session, OldPerson)} == {Outcome.REPAIRED}
    assert list(verify(team.session, OldPerson)) == []
