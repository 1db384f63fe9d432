"""Plans in words: the golden texts of explain()."""

from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, Key, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.action import Delete
from dynaorm.plan.intent import Check, Deletion, Intent, Save
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Kind, Planned, Purpose
from dynaorm.plan.versions import VERSIONS, VersionPurpose
from tests.plan.cast import Audit, User
from tests.plan.compiling import plan_of, reads_of, saved, stored

loose = Table("loose", pk="id", sk=None, revision_attribute=None)


class Note(Entity, table=loose, pk="NOTE#{note_id}"):
    note_id: str
    text: str = ""


def explained(*intents: Intent) -> list[str]:
    return plan_of(*intents).explain().splitlines()


def test_an_insert_with_a_unique_value() -> None:
    assert explained(Save(User(user_id="1", email="Bob@X"))) == [
        "TransactWriteItems, 2 actions, 4 write capacity units",
        "1. Put app PK=USER#1 SK=U: insert User(user_id='1'), if nothing is stored under its key",
        (
            "2. Put app PK=email#bob@x SK=email#bob@x: claim email = 'Bob@X' for User(user_id='1'), "
            "if nobody else holds it"
        ),
    ]


def test_a_changed_unique_value() -> None:
    user = saved(User(user_id="1", email="a@x"))
    user.email = "b@x"
    assert explained(Save(user)) == [
        "TransactWriteItems, 3 actions, 6 write capacity units",
        "1. Update app PK=USER#1 SK=U: write what changed of User(user_id='1'), if its revision is still w1",
        "2. Delete app PK=email#a@x SK=email#a@x: release email = 'a@x', which User(user_id='1') no longer holds",
        "3. Put app PK=email#b@x SK=email#b@x: claim email = 'b@x' for User(user_id='1'), if nobody else holds it",
    ]


def test_a_new_version_and_a_tombstone() -> None:
    audit = saved(Audit(name="7"))
    audit.result = "bad"
    assert explained(Save(audit)) == [
        "TransactWriteItems, 2 actions, 4 write capacity units",
        "1. Update app PK=AUDIT#7 SK=v0_A: write what changed of Audit(name='7'), if its revision is still w1",
        "2. Put app PK=AUDIT#7 SK=v2_A: keep version 2 of Audit(name='7'), a number never used before",
    ]
    assert explained(Deletion(audit)) == [
        "PutItem, 1 action, 1 write capacity unit",
        (
            "1. Put app PK=AUDIT#7 SK=v0_A: delete Audit(name='7'), leaving a tombstone that keeps its version "
            "number, if its revision is still w1"
        ),
    ]


def test_single_writes_by_key_and_by_value() -> None:
    note = saved(Note(note_id="n"))
    note.text = "t"
    assert explained(Save(note))[1:] == [
        "1. Update loose id=NOTE#n: write what changed of Note(note_id='n'), if what it depends on is unchanged"
    ]
    assert explained(Deletion(Key(Note, note_id="n")))[1:] == [
        "1. Delete loose id=NOTE#n: delete Note(note_id='n'), if it exists"
    ]


def test_checks_and_conditions() -> None:
    key = Key(User, user_id="1")
    for user in (User(user_id="1", email="a"), saved(User(user_id="1", email="a"))):
        user.name = "x"
        assert explained(Save(user, F.name == "x"))[1].endswith(", and only under the caller's condition")
    note, only = Note(note_id="n"), ", if the condition on what is replaced holds"
    for replacing, provided in ((None, ""), (F.text == "x", only)):
        assert explained(Save(note, overwrite=True, replacing=replacing))[1] == (
            f"1. Put loose id=NOTE#n: replace Note(note_id='n'){provided}, or insert it if nothing is stored under its "
            "key"
        )
    assert explained(Check(key, F.name == "x"))[1] == (
        "1. Check app PK=USER#1 SK=U: write nothing, but refuse everything unless User(user_id='1') is as "
        "expected, and only under the caller's condition"
    )


