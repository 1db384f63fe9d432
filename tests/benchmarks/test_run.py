"""What is measured can be run."""

import pytest

from benchmarks.scale import unit_of_work


@pytest.mark.parametrize("size", [1, 10])
def test_a_unit_of_work_of_bench_scale_has_an_action_for_each_entity(size: int) -> None:
    request = unit_of_work(size)()
    assert isinstance(request, dict)
    assert len(request.get("TransactItems", [request])) == size
