"""A FakeClock moves only when told."""

import pytest

from dynaorm.errors import UsageError
from dynaorm.testing import FakeClock


def test_time_stands_still_until_someone_pauses_or_advances() -> None:
    clock = FakeClock(start=100.0)
    clock.pause(2.5)
    clock.advance(7.5)
    assert (clock.now(), clock.monotonic()) == (110.0, 10.0)
    assert clock.pauses == [2.5]


def test_jitter_outside_of_0_to_1_is_refused() -> None:
    with pytest.raises(UsageError, match="give a number"):
        FakeClock(jitter=1.0)


def test_identifiers_are_counted_with_a_prefix_and_random_without() -> None:
    counted = FakeClock(ids="id-")
    assert [counted.new_id(), counted.new_id()] == ["id-1", "id-2"]
    random = FakeClock()
    assert len({random.new_id() for _ in range(100)}) == 100
    assert len(random.new_id()) <= 36


def test_time_does_not_go_back() -> None:
    with pytest.raises(UsageError, match="give a number of 0 or more"):
        FakeClock().pause(-1)
