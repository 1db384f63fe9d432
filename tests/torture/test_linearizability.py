"""The search finds an order if there is one, reports if there is none, and agrees with trying all orders."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torture.linearizability import NEVER, Event, State, linearize


def write(name: str, value: int, begin: int, end: int = NEVER) -> Event:
    """A register takes a value. One without an end may never have done so."""
    return Event(name, begin, end, lambda _: value, required=end != NEVER)


def read(name: str, value: int, begin: int, end: int) -> Event:
    return Event(name, begin, end, lambda state: state if state == value else None, writes=False)


def swap(name: str, old: int, new: int, begin: int, end: int = NEVER) -> Event:
    """A register takes a value if it has another one."""
    return Event(name, begin, end, lambda state: new if state == old else None, required=end != NEVER)


def is_linearizable(*events: Event) -> bool:
    answer = linearize(events, 0)
    assert not answer.undecided
    return answer.order is not None


def test_a_read_after_a_write_sees_it() -> None:
    assert is_linearizable(write("w", 1, 0, 1), read("r", 1, 2, 3))
    assert not is_linearizable(write("w", 1, 0, 1), read("r", 0, 2, 3))


def test_a_read_beside_a_write_sees_it_or_not() -> None:
    assert is_linearizable(write("w", 1, 0, 5), read("r", 1, 2, 3))
    assert is_linearizable(write("w", 1, 0, 5), read("r", 0, 2, 3))


def test_what_one_read_saw_a_later_one_cannot_have_missed() -> None:
    assert not is_linearizable(write("w", 1, 0, 9), read("new", 1, 1, 2), read("old", 0, 3, 4))


def test_a_stale_read_cannot_be_revived() -> None:
    assert not is_linearizable(
        write("one", 1, 0, 1), write("two", 2, 2, 3), read("new", 2, 4, 5), read("old", 1, 6, 7)
    )


def test_of_two_writes_under_one_revision_only_one_can_have_happened() -> None:
    assert not is_linearizable(swap("one", 0, 1, 0, 9), swap("two", 0, 2, 1, 8))
    assert is_linearizable(swap("one", 0, 1, 0, 9), swap("two", 1, 2, 1, 8))


def test_a_write_without_an_answer_happens_late_or_never() -> None:
    lost = write("lost", 1, 0)
    assert is_linearizable(lost, read("r", 0, 5, 6))
    assert is_linearizable(lost, read("r", 1, 5, 6))
    assert is_linearizable(lost, read("before", 0, 5, 6), read("after", 1, 7, 8))
    assert not is_linearizable(lost, read("after", 1, 5, 6), read("before", 0, 7, 8))


def test_a_write_without_an_answer_does_not_happen_before_it_began() -> None:
    assert not is_linearizable(read("r", 1, 0, 1), write("lost", 1, 2))


def test_a_write_without_an_answer_that_was_seen_has_happened() -> None:
    seen = Event("seen", 0, NEVER, lambda state: 1 if state == 0 else None)
    assert linearize([seen], 0).order == ("seen",)
    assert linearize([seen], 5).order is None


def test_the_order_is_one_that_explains_all() -> None:
    events = [write("w2", 2, 0, 9), read("r1", 1, 0, 9), write("w1", 1, 0, 9), read("r2", 2, 5, 9)]
    assert linearize(events, 0).order == ("w1", "r1", "w2", "r2")


def test_the_evidence_is_where_the_longest_order_ended() -> None:
    answer = linearize([write("w", 1, 0, 1), write("x", 2, 2, 3), read("r", 7, 4, 5)], 0)
    assert answer.stuck == (2, ("r",))


def test_a_search_that_takes_too_long_says_so() -> None:
    events = [write(f"{number}", number, 0, 9) for number in range(12)]
    answer = linearize([*events, read("r", 99, 0, 9)], 0, limit=100)
    assert (answer.order, answer.undecided) == (None, True)


def by_trying_all(events: Sequence[Event], state: State) -> bool:
    """Whether some order of some of the events explains them: slow, and obviously correct."""
    if not any(event.required for event in events):
        return True
    for event in events:
        ended = [other for other in events if other.end < event.begin]
        after = event.apply(state)
        if after is None or any(other.required for other in ended):
            continue
        if by_trying_all([other for other in events if other not in (event, *ended)], after):
            return True
    return False


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    events = []
    for number in range(draw(st.integers(1, 6))):
        kind, begin = draw(st.sampled_from(["write", "read", "swap"])), draw(st.integers(0, 8))
        end = begin + draw(st.integers(0, 4))
        if kind != "read" and draw(st.integers(0, 3)) == 0:
            end = NEVER
        one, two = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        if kind == "swap":
            events.append(swap(str(number), one, two, begin, end))
        else:
            events.append((write if kind == "write" else read)(str(number), one, begin, end))
    return events


@settings(max_examples=150)
@given(histories())
def test_the_search_always_agrees_with_trying_all_orders(events: list[Event]) -> None:
    assert is_linearizable(*events) is by_trying_all(events, 0)


def facts_ended(before: State, after: State) -> list[State]:
    return [before] if before != after else []


@st.composite
def histories_of_unique_writes(draw: st.DrawFn) -> list[Event]:
    """Each value is written once, so that who needs a value that is gone comes too late."""
    events = []
    for number in range(1, draw(st.integers(2, 6)) + 1):
        kind, begin = draw(st.sampled_from(["write", "read", "swap"])), draw(st.integers(0, 8))
        end = begin + draw(st.integers(0, 4))
        if kind != "read" and draw(st.integers(0, 3)) == 0:
            end = NEVER
        seen = draw(st.integers(0, 6))
        if kind == "write":
            events.append(write(str(number), number, begin, end))
            continue
        event = (
            read(str(number), seen, begin, end)
            if kind == "read"
            else swap(str(number), seen, number, begin, end)
        )
        events.append(replace(event, needs=frozenset({seen})))
    return events


@settings(max_examples=150)
@given(histories_of_unique_writes())
def test_a_search_that_knows_what_comes_too_late_always_agrees_with_trying_all_orders(
    events: list[Event],
) -> None:
    answer = linearize(events, 0, ended=facts_ended)
    assert (answer.order is not None) is by_trying_all(events, 0)
    assert answer.explored <= linearize(events, 0).explored


def test_the_evidence_names_what_would_come_too_late() -> None:
    stale = replace(read("stale", 0, 4, 5), needs=frozenset({0}))
    answer = linearize([write("w", 1, 0, 1), stale], 0, ended=facts_ended)
    assert (answer.order, answer.stuck) == (None, (0, ("w", "stale")))


Pair: TypeAlias = tuple[int, int]
"""Two registers."""


@dataclass(frozen=True)
class Do:
    """What an operation does with one register, or with both. Equal ones do the same in every state."""

    kind: str
    on: int
    one: int
    two: int

    def __call__(self, state: Pair) -> Pair | None:
        held = state[self.on]
        if self.kind in ("read", "read both"):
            fits = held == self.one and (self.kind == "read" or state[1 - self.on] == self.two)
            return state if fits else None
        if self.kind == "exchange":
            return (state[1], state[0]) if held == self.one else None
        if self.kind == "swap" and held != self.one:
            return None
        new = {"write": self.one, "swap": self.two, "add": held + 1}[self.kind]
        return (new, state[1]) if self.on == 0 else (state[0], new)


KINDS: Final = ("write", "swap", "add", "exchange", "read", "read both")


@st.composite
def histories_with_lost_answers(draw: st.DrawFn) -> list[Event]:
    """Most writes may have happened, until their end or at any time; some that got no answer were seen."""
    events = []
    for number in range(draw(st.integers(1, 8))):
        small = st.integers(0, 2)
        does = Do(draw(st.sampled_from(KINDS)), draw(st.integers(0, 1)), draw(small), draw(small))
        begin = draw(st.integers(0, 8))
        end, required = begin + draw(st.integers(0, 4)), True
        writes = not does.kind.startswith("read")
        if writes and draw(st.booleans()):
            end, required = draw(st.sampled_from([end, NEVER, NEVER])), draw(st.integers(0, 3)) == 0
        effect = None if required or end != NEVER else does
        events.append(Event(str(number), begin, end, does, writes, required, effect=effect))
    return events


@settings(max_examples=300)
@given(histories_with_lost_answers())
def test_a_search_that_leaves_out_what_is_in_vain_always_agrees_with_trying_all_orders(
    events: list[Event],
) -> None:
    answer = linearize(events, (0, 0))
    assert (answer.order is not None) is by_trying_all(events, (0, 0))
    if answer.order is not None:
        by_name = {event.name: event for event in events}
        told = [replace(by_name[name], required=True) for name in answer.order]
        in_turn = [replace(event, begin=place, end=place) for place, event in enumerate(told)]
        assert {event.name for event in events if event.required} <= set(answer.order)
        assert by_trying_all(in_turn, (0, 0))
        assert not any(one.end < other.begin for one, other in combinations(reversed(told), 2))


def test_writes_without_an_answer_that_nothing_came_of_cost_nothing() -> None:
    """Each of them could have happened anywhere, to a register that nobody reads, or that is written over."""
    lost = [
        Event(f"lost {number}", 0, NEVER, Do("write", 1, number, 0), required=False)
        for number in range(1, 13)
    ]
    added = [Event(f"added {number}", 0, NEVER, Do("add", 0, 0, 0), required=False) for number in range(12)]
    told = [
        Event(f"{number}", 10 * number, 10 * number + 5, Do("write", 0, number, 0)) for number in range(1, 20)
    ]
    read = Event("read", 300, 301, Do("read", 0, 99, 0), writes=False)
    answer = linearize([*lost, *told, read], (0, 0), limit=5000)
    assert (answer.order, answer.undecided) == (None, False)
    added = [replace(event, effect="add one") for event in added]
    answer = linearize([*added, *told, read], (0, 0), limit=5000)
    assert (answer.order, answer.undecided) == (None, False)
