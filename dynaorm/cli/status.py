"""The exit statuses of the commands."""

from collections import Counter
from typing import Final

from dynaorm.flow.integrity.finding import Outcome

CLEAN: Final = 0
"""It is done: something was found, nothing is wrong, or everything was repaired."""

FOUND: Final = 1
"""A finding still exists, or a repair was only shown."""

NOTHING: Final = 1
"""Nothing was found of what a command was to read."""

FAILED: Final = 2
"""The command could not be carried out."""

STOPPED: Final = 3
"""The run ended because it wanted to make more repairs than ``--at-most`` allows."""


def status_of_run(found: Counter[str]) -> int:
    """The status of ``verify``, ``repair`` or ``backfill``.

    Args:
        found: how many findings are of each kind, and how many repairs have each outcome.
    """
    if found[Outcome.STOPPED.value]:
        return STOPPED
    mended = found[Outcome.MENDED.value] + found[Outcome.GONE.value]
    return CLEAN if found.total() == mended else FOUND
