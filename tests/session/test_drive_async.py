"""Driving flows in an event loop: how a pause waits, and several flows at once."""

import asyncio
from typing import Any

import pytest

from dynaorm import Call, Reply
from dynaorm.flow.protocol.call import Flow, Pause, Together
from dynaorm.session.drive_async import drive_async
from dynaorm.testing.clock import FakeClock
from dynaorm.transport.clock import SystemClock


class Counting:
    """A transport that answers every call, and remembers how many were under way at once."""

    def __init__(self) -> None:
        self.most = self._under_way = 0

    async def call(self, call: Call, /) -> Reply:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        return call.request


def getting(number: int) -> Flow[int]:
    reply = yield Call("GetItem", {"number": number})
    if reply["number"] == 3:
        raise ValueError("three")
    return int(reply["number"])


def pausing(seconds: float) -> Flow[str]:
    yield Pause(seconds)
    return "over"


def test_a_pause_of_the_system_clock_lets_other_tasks_run() -> None:
    async def story() -> list[str]:
        order: list[str] = []

        async def paused() -> None:
            order.append(await drive_async(pausing(0.01), Counting(), SystemClock()))

        async def other() -> None:
            order.append("other")

        await asyncio.gather(paused(), other())
        return order

    assert asyncio.run(story()) == ["other", "over"]


def test_a_pause_of_a_clock_that_blocks_is_spent_in_a_thread() -> None:
    clock = FakeClock()
    assert asyncio.run(drive_async(pausing(2.5), Counting(), clock)) == "over"
    assert clock.pauses == [2.5]


@pytest.mark.parametrize("limit", [1, 2, 8])
def test_outcomes_come_in_order_and_no_more_calls_than_the_limit_run_at_once(limit: int) -> None:
    def together() -> Flow[list[Any]]:
        outcomes: list[Any] = yield Together(tuple(getting(number) for number in range(5)), limit)
        return outcomes

    transport = Counting()
    found = asyncio.run(drive_async(together(), transport, FakeClock()))
    assert [*found[:3], found[4]] == [0, 1, 2, 4]
    assert isinstance(found[3], ValueError)
    assert transport.most == min(limit, 5)
