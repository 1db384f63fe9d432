"""The times that a session keeps: set by every write of an entity, and by nothing else."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import model_validator

from dynaorm import (
    Attribute,
    CreatedAt,
    Entity,
    F,
    Key,
    Session,
    Table,
    Transport,
    UpdatedAt,
)
from dynaorm.codecs import EPOCH_MILLISECONDS, ISO_SECONDS
from dynaorm.errors import InvalidValue
from dynaorm.testing import FakeClock, FaultyTransport
from tests.cast.documents import Page
from tests.cast.events import Note
from tests.cast.people import Member, Team
from tests.cast.seen import items, operations


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


def _assigned(one: Any) -> Any:
    one.text = "new"
    return one


switches = Table("switches")


def test_totals_alone_change_no_time(session: Session, clock: FakeClock) -> None:
    for count in (1, 2):
        session.save(Member(name=f"{count}", team="made"))
        made = session.get_one(Team, team="made")
        assert (made.members, times(made)) == (count, (at(0), at(0)))
        later(clock)


def test_times_are_part_of_index_keys(session: Session, clock: FakeClock) -> None:
    for number in (1, 2, 3):
        session.save(Note(note=str(number)))
        later(clock)
    session.update(Key(Note, note="1"), F.text.set("again"))
    assert [one.note for one in session.query(Note.latest).descending()] == ["1", "3", "2"]
    assert [one.note for one in session.query(Note.latest).ge(changed=at(120))] == ["3", "1"]


@pytest.mark.parametrize("kind", [Note, Page])
def test_an_equal_block_under_the_same_token_is_recognised_later(
    session: Session, clock: FakeClock, kind: Any
) -> None:
    name = next(iter(kind.model_fields))

    def block() -> Any:
        one = kind(**{name: "a"})
        with session.transaction(token=f"times-{kind.__name__}") as tx:
            tx.save(one)
            tx.save(kind(**{name: "b"}))
        return one

    block()
    later(clock, 700)
    again = block()
    assert times(again) == times(session.get_one(kind, **{name: "a"})) == (at(0), at(0))


def test_validators_see_the_times_that_are_stored(session: Session, clock: FakeClock) -> None:
    class Task(Entity, table=switches, pk="TASK#{task}", sk="T"):
        task: str
        due: datetime
        month: str = ""
        created: Annotated[datetime | None, CreatedAt()] = None

        @model_validator(mode="after")
        def check(self) -> "Task":
            if self.created is not None:
                if self.due < self.created:
                    raise ValueError("is due before it was created")
                vars(self)["month"] = f"{self.created:%Y-%m}"
            return self

    task = session.save(Task(task="a", due=at(10)))
    assert task.month == session.get_one(Task, task="a").month == f"{at(0):%Y-%m}"
    with pytest.raises(InvalidValue, match="is due before it was created"):
        session.save(Task(task="b", due=at(-10)))
    assert not session.exists(Task, task="b")


class Row(Entity, table=switches, pk="ROW#{name}", sk="R"):
    """Two programs keep its times, each in a form of its own."""

    name: str
    text: str = ""
    created: Annotated[datetime | None, CreatedAt()] = None
    ctime: Annotated[datetime | None, CreatedAt(), Attribute("c", codec=EPOCH_MILLISECONDS)] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    mtime: Annotated[datetime | None, UpdatedAt(), Attribute("m", codec=ISO_SECONDS)] = None


def kept_in(transport: Transport) -> list[str]:
    (item,) = items(transport, switches).values()
    return [next(iter(item[name].values())) for name in ("created", "c", "changed", "m")]


BORN = ["2023-11-14T22:13:20.250000Z", "1700000000250", "2023-11-14T22:13:20.250000Z", "2023-11-14T22:13:20Z"]
LATER = ["2023-11-14T22:14:20.250000Z", "2023-11-14T22:14:20Z"]


@pytest.mark.parametrize(
    ("write", "sent"),
    [
        (lambda session, _: session.update(Key(Row, name="a"), F.text.set("b")), ["UpdateItem"]),
        (lambda session, row: session.update(row, F.text.set("b")), ["UpdateItem"]),
        (lambda session, _: session.upsert(Key(Row, name="a"), F.text.set("b")), ["UpdateItem"]),
        (lambda session, row: session.save(_assigned(row)), ["UpdateItem"]),
        (lambda session, row: session.touch(row), ["UpdateItem"]),
        (lambda session, row: session.save(_assigned(row), overwrite=True), ["GetItem", "PutItem"]),
    ],
)
def test_a_class_keeps_its_times_in_several_forms(
    session: Session,
    wire: FaultyTransport,
    clock: FakeClock,
    write: Callable[[Session, Row], Any],
    sent: list[str],
) -> None:
    clock.advance(0.25)
    row = session.save(Row(name="a"))
    assert kept_in(wire) == BORN
    later(clock)
    wire.calls.clear()
    write(session, row)
    assert operations(wire) == sent
    assert kept_in(wire) == BORN[:2] + LATER
    found = session.get_one(Row, name="a")
    assert (found.created, found.ctime) == (at(0.25), at(0.25))
    assert (found.changed, found.mtime) == (at(60.25), at(60))
