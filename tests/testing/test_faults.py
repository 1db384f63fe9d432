"""Faults strike the calls they name, and nothing else."""

import subprocess
import sys
import threading

import pytest

from dynaorm.errors import UsageError
from dynaorm.testing import (
    Fault,
    FaultyTransport,
    ScriptedTransport,
    conflict,
    in_progress,
    lost_answer,
    lost_request,
    throttle,
)
from dynaorm.testing.faults import EXIT_STATUS
from dynaorm.transport import Call, NoAnswer, Reason, Refusal, Reply

PUT = Call("PutItem", {"TableName": "app"})
GET = Call("GetItem", {"TableName": "app"})
TRANSACT = Call("TransactWriteItems", {"TransactItems": [{"Put": {}}, {"Delete": {}}, {"Update": {}}]})


def outcomes(transport: FaultyTransport, *calls: Call) -> list[str]:
    """What came of each call: "ok", or the name of what was raised."""
    return [outcome(transport, call) for call in calls]


def outcome(transport: FaultyTransport, call: Call) -> str:
    try:
        transport.call(call)
    except Refusal as refusal:
        return refusal.code
    except NoAnswer as missing:
        return missing.reason
    return "ok"


def always_ok() -> ScriptedTransport:
    return ScriptedTransport(*[{}] * 20)


THROTTLED, CONFLICT, IN_PROGRESS = (
    "ProvisionedThroughputExceededException",
    "TransactionConflictException",
    "TransactionInProgressException",
)
LOST = "the request was lost"


@pytest.mark.parametrize(
    ("faults", "calls", "expected"),
    [
        pytest.param(
            [throttle(at=2, times=2)], [PUT, GET, PUT, GET], ["ok", THROTTLED, THROTTLED, "ok"],
            id="from the call named on, as often as named",
        ),
        pytest.param(
            [lost_request(at=2, operation="PutItem")], [PUT, GET, GET, PUT, PUT], ["ok", "ok", "ok", LOST, "ok"],
            id="of one operation, without counting the others",
        ),
        pytest.param([conflict()], [PUT], [CONFLICT], id="a conflict of a plain write"),
        pytest.param(
            [in_progress()], [PUT, TRANSACT, TRANSACT], ["ok", IN_PROGRESS, "ok"],
            id="a transaction alone is in progress",
        ),
        pytest.param(
            [lost_request(at=1), conflict(at=2), throttle(at=2)], [PUT, PUT, PUT], [LOST, CONFLICT, "ok"],
            id="each counts on its own, and the first given strikes",
        ),
    ],
)  # fmt: skip
def test_a_fault_strikes_the_calls_that_it_names(
    faults: list[Fault], calls: list[Call], expected: list[str]
) -> None:
    assert outcomes(FaultyTransport(always_ok(), *faults), *calls) == expected


def test_without_faults_every_call_passes_and_is_remembered() -> None:
    inner = ScriptedTransport({"a": 1}, Refusal("ValidationException"))
    transport = FaultyTransport(inner)
    assert transport.call(PUT) == {"a": 1}
    with pytest.raises(Refusal, match="ValidationException"):
        transport.call(GET)
    assert transport.calls == inner.calls == [PUT, GET]


def test_a_lost_answer_is_lost_after_the_call_was_made() -> None:
    inner = ScriptedTransport({})
    with pytest.raises(NoAnswer) as caught:
        FaultyTransport(inner, lost_answer()).call(PUT)
    assert inner.calls == [PUT]
    assert caught.value.sent


@pytest.mark.parametrize("sent", [True, False])
def test_a_lost_request_is_never_made(sent: bool) -> None:
    inner = ScriptedTransport()
    with pytest.raises(NoAnswer) as caught:
        FaultyTransport(inner, lost_request(sent=sent)).call(PUT)
    assert inner.calls == []
    assert caught.value.sent is sent


def test_a_conflict_cancels_a_transaction_with_one_reason() -> None:
    with pytest.raises(Refusal) as caught:
        FaultyTransport(ScriptedTransport(), conflict(action=1)).call(TRANSACT)
    assert caught.value.code == "TransactionCanceledException"
    assert caught.value.reasons == (
        None,
        Reason("TransactionConflict", "Transaction is ongoing for the item"),
        None,
    )


def test_a_conflict_never_meets_a_read_because_dynamodb_has_none_there() -> None:
    transport = FaultyTransport(always_ok(), conflict())
    assert outcomes(transport, GET, Call("Query", {}), PUT) == ["ok", "ok", "TransactionConflictException"]
    with pytest.raises(UsageError, match="GetItem never meets a conflict; give one of"):
        conflict(operation="GetItem")


def test_a_throttled_transaction_is_cancelled_with_one_reason() -> None:
    with pytest.raises(Refusal) as caught:
        FaultyTransport(ScriptedTransport(), throttle()).call(TRANSACT)
    assert [reason and reason.code for reason in caught.value.reasons] == ["ThrottlingError", None, None]


def test_a_reason_for_an_action_that_is_not_there_is_a_mistake_of_the_test() -> None:
    with pytest.raises(AssertionError, match="3 actions"):
        FaultyTransport(ScriptedTransport(), conflict(action=3)).call(TRANSACT)


def test_a_fault_that_counts_from_0_is_refused() -> None:
    with pytest.raises(UsageError, match="is not an int of 1 or more"):
        lost_answer(at=0)


def test_a_fault_of_ones_own_is_a_function_of_the_call_and_the_transport_behind() -> None:
    def twice(call: Call, inner: object) -> Reply:
        return {"twice": call.operation}

    assert FaultyTransport(always_ok(), Fault("twice", twice)).call(PUT) == {"twice": "PutItem"}


def test_calls_of_several_threads_are_counted_once_each() -> None:
    transport = FaultyTransport(ScriptedTransport(*[{}] * 400), lost_request(at=101, times=100))
    results: list[str] = []

    def work() -> None:
        results.extend(outcomes(transport, *[PUT] * 100))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["ok"] * 300 + ["the request was lost"] * 100


CRASH = """
from dynaorm.flow.call import Call
from dynaorm.testing.faults import FaultyTransport, {fault}
from dynaorm.testing.transports import ScriptedTransport

def commit(call):
    print("committed", flush=True)
    return {{}}

transport = FaultyTransport(ScriptedTransport(commit, commit), {fault}(at=2))
transport.call(Call("PutItem", {{}}))
try:
    transport.call(Call("PutItem", {{}}))
finally:
    print("cleaned up", flush=True)
"""


@pytest.mark.parametrize(("fault", "committed"), [("crash_before", 1), ("crash_after", 2)])
def test_a_crash_ends_the_process_without_cleanup(fault: str, committed: int) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CRASH.format(fault=fault)], capture_output=True, text=True, check=False
    )
    assert child.returncode == EXIT_STATUS
    assert child.stdout == "committed\n" * committed
