"""Windows take no more than their size from an iterator, and the tally reports every failure."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.errors import BulkError, Contention, DynaormError, UsageError
from dynaorm.flow.bulk.limits import Tally, check_many, windows


@given(st.integers(0, 50), st.integers(1, 12))
def test_windows_hold_everything_in_order_and_none_is_too_large(count: int, size: int) -> None:
    found = list(windows(range(count), size))
    assert [one for window in found for one in window] == list(range(count))
    assert all(len(window) == size for window in found[:-1])
    assert all(0 < len(window) <= size for window in found)


def test_no_more_than_a_window_is_taken_before_it_is_done_with() -> None:
    taken: list[int] = []

    def given() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    found = windows(given(), 4)
    assert taken == []
    assert (next(found), taken) == ([0, 1, 2, 3], [0, 1, 2, 3])


def refusal() -> DynaormError:
    return Contention(attempts=1, code="x")


def test_failures_are_told_at_the_end_in_their_order() -> None:
    tally = Tally("abc", None)
    first, second = refusal(), refusal()
    tally.add("a", first)
    tally.add("b", None)
    tally.add("c", second)
    with pytest.raises(BulkError) as caught:
        tally.end()
    assert caught.value.failures == (("a", first), ("c", second))


def test_without_failures_the_end_is_quiet() -> None:
    tally = Tally("a", None)
    tally.add("a", "a result")
    tally.end()


def test_what_is_no_error_of_ours_ends_the_work_and_what_failed_before_is_its_cause() -> None:
    tally = Tally("ab", None)
    tally.add("a", refusal())
    with pytest.raises(OSError, match="no credentials") as caught:
        tally.add("b", OSError("no credentials"))
    assert isinstance(caught.value.__cause__, BulkError)
    with pytest.raises(OSError, match="no credentials") as alone:
        Tally("a", None).add("a", OSError("no credentials"))
    assert alone.value.__cause__ is None


def test_progress_tells_how_many_there_are_only_where_that_is_known() -> None:
    told: list[tuple[int, int | None]] = []
    for subjects in ("abc", iter("abc")):
        tally = Tally(subjects, lambda done, total: told.append((done, total)))
        tally.advance(2)
        tally.advance(1)
    assert told == [(2, 3), (3, 3), (2, None), (3, None)]


def test_nothing_at_once_is_refused() -> None:
    check_many([], 1)
    with pytest.raises(UsageError, match="concurrency=0"):
        check_many([], 0)
