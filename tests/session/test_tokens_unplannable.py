"""A block that cannot be planned from what it left itself is recognised, whatever the error is that it would raise."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, ExpiresAt, F, Key, Session, Table, Transaction, inspect
from dynaorm.errors import DynaormError, InvalidValue, ItemTooLarge
from dynaorm.testing import FakeClock, FaultyTransport

app = Table("unplannable")


class Page(Entity, table=app, pk="PAGE#{slug}", sk="P", versioned=True):
    slug: str
    size: Annotated[int, Field(le=9)] = 0
    lines: Annotated[list[str], Field(max_length=3)] = Field(default_factory=list)
    text: list[str] = Field(default_factory=list)


class Note(Entity, table=app, pk="NOTE#{slug}", sk="N"):
    slug: str
    text: str = ""
    until: Annotated[datetime | None, ExpiresAt()] = None


def new_token() -> str:
    """The engine remembers tokens from test to test."""
    return uuid.uuid4().hex


PAGE = Key(Page, slug="a")
BLOCKS: dict[str, tuple[Callable[[Transaction], object], type[DynaormError]]] = {
    "a number beyond its bound": (lambda tx: tx.update(PAGE, F.size.add(6)), InvalidValue),
    "a list beyond its length": (lambda tx: tx.update(PAGE, F.lines.append("a", "b")), InvalidValue),
    "an item beyond its size": (lambda tx: tx.update(PAGE, F.text.append("x" * 210_000)), ItemTooLarge),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_its_own_outcome_forbids_is_recognised(session: Session, name: str) -> None:
    work, error = BLOCKS[name]
    page, token = session.save(Page(slug="a")), new_token()
    for _ in range(3):
        with session.transaction(token=token) as tx:
            work(tx)
    assert session.get_one(PAGE) != page
    version = inspect(session.get_one(PAGE)).version
    assert version == 2
    with pytest.raises(error), session.transaction() as tx:
        work(tx)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_what_others_stored_forbids_is_refused(session: Session, name: str) -> None:
    work, error = BLOCKS[name]
    session.save(Page(slug="a"))
    with session.transaction() as tx:
        work(tx)
    with pytest.raises(error), session.transaction(token=new_token()) as tx:
        work(tx)


def test_a_block_whose_entity_expired_since_is_recognised(session: Session, clock: FakeClock) -> None:
    soon = datetime.fromtimestamp(clock.now(), UTC) + timedelta(seconds=30)
    note: Any = session.save(Note(slug="a", until=soon))
    twin, token = note.model_copy(), new_token()
    for one in (note, twin):
        one.text = "written"
        with session.transaction(token=token) as tx:
            tx.save(one)
        clock.advance(60)


def test_a_value_that_is_invalid_by_itself_sends_nothing(session: Session, wire: FaultyTransport) -> None:
    session.save(Page(slug="a"))
    wire.calls.clear()
    with pytest.raises(InvalidValue), session.transaction(token=new_token()) as tx:
        tx.save(Page.model_construct(slug="b", size=99, lines=[], text=[]))
    assert wire.calls == []
