"""Several flows at once: all of them end, their outcomes come in order, and the first failure is raised at last."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.call import Call, Flow, NoAnswer, gather, outcomes
from dynaorm.session.drive import drive
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport


def echo(call: Call) -> dict[str, Any]:
    return {"n": call.request["n"]}


def asking(number: int, ended: list[int], *, fails: bool = False) -> Flow[int]:
    reply = yield Call("GetItem", {"n": number})
    ended.append(number)
    if fails:
        raise ValueError(f"flow {number}")
    result: int = reply["n"]
    return result


def driven(flow: Flow[Any], calls: int) -> Any:
    return drive(flow, ScriptedTransport(*[echo] * calls), FakeClock())


def test_one_flow_is_run_where_it_is_asked_for() -> None:
    ended: list[int] = []
    flow = gather([asking(1, ended)], 8)
    assert isinstance(next(flow), Call)
    outcome = outcomes([asking(1, ended)], 8)
    assert isinstance(next(outcome), Call)


def test_flows_with_a_limit_of_one_run_in_the_callers_thread() -> None:
    def both() -> Flow[list[int]]:
        return (yield from gather([asking(1, []), asking(2, [])], 1))

    flow = both()
    assert next(flow) == Call("GetItem", {"n": 1})
    assert flow.send({"n": 10}) == Call("GetItem", {"n": 2})
    with pytest.raises(StopIteration) as stop:
        flow.send({"n": 20})
    assert stop.value.value == [10, 20]


@given(
    st.lists(st.booleans(), max_size=8),
    st.integers(1, 4),
)
def test_every_flow_ends_whatever_the_others_come_to(fails: list[bool], limit: int) -> None:
    ended: list[int] = []
    flows = [asking(number, ended, fails=fail) for number, fail in enumerate(fails)]
    found = driven(outcomes(flows, limit), len(fails))
    assert sorted(ended) == list(range(len(fails)))
    assert [isinstance(one, ValueError) for one in found] == fails
    assert [str(one) if fail else one for one, fail in zip(found, fails, strict=True)] == [
        f"flow {number}" if fail else number for number, fail in enumerate(fails)
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.integers(1, 3))
def test_the_first_failure_is_raised_after_all_have_ended(fails: list[bool], limit: int) -> None:
    ended: list[int] = []
    flows = [asking(number, ended, fails=fail) for number, fail in enumerate(fails)]
    if not any(fails):
        assert driven(gather(flows, limit), len(fails)) == list(range(len(fails)))
        return
    with pytest.raises(ValueError, match=f"flow {fails.index(True)}$"):
        driven(gather(flows, limit), len(fails))
    assert sorted(ended) == list(range(len(fails)))


@pytest.mark.parametrize("limit", [1, 8])
def test_what_stops_the_program_is_no_outcome(limit: int) -> None:
    def stopping() -> Flow[int]:
        yield Call("GetItem", {"n": 1})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driven(outcomes([stopping(), stopping()], limit), 2)


def test_what_a_transport_raises_reaches_the_flow_that_called() -> None:
    def patient() -> Flow[str]:
        try:
            yield Call("GetItem", {"n": 1})
        except NoAnswer as silence:
            return silence.reason
        return ""

    def silent(call: Call) -> dict[str, Any]:
        raise NoAnswer("timeout")

    transport = ScriptedTransport(silent, silent)
    assert drive(gather([patient(), patient()], 2), transport, FakeClock()) == ["timeout", "timeout"]
