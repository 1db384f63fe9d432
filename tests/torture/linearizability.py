"""A search whether overlapping operations could have happened one after another, in the style of Wing and Gong.

An operation takes effect at one moment between its begin and its end. An operation that was never answered has no end:
it takes effect at any time after its begin, or never. An operation that is not required takes effect between its begin
and its end, or never. The search puts operations into an order in which each has the effect and result that it
reported. It remembers what it has tried, the set of operations done and the state they led to, as Lowe proposes
("Testing for linearizability", 2017).

An operation that changes nothing is put into the order as soon as it fits: if there is an order in which it comes
later, there is one in which it comes now. So only writes make the search branch, and operations that come too late for
one that may have happened before them.

An operation that may have happened is put into the order only where something comes of it: right before an operation
that would be impossible, or end otherwise, without it, and could not come first with the same end. Any order that
explains a history can be made into such a one: what is vain is left out, and what can wait comes later. Without this,
a run in which many operations got no answer tries each of their subsets wherever a choice was wrong. Operations of one
effect are taken in the order in which they began.

The first search forgets, after each required operation, which of the possible ones it has used. It meets few
combinations, since only the state counts, and what it cannot explain, nothing can. An order in which it used none twice
is an answer, too. Only if it used one twice, a second search remembers all.

Most operations say whose write they saw, or wrote over. Such a fact never comes back once it is gone. So a write is not
tried while an operation is left that needs what the write ends: without this, a run with many overlapping operations
tries a million orders in vain before it meets that operation.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

State: TypeAlias = Hashable
"""The state that the events know. The search only compares it."""

Fact: TypeAlias = Hashable
"""What is true in some states, and never again after the first of them is left."""

LIMIT: Final = 1_000_000
NEVER: Final = 1 << 126
"""The end of an operation that was never answered."""


@dataclass(frozen=True, slots=True)
class Event:
    """One operation of a history.

    Attributes:
        name: for the evidence.
        begin, end: times; whatever began after the end comes later in the order.
        apply: returns the state after it, or None if it cannot happen in that state.
        writes: whether it can change the state.
        required: it has happened; otherwise it may have happened.
        needs: facts without which it cannot happen.
        effect: of operations that were never answered and may have happened, those with equal effects do the same in
            every state; None if it is like no other.
    """

    name: str
    begin: int
    end: int
    apply: Callable[[Any], State | None]
    writes: bool = True
    required: bool = True
    needs: frozenset[Fact] = frozenset()
    effect: Hashable = None


def _none_ends(before: Any, after: Any) -> Iterable[Fact]:
    return ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search.

    Attributes:
        order: the names of the operations in an order that explains them; None if there is none.
        explored: the number of combinations of done operations and state that were tried.
        undecided: the search was given up.
        stuck: the state after the longest order tried, the operations none of which could come next, and those that
            would then have come too late.
    """

    order: tuple[str, ...] | None
    explored: int
    undecided: bool = False
    stuck: tuple[State, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the search.

    Attributes:
        done, tried: which required and which possible events are done, as bits.
        state: after them.
        order: of all of them.
        waiting: the possible events since the last required one, each with the state before it. Nothing has come of
            them yet.
    """

    done: int
    tried: int
    state: State
    order: "_Order | None"
    waiting: tuple[tuple[int, State], ...] = ()


@dataclass(frozen=True, slots=True)
class _Order:
    """The names of an order, collected from its end."""

    last: str
    before: "_Order | None"

    def names(self) -> tuple[str, ...]:
        found: list[str] = []
        order: _Order | None = self
        while order is not None:
            found.append(order.last)
            order = order.before
        return tuple(reversed(found))


def _makes_needless(one: _Point, other: _Point) -> bool:
    """Whether a point makes another one with the same required events and the same state needless.

    Whatever can follow could also follow the same with fewer of the possible events.
    """
    if one.tried == other.tried:
        return one.waiting in ((), other.waiting)
    return one.tried & ~other.tried == 0


def _makes_needless_from_here(one: _Point, other: _Point) -> bool:
    """The same, if only the possible events since the last required one count."""
    if not one.waiting or not other.waiting:
        return not one.waiting
    return one.waiting[0][1] == other.waiting[0][1] and _makes_needless(one, other)


def _after(events: Sequence[Event], state: State) -> State | None:
    """The state after these events; None if one of them cannot happen."""
    after: State | None = state
    for event in events:
        if after is None:
            return None
        after = event.apply(after)
    return after


class Search:
    """Searches for an order of events that explains all of them.

    Args:
        events: one history.
        start: the state before it.
        limit: the number of combinations to try before giving up.
        ended: the facts of one state that are none of the next one.
    """

    def __init__(
        self,
        events: Sequence[Event],
        start: State,
        *,
        limit: int = LIMIT,
        ended: Callable[[Any, Any], Iterable[Fact]] = _none_ends,
    ) -> None:
        by_begin = sorted(events, key=lambda event: event.begin)
        self._required = [event for event in by_begin if event.required]
        self._possible = [event for event in by_begin if not event.required]
        self._brief = [(place, event) for place, event in enumerate(self._possible) if event.end != NEVER]
        self._all = (1 << len(self._required)) - 1
        self._start = start
        self._limit = limit
        self._ended = ended
        self._needed_by: defaultdict[Fact, int] = defaultdict(int)
        for place, event in enumerate(self._required):
            for fact in event.needs:
                self._needed_by[fact] |= 1 << place
        self._deepest: _Point | None = None

    def answer(self) -> Answer:
        """The answer of a search that forgets which possible events came, if that is one, or of one that does not."""
        first = self._search(forgets=True)
        if first.undecided or (first.order is not None and not self._is_exact(first.order)):
            found = self._search(forgets=False)
            return replace(found, explored=first.explored + found.explored)
        return first

    def _is_exact(self, order: Sequence[str]) -> bool:
        """Whether every event comes once, and none after one that begins after its end."""
        by_name = {event.name: event for event in (*self._required, *self._possible)}
        newest = 0
        for event in (by_name[name] for name in order):
            if event.end < newest:
                return False
            newest = max(newest, event.begin)
        return len({*order}) == len(order)

    def _search(self, *, forgets: bool) -> Answer:
        is_needless = _makes_needless_from_here if forgets else _makes_needless
        points = [_Point(0, 0, self._start, None)]
        seen: defaultdict[tuple[int, State], list[_Point]] = defaultdict(list)
        explored = 0
        while points:
            point = self._settled(points.pop())
            if point is None:
                continue
            if forgets and not point.waiting:
                point = replace(point, tried=0)
            if point.done == self._all:
                return Answer(() if point.order is None else point.order.names(), explored)
            before = seen[point.done, point.state]
            if any(is_needless(one, point) for one in before):
                continue
            before.append(point)
            explored += 1
            if explored > self._limit:
                return Answer(None, explored, undecided=True)
            if self._deepest is None or point.done.bit_count() > self._deepest.done.bit_count():
                self._deepest = point
            points += self._next(point)
        return Answer(None, explored, stuck=self._stuck())

    def _settled(self, point: _Point) -> _Point | None:
        """Add all events that change nothing and fit, unless one begins after the end of a possible event that is left.

        None if a possible event is in vain for all of them.
        """
        settled, added, more = point, [], True
        while more:
            more = False
            for place, event in self._window(settled):
                if event.writes or self._is_last_call(settled, event):
                    continue
                if event.apply(settled.state) is not None:
                    done, order = settled.done | 1 << place, _Order(event.name, settled.order)
                    settled = replace(settled, done=done, order=order, waiting=())
                    added.append(event)
                    more = True
        return None if added and self._is_in_vain(point, added, point.state) else settled

    def _next(self, point: _Point) -> list[_Point]:
        """Every point one write further, with the one to be tried first at the end."""
        found: list[tuple[int, _Point]] = []
        window = [*self._window(point)]
        last = min((event.end for _, event in window), default=NEVER)
        for place in self._possible_now(point, last):
            event = self._possible[place]
            state = event.apply(point.state)
            if state is not None and not self._is_needless(point, place, state):
                order, waiting = _Order(event.name, point.order), (*point.waiting, (place, point.state))
                found.append((NEVER, _Point(point.done, point.tried | 1 << place, state, order, waiting)))
        for place, event in window:
            state = event.apply(point.state)
            if state is not None and not self._is_in_vain(point, [event], state):
                order = _Order(event.name, point.order)
                found.append((event.end, _Point(point.done | 1 << place, point.tried, state, order)))
        found.sort(key=lambda one: -one[0])
        return [each for _, each in found if not self._too_late(point, each)]

    def _is_last_call(self, point: _Point, event: Event) -> bool:
        """Whether a possible event that is left could not come after this one."""
        newest = self._newest(point)
        return any(
            newest <= other.end < event.begin and not point.tried >> place & 1 for place, other in self._brief
        )

    def _newest(self, point: _Point) -> int:
        """What ended before this time cannot come any more."""
        done = self._required[point.done.bit_length() - 1].begin if point.done else 0
        return max(done, self._possible[point.tried.bit_length() - 1].begin) if point.tried else done

    def _possible_now(self, point: _Point, last: int) -> Iterator[int]:
        """The possible events, by index, that can come next, of those with equal effects only the first."""
        newest, effects = self._newest(point), set[Hashable]()
        for place, event in enumerate(self._possible):
            if event.begin > last:
                break
            if event.end < newest or point.tried >> place & 1 or event.effect in effects:
                continue
            if event.effect is not None:
                effects.add(event.effect)
            yield place

    def _is_needless(self, point: _Point, place: int, state: State) -> bool:
        """Whether a possible event changes nothing, undoes or hides those that wait, or could as well come before."""
        if state == point.state or any(state == before for _, before in point.waiting):
            return True
        if not point.waiting:
            return False
        waits, before = point.waiting[-1]
        first = self._possible[place].apply(before)
        if first is None:
            return False
        return first == state or (place < waits and self._possible[waits].apply(first) == state)

    def _is_in_vain(self, point: _Point, events: Sequence[Event], after: State) -> bool:
        """Whether one of those that wait could be left out, or come after these events, with the same state after."""
        for at, (place, state) in enumerate(point.waiting):
            waits = self._possible[place]
            others = [*(self._possible[one] for one, _ in point.waiting[at + 1 :]), *events]
            other = _after(others, state)
            if other is None:
                continue
            if other == after:
                return True
            if all(one.begin <= waits.end for one in others) and waits.apply(other) == after:
                return True
        return False

    def _too_late(self, before: _Point, point: _Point) -> int:
        """The required events, as bits, that are left and need what has just ended."""
        late = 0
        for fact in self._ended(before.state, point.state):
            late |= self._needed_by.get(fact, 0)
        return late & ~point.done

    def _window(self, point: _Point) -> Iterator[tuple[int, Event]]:
        """The required events, by index, that come before the end of every other event that is left."""
        place = (~point.done & (point.done + 1)).bit_length() - 1
        left: list[tuple[int, Event]] = []
        earliest = NEVER
        for at in range(place, len(self._required)):
            event = self._required[at]
            if event.begin > earliest:
                break
            if not point.done >> at & 1:
                left.append((at, event))
                earliest = min(earliest, event.end)
        return ((at, event) for at, event in left if event.begin <= earliest)

    def _stuck(self) -> tuple[State, tuple[str, ...]] | None:
        deepest = self._deepest
        if deepest is None:
            return None
        names = [event.name for _, event in self._window(deepest)]
        for _, event in self._window(deepest):
            if event.writes and (state := event.apply(deepest.state)) is not None:
                late = self._too_late(deepest, replace(deepest, state=state))
                names += [one.name for place, one in enumerate(self._required) if late >> place & 1]
        return deepest.state, tuple(dict.fromkeys(names))


def linearize(
    events: Sequence[Event],
    start: State,
    *,
    limit: int = LIMIT,
    ended: Callable[[Any, Any], Iterable[Fact]] = _none_ends,
) -> Answer:
    """Search for an order of events that explains all of them."""
    return Search(events, start, limit=limit, ended=ended).answer()
