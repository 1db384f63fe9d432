"""Law: a time is an instant or a wall time. A field of one kind refuses the other, wherever one is written or compared.

An instant is a datetime with a time zone, of a field declared ``datetime``. A wall time is one without, of a field
declared pydantic's ``NaiveDatetime``.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, NaiveDatetime
from typing_extensions import TypedDict

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, item_of
from dynaorm.errors import BulkError, DeclarationError, DecodeError, InvalidValue
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport

INSTANT: Final = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
WALL: Final = INSTANT.replace(tzinfo=None)
TEXTS: Final = {INSTANT: "2024-01-02T03:04:05.000000Z", WALL: "2024-01-02T03:04:05.000000"}
NUMBERS: Final = count()
app = Table("kinds-of-times", indexes=[GlobalIndex("GSI1")])

Make = Callable[[datetime], Any]


class OfInstant(BaseModel):
    at: datetime


class OfWall(BaseModel):
    at: NaiveDatetime


class DictOfInstant(TypedDict):
    at: datetime


class DictOfWall(TypedDict):
    at: NaiveDatetime


# The type of a field, what it holds for a time, and how that is stored for its text.
SHAPES: Final[Mapping[str, tuple[Any, Any, Make, Callable[[str], Any]]]] = {
    "plain": (datetime, NaiveDatetime, lambda at: at, lambda text: {"S": text}),
    "constrained": (AwareDatetime, NaiveDatetime, lambda at: at, lambda text: {"S": text}),
    "optional": (datetime | None, NaiveDatetime | None, lambda at: at, lambda text: {"S": text}),
    "union": (datetime | int, NaiveDatetime | int, lambda at: at, lambda text: {"S": text}),
    "list": (list[datetime], list[NaiveDatetime], lambda at: [at], lambda text: {"L": [{"S": text}]}),
    "dict": (
        dict[str, datetime],
        dict[str, NaiveDatetime],
        lambda at: {"x": at},
        lambda text: {"M": {"x": {"S": text}}},
    ),
    "tuple": (
        tuple[int, datetime],
        tuple[int, NaiveDatetime],
        lambda at: (1, at),
        lambda text: {"L": [{"N": "1"}, {"S": text}]},
    ),
    "model": (OfInstant, OfWall, lambda at: {"at": at}, lambda text: {"M": {"at": {"S": text}}}),
    "typed dict": (DictOfInstant, DictOfWall, lambda at: {"at": at}, lambda text: {"M": {"at": {"S": text}}}),
}


@cache
def class_of(shape: str, *, is_wall: bool) -> type[Any]:
    name = f"Row{next(NUMBERS)}"

    class Row(Entity, table=app, name=name, pk=name + "#{id}", sk="ROW"):
        id: str
        at: SHAPES[shape][is_wall]  # type: ignore[valid-type]
        n: int = 0

    return Row


@pytest.fixture(scope="module")
def wire(transport: Transport) -> Iterator[FaultyTransport]:
    with Session(transport=transport) as session:
        session.create_table(app)
    yield FaultyTransport(transport)
    transport.call(Call("DeleteTable", {"TableName": app.name}))


def built(entity: type[Any], name: str, value: Any) -> Any:
    """An entity with a value that pydantic may not accept: what its own code assigns is not validated."""
    return entity.model_construct(id=name, at=value, n=0)


def _in_block(session: Session, write: Callable[[Any], object]) -> None:
    with session.transaction() as tx:
        write(tx)


def _changed(session: Session, entity: type[Any], value: Any) -> None:
    found = session.get_one(entity, id="1")
    found.at = value
    session.save(found)


def _compared(condition: Callable[[Any], Any]) -> Callable[[Session, type[Any], Any], object]:
    return lambda session, entity, value: session.scan(entity).filter(condition(value)).all()


WAYS: Final[Mapping[str, Callable[[Session, type[Any], Any], object]]] = {
    "save": lambda session, entity, value: session.save(built(entity, "2", value)),
    "save of a change": _changed,
    "overwrite": lambda session, entity, value: session.save(built(entity, "1", value), overwrite=True),
    "save in a block": lambda session, entity, value: _in_block(
        session, lambda tx: tx.save(built(entity, "2", value))
    ),
    "save_many": lambda session, entity, value: session.save_many([built(entity, "2", value)]),
    "bulk_load": lambda session, entity, value: session.bulk_load([built(entity, "2", value)]),
    "item_of": lambda _, entity, value: item_of(built(entity, "2", value)),
    "plan": lambda session, entity, value: session.plan(built(entity, "2", value)),
    "update": lambda session, entity, value: session.update(Key(entity, id="1"), F.at.set(value)),
    "set_if_missing": lambda session, entity, value: session.update(
        Key(entity, id="1"), F.at.set_if_missing(value)
    ),
    "update of an entity": lambda session, entity, value: session.update(
        session.get_one(entity, id="1"), {"at": value}
    ),
    "upsert": lambda session, entity, value: session.upsert(Key(entity, id="2"), F.at.set(value)),
    "update in a block": lambda session, entity, value: _in_block(
        session, lambda tx: tx.update(Key(entity, id="1"), F.at.set(value))
    ),
    "filter": _compared(lambda value: F.at == value),
    "filter by is_in": _compared(F.at.is_in),
    "filter by not": _compared(lambda value: ~(F.at != value)),
    "condition": lambda session, entity, value: session.update(
        Key(entity, id="1"), F.n.add(1), condition=F.at == value
    ),
    "check": lambda session, entity, value: _in_block(
        session, lambda tx: tx.check(Key(entity, id="1"), F.at == value)
    ),
}


def refused(wire: FaultyTransport, shape: str, way: str, *, is_wall: bool) -> tuple[InvalidValue, list[str]]:
    """The error of a way that is given a time of the other kind, and what was written on it."""
    _, _, make, _ = SHAPES[shape]
    own, other = (WALL, INSTANT) if is_wall else (INSTANT, WALL)
    entity, session = class_of(shape, is_wall=is_wall), Session(transport=wire)
    session.save(entity(id="1", at=make(own)), overwrite=True)
    before = len(wire.calls)
    with pytest.raises((InvalidValue, BulkError)) as caught:
        WAYS[way](session, entity, make(other))
    written = [call.operation for call in wire.calls[before:] if call.operation not in READS]
    error = caught.value.failures[0][1] if isinstance(caught.value, BulkError) else caught.value
    assert isinstance(error, InvalidValue)
    return error, written


READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})


@pytest.mark.parametrize("is_wall", [False, True], ids=["instant", "wall"])
@pytest.mark.parametrize("way", WAYS)
def test_a_field_refuses_the_other_kind_on_every_road(wire: FaultyTransport, way: str, is_wall: bool) -> None:
    error, written = refused(wire, "plain", way, is_wall=is_wall)
    assert "zone" in str(error)
    assert written == []


@settings(max_examples=60)
@given(shape=st.sampled_from(sorted(SHAPES)), way=st.sampled_from(sorted(WAYS)), is_wall=st.booleans())
def test_so_does_whatever_contains_a_time(wire: FaultyTransport, shape: str, way: str, is_wall: bool) -> None:
    _, written = refused(wire, shape, way, is_wall=is_wall)
    assert written == []


@pytest.mark.parametrize("is_wall", [False, True], ids=["instant", "wall"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_time_of_the_other_kind_is_a_decode_error(wire: FaultyTransport, shape: str, is_wall: bool) -> None:
    _, _, make, stored = SHAPES[shape]
    own, other = (WALL, INSTANT) if is_wall else (INSTANT, WALL)
    entity, session = class_of(shape, is_wall=is_wall), Session(transport=wire)
    saved = session.save(entity(id="1", at=make(own)), overwrite=True)
    key = dict(Key(entity, id="1").primary_key)
    item = wire.call(Call("GetItem", {"TableName": app.name, "Key": key}))["Item"]
    assert item["at"] == stored(TEXTS[own])
    assert session.get_one(entity, id="1") == saved
    wire.call(Call("PutItem", {"TableName": app.name, "Item": {**item, "at": stored(TEXTS[other])}}))
    remedy = "declare it datetime" if is_wall else "declare it pydantic's NaiveDatetime"
    for read in (
        lambda: session.get(entity, id="1"),
        lambda: session.query(entity, id="1").all(),
        lambda: session.update(Key(entity, id="1"), F.n.add(1)),
    ):
        with pytest.raises(DecodeError, match=remedy):
            read()


@pytest.mark.parametrize("both", [datetime | NaiveDatetime, AwareDatetime | NaiveDatetime | None])
def test_a_field_is_of_one_kind(both: Any) -> None:
    with pytest.raises(DeclarationError, match="both stored as S"):

        class Both(Entity, table=Table(f"both-{next(NUMBERS)}"), pk="B#{id}", sk="B"):
            id: str
            at: both


# -- wall times are compared by value, as instants are ----------------------------------------------------------------


class Visit(Entity, table=app, pk="VISIT#{room}", sk="AT#{at}"):
    room: str
    at: NaiveDatetime
    until: NaiveDatetime | None = None
    by_until = Index("GSI1", pk="UNTIL#{room}", sk="{until}")


MOMENTS: Final = st.integers(0, 4).map(lambda minutes: WALL.replace(second=0) + timedelta(minutes=minutes))
COMPARISONS: Final = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
}


@settings(max_examples=25)
@given(
    untils=st.lists(st.none() | MOMENTS, max_size=5),
    bound=MOMENTS,
    name=st.sampled_from(sorted(COMPARISONS)),
)
def test_wall_times_are_compared_by_value(
    wire: FaultyTransport, untils: list[datetime | None], bound: datetime, name: str
) -> None:
    session, room = Session(transport=wire), str(next(NUMBERS))
    visits = [Visit(room=room, at=WALL + timedelta(days=n), until=until) for n, until in enumerate(untils)]
    for visit in visits:
        wire.call(Call("PutItem", {"TableName": app.name, "Item": item_of(visit)}))
    wanted = [
        visit.at for visit in visits if visit.until is not None and COMPARISONS[name](visit.until, bound)
    ]
    compare = COMPARISONS[name]
    assert [visit.at for visit in session.query(Visit, room=room).filter(compare(F.until, bound))] == wanted
    if name != "eq":
        query = getattr(session.query(Visit.by_until, room=room), name)(until=bound)
        assert sorted(visit.at for visit in query) == wanted
    for other in (bound.replace(tzinfo=UTC), bound.replace(tzinfo=timezone(timedelta(hours=1)))):
        with pytest.raises(InvalidValue, match="time zone"):
            session.query(Visit.by_until, room=room).ge(until=other).all()


def test_a_wall_time_in_a_key_sorts_and_is_read_back(wire: FaultyTransport) -> None:
    session, room = Session(transport=wire), str(next(NUMBERS))
    visits = [session.save(Visit(room=room, at=WALL + timedelta(hours=n))) for n in (2, 0, 1)]
    found = session.query(Visit, room=room).ge(at=WALL + timedelta(hours=1)).all()
    assert found == [visits[2], visits[0]]
    assert Key(Visit, room="a", at=WALL).primary_key["SK"] == {"S": f"AT#{TEXTS[WALL]}"}
    with pytest.raises(InvalidValue, match="time zone"):
        Key(Visit, room="a", at=INSTANT)
