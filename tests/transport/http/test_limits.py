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


def test_each_megabyte_has_a_second_more() -> None:
    assert Limits(10, 5, 1).seconds_for(0) == 10
    assert Limits(10, 5, 1).seconds_for(3 * SLOWEST_RATE) == 13
