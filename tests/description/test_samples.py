"""Samples are what saves would leave: they load, and ``verify`` finds nothing wrong with them."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, computed_field, field_validator

from dynaorm import (
    Aggregate,
    CreatedAt,
    Entity,
    F,
    GlobalIndex,
    Index,
    Session,
    Table,
    Unique,
    entity_of,
    new_ksuid,
    tools,
)
from dynaorm.description import samples
from dynaorm.description.entry import Entry
from dynaorm.errors import UsageError
from dynaorm.testing import FakeClock, inconsistencies
from dynaorm.transport import Call, Transport
from tests.cast import documents, events, orders, others, people, tables, tickets
from tests.dynamodb_json import Item
from tests.laws import dependent_classes, written_classes
from tests.laws.classes import Schema, declare, schemas

# A table has the classes of the modules that were imported.
CLASSES = (documents, events, orders, others, people, tickets)
CAST = [one for one in vars(tables).values() if isinstance(one, Table) and one is not tables.locks]


def of_each_table(table: Table, entries: Iterable[Entry]) -> dict[Table, list[Item]]:
    """The items of a table, and of the table of its guards."""
    found: dict[Table, list[Item]] = {table: [], table.guards: []}
    for entry in entries:
        found[table.guards if entry.kind == "guard" else table].append(dict(entry.item))
    return found


def is_stored_in(kind: Any, table: Table) -> bool:
    return getattr(getattr(kind, "__dynaorm_mapping__", None), "table", None) is table


def check(table: Table, entries: Iterable[Entry]) -> None:
    """Every entity loads, and what belongs to entities fits them."""
    entries = list(entries)
    for entry in entries:
        if entry.kind == "entity":
            assert type(entity_of(entry.item, table)) is entry.cls
    assert inconsistencies(of_each_table(table, entries), datetime.now(UTC).timestamp()) == []


@pytest.mark.parametrize("table", CAST, ids=lambda table: table.name)
def test_verify_finds_nothing_wrong_with_the_samples_of_the_cast(table: Table, moto: Transport) -> None:
    entries = samples(table)
    with Session(transport=moto) as session:
        session.create_table(table)
        for home, items in of_each_table(table, entries).items():
            for item in items:
                moto.call(Call("PutItem", {"TableName": home.name, "Item": item}))
        assert list(tools.verify(session, table)) == []
    check(table, entries)
    declared = {kind for module in CLASSES for kind in vars(module).values() if is_stored_in(kind, table)}
    # Other tests may have declared more classes in the table.
    assert declared <= {entry.cls for entry in entries if entry.kind == "entity"}


@given(schemas())
def test_samples_of_any_keys_and_indexes_load_and_fit(schema: Schema) -> None:
    declared = declare(schema)
    entries = samples(declared.table)
    check(declared.table, entries)
    assert {one.cls for one in entries} == {*declared.classes.values()}


@given(written_classes.SPECS)
def test_samples_of_any_fields_load_and_fit(spec: written_classes.Spec) -> None:
    kind = written_classes.make(spec)
    table: Table = kind.__dynaorm_mapping__.table  # type: ignore[attr-defined]  # of every mapped class
    entries = samples(table)
    check(table, entries)
    # A third one shows the other side of a condition that the first two are on one side of.
    assert sum(one.cls is kind and one.kind == "entity" for one in entries) in (2, 3)


@given(dependent_classes.SPECS)
def test_samples_of_fields_that_look_at_others_load_and_fit(spec: dependent_classes.Spec) -> None:
    kind = dependent_classes.make(spec)
    table: Table = kind.__dynaorm_mapping__.table  # type: ignore[attr-defined]  # of every mapped class
    check(table, samples(table))


@given(st.sampled_from(CAST), st.integers(1, 6))
def test_each_class_has_as_many_entities_as_are_asked_for(table: Table, per_class: int) -> None:
    found = Counter(one.cls for one in samples(table, per_class) if one.kind == "entity")
    # Targets may be made for what they count, too.
    assert all(number >= per_class for number in found.values())


PROGRAM = """
import sys
from base64 import b64encode
import tests.cast.documents, tests.cast.events, tests.cast.orders, tests.cast.others, tests.cast.people
from dynaorm.description import samples
from tests.cast import documents, events, orders, others, people, tables, tickets
assert "moto" not in sys.modules and "hypothesis" not in sys.modules
for table in (tables.app, tables.away, tables.blobs, tables.native):
    for entry in samples(table):
        print(repr(dict(entry.item)))
