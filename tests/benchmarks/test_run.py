"""What is measured can be run."""

import pytest

from benchmarks.run import benchmarks
from benchmarks.scale import unit_of_work
from benchmarks.stub import stub_server


def test_every_row_of_bench_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "bench")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "bench")
    with stub_server() as endpoint:
        for work, _ in benchmarks(endpoint).values():
            work()


@pytest.mark.parametrize("size", [1, 10])
def test_a_unit_of_work_of_bench_scale_has_an_action_for_each_entity(size: int) -> None:
    request = unit_of_work(size)()
    assert isinstance(request, dict)
    assert len(request.get("TransactItems", [request])) == size
