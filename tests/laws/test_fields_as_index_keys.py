"""Law: an index whose keys are fields of the class has every entity whose fields, with their defaults, are not None.

A write never takes an entity out by a default that it leaves out. What another program left out is found by ``verify``.
"""

from collections.abc import Iterator
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import (
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    NumberKey,
    Session,
    Table,
    tools,
)
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport
from tests.laws.ways import WAYS

app = Table(
    "fields-as-index-keys",
    indexes=[
        GlobalIndex("ByFlag", pk="flag", sk="n"),
        GlobalIndex("ByRank", pk=NumberKey("rank"), sk=None),
        LocalIndex("Local", sk="note"),
    ],
)
NUMBERS: Final = count()


class Job(Entity, table=app, pk="WORLD#{world}", sk="JOB#{row:03d}"):
    world: str
    row: int
    n: str = "x"
    flag: Annotated[str, Attribute("flag", formerly=("old_flag",))] = "0"
    rank: int = 7
    note: str | None = None
    plain: int = 0
    by_flag = Index("ByFlag", pk="{flag}", sk="{n}")
    by_rank = Index("ByRank")
    by_note = Index("Local")


class Rush(Job):
    rank: int = 9


VALUES: Final[dict[str, Any]] = {
    "n": st.sampled_from([{"S": "x"}, {"S": "y"}]),
    "flag": st.sampled_from([{"S": "0"}, {"S": "1"}]),
    "old_flag": st.sampled_from([{"S": "0"}, {"S": "1"}]),
    "rank": st.sampled_from([{"N": "7"}, {"N": "9"}]),
    "note": st.just({"S": "a"}),
}
ROWS: Final = st.lists(
    st.tuples(st.sampled_from(["Job", "Rush"]), st.fixed_dictionaries({}, optional=VALUES)), max_size=4
)


class World:
    """A session on a table that other programs write, too."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.session = Session(transport=transport)
        self.name = ""

    def begin(self) -> None:
        for item in self.transport.call(Call("Scan", {"TableName": app.name}))["Items"]:
            key = {"PK": item["PK"], "SK": item["SK"]}
            self.transport.call(Call("DeleteItem", {"TableName": app.name, "Key": key}))
        self.name = str(next(NUMBERS))

    def put(self, row: int, kind: str, attributes: dict[str, Any]) -> None:
        key = {"PK": {"S": f"WORLD#{self.name}"}, "SK": {"S": f"JOB#{row:03d}"}}
        fields = {"world": {"S": self.name}, "row": {"N": str(row)}, "_type": {"S": kind}, "_rev": {"S": "r"}}
        self.transport.call(Call("PutItem", {"TableName": app.name, "Item": {**key, **fields, **attributes}}))

    def indexed(self) -> list[set[int]]:
        """The rows that each index has, by every value that a field can have."""
        session = self.session
        return [
            {job.row for flag in "01" for job in session.query(Job.by_flag, flag=flag)},
            {job.row for rank in (7, 9) for job in session.query(Job.by_rank, rank=rank)},
            {job.row for job in session.query(Job.by_note, world=self.name)},
        ]

    def filtered(self) -> list[set[int]]:
        """The rows that belong there, by the values that load."""
        jobs = self.session.scan(Job).all()
        return [{job.row for job in jobs}, {job.row for job in jobs}, {job.row for job in jobs if job.note}]

    def reported(self) -> set[str]:
        found = list(tools.verify(self.session, app))
        assert {one.kind for one in found} <= {FindingKind.INDEX_KEYS}
        return {one.item_key["SK"]["S"] for one in found}


@pytest.fixture(scope="module")
def world(engine: Transport) -> Iterator[World]:
    found = World(engine)
    found.session.create_table(app)
    yield found
    engine.call(Call("DeleteTable", {"TableName": app.name}))


@settings(max_examples=25)
@given(rows=ROWS)
def test_what_an_index_cannot_find_is_reported_and_repaired(
    world: World, rows: list[tuple[str, dict[str, Any]]]
) -> None:
    world.begin()
    for row, (kind, attributes) in enumerate(rows):
        world.put(row, kind, attributes)
    before = world.session.scan(Job).all()
    missing = {
        row for found, wanted in zip(world.indexed(), world.filtered(), strict=True) for row in wanted - found
    }
    assert world.reported() == {f"JOB#{row:03d}" for row in missing}
    list(tools.repair(world.session, app))
    assert world.reported() == set()
    assert world.indexed() == world.filtered()
    assert world.session.scan(Job).all() == before


@settings(max_examples=25)
@given(
    way=st.sampled_from(WAYS),
    entity=st.sampled_from([Job, Rush]),
    name=st.sampled_from(["flag", "rank", "note", "n"]),
    key_of=st.sampled_from([Job, Rush]),
)
def test_a_removal_leaves_an_entity_in_its_indexes(
    world: World, way: Any, entity: type[Job], name: str, key_of: type[Job]
) -> None:
    world.begin()
    world.session.save(entity(world=world.name, row=1, n="y", flag="1", rank=8, note="a"))
    key = Key(key_of if issubclass(entity, key_of) else entity, world=world.name, row=1)
    way(world, key, F[name].remove())
    (stored,) = world.session.scan(Job).all()
    assert getattr(stored, name) == entity.model_fields[name].default
    assert type(stored) is entity
    if name == "rank":
        assert world.session.query(Job.by_rank, rank=stored.rank).all() == [stored]
    else:
        assert world.session.query(Job.by_rank, rank=8).all() == [stored]
    assert world.session.query(Job.by_flag, flag=stored.flag).eq(n=stored.n).all() == [stored]
    assert bool(world.session.query(Job.by_note, world=world.name).all()) is (stored.note is not None)
    assert list(tools.verify(world.session, app)) == []


def test_a_default_replaces_what_is_removed_in_one_request(world: World) -> None:
    world.begin()
    world.session.save(Job(world=world.name, row=1, rank=8))
    wire = FaultyTransport(world.transport)
    Session(transport=wire).update(Key(Job, world=world.name, row=1), F.rank.remove())
    assert [call.operation for call in wire.calls] == ["UpdateItem"]
    (item,) = world.transport.call(Call("Scan", {"TableName": app.name}))["Items"]
    assert item["rank"] == {"N": "7"}


def test_a_field_with_a_factory_is_not_removed_from_an_index(world: World) -> None:
    table = Table(f"made-keys-{next(NUMBERS)}", indexes=[GlobalIndex("ByCode", pk="code", sk=None)])

    class Made(Entity, table=table, pk="MADE#{id}", sk="M"):
        id: str
        code: Annotated[str, Field(default_factory=lambda: f"c{next(NUMBERS)}")]
        by_code = Index("ByCode")

    with pytest.raises(UsageError) as caught:
        world.session.update(Key(Made, id="1"), F.code.remove())
    assert str(caught.value) == (
        "Made.code is an index key, and its removal would take the item out of the index, though the class makes a "
        "value for it; write F.code.set(...)"
    )
