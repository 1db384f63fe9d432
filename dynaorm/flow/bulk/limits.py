"""Working through any number of entities, a window at a time, and keeping account of what failed.

Rule 1. No more than a window is taken from the caller's iterable at once, and the next only when it is done with: how
        much memory is needed does not depend on how many there are.
Rule 2. What fails for one entity fails for it alone, and is told at the end. What is no error of ours (a missing
        credential, an error of the caller's iterable) ends the work at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Final, NoReturn, TypeAlias, TypeVar

from pydantic import BaseModel

from dynaorm.errors import BulkError, DynaormError, UsageError

T = TypeVar("T")

CONCURRENCY: Final = 8
"""How many requests are under way at once, unless the caller says otherwise."""

Progress: TypeAlias = Callable[[int, int | None], object]
"""Called after each window with how many are done with, failed ones included, and how many there are, if known."""

Failure: TypeAlias = tuple[object, DynaormError]
"""An entity or key, and why it failed."""


class Tally:
    """How far the work has come.

    Attributes:
        done: how many entities are done with, failed ones included.
        failures: those that failed.
    """

    def __init__(self, subjects: Iterable[object], progress: Progress | None) -> None:
        self.done = 0
        self.failures: list[Failure] = []
        self._total = len(subjects) if isinstance(subjects, Sized) else None
        self._progress = progress

    def add(self, subject: object, outcome: object) -> None:
        """Note the outcome of one. Raises one that is no error of ours."""
        if isinstance(outcome, DynaormError):
            self.failures.append((subject, outcome))
        elif isinstance(outcome, Exception):
            self.stop(outcome)

    def stop(self, reason: Exception) -> NoReturn:
        """End the work; what has failed before is the cause."""
        if self.failures:
            raise reason from BulkError(failures=tuple(self.failures))
        raise reason

    def advance(self, count: int) -> None:
        """A window is done with."""
        self.done += count
        if self._progress is not None:
            self._progress(self.done, self._total)

    def end(self) -> None:
        """Raises BulkError where some have failed."""
        if self.failures:
            raise BulkError(failures=tuple(self.failures))


def windows(subjects: Iterable[T], size: int) -> Iterator[list[T]]:
    """What there is to do, ``size`` at a time."""
    left = iter(subjects)
    while window := list(islice(left, size)):
        yield window


def check_many(subjects: object, concurrency: int) -> None:
    """Raises UsageError for one in place of several (a model can be iterated over), and for no concurrency."""
    if not isinstance(subjects, Iterable) or isinstance(subjects, BaseModel | str | bytes):
        raise UsageError(
            problem=f"one {type(subjects).__name__} was given where several are expected",
            remedy="give a list",
        )
    if concurrency < 1:
        raise UsageError(
            problem=f"concurrency={concurrency} lets nothing happen",
            remedy="give how many requests may be under way at once, 1 at least",
        )
