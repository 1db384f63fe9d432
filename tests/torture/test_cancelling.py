"""A write whose task is cancelled may have been made, and the entity finds out before its next write."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm import AsyncSession, Session, Transport, inspect
from tests.torture.cancelling import Cancelling, DrivenSession
from tests.torture.entities import Parcel, app


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    found = asyncio.new_event_loop()
    yield found
    found.close()


@pytest.fixture
def transport(moto: Transport) -> Transport:
    Session(transport=moto).create_table(app)
    return moto


@pytest.mark.parametrize("label", ["l", None])
@pytest.mark.parametrize("in_block", [True, False])
@pytest.mark.parametrize("delivers", [True, False])
def test_a_cancelled_save_is_made_once(
    transport: Transport,
    loop: asyncio.AbstractEventLoop,
    label: str | None,
    *,
    in_block: bool,
    delivers: bool,
) -> None:
    cancelled: list[str] = []
    wire = Cancelling(transport, 1, lambda: cancelled.append("cancelled"), delivers=delivers)
    session: Any = DrivenSession(AsyncSession(transport=wire), loop)
    parcel = Parcel(shelf="s", place="p", label=label)

    def save() -> None:
        if not in_block:
            session.save(parcel)
            return
        with session.transaction() as tx:
            tx.save(parcel)

    with pytest.raises(asyncio.CancelledError):
        save()
    assert cancelled == ["cancelled"]
    plain = Session(transport=transport)
    stored = plain.get(Parcel, shelf="s", place="p")
    assert (stored is not None) is delivers
    save()
    found = plain.get_one(Parcel, shelf="s", place="p")
    assert inspect(found).revision == inspect(parcel).revision
    assert stored is None or inspect(stored).revision == inspect(found).revision


def test_a_session_without_a_cancellation_is_a_session(
    transport: Transport, loop: asyncio.AbstractEventLoop
) -> None:
    session: Any = DrivenSession(AsyncSession(transport=Cancelling(transport, 0, list, delivers=True)), loop)
    parcel = session.save(Parcel(shelf="s", place="p"))
    assert session.get(Parcel, shelf="s", place="p") == parcel
