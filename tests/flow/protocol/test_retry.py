"""Which answers are worth repeating a call for, and how long to wait between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.call import (
    WINDOW_SECONDS,
    WRONG_CLOCK,
    Reason,
    Refusal,
    Retry,
    conflict_in,
    is_retryable,
    throttle_in,
)
from dynaorm.testing.clock import FakeClock


def cancelled(*codes: str | None) -> Refusal:
    reasons = tuple(None if code is None else Reason(code) for code in codes)
    return Refusal("TransactionCanceledException", reasons=reasons)


CONFLICTS = [
    cancelled(None, "TransactionConflict"),
    Refusal("TransactionConflictException"),
    Refusal("TransactionInProgressException"),
    Refusal("ReplicatedWriteConflictException"),
]
THROTTLES = [
    cancelled("ThrottlingError"),
    cancelled("None", "ProvisionedThroughputExceeded"),
    Refusal("ProvisionedThroughputExceededException"),
    Refusal("ThrottlingException"),
    Refusal("RequestLimitExceeded"),
]
FINAL = [
    cancelled("ConditionalCheckFailed"),
    cancelled("ValidationError", None),
    cancelled("ItemCollectionSizeLimitExceeded"),
    Refusal("ConditionalCheckFailedException"),
    Refusal("ValidationException"),
    Refusal("IdempotentParameterMismatchException"),
    Refusal("ResourceNotFoundException"),
    Refusal("AccessDeniedException"),
]


@pytest.mark.parametrize("refusal", CONFLICTS, ids=lambda refusal: refusal.code)
def test_conflicts_are_repeated(refusal: Refusal) -> None:
    assert is_retryable(refusal)
    assert conflict_in(refusal) is not None
    assert throttle_in(refusal) is None


@pytest.mark.parametrize("refusal", THROTTLES)
def test_throttles_are_repeated(refusal: Refusal) -> None:
    assert is_retryable(refusal)
    assert throttle_in(refusal) is not None
    assert conflict_in(refusal) is None


def test_a_signature_of_another_time_is_repeated_after_clock_skew() -> None:
    refusal = Refusal(WRONG_CLOCK)
    assert is_retryable(refusal)
    assert conflict_in(refusal) is throttle_in(refusal) is None
    assert not is_retryable(Refusal("InvalidSignatureException"))


@pytest.mark.parametrize("refusal", FINAL)
def test_what_repeating_cannot_help_is_final(refusal: Refusal) -> None:
    assert not is_retryable(refusal)


def test_a_conflict_beside_a_failed_condition_is_repeated_first() -> None:
    assert is_retryable(cancelled("ConditionalCheckFailed", "TransactionConflict"))
    assert is_retryable(cancelled("ThrottlingError", "ConditionalCheckFailed"))


def test_the_ceiling_doubles_up_to_the_cap() -> None:
    retry = Retry(attempts=6, base=1.0, cap=5.0)
    assert list(retry.pauses(FakeClock(jitter=0.5))) == [0.5, 1.0, 2.0, 2.5, 2.5]


@given(st.integers(1, 30), st.floats(0, WINDOW_SECONDS), st.floats(0, 60), st.floats(0, 0.999))
def test_no_retry_outlives_its_limits(attempts: int, seconds: float, base: float, jitter: float) -> None:
    clock = FakeClock(jitter=jitter)
    count = 0
    for pause in Retry(attempts=attempts, seconds=seconds, base=base).pauses(clock):
        clock.pause(pause)
        count += 1
    assert count < attempts
    assert clock.monotonic() <= seconds
