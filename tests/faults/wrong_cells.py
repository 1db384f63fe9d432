"""Puts wrong steps into the cells of the table of endings, and lists those that no sequence of events notices.

``python -m tests.faults.wrong_cells [events]``: the most events of a sequence, 3 by default. A wrong step changes what
is said of the outcome, not only the words in which it is said to be unknown.
"""

import sys
from collections.abc import Iterator
from typing import Any

from dynaorm.flow import write, write_endings
from dynaorm.flow.write_endings import (
    DONE,
    KEPT,
    NOT_MADE,
    PERHAPS,
    RAISE,
    Cell,
    Event,
    State,
    UnknownOutcome,
)
from tests.faults.endings_cases import cases
from tests.faults.worlds import faulty_runs

SEEN: set[Any] = set()


class Watched(dict[Any, Any]):
    """A table that remembers which of its cells were asked for."""

    def __getitem__(self, cell: Any) -> Any:
        SEEN.add(cell)
        return super().__getitem__(cell)


def wrong_steps(cell: Cell, state: State) -> Iterator[Cell]:
    """A step of each kind that is not the right one."""
    if not isinstance(cell, UnknownOutcome):
        yield PERHAPS
    if cell is not DONE:
        yield DONE
    if cell not in (NOT_MADE, RAISE, write_endings.VERDICT, write_endings.TAKEN):
        yield NOT_MADE
    # The objects of a plan that is resumed have it already.
    if cell in (KEPT, RAISE) and state not in (State.WITHIN, State.PAST):
        yield RAISE if cell is KEPT else KEPT


def is_noticed(case: Any, events: int) -> bool:
    try:
        return any(True for _ in faulty_runs(case, events))
    except Exception:  # noqa: BLE001 - a step that fits nothing fails in any way
        return True


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    table = Watched(write_endings.TABLE)
    write_endings.TABLE = write.TABLE = table  # type: ignore[misc, attr-defined]  # a table that watches, in the place of the constant
    visits: dict[str, set[tuple[Event, State]]] = {}
    for name, case in cases().items():
        SEEN.clear()
        assert not is_noticed(case, most), name
        visits[name] = set(SEEN)
    wrong = missed = 0
    for (event, state), right in [(cell, step) for cell, step in table.items() if step is not None]:
        visiting = [case for name, case in cases().items() if (event, state) in visits[name]]
        for step in wrong_steps(right, state):
            wrong += 1
            dict.__setitem__(table, (event, state), step)
            if not any(is_noticed(case, events) for events in range(1, most + 1) for case in visiting):
                missed += 1
                is_reached = "" if visiting else ", and the cell is never reached"
                sys.stdout.write(f"{event.name} in {state.name}: {step} goes unnoticed{is_reached}\n")
                sys.stdout.flush()
        dict.__setitem__(table, (event, state), right)
    sys.stdout.write(f"{wrong} wrong steps, {missed} unnoticed\n")


if __name__ == "__main__":
    main()
