"""``OneOf``: the shard numbers of another program. A query that does not give the number asks each."""

import zlib
from typing import Annotated

import pytest
from pydantic import ValidationError, computed_field

from dynaorm import Computed, Entity, F, GlobalIndex, Index, Key, NumberKey, OneOf, Session, Table, tools
from dynaorm.description import describe
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.testing import FaultyTransport, factory
from dynaorm.transport import Transport
from tests.cast.seen import operations, put

lines = Table("lines", indexes=[GlobalIndex("GSI1"), GlobalIndex("Number", pk=NumberKey("bucket"), sk="at")])


class Line(Entity, table=lines, pk="LOG#{day}#{shard:02d}", sk="{at}"):
    """Its program draws one shard, and computes another."""

    day: str
    shard: Annotated[int, OneOf(range(1, 5))]
    at: str
    level: str = "info"
    bucket: Annotated[int | None, OneOf((7, 11))] = None
    by_level = Index("GSI1", pk="{level}.{half}", sk="{at}")
    by_bucket = Index("Number")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def half(self) -> Annotated[str, OneOf(("#a", "b")), Computed(of="at")]:
        return "c" if self.at == "broken" else ("#a", "b")[zlib.crc32(self.at.encode()) % 2]


def stored(session: Session) -> list[Line]:
    found = [Line(day="d", shard=n % 4 + 1, at=f"{n:02d}", bucket=(None, 7, 11)[n % 3]) for n in range(9)]
    session.save_many(found)
    return found


def test_a_query_asks_the_partition_of_each_value_and_merges_them(
    session: Session, wire: FaultyTransport
) -> None:
    found = stored(session)
    wire.calls.clear()
    assert session.query(Line, day="d").all() == found
    assert operations(wire) == ["Query"] * 4
    newest = session.query(Line, day="d").descending()
    page = newest.page(4)
    assert [*page.entities, *newest.page(9, after=page.cursor).entities] == found[::-1]
    assert session.query(Line, day="d").explain().splitlines() == [
        "4 requests, sent together, merged in the order of SK, and more for each further page",
        *(f"{n}. Query lines: PK = 'LOG#d#0{n}'" for n in range(1, 5)),
    ]


def test_another_value_is_refused_wherever_it_comes_from(session: Session) -> None:
    (line, *_) = stored(session)
    with pytest.raises(ValidationError, match="Input should be 1, 2, 3 or 4"):
        Line(day="d", shard=5, at="x")
    with pytest.raises(InvalidValue, match="bucket"):
        session.update(Key(Line, day="d", shard=1, at="00"), F.bucket.set(8))
    with pytest.raises(InvalidValue, match="half"):
        session.save(Line(day="d", shard=1, at="broken"))
    assert session.refresh(line) == line


def test_an_item_with_another_value_is_reported(session: Session, moto: Transport) -> None:
    stored(session)
    key = {"PK": {"S": "LOG#d#05"}, "SK": {"S": "00"}}
    put(
        moto,
        {**key, "_type": {"S": "Line"}, "day": {"S": "d"}, "shard": {"N": "5"}, "at": {"S": "00"}},
        lines,
    )
    with pytest.raises(DecodeError, match="shard"):
        session.scan(Line).all()
    assert [one.kind.value for one in tools.verify(session, lines)] == ["unreadable item"]


def test_the_kit_and_the_description_know_the_values() -> None:
    make = factory(Line)
    assert [make().shard for _ in range(5)] == [1, 2, 3, 4, 1]
    found = describe(lines)
    asked = {one.text: one.requests for one in found.questions}
    assert asked["Every Line of one day"] == 4
    assert asked["Every Line of one level"] == 2
    marks = {one.name: one.marks for one in found.classes[0].fields}
    assert marks["shard"] == marks["bucket"] == ("one of",)
    assert Line.model_json_schema()["properties"]["shard"]["enum"] == [1, 2, 3, 4]
