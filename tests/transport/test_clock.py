"""The real clock gives what the protocol promises."""

import time

from dynaorm.transport import Clock
from dynaorm.transport.clock import SystemClock


def test_the_system_clock_tells_the_systems_time() -> None:
    clock: Clock = SystemClock()
    assert abs(clock.now() - time.time()) < 5
    assert clock.monotonic() <= clock.monotonic()


def test_jitter_is_from_0_up_to_but_not_including_1() -> None:
    drawn = [SystemClock().jitter() for _ in range(100)]
    assert all(0 <= number < 1 for number in drawn)
    assert len(set(drawn)) > 1


def test_an_identifier_fits_a_client_request_token_and_never_comes_twice() -> None:
    drawn = {SystemClock().new_id() for _ in range(1000)}
    assert len(drawn) == 1000
    assert all(1 <= len(identifier) <= 36 for identifier in drawn)


def test_a_pause_lasts_at_least_as_long_as_asked() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    clock.pause(0.01)
    assert clock.monotonic() - before >= 0.01
