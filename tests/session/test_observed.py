"""A flow that is observed does what it did before, and every attempt of its requests is told."""

from collections.abc import Sequence
from itertools import count
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.call import Call, Flow, NoAnswer, Parallel, Pause, Refusal
from dynaorm.session import Attempt
from dynaorm.session.attempt import observe
from dynaorm.session.drive import drive
from dynaorm.testing import FakeClock, ScriptedTransport

Part: TypeAlias = str | tuple["Part", ...]

PARTS = st.recursive(
    st.sampled_from(["ok", "refused", "lost", "pause"]), lambda inner: st.tuples(inner, inner), max_leaves=6
)


_numbers = count()


def flow_of(parts: Sequence[Part], seen: list[str]) -> Flow[str]:
    """Send a request for each part, again after each failure; a tuple runs together."""
    for part in parts:
        if isinstance(part, tuple):
            yield Parallel(tuple(flow_of([one], seen) for one in part), 1)
        elif part == "pause":
            yield Pause(0.5)
        else:
            call = Call(part, {"TableName": "app", "Key": {"n": {"N": str(next(_numbers))}}})
            for _ in range(1 if part == "ok" else 3):
                try:
                    yield call
                except (Refusal, NoAnswer) as failure:
                    seen.append(type(failure).__name__)
    return "done"


def answering(call: Call) -> Any:
    if call.operation == "ok":
        return {}
    raise Refusal("ThrottlingException") if call.operation == "refused" else NoAnswer("lost")


@given(st.lists(PARTS, max_size=5))
def test_a_flow_that_is_observed_does_the_same(parts: list[Part]) -> None:
    found = []
    attempts: list[Attempt] = []
    for watches in (False, True):
        transport, clock, seen = ScriptedTransport(*[answering] * 99), FakeClock(), list[str]()
        flow = flow_of(parts, seen)
        if watches:
            flow = observe(flow, "save", lambda attempt, *_: attempts.append(attempt))
        result = drive(flow, transport, clock)
        found.append((result, [call.operation for call in transport.calls], clock.pauses, seen))
    assert found[0] == found[1]
    assert [one.operation for one in attempts] == found[1][1]
    # The same request again after a failure is its next attempt.
    sent = [one.operation for one in attempts if one.number == 1]
    assert [one.number for one in attempts] == [
        number for operation in sent for number in ((1,) if operation == "ok" else (1, 2, 3))
    ]


def test_attempts_of_a_request_are_counted_with_their_pauses() -> None:
    told: list[tuple[int, float, str]] = []

    def twice() -> Flow[None]:
        yield Pause(0.25)
        for pause in (1.0, 2.0):
            with pytest.raises(Refusal):
                yield Call("GetItem", {"Key": 1})
            yield Pause(pause)
            yield Pause(pause)
        yield Call("GetItem", {"Key": 1})
        yield Call("GetItem", {"Key": 1})
        with pytest.raises(NoAnswer):
            yield Call("GetItem", {"Key": 2})
        yield Call("GetItem", {"Key": 3})

    transport = ScriptedTransport(Refusal("a"), Refusal("b"), {}, {}, NoAnswer("c"), {})
    watched = observe(twice(), "get", lambda one, *_: told.append((one.number, one.pause, one.outcome)))
    drive(watched, transport, FakeClock())
    assert told == [
        (1, 0.25, "refused"),
        (2, 2.0, "refused"),
        (3, 4.0, "ok"),
        (1, 0.0, "ok"),
        (1, 0.0, "no answer"),
        (1, 0.0, "ok"),
    ]


def test_an_interrupted_attempt_is_told_and_the_flow_learns_of_it() -> None:
    outcomes: list[str] = []
    caught: list[type[BaseException]] = []

    def interrupted(call: Call) -> Any:
        raise KeyboardInterrupt

    def flow() -> Flow[None]:
        try:
            yield Call("GetItem", {})
        except BaseException as raised:
            caught.append(type(raised))
            raise

    with pytest.raises(KeyboardInterrupt):
        drive(
            observe(flow(), "get", lambda one, *_: outcomes.append(one.error)),
            ScriptedTransport(interrupted),
            FakeClock(),
        )
    assert outcomes == ["KeyboardInterrupt"]
    assert caught == [KeyboardInterrupt]
