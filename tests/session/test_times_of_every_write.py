"""Every way to write sets the times that a session keeps, and gives them to the object."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

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
    UpdatedAt,
    detached,
    inspect,
)
from dynaorm.testing import FakeClock

app = Table("times", indexes=[GlobalIndex("GSI1")])


class Room(Entity, table=app, pk="ROOM#{room}", sk="INFO"):
    room: str
    messages: int = 0
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    newest = Index("GSI1", pk="ROOMS", sk="{created}")


class Message(Entity, table=app, pk="ROOM#{room}", sk="MESSAGE#{number:03d}"):
    room: str
    number: int
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    latest = Index("GSI1", pk="LATEST", sk="{changed}")
    in_room = Aggregate(Room, count="messages")


class Page(Entity, table=app, pk="PAGE#{page}", sk="P", versioned=True):
    page: str
    text: str = ""
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None


class Note(Entity, table=app, pk="NOTE#{note}", sk="N"):
    note: str
    text: str = ""
    kind: str = ""
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{note}", when=F.kind != "")


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(START + seconds, UTC)


START = 1_700_000_000.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


def times(one: Any) -> tuple[Any, Any]:
    return one.created, one.changed


def later(clock: FakeClock, seconds: float = 60) -> None:
    clock.advance(seconds)


WRITES: dict[str, Callable[[Session, Any], Any]] = {
    "save": lambda session, one: session.save(_assigned(one)),
    "save a copy": lambda session, one: session.save(one.model_copy(update={"text": "new"})),
    "overwrite": lambda session, one: session.save(detached(one, text="new"), overwrite=True),
    "overwrite loaded": lambda session, one: session.save(_assigned(one), overwrite=True),
    "update": lambda session, one: session.update(one, F.text.set("new")),
    "update by key": lambda session, one: session.update(inspect(one).key, F.text.set("new")),
    "update once": lambda session, one: session.update(
        inspect(one).key, F.text.set("new"), exactly_once=True
    ),
    "save many": lambda session, one: session.save_many([_assigned(one)]),
    "transaction": lambda session, one: _in_block(session, inspect(one).key),
}


def _assigned(one: Any) -> Any:
    one.text = "new"
    return one


def _in_block(session: Session, key: Any) -> None:
    with session.transaction() as tx:
        tx.update(key, F.text.set("new"))


@pytest.mark.parametrize("kind", [Message, Page, Note])
@pytest.mark.parametrize("way", WRITES)
def test_every_write_sets_the_time_of_the_change_and_keeps_that_of_the_creation(
    session: Session, clock: FakeClock, way: str, kind: Any
) -> None:
    one = kind(room="r", number=1) if kind is Message else kind(**{next(iter(kind.model_fields)): "a"})
    session.save(one)
    assert times(one) == (at(0), at(0))
    later(clock)
    WRITES[way](session, one)
    key = inspect(one).key
    assert key is not None
    stored = session.get_one(key)
    assert (stored.text, times(stored)) == ("new", (at(0), at(60)))


def test_the_object_has_the_times_that_are_stored(session: Session, clock: FakeClock) -> None:
    note = session.save(Note(note="a", created=at(-5), changed=at(-6)))
    assert times(note) == times(session.get_one(Note, note="a")) == (at(0), at(0))
    later(clock)
    note.text, note.created, note.changed = "b", at(-7), None
    session.save(note)
    assert times(note) == times(session.get_one(Note, note="a")) == (at(0), at(60))


def test_a_bulk_load_sets_the_times(session: Session, clock: FakeClock) -> None:
    note = Note(note="a")
    session.bulk_load([note])
    assert times(note) == times(session.get_one(Note, note="a")) == (at(0), at(0))
    later(clock)
    note.text = "b"
    session.bulk_load([note])
    assert times(note) == times(session.get_one(Note, note="a")) == (at(0), at(60))
