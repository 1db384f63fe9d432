"""The figures that follow from the measurements of clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.callers import Served, served
from benchmarks.peers.rows import Ratio, Row, measures_of

times = st.floats(1e-6, 1)


def row(name: str, **cpu: list[float]) -> Row:
    return Row(name, "validated", cpu)


def test_a_ratio_is_the_median_of_the_ratios_of_rounds_not_of_their_medians() -> None:
    """The machine was ten times slower in the last round, for both."""
    ratio = row("one", get=[1, 2, 30]).ratio("get", row("two", get=[2, 2, 20]))
    assert ratio == Ratio(median=1, minima=0.5, lowest=0.5, highest=1.5, spread=1)


@given(rounds=st.lists(st.tuples(times, times), min_size=1, max_size=9))
def test_median_and_ratio_of_minima_are_within_the_lowest_and_highest_ratio(
    rounds: list[tuple[float, float]],
) -> None:
    ratio = Ratio.of([one for one, _ in rounds], [two for _, two in rounds])
    assert ratio.lowest <= ratio.median <= ratio.highest
    assert ratio.lowest <= ratio.minima * (1 + 1e-9)
    assert ratio.minima <= ratio.highest * (1 + 1e-9)


@given(rounds=st.lists(times, min_size=3, max_size=9), factor=st.floats(0.1, 10))
def test_a_client_that_always_takes_the_same_part_has_that_ratio_and_no_spread(
    rounds: list[float], factor: float
) -> None:
    ratio = Ratio.of([one * factor for one in rounds], rounds)
    assert [ratio.median, ratio.minima, ratio.lowest, ratio.highest] == pytest.approx([factor] * 4)
    assert ratio.spread == pytest.approx(0)


def test_an_operation_that_a_client_does_not_have_has_no_ratio() -> None:
    assert row("one", get=[1]).ratio("get", row("two", put=[1])) is None


def test_a_client_needs_less_if_its_median_or_its_minimum_is_lower() -> None:
    unit = row("unit", get=[1, 1, 1])
    steady, uneven = row("steady", get=[2, 2, 2]), row("uneven", get=[1, 3, 3])
    (measure,) = measures_of([unit, steady, uneven])
    assert measure.is_less(steady, uneven)
    assert measure.is_less(uneven, steady)
    assert not measure.is_less(steady, unit)
    assert measure.shown(uneven) == "3.00x, 1.00x"


def test_clients_with_different_callers_are_not_compared() -> None:
    rows = [
        Row("one", "dicts", callers="200 tasks", served=[Served(100, 1, 1, 1)]),
        Row("two", "dicts", callers="16 threads", served=[Served(200, 1, 1, 1)]),
    ]
    for measure in measures_of(rows):
        assert not measure.is_less(rows[1], rows[0])
    assert [measure.name for measure in measures_of(rows)] == ["get, 16 threads", "get, 200 tasks"]


def test_callers_are_summed_up_as_calls_a_second_most_to_least_and_times_of_a_call() -> None:
    assert served([[0.5] * 4, [1.0] * 2], seconds=2) == Served(calls=3, most_to_least=2, p50=0.5, p99=1)


def test_a_caller_without_a_call_makes_most_to_least_infinite() -> None:
    assert served([[1.0], [1.0], []], seconds=1).most_to_least == float("inf")