"""


def test_samples_are_the_same_in_every_process() -> None:
    found = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        found.append(ran.stdout)
    assert found[0] == found[1]
    assert found[0].count("\n") > 20


# -- one thing each ----------------------------------------------------------------------------------------------------


class Line(BaseModel):
    line_id: str = Field(default_factory=new_ksuid)
    note: str | None = None


def main_items(table: Table, **given_: Any) -> list[Item]:
    return [one.item for one in samples(table, **given_) if one.kind == "entity"]


def test_samples_share_partitions_where_their_sort_keys_differ() -> None:
    table = Table("shared")

    class Ticket(Entity, table=table, pk="PROJECT#{project}", sk="TICKET#{number:03d}"):
        project: str
        number: int

    keys = [(item["PK"]["S"], item["SK"]["S"]) for item in main_items(table, per_class=3)]
    assert keys == [("PROJECT#project-1", f"TICKET#00{number}") for number in (1, 2, 3)]


def test_a_default_that_is_made_anew_is_made_up() -> None:
    table = Table("made")

    class Order(Entity, table=table, pk="ORDER#{order_id}", sk="O"):
        order_id: str = Field(default_factory=new_ksuid)
        at: Annotated[datetime | None, CreatedAt()] = None
        lines: list[Line] = Field(default_factory=lambda: [Line()], min_length=1)

    first, _ = main_items(table)
    assert first["order_id"] == {"S": "order_id-1"}
    assert first["at"] == {"S": "2024-01-01T00:01:00.000000Z"}
    assert first["lines"] == {"L": [{"M": {"line_id": {"S": "line_id-1"}}}]}


def test_the_first_sample_has_the_values_that_may_be_absent() -> None:
    table = Table("sparse")

    class Card(Entity, table=table, pk="CARD#{card_id}", sk="C"):
        card_id: str
        assignee: str | None = None

    first, second = main_items(table)
    assert first["assignee"] == {"S": "assignee-1"}
    assert "assignee" not in second


class State(Enum):
    NEW = "new"
    DONE = "done"


CONDITIONS: Mapping[str, Any] = {
    "equal": F.state == State.DONE,
    "true": F.active == True,  # noqa: E712 - a condition
    "at least": F.size >= 17,
    "between": F.size.between(100, 200),
    "one of": F.size.is_in(5, 17),
    "begins": F.name.begins_with("VIP#"),
    "later": F.at >= datetime(2031, 5, 1, tzinfo=UTC),
    "and": (F.state == State.DONE) & (F.size >= 9),
    "or": (F.note == "a") | (F.note == "b"),
}
OTHER_CONDITIONS: Mapping[str, Any] = {
    "different": F.state != State.NEW,
    "size": F.tags.size() > 2,
    "other field": F.size > F.least,
    "same as another": F.size == F.least,
    "nested": F.address.city == "Oslo",
    "not": ~(F.size < 1000),
    "a number that is too large": F.size == 10**40,
    "function": lambda one: one.state is State.DONE,
}


class Address(BaseModel):
    city: str
    street: str = ""


def conditional(when: Any) -> tuple[Table, Any, Any]:
    """A table, a class with a condition, and the class of its total."""
    table = Table("conditional", indexes=[GlobalIndex("GSI1")])

    class Total(Entity, table=table, pk="TOTAL", sk="T"):
        things: int = 0

    class Thing(Entity, table=table, pk="THING#{thing_id}", sk="T"):
        thing_id: str
        code: Annotated[str, Unique(when=when)]
        state: State = State.NEW
        active: bool = False
        size: int = 0
        least: int = 0
        name: str = "a thing"
        note: str | None = None
        tags: frozenset[str] = frozenset()
        at: datetime = datetime(2024, 1, 1, tzinfo=UTC)
        address: Address | None = None
        some = Index("GSI1", pk="SOME", sk="{thing_id}", when=when)
        counted = Aggregate(Total, count="things", when=when)

    return table, Thing, Total


@pytest.mark.parametrize("when", CONDITIONS.values(), ids=CONDITIONS)
def test_samples_have_and_lack_the_values_that_a_condition_names(when: Any) -> None:
    table, thing, total = conditional(when)
    entries = samples(table)
    check(table, entries)
    own = [one for one in entries if one.cls is thing and one.kind == "entity"]
    inside = [one for one in own if one.places]
    assert 0 < len(inside) < len(own) <= 3
    assert sum(one.kind == "guard" for one in entries) == len(inside)
    assert [one.item["things"] for one in entries if one.cls is total] == [{"N": str(len(inside))}]


@pytest.mark.parametrize("when", OTHER_CONDITIONS.values(), ids=OTHER_CONDITIONS)
def test_samples_fit_conditions_that_name_no_values(when: Any) -> None:
    table, thing, _ = conditional(when)
    entries = samples(table)
    check(table, entries)
    assert sum(one.cls is thing and one.kind == "entity" for one in entries) >= 2


def test_targets_of_totals_are_there_and_add_up() -> None:
    table = Table("counted")

    class Team(Entity, table=table, pk="TEAM#{name}", sk="T"):
        name: str
        title: str
        members: int = 0
        friends: int = 0

    class Member(Entity, table=table, pk="MEMBER#{member_id}", sk="M"):
        member_id: str
        team: str
        in_team = Aggregate(Team, count="members", key={"name": "team"})

    class Far(Entity, table=table, pk="FAR#{far_id}", sk="F"):
        far_id: str
        word: str
        in_team = Aggregate(Team, count="friends", key={"name": "upper"})

        @computed_field
        def upper(self) -> str:
            return self.word.upper()

    entries = samples(table)
    check(table, entries)
    teams = [one.item for one in entries if one.kind == "entity" and one.cls is Team]
    assert [(one["members"]["N"], one["friends"]["N"]) for one in teams] == [
        ("2", "0"),
        ("0", "0"),
        ("0", "1"),
        ("0", "1"),
    ]


def test_a_class_of_one_key_has_one_sample() -> None:
    table = Table("single")

    class Settings(Entity, table=table, pk="SETTINGS", sk="SETTINGS"):
        colour: str

    assert len(main_items(table)) == 1


def test_few_values_of_a_key_are_taken_in_turn() -> None:
    table = Table("few")

    class Colour(Enum):
        RED = "red"
        BLUE = "blue"

    class Shade(Entity, table=table, pk="SHADE#{colour}", sk="S"):
        colour: Colour
        kind: Literal["a", "b"]

    found = [(item["PK"]["S"], item["kind"]["S"]) for item in main_items(table, per_class=4)]
    assert found == [("SHADE#red", "a"), ("SHADE#blue", "b")]


def test_a_rule_that_no_made_value_meets_names_the_class_and_the_remedy() -> None:
    table = Table("strict")

    class Plate(Entity, table=table, pk="PLATE#{plate}", sk="P"):
        plate: str

        @field_validator("plate")
        @classmethod
        def known(cls, plate: str) -> str:
            if plate != "M-AB 123":
                raise ValueError("no such plate")
            return plate

    with pytest.raises(UsageError, match="cannot make a Plate: plate: Value error, no such plate") as refused:
        samples(table)
    assert refused.value.remedy == 'give seeds, JSON lines with the entities to show: {"Plate": {...}}'
    assert [item["plate"] for item in main_items(table, seeds=['{"Plate": {"plate": "M-AB 123"}}'])] == [
        {"S": "M-AB 123"}
    ]


def test_a_value_that_differs_each_time_is_refused() -> None:
    table = Table("chance")

    class Draw(Entity, table=table, pk="DRAW#{draw_id}", sk="D"):
        draw_id: str = Field(default_factory=lambda: f"<{new_ksuid()}>")

        @field_validator("draw_id")
        @classmethod
        def in_brackets(cls, draw_id: str) -> str:
            if not draw_id.startswith("<"):
                raise ValueError("an identifier stands in brackets")
            return draw_id

    with pytest.raises(UsageError, match="cannot make a Draw"):
        samples(table)


def test_the_reason_has_no_secret() -> None:
    table = Table("hidden")

    class Vault(Entity, table=table, pk="VAULT#{vault_id}", sk="V"):
        vault_id: str
        code: SecretStr

        @field_validator("code")
        @classmethod
        def no(cls, code: SecretStr) -> SecretStr:
            raise ValueError(f"{type(code).__name__} is not allowed")

    with pytest.raises(UsageError) as refused:
        samples(table)
    assert "secret-1" not in str(refused.value)


# -- seeds -------------------------------------------------------------------------------------------------------------

seeded = Table("seeded")


class Club(Entity, table=seeded, pk="CLUB#{name}", sk="C"):
    name: str
    people: int = 0


class Person(Entity, table=seeded, pk="PERSON#{email}", sk="P"):
    email: Annotated[str, Unique()]
    club: str
    in_club = Aggregate(Club, count="people", key={"name": "club"})


def lines(*entities: Mapping[str, Any]) -> list[str]:
    return [json.dumps(one) for one in entities]


def test_seeds_are_the_only_entities() -> None:
    given_ = lines({"Person": {"email": "a@b.c", "club": "chess"}}, {"Club": {"name": "chess"}})
    entries = samples(seeded, seeds=given_)
    check(seeded, entries)
    assert Counter(one.kind for one in entries) == {"entity": 2, "guard": 1}
    assert [one.item["people"] for one in entries if one.cls is Club] == [{"N": "1"}]


@pytest.mark.parametrize(
    ("given_", "problem"),
    [
        pytest.param(["{"], "^line 1: it is no JSON", id="no JSON"),
        pytest.param(["", '{"Clubb": {}}'], "^line 2: 'Clubb' is not a class of seeded", id="no class"),
        pytest.param(['{"Person": {"email": "a", "club": 1}}'], "^line 1: no valid Person", id="no entity"),
        pytest.param(['{"Club": {"name": "a"}}'] * 2, "^line 2: .*already stored", id="twice"),
        pytest.param('{"Club": {"name": "a"}}', "are not lines of a file", id="text"),
    ],
)
def test_a_wrong_line_is_named(given_: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        samples(seeded, seeds=given_)


def test_a_number_of_entities_is_checked() -> None:
    with pytest.raises(UsageError, match="per_class=0"):
        samples(seeded, 0)


def test_the_clock_of_samples_is_fixed() -> None:
    assert samples(seeded) == samples(seeded)
    assert FakeClock().now() == 1_704_067_200.0
