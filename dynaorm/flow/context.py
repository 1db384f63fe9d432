"""What every flow of a session shares."""

from collections.abc import Callable
from dataclasses import dataclass

from dynaorm.flow.call import Clock
from dynaorm.flow.retry import Retry


@dataclass(frozen=True, slots=True)
class Context:
    """A session's settings.

    Attributes:
        table_name: the physical name of a declared table.
        retry: how often and how long to repeat.
        clock: time, randomness and identifiers.
        consistent: whether plain reads are strongly consistent; reads that a plan is computed from always are.
    """

    table_name: Callable[[str], str]
    retry: Retry
    clock: Clock
    consistent: bool = False
