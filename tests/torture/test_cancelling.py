"""A write whose task is cancelled may have been made, and the entity finds out before its next write."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dynaorm import AsyncSession, Session, inspect
from dynaorm.transport import Call, Transport
from tests.torture.boss import check
from tests.torture.cancelling import Cancelling, DrivenSession
from tests.torture.entities import Parcel, app
from tests.torture.journal import operation_of
from tests.torture.operations import inserting, touching

if TYPE_CHECKING:
    from tests.torture.conftest import Working
    from tests.torture.worker import Worker


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


def test_a_touch_that_was_cancelled_has_happened_if_only_its_repetition_was_refused(
    worked: "Working",
) -> None:
    def work(worker: "Worker") -> None:
        for place in range(90):
            parcel = Parcel(shelf="0-s", place=f"0-{place}")
            worker.perform(inserting(parcel))
            for _ in range(3):
                if inspect(parcel).revision is not None:
                    worker.perform(touching(parcel))

    ground = worked(work)
    assert "cancelled" in {fault for record in ground.records for fault in record.struck}
    assert check(ground.run()).violations == []


class Applied:
    """Collects the revisions that stand in the writes that were applied."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.revisions = set[str]()

    def call(self, call: Call, /) -> Any:
        reply = self._inner.call(call)
        if call.operation in ("PutItem", "UpdateItem", "TransactWriteItems"):
            self.revisions.update(re.findall(r"'(1\.2-\d+-\d+)'", repr(call.request)))
        return reply


def test_a_touch_that_was_cancelled_is_made_once(worked: "Working") -> None:
    def work(worker: "Worker") -> None:
        for place in range(90):
            parcel = Parcel(shelf="0-s", place=f"0-{place}")
            worker.perform(inserting(parcel))
            for _ in range(3):
                if inspect(parcel).revision is not None:
                    worker.perform(touching(parcel))

    made: list[Applied] = []

    def under(inner: Transport) -> Transport:
        made.append(Applied(inner))
        return made[0]

    ground = worked(work, under, "1.2")
    touches = {one.id: one for one in ground.records if one.name == "touch"}
    assert "cancelled" in {fault for record in touches.values() for fault in record.struck}
    written = Counter(operation_of(revision) for revision in made[0].revisions)
    assert max(written[name] for name in touches) == 1
