"""Running a flow: it receives replies and errors of its calls, and pauses on the clock."""

import asyncio
import signal
import sys
import threading
import tracemalloc
from binascii import crc32
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from dynaorm.errors import Unreachable
from dynaorm.flow.call import Call, Flow, NoAnswer, Parallel, Pause, Refusal, Reply
from dynaorm.session.drive import drive
from dynaorm.session.drive_async import drive_async
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport
from dynaorm.transport.answer import reply_of
from dynaorm.transport.clock import SystemClock

GET = Call("GetItem", {})
SCAN = Call("Scan", {})


def test_a_flow_gets_each_reply_and_returns_its_result() -> None:
    def flow() -> Flow[list[object]]:
        first = yield GET
        second = yield GET
        return [first["n"], second["n"]]

    transport = ScriptedTransport({"n": 1}, {"n": 2})
    assert drive(flow(), transport, FakeClock()) == [1, 2]
    assert transport.calls == [GET, GET]


def test_a_flow_that_asks_nothing_only_returns() -> None:
    def flow() -> Flow[str]:
        yield from ()
        return "done"

    assert drive(flow(), ScriptedTransport(), FakeClock()) == "done"


def test_a_pause_waits_on_the_clock() -> None:
    def flow() -> Flow[None]:
        assert (yield Pause(1.5)) == {}
        yield Pause(0.5)

    clock = FakeClock()
    drive(flow(), ScriptedTransport(), clock)
    assert clock.pauses == [1.5, 0.5]


@pytest.mark.parametrize("trouble", [Refusal("Code"), NoAnswer("timeout")])
def test_what_a_call_raises_is_thrown_into_the_flow(trouble: Refusal | NoAnswer) -> None:
    def flow() -> Flow[object]:
        try:
            yield GET
        except (Refusal, NoAnswer) as caught:
            reply = yield GET
            return (caught, reply["n"])
        return None

    assert drive(flow(), ScriptedTransport(trouble, {"n": 1}), FakeClock()) == (trouble, 1)


class Interrupted:
    """A transport during whose call somebody presses Ctrl-C."""

    def call(self, call: Call, /) -> dict[str, object]:
        raise KeyboardInterrupt(call.operation)


def test_an_interruption_reaches_the_flow_too() -> None:
    seen: list[BaseException] = []

    def flow() -> Flow[None]:
        try:
            yield GET
        except BaseException as raised:
            seen.append(raised)
            raise

    with pytest.raises(KeyboardInterrupt):
        drive(flow(), Interrupted(), FakeClock())
    assert [type(one) for one in seen] == [KeyboardInterrupt]


def test_an_interrupted_pause_reaches_the_flow_too() -> None:
    class Impatient(FakeClock):
        def pause(self, seconds: float) -> None:
            raise KeyboardInterrupt(seconds)

    seen: list[str] = []

    def flow() -> Flow[None]:
        try:
            yield Pause(1)
        finally:
            seen.append("closed")

    with pytest.raises(KeyboardInterrupt):
        drive(flow(), ScriptedTransport(), Impatient())
    assert seen == ["closed"]


def test_an_error_of_the_flow_is_the_callers() -> None:
    def flow() -> Flow[None]:
        yield GET
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        drive(flow(), ScriptedTransport({}), FakeClock())


class Answering:
    """A transport that answers with one body after another, each with its checksum."""

    def __init__(self, bodies: Iterable[bytes]) -> None:
        self._bodies = iter(bodies)

    def call(self, call: Call, /) -> Reply:
        body = next(self._bodies)
        return reply_of(call.operation, 200, {"x-amz-crc32": str(crc32(body))}, body)


def confused_by_the_first_of(size: int) -> Flow[None]:
    """A flow that makes so many reads, and then cannot read the first reply."""
    first = yield SCAN
    for _ in range(size - 1):
        yield SCAN
    first["Items"][0]["text"]["S"]


INVALID = b'{"Items":[{"text":5}]}'


@pytest.mark.parametrize("size", [1, 2, 5])
def test_an_invalid_reply_is_unreachable_also_after_others(size: int) -> None:
    others = [b'{"Items":[]}'] * (size - 1)
    with pytest.raises(Unreachable, match="Items of the wrong type"):
        drive(confused_by_the_first_of(size), Answering([INVALID, *others]), FakeClock())


def test_a_flow_that_cannot_read_a_large_reply_is_unreachable() -> None:
    large = b'{"Items":[{"text":5}],"more":"%s"}' % (b"x" * 2**23)
    with pytest.raises(Unreachable, match="Items of the wrong type"):
        drive(confused_by_the_first_of(1), Answering([large]), FakeClock())


def test_a_flow_that_reads_many_pages_does_not_hold_them_all() -> None:
    page = 2**20

    def flow() -> Flow[int]:
        for _ in range(12):
            yield SCAN
        return tracemalloc.get_traced_memory()[0]

    pages = (b'{"Items":[],"more":"%s"}' % (b"x" * page) for _ in range(12))
    tracemalloc.start()
    try:
        held = drive(flow(), Answering(pages), FakeClock())
    finally:
        tracemalloc.stop()
    assert held < 3 * page