@pytest.mark.parametrize(
    ("kind", "purpose", "number", "text"),
    [
        (VERSIONS, VersionPurpose.PURGE, 3, "remove version 3 of Audit(name='7') for good"),
        (
            OWN_ITEM,
            ItemPurpose.PURGE,
            None,
            "remove the tombstone of Audit(name='7'), the last of its items",
        ),
    ],
    ids=["version", "tombstone"],
)
def test_what_is_removed_for_good_is_a_version_or_the_tombstone(
    kind: Kind, purpose: Purpose, number: int | None, text: str
) -> None:
    key = Key(Audit, name="7").primary_key
    delete = Delete("app", key, None)
    assert Planned(delete, kind, purpose, mapping_of(Audit), key, label=number).reason == text


def test_stored_text_cannot_begin_a_line_of_its_own() -> None:
    sentence = explained(Save(Note(note_id="1\n2. Put app\x1b[2J")))[1]
    assert "id=NOTE#1\\n2. Put app\\x1b[2J" in sentence
    assert sentence.isprintable()


secrets = Table("secrets")


class Badge(Entity, table=secrets, pk="BADGE#{number}", sk="B"):
    number: int
    code: Annotated[str, Unique(), Field(repr=False)]


def test_a_unique_value_that_is_not_to_be_shown_is_not_in_the_plan() -> None:
    put, claim = explained(Save(Badge(number=1, code="open sesame")))[1:3]
    assert put.startswith("1. Put secrets PK=BADGE#1 SK=B: ")
    assert "sesame" not in claim
    assert claim.startswith("2. Put secrets PK=********** SK=**********: claim code = ")


class Locker(Entity, table=secrets, pk="LOCKER#{code}", sk="L"):
    code: Annotated[str, Field(repr=False)]


# -- conditions of places, unique values and totals --------------------------------------------------------------------

placed = Table(
    "placed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2"), GlobalIndex("GSI3"), GlobalIndex("GSI4")]
)


class Job(Entity, table=placed, pk="JOB#{name}", sk="J"):
    name: str
    state: str = "new"
    size: int = 0
    code: Annotated[str | None, Unique(when=F.state == "new")] = None
    pending = Index("GSI1", pk="PENDING#{state}", sk="{name}", when=F.state == "new")
    large = Index("GSI1", pk="LARGE", sk="{name}", when=lambda one: one.state != "new" and one.size > 9)


class Desk(Entity, table=placed, pk="DESK#{name}", sk="v0", versioned=True):
    name: str
    room: str | None = None
    floor: str | None = None
    by_name = Index("GSI3", pk="DESKS", sk="{name}")
    by_room = Index("GSI1", pk="ROOM#{room}", sk="{name}", when=F.room != "x")
    by_floor = Index("GSI1", pk="FLOOR#{floor}", sk="{name}")
    low = Index("GSI2", pk="LOW", sk="{name}", when=F.floor == "1")
    last = Index("GSI4", pk="LAST", sk="{name}", when=F.floor == "0")
    lowest = Index("GSI2", pk="LOWEST", sk="{name}", when=F.floor == "0")


class Team(Entity, table=placed, pk="TEAM#{team}", sk="T"):
    team: str
    members: int = 0
    hours: int = 0


class Member(Entity, table=placed, pk="TEAM#{team}", sk="MEMBER#{name}"):
    team: str
    name: str
    active: bool = True
    in_team = Aggregate(Team, count="members", when=F.active == True)  # noqa: E712 - an expression


class Shift(Entity, table=placed, pk="TEAM#{team}", sk="SHIFT#{number:03d}"):
    team: str
    number: int
    hours: int = 1
    is_paid: bool = True
    in_team = Aggregate(Team, sum={"hours": "hours"}, when=F.is_paid == True)  # noqa: E712 - an expression


def changed(job: Job, **values: object) -> Save:
    for name, value in values.items():
        setattr(job, name, value)
    return Save(job)


WRITE = "1. Update placed PK=JOB#a SK=J: write what changed of Job(name='a'), if its revision is still w1"


