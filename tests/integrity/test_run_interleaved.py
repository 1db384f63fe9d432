"""Tools and a service at work on one table at once: nobody fails, nothing is undone, and the table ends sound."""

import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Key, Session, tools
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.integrity.run import RunOptions, backfill, repair
from dynaorm.tools import RepairResult
from dynaorm.transport import Call, Reply, Transport
from tests.integrity.conftest import created
from tests.integrity.damages import DAMAGES, together
from tests.integrity.test_run_writers import NAMES, write
from tests.integrity.zoo import TABLES, Book, Device, Member, Raw, Voucher, clock
from tests.memory import MEMORY

Tool = Callable[[Session], list[RepairResult]]

TOOLS: Mapping[str, Tool] = {
    "repair": lambda session: list(tools.repair(session, *TABLES)),
    "backfill": lambda session: list(tools.backfill(session, *TABLES)),
    "a repair by segments": lambda session: list(repair(session, *TABLES, options=RunOptions(segments=3))),
    "a backfill by segments": lambda session: list(
        backfill(session, *TABLES, options=RunOptions(segments=3))
    ),
}
KEYS: list[Key[Any]] = [
    *(Key(Member, group_id=group, name=name) for group in ("red", "blue") for name in NAMES),
    *(Key(Book, isbn=name) for name in NAMES),
    *(Key(Voucher, voucher_id=name) for name in NAMES),
    *(Key(Device, owner=name, number=1) for name in NAMES),
]


class Interleaved:
    """A transport on which others work just before some of its calls."""

    def __init__(self, inner: Transport, works: Mapping[int, Callable[[], object]]) -> None:
        self._inner = inner
        self._works = dict(works)
        self._number = 0
        self._one_at_a_time = threading.RLock()

    def call(self, call: Call, /) -> Reply:
        with self._one_at_a_time:
            self._number += 1
            if work := self._works.pop(self._number, None):
                work()
            return self._inner.call(call)


class Service:
    """Writes, and remembers what was stored by that."""

    def __init__(self, raw: Raw) -> None:
        self._session = Session(transport=raw.transport, table_names=raw.name, clock=clock())
        self.stored: dict[Key[Any], Any] = {}

    def write(self, seed: int) -> None:
        chance = Random(seed)
        for _ in range(3):
            write(self._session, chance)
        self.stored = {key: self._session.get(key) for key in KEYS}


@settings(max_examples=8)
@given(
    first=st.sampled_from(sorted(TOOLS)),
    damages=st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=8, unique_by=lambda one: one.name),
    works=st.dictionaries(
        st.integers(1, 60),
        st.one_of(st.sampled_from(sorted(TOOLS)), st.integers(0, 1000)),
        min_size=1,
        max_size=5,
    ),
)
def test_two_tools_and_a_service_do_not_get_into_each_others_way(
    moto_line: tuple[Transport, Any], first: str, damages: Any, works: Mapping[int, str | int]
) -> None:
    with MEMORY.empty():
        for raw in created(Raw(moto_line[1], str, moto_line[0])):
            interleaved(raw, first, damages, works)


def interleaved(raw: Raw, first: str, damages: Any, works: Mapping[int, str | int]) -> None:
    raw.fill()
    service = Service(raw)
    for damage in together(damages):
        damage.do(raw)

    def work(what: str | int) -> Callable[[], object]:
        event(f"{first}, meanwhile {what if isinstance(what, str) else 'a service'}")
        if isinstance(what, int):
            return lambda: service.write(what)
        return lambda: TOOLS[what](Session(transport=raw.transport, table_names=raw.name, clock=clock()))

    transport = Interleaved(raw.transport, {number: work(what) for number, what in works.items()})
    TOOLS[first](Session(transport=transport, table_names=raw.name, clock=clock()))
    sound(raw)
    assert {key: raw.session.get(key) for key in service.stored} == service.stored


def sound(raw: Raw) -> None:
    """One more repair leaves only what needs a choice, and what is not judged."""
    told = list(tools.repair(raw.session, *TABLES))
    assert {one.outcome for one in told} <= {Outcome.REPAIRED, Outcome.NEEDS_DECISION, Outcome.SKIPPED}
    left = list(tools.verify(raw.session, *TABLES))
    assert [str(one) for one in left if one.repairable] == []
    stored = raw.items(*TABLES)
    list(tools.repair(raw.session, *TABLES))
    assert raw.items(*TABLES) == stored