# -- several flows at once ---------------------------------------------------------------------------------------------


class Meeting:
    """A transport whose calls wait until so many are under way at once; it remembers how many ever were."""

    def __init__(self, size: int) -> None:
        self.most = 0
        self._under_way = 0
        self._counting = threading.Lock()
        self._all_there = threading.Barrier(size)

    def call(self, call: Call, /) -> dict[str, Any]:
        with self._counting:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        self._all_there.wait(10)
        with self._counting:
            self._under_way -= 1
        return dict(call.request)


def asking(number: int) -> Flow[int]:
    reply = yield Call("GetItem", {"n": number})
    result: int = reply["n"]
    return result


def all_of(*flows: Flow[Any], limit: int) -> Flow[list[Any]]:
    found: list[Any] = yield Parallel(flows, limit)
    return found


def test_flows_run_together_and_results_come_in_order() -> None:
    meeting = Meeting(3)
    assert drive(all_of(*map(asking, range(9)), limit=3), meeting, FakeClock()) == list(range(9))
    assert meeting.most == 3


def test_flows_may_run_several_flows_themselves() -> None:
    flow = all_of(*[all_of(*map(asking, range(2)), limit=2) for _ in range(2)], limit=2)
    meeting = Meeting(4)
    assert drive(flow, meeting, FakeClock()) == [[0, 1], [0, 1]]
    assert meeting.most == 4


def test_of_no_flows_there_are_no_outcomes() -> None:
    assert drive(all_of(limit=8), ScriptedTransport(), FakeClock()) == []


def test_a_failure_stands_in_the_place_of_its_flow() -> None:
    def failing() -> Flow[int]:
        yield Pause(1)
        raise ValueError("of its own")

    clock = FakeClock()
    first, second, third = drive(all_of(asking(1), failing(), asking(3), limit=2), Meeting(1), clock)
    assert (first, str(second), third) == (1, "of its own", 3)
    assert clock.pauses == [1]


def test_the_callers_context_variables_hold_in_every_flow() -> None:
    tenant = ContextVar("tenant", default="nobody")

    def reading() -> Flow[str]:
        yield GET
        return tenant.get()

    mark = tenant.set("acme")
    try:
        found = drive(all_of(reading(), reading(), limit=2), ScriptedTransport({}, {}), FakeClock())
    finally:
        tenant.reset(mark)
    assert found == ["acme", "acme"]


class Interrupting:
    """A transport whose call number 0 does something and waits; all others are answered at once, and counted."""

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self.numbers: list[int] = []
        self.has_company = threading.Event()
        self._interrupt = interrupt

    def call(self, call: Call, /) -> dict[str, Any]:
        number: int = call.request["n"]
        self.numbers.append(number)
        if number == 0:
            assert self.has_company.wait(10)
            self._interrupt()
        else:
            self.has_company.set()
        return {}


def endless(ended: list[type[BaseException]]) -> Flow[None]:
    try:
        while True:
            yield Call("GetItem", {"n": 1})
    except BaseException as raised:
        ended.append(type(raised))
        raise


def stopping() -> None:
    raise KeyboardInterrupt


def test_after_an_interruption_no_flow_makes_another_call() -> None:
    """The first flow is interrupted beside the second, which would go on for ever; the third waits for its turn."""
    transport, ended = Interrupting(stopping), list[type[BaseException]]()
    with pytest.raises(KeyboardInterrupt):
        drive(all_of(asking(0), endless(ended), asking(3), limit=2), transport, FakeClock())
    assert ended == [KeyboardInterrupt]
    assert set(transport.numbers) == {0, 1}


def test_the_error_that_stopped_a_flow_reaches_the_caller() -> None:
    """The flow that is asked first of all for its outcome is not the one that was stopped."""
    transport = Interrupting(partial(sys.exit, "enough"))
    with pytest.raises(SystemExit, match="enough"):
        drive(all_of(endless([]), asking(0), limit=2), transport, FakeClock())


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_reaches_the_flow_once_those_under_way_have_ended() -> None:
    """Ctrl-C is the main thread's, which only waits for the others."""

    def press() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    transport, ended = Interrupting(press), list[type[BaseException]]()

    def outer() -> Flow[None]:
        try:
            yield Parallel((asking_nothing(), endless(ended), asking(3)), 2)
        except KeyboardInterrupt:
            ended.append(KeyboardInterrupt)
            raise

    with pytest.raises(KeyboardInterrupt):
        drive(outer(), transport, FakeClock())
    assert ended == [KeyboardInterrupt] * 2


def asking_nothing() -> Flow[None]:
    yield Call("GetItem", {"n": 0})


# -- asynchronous flows ------------------------------------------------------------------------------------------------
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
def test_outcomes_come_in_order_and_calls_keep_to_the_limit(limit: int) -> None:
    def together() -> Flow[list[Any]]:
        outcomes: list[Any] = yield Parallel(tuple(getting(number) for number in range(5)), limit)
        return outcomes

    transport = Counting()
    found = asyncio.run(drive_async(together(), transport, FakeClock()))
    assert [*found[:3], found[4]] == [0, 1, 2, 4]
    assert isinstance(found[3], ValueError)
    assert transport.most == min(limit, 5)