@pytest.mark.parametrize(
    ("write", "lines"),
    [
        (
            lambda: Save(Job(name="a", code="x")),
            [
                (
                    "1. Put placed PK=JOB#a SK=J: insert Job(name='a'), if nothing is stored under its key; "
                    "it is in pending of GSI1, because F.state == 'new'"
                ),
                (
                    "2. Put placed PK=code#x SK=code#x: claim code = 'x' for Job(name='a'), if nobody else holds it, "
                    "because F.state == 'new'"
                ),
            ],
        ),
        (
            lambda: changed(saved(Job(name="a", code="x")), state="done"),
            [
                f"{WRITE}; it leaves pending of GSI1",
                "2. Delete placed PK=code#x SK=code#x: release code = 'x', which Job(name='a') no longer holds",
            ],
        ),
        (
            lambda: changed(saved(Job(name="a")), state="done", size=10),
            [f"{WRITE}; it is in large of GSI1"],
        ),
        (lambda: changed(saved(Job(name="a", state="done")), size=3), [WRITE]),
        (
            lambda: Deletion(saved(Job(name="a"))),
            ["1. Delete placed PK=JOB#a SK=J: delete Job(name='a'), if its revision is still w1"],
        ),
        (
            lambda: Save(Member(team="t", name="m")),
            [
                (
                    "1. Put placed PK=TEAM#t SK=MEMBER#m: insert Member(team='t', name='m'), if nothing is stored "
                    "under its key"
                ),
                (
                    "2. Update placed PK=TEAM#t SK=T: add 1 to members of Team(team='t') for Member.in_team, or make "
                    "it of its key; Member.in_team counts where F.active == True"
                ),
            ],
        ),
    ],
    ids=["enters", "leaves", "moves", "stays out", "is deleted", "is counted"],
)
def test_conditions_of_places_unique_values_and_totals_are_told(
    write: Callable[[], Intent], lines: list[str]
) -> None:
    assert explained(write())[1:] == lines


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ({}, ""),
        ({"floor": "2"}, ""),
        (
            {"room": "a"},
            "; it is in by_room of GSI1, because F.room != 'x'",
        ),
        ({"floor": "1"}, "; it is in low of GSI2, because F.floor == '1'"),
        (
            {"floor": "0"},
            "; it is in lowest of GSI2, because F.floor == '0'; it is in last of GSI4, because F.floor == '0'",
        ),
    ],
)
def test_only_places_under_a_condition_are_told_and_only_of_the_item_itself(
    values: dict[str, str], places: str
) -> None:
    _, put, version = explained(Save(Desk(name="a", **values)))
    assert put.endswith(f"insert Desk(name='a'), if nothing is stored under its key{places}")
    assert version.endswith("keep version 1 of Desk(name='a'), a number never used before")


def test_totals_that_several_classes_count_are_told_with_the_conditions_of_each() -> None:
    total = explained(Save(Member(team="t", name="m")), Save(Shift(team="t", number=1)))[-1]
    assert total.endswith(
        "add 1 to members and 1 to hours of Team(team='t') for Member.in_team and Shift.in_team, or make it of its "
        "key; Member.in_team counts where F.active == True; Shift.in_team counts where F.is_paid == True"
    )


def test_an_item_in_two_places_of_an_index_leaves_none() -> None:
    before = {**stored(Desk(name="a", room="a")), "floor": {"S": "2"}}
    desk = Desk(name="a")
    plan = plan_of(Save(desk, overwrite=True), reads=reads_of(placed, before))
    assert plan.explain().splitlines()[1].endswith(": replace Desk(name='a'), if its revision is still w1")


def test_a_key_with_a_field_that_is_not_to_be_shown_is_masked() -> None:
    for intent in (Save(Locker(code="open sesame")), Deletion(saved(Locker(code="open sesame")))):
        (line,) = explained(intent)[1:]
        assert " secrets PK=********** SK=L: " in line
        assert "sesame" not in line


def test_an_item_that_cannot_be_read_is_in_no_place() -> None:
    unreadable = {**stored(Job(name="a")), "size": {"S": "?"}, "state": {"N": "1"}}
    plan = plan_of(Save(Job(name="a"), overwrite=True), reads=reads_of(placed, unreadable))
    sentence = plan.explain().splitlines()[1]
    assert sentence.endswith(
        "if its revision is still w1; it is in pending of GSI1, because F.state == 'new'"
    )
