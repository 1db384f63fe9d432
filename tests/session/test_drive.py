"""Driving a flow: replies are sent into it, what a call raises is thrown into it, and pauses are the clock's."""

import pytest

from dynaorm.flow.call import Call, Flow, NoAnswer, Pause, Refusal
from dynaorm.session.drive import drive
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.scripted import ScriptedTransport

GET = Call("GetItem", {})


def test_a_flow_is_sent_the_reply_to_each_call_and_its_result_is_returned() -> None:
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
