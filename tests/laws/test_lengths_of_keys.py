"""Law: a text that DynamoDB takes as a key is stored by every write; another is InvalidValue, and nothing is sent."""

import io
import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, tools
from dynaorm.errors import BulkError, InvalidValue
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.laws.ways import WAYS

app = Table(
    "lengths-of-keys",
    indexes=[
        GlobalIndex("ByOwner", pk="owner", sk="day"),
        GlobalIndex("Made"),
        GlobalIndex("ByTeam", pk="team", sk="shift"),
        GlobalIndex("ByPlace", pk="place", sk=None),
        GlobalIndex("ByShift", pk="shift", sk="place"),
        GlobalIndex("Turned", pk="owner", sk="PK"),
    ],
)


class Job(Entity, table=app, pk="{world}", sk="JOB"):
    world: str
    owner: str | None = None
    day: str | None = None
    label: str | None = "l"
    tag: str | None = "t"
    team: str | None = None
    shift: str | None = None
    place: str | None = None
    by_owner = Index("ByOwner")
    made = Index("Made", pk="{label}", sk="{tag}")


LIMITS: Final = {
    "world": 1024,  # the sort key of Turned, in which the class declares no place
    "owner": 2048,
    "day": 1024,
    "label": 2048,
    "tag": 1024,
    "team": 2048,
    "shift": 1024,
    "place": 1024,
}
NUMBERS: Final = count()


def insert(world: "World", values: Any) -> None:
    world.session.save(Job(**values))


def save(world: "World", values: Any) -> None:
    stored = world.prepared(values)
    world.session.save(stored.model_copy(update=values))


def bulk_load(world: "World", values: Any) -> None:
    _only_failure(lambda: world.session.bulk_load([Job(**values)]))


def save_many(world: "World", values: Any) -> None:
    _only_failure(lambda: world.session.save_many([Job(**values)]))


def _only_failure(call: Any) -> None:
    try:
        call()
    except BulkError as error:
        raise error.failures[0][1] from error


ROADS: Final = (insert, save, bulk_load, save_many)


class World:
    """A session whose requests are kept."""

    def __init__(self, engine: Transport) -> None:
        self.engine = engine
        self.wire = FaultyTransport(engine)
        self.session = Session(transport=self.wire)

    def prepared(self, values: Any) -> Job:
        """An entity under the key that is already stored."""
        job = Job(world=values["world"])
        Session(transport=self.engine).save(job)
        return Session(transport=self.engine).get_one(Key(Job, world=job.world))

    def writes(self) -> list[str]:
        reads = ("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "TransactGetItems")
        return [call.operation for call in self.wire.calls if call.operation not in reads]


@pytest.fixture(scope="module")
def world(engine: Transport) -> Iterator[World]:
    made = World(engine)
    made.session.create_table(app)
    yield made
    engine.call(Call("DeleteTable", {"TableName": app.name}))


def item_of(world: str, name: str, text: str) -> Item:
    """An item that another program stored."""
    key = {"PK": {"S": world}, "SK": {"S": "JOB"}, "_type": {"S": "Job"}}
    return {**key, "world": {"S": world}, name: {"S": text}}


TEXTS: Final = st.builds(
    lambda size, letter: letter * (size // len(letter.encode())) + "x" * (size % len(letter.encode())),
    st.sampled_from([0, 1, 1024, 1025, 2048, 2049]),
    st.sampled_from(["x", "é", "𐀀"]),
)


def check(world: World, name: str, values: Any, write: Any) -> None:
    world.wire.calls.clear()
    size = len(values[name].encode())
    if 0 < size <= LIMITS[name]:
        write()
        assert world.writes()
        stored = world.session.get_one(Key(Job, world=values["world"]))
        assert getattr(stored, name) == values[name]
        return
    with pytest.raises(InvalidValue) as caught:
        write()
    assert (caught.value.entity, caught.value.field) == ("Job", name)
    assert f"1 to {LIMITS[name]} bytes" in str(caught.value)
    assert world.writes() == []


@settings(max_examples=60)
@given(call=st.sampled_from(ROADS), name=st.sampled_from([*LIMITS]), text=TEXTS)
def test_a_saved_text_is_a_key_or_refused(world: World, call: Any, name: str, text: str) -> None:
    if name == "world" and call is save:
        return  # the key of a stored entity does not change
    others = {"world": f"w{next(NUMBERS)}", "owner": "o"}
    values = {**others, name: text + others["world"] if name == "world" and 0 < len(text) < 1000 else text}
    check(world, name, values, lambda: call(world, values))


@settings(max_examples=60)
@given(way=st.sampled_from(WAYS), name=st.sampled_from([*LIMITS][1:]), text=TEXTS)
def test_a_text_written_by_key_is_a_key_or_refused(world: World, way: Any, name: str, text: str) -> None:
    values = {"world": f"w{next(NUMBERS)}", name: text}
    world.prepared(values)
    check(world, name, values, lambda: way(world, Key(Job, world=values["world"]), F[name].set(text)))


@settings(max_examples=30)
@given(name=st.sampled_from([*LIMITS][1:]), text=TEXTS)
def test_a_text_that_is_loaded_from_a_file_is_a_key_or_refused(world: World, name: str, text: str) -> None:
    world.wire.calls.clear()
    line = {"Item": item_of(f"w{next(NUMBERS)}", name, text)}
    result = tools.load(world.session, app, io.BytesIO(json.dumps(line).encode()))
    is_key = 0 < len(text.encode()) <= LIMITS[name]
    assert [one.error for one in result.refused] == ([] if is_key else ["InvalidValue"])
    assert bool(world.writes()) is is_key


@settings(max_examples=15)
@given(
    name=st.sampled_from([*LIMITS][1:]), text=TEXTS, command=st.sampled_from(["verify", "repair", "backfill"])
)
def test_a_stored_text_that_is_no_key_is_reported_and_stays(
    world: World, name: str, text: str, command: str
) -> None:
    # Stored before the table had its indexes, so it lacks the keys of Made, too.
    older = Table("lengths-of-keys-older")
    session = Session(transport=world.wire, table_names={app.name: older.name})
    session.create_table(older)
    try:
        world.engine.call(Call("PutItem", {"TableName": older.name, "Item": item_of("w", name, text)}))
        world.wire.calls.clear()
        found = list(getattr(tools, command)(session, app))
    finally:
        world.engine.call(Call("DeleteTable", {"TableName": older.name}))
    (finding,) = found if command == "verify" else [mended.finding for mended in found]
    is_key = 0 < len(text.encode()) <= LIMITS[name]
    assert (finding.kind is FindingKind.UNREADABLE) is not is_key
    assert is_key or f"Job.{name} = " in finding.detail
    assert is_key or f"1 to {LIMITS[name]} bytes" in finding.detail
    assert bool(world.writes()) is (is_key and command != "verify")


@pytest.mark.parametrize("name", ["owner", "day", "team", "shift", "place"])
def test_the_removal_of_a_key_reads_nothing(world: World, name: str) -> None:
    job = world.prepared({"world": f"w{next(NUMBERS)}"})
    world.wire.calls.clear()
    world.session.update(Key(Job, world=job.world), F[name].remove())
    assert [call.operation for call in world.wire.calls] == ["UpdateItem"]
