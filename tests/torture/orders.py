"""Searches an order of the operations on each entity, and on all entities that are written together."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from tests.torture.checker import Violation
from tests.torture.entities import KEYS, UNIQUE, family_of, kind_of
from tests.torture.history import Run
from tests.torture.journal import ACKNOWLEDGED, BESIDE, UNKNOWN, Effect, Observed, Record, Result, sparse
from tests.torture.linearizability import NEVER, Answer, Event, linearize
from tests.torture.model import EMPTY, UNSEEN, Step, writings_ended
from tests.torture.table import Snapshot

AT_THE_END: Final = NEVER - 1


@dataclass
class Orders:
    """The results of the searches.

    Attributes:
        entities: number of histories of single entities.
        families: number of histories of all entities of a kind and epoch, which claim the same values or are counted
            together.
        longest: operations of the longest history.
        explored: combinations that were tried.
        undecided: the histories for which the search was given up.
        violations: the histories that no order explains.
    """

    entities: int = 0
    families: int = 0
    longest: int = 0
    explored: int = 0
    undecided: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def look_for(
        self, run: Run, names: Collection[str], records: Sequence[Record], subject: str = ""
    ) -> None:
        """Search an order of the operations on these entities. ``subject`` is the name of a family, if they are one."""
        followed = frozenset(names)
        told = [*records, _last(run.table, followed)]
        events = [*events_of(run, followed, told, together=bool(subject))]
        answer = linearize(events, EMPTY, ended=writings_ended)
        self.longest = max(self.longest, len(events))
        self.explored += answer.explored
        about = subject or next(iter(names))
        if answer.undecided:
            self.undecided.append(about)
        elif answer.order is None:
            invariant = "families are serializable" if subject else "every entity is linearizable"
            self.violations.append(Violation(invariant, about, _evidence(told, answer)))


def check_orders(run: Run) -> Orders:
    """Search an order for the history of each entity, and then of each family."""
    names: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    records: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in run.records:
        families = {family_of(name) for name in touched(record)}
        for family in families:
            records[family].append(record)
        for name in touched(record):
            names[family_of(name)].add(name)
    orders = Orders()
    for family, members in sorted(names.items()):
        for name in sorted(members):
            # The totals of a group come from its members, so only together they are a history.
            if not name.endswith("?") and kind_of(name) != "Group":
                orders.entities += 1
                orders.look_for(run, [name], records[family])
        orders.families += 1
        for linked in _linked(members, records[family]):
            orders.look_for(run, linked, records[family], " ".join(family))
    return orders


def _linked(names: Collection[str], records: Sequence[Record]) -> list[set[str]]:
    """The entities whose histories are one: they claim the same values, are counted together, or are written together.

    If no operation concerns two of them, the orders of each are an order of all (Herlihy and Wing, "Linearizability",
    1990: it is a local property). A search over all of them would try each order of one with each of the others.
    """
    if any(UNIQUE[kind_of(name)] for name in names):
        return [set(names)]
    groups: list[set[str]] = []
    for record in records:
        together = touched(record)
        apart = [one for one in groups if one.isdisjoint(together)]
        groups = [*apart, together.union(*(one for one in groups if not one.isdisjoint(together)))]
    return [one & set(names) for one in groups if len(one & set(names)) > 1]


def touched(record: Record) -> set[str]:
    """The entities that an operation writes, returns or observes."""
    effects = [one for one in record.effects if one.do not in BESIDE]
    return {
        one.on
        for part in (effects, record.results, record.observed)
        for one in part
        if kind_of(one.on) in KEYS
    }


def events_of(
    run: Run, names: frozenset[str], records: Sequence[Record], *, together: bool
) -> Iterator[Event]:
    """The history of some entities. ``together``: they are all that claim the same values or are counted together."""
    # What is inserted twice is written by the same operation again, later.
    returning = {one.id for one in records if any(map(one.may_insert_again, one.effects))}
    for record in records:
        if record.outcome == UNKNOWN and not record.written:
            continue
        writer = record.id if record.id in run.seen else UNSEEN
        step = Step(record, names.__contains__, together=together, writer=writer)
        if step.concerned:
            end = NEVER if record.end is None else record.end
            required = record.outcome != UNKNOWN or record.id in run.seen
            yield Event(
                name=record.id,
                begin=record.begin,
                end=end,
                apply=step.apply,
                writes=step.writes,
                required=required,
                needs=frozenset(one for one in step.needs if one[1] not in returning),
                effect=None if required else step.alike,
            )
            again = replace(step, again=True)
            if again.writes:
                name = f"{record.id} again"
                yield Event(name, record.begin, end, again.apply, required=False, effect=again.alike)


def _last(table: Snapshot, names: frozenset[str]) -> Record:
    """The state at the end, as a last read."""
    known = sorted(name for name in names if not name.endswith("?"))
    return Record(
        id="at the end",
        name="read all",
        begin=AT_THE_END,
        end=AT_THE_END,
        effects=tuple(Effect(name, "scan") for name in known),
        outcome=ACKNOWLEDGED,
        results=tuple(_stored(table, name) for name in known),
    )


def _stored(table: Snapshot, name: str) -> Result:
    entity = table.entities.get(name)
    if entity is None:
        return Result(name, None)
    return Result(name, entity.values, entity.revision or None, entity.version or None)


def _evidence(records: Sequence[Record], answer: Answer) -> str:
    """Where the longest order ended, and which operations could not come next."""
    state, names = answer.stuck if answer.stuck is not None else (EMPTY, ())
    world: Mapping[str, Any] = dict(state)  # type: ignore[call-overload]  # a search does not look into states
    kept = [f"{name}: {one.values and dict(one.values)} by {one.writer}" for name, one in world.items()]
    left = [line for record in records if record.id in names for line in _told(record)]
    lines = ["after the longest order there is", *sorted(kept), "and none of these can come next:", *left]
    return "\n    ".join(lines)


def _told(record: Record) -> Iterator[str]:
    yield str(record)
    parts: tuple[Effect | Result | Observed, ...] = (*record.effects, *record.results, *record.observed)
    for one in parts:
        yield f"    {type(one).__name__} {sparse(asdict(one))}"
