"""KSUIDs as field types: one kind of error, safe comparisons, exact times, and ranges of time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Barrier

import ksuid as svix
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from dynaorm import Ksuid, KsuidMs, ksuid_range, new_ksuid

PUBLISHED = "1YnlHOfSSk3DhX4BR6lMAceAo1V"
BEGIN = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)
END = BEGIN + timedelta(seconds=2**32)
KINDS = [Ksuid, KsuidMs]

kinds = st.sampled_from(KINDS)
payloads = st.binary(min_size=20, max_size=20)
times = st.datetimes(
    BEGIN.replace(tzinfo=None), (END - timedelta(microseconds=1)).replace(tzinfo=None), timezones=st.just(UTC)
)


@given(kinds, payloads)
def test_text_and_bytes_give_the_same_ksuid_back(kind: type[Ksuid | KsuidMs], raw: bytes) -> None:
    one = kind.from_bytes(raw)
    assert bytes(one) == raw
    assert kind.from_base62(str(one)) == one
    assert len(str(one)) == 27


@given(kinds, payloads, payloads)
def test_texts_sort_as_the_ksuids_do(kind: type[Ksuid | KsuidMs], left: bytes, right: bytes) -> None:
    one, same, other = kind.from_bytes(left), kind.from_bytes(left), kind.from_bytes(right)
    assert (one < other) == (str(one) < str(other)) == (left < right)
    assert (one <= other, one > other, one >= other) == (left <= right, left > right, left >= right)
    assert [one < same, one > same] == [False, False]


@given(kinds, st.text(max_size=30))
def test_a_text_is_a_ksuid_or_a_value_error(kind: type[Ksuid | KsuidMs], text: str) -> None:
    try:
        found = kind.from_base62(text)
    except ValueError as problem:
        assert "is not a KSUID" in str(problem)  # noqa: PT017 (the other outcome is right, too)
    else:
        assert str(found) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_highest_and_the_lowest_text_are_ksuids(kind: type[Ksuid | KsuidMs]) -> None:
    assert bytes(kind.from_base62("aWgEPTl1tmebfsQzFP4bxwgy80V")) == b"\xff" * 20
    assert bytes(kind.from_base62("0" * 27)) == bytes(20)
    for text in ("aWgEPTl1tmebfsQzFP4bxwgy80W", "z" * 27, PUBLISHED[:-1], PUBLISHED + "0"):
        with pytest.raises(ValueError, match="is not a KSUID"):
            kind.from_base62(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [datetime(2020, 1, 1), BEGIN - timedelta(microseconds=1), END])  # noqa: DTZ001
def test_a_time_without_zone_or_out_of_range_is_refused(kind: type[Ksuid | KsuidMs], time: datetime) -> None:
    with pytest.raises(ValueError, match=r"no time zone|outside the range of KSUIDs"):
        kind(time)


@given(times)
def test_a_ksuid_holds_the_second_it_was_given(time: datetime) -> None:
    assert Ksuid(time).datetime == time.replace(microsecond=0)


@given(times)
def test_a_ksuid_ms_holds_the_four_milliseconds_it_was_given(time: datetime) -> None:
    """svix-ksuid computes in floats, and is a step off for one time in a hundred."""
    stamp = bytes(KsuidMs(time))[:5]
    age = (time - BEGIN) // timedelta(milliseconds=4)
    assert stamp == (age // 250).to_bytes(4, "big") + bytes([age % 250])


@pytest.mark.parametrize("other", [None, 5, PUBLISHED, KsuidMs.from_base62(PUBLISHED), object()])
def test_a_ksuid_is_compared_with_anything_safely(other: object) -> None:
    one = Ksuid.from_base62(PUBLISHED)
    assert one != other
    assert other != one
    with pytest.raises(TypeError):
        sorted([one, other])  # type: ignore[type-var]


@pytest.mark.parametrize(("kind", "theirs"), [(Ksuid, svix.Ksuid), (KsuidMs, svix.KsuidMs)])
def test_a_ksuid_of_svix_is_the_same_ksuid(kind: type[Ksuid | KsuidMs], theirs: type[svix.Ksuid]) -> None:
    one, other = kind.from_base62(PUBLISHED), theirs.from_base62(PUBLISHED)
    assert one == other
    assert other == one
    assert len({one, other}) == 1
    assert type(TypeAdapter(kind).validate_python(other)) is kind


class Order(BaseModel):
    id: Ksuid
    at: KsuidMs | None = None


def test_pydantic_takes_texts_and_shows_texts_in_json() -> None:
    order = Order.model_validate({"id": PUBLISHED, "at": PUBLISHED})
    assert order.id == Ksuid.from_base62(PUBLISHED)
    assert order.model_dump() == {"id": order.id, "at": order.at}
    assert order.model_dump_json() == f'{{"id":"{PUBLISHED}","at":"{PUBLISHED}"}}'
    assert Order.model_validate_json(order.model_dump_json()) == order
    assert Order.model_json_schema()["properties"]["id"]["type"] == "string"


def test_a_new_ksuid_is_of_now() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    made = Ksuid.from_base62(new_ksuid())
    assert before <= made.datetime <= datetime.now(UTC)


@given(st.integers(1, 300))
def test_new_ksuids_come_in_the_order_they_are_made(number: int) -> None:
    made = [new_ksuid() for _ in range(number)]
    assert made == sorted(set(made))


def test_ksuids_of_several_threads_are_unique_and_in_order() -> None:
    turns, made = Barrier(4), list[list[str]]()

    def make(_: int) -> list[str]:
        own = []
        for _ in range(50):
            turns.wait()
            own.append(new_ksuid())
        return own

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(make, range(4)))
    rounds = [sorted(together) for together in zip(*made, strict=True)]
    # Each round begins after the round before has ended, so that only those of one round may come in any order.
    in_order = [one for together in rounds for one in together]
    assert in_order == sorted(set(in_order))


def test_only_the_latest_seconds_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {second.to_bytes(4, "big"): count() for second in range(100)}
    monkeypatch.setattr("dynaorm.entity.text.ksuid._NUMBERS", numbers)
    made = Ksuid.from_base62(new_ksuid())
    assert [*numbers] == [*(second.to_bytes(4, "big") for second in range(41, 100)), bytes(made)[:4]]


@given(kinds, times, times, times)
def test_a_range_misses_nothing_that_was_made_in_it(
    kind: type[Ksuid | KsuidMs], start: datetime, time: datetime, end: datetime
) -> None:
    start, time, end = sorted([start, time, end])
    if time == end:
        return
    low, high = ksuid_range(start, end)
    assert low <= str(kind(time)) <= high


@given(kinds, times, times, times)
def test_a_range_of_whole_seconds_holds_nothing_else(
    kind: type[Ksuid | KsuidMs], start: datetime, time: datetime, end: datetime
) -> None:
    start, end = sorted([start.replace(microsecond=0), end.replace(microsecond=0)])
    if start == end:
        return
    low, high = ksuid_range(start, end)
    assert (low <= str(kind(time)) <= high) == (start <= time < end)
