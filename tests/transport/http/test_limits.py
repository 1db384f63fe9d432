"""A transport's limits are positive and finite, so that every wait ends."""

from math import inf, nan

import pytest

from dynaorm.errors import UsageError
from dynaorm.transport.http.limits import SLOWEST_RATE, Limits


@pytest.mark.parametrize(
    "limits", [(0, 1, 1), (1, -1, 1), (1, 1, 0), (inf, 1, 1), (1, inf, 1), (nan, 1, 1), (1, nan, 1)]
)
def test_limits_that_are_not_possible_are_refused(limits: tuple[float, float, int]) -> None:
    with pytest.raises(UsageError, match=r"(timeout|pool_size)=\S+ is not .+; give "):
        Limits(*limits)


def test_an_attempt_with_less_time_has_no_more_for_its_connection_and_its_megabytes_together() -> None:
    limits = Limits(10, 5, 1).within(6, 100)
    assert (limits.timeout, limits.connect_timeout, limits.pool_size) == (6, 5, 1)
    assert (limits.connect_end(100), limits.connect_end(104)) == (105, 106)
    assert limits.end(104, 3 * SLOWEST_RATE) == 106
