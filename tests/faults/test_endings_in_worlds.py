"""Every short sequence of events: how a write ends is true, and nothing that is known is said not to be known.

``worlds.py`` has the reference. ``wrong_cells.py`` puts wrong steps into the table, and says which go unnoticed.
"""

import os
from itertools import islice

import pytest

from dynaorm.flow.write_endings import TABLE, Event, State
from tests.faults.endings_cases import cases
from tests.faults.worlds import faulty_runs

CASES = cases()
# One plan of each kind; make fuzz takes three events with all of them.
LONG = {
    "Stock delete",
    "Stock add by key",
    "Loose save",
    "User save",
    "add once",
    "Loose add once",
    "token add by key again",
    "remembered add by key again",
}
IS_FUZZED = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"


@pytest.mark.parametrize("name", CASES)
def test_no_sequence_of_events_ends_in_a_false_verdict(name: str) -> None:
    events = 3 if IS_FUZZED or name in LONG else 2
    faults = [*islice(faulty_runs(CASES[name], events), 20)]
    assert not faults, "\n".join(["", *faults])


def test_the_table_has_a_cell_for_every_event_in_every_state() -> None:
    assert set(TABLE) == {(event, state) for event in Event for state in State}
