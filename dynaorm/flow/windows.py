"""Windows over any number of entities, and a tally of those that failed.

Rule 1. The next window is taken from the caller's iterable only after the last one is done. So the memory needed does
        not depend on the number of entities, but for a digest of each key that is deleted.
Rule 2. A DynaormError of one entity does not stop the others, and is reported at the end. Any other error, such as
        missing credentials or an error of the caller's iterable, ends the work at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Final, NoReturn, TypeAlias, TypeVar

from pydantic import BaseModel

from dynaorm.argument import check_count, check_plain_function
from dynaorm.errors import BulkError, DynaormError, UsageError

T = TypeVar("T")

CONCURRENCY: Final = 8
"""The default number of requests at a time."""

# DynamoDB answers so to one item of a request, such as one of more than 400 KB. Other codes concern the whole request.
CODES_OF_AN_ITEM: Final = frozenset({"ValidationException", "ItemCollectionSizeLimitExceededException"})

Progress: TypeAlias = Callable[[int, int | None], object]
"""Called after each window: how many entities are done, including failed ones, and how many there are, if known."""

Failure: TypeAlias = tuple[object, DynaormError]
"""An entity or key, and why it failed."""


class BulkProgress:
    """Counts the entities that are done, and collects those that failed.

    Attributes:
        done: how many entities are done, including failed ones.
        failures: those that failed.
    """

    def __init__(self, subjects: Iterable[object], progress: Progress | None) -> None:
        check_progress(progress)
        self.done = 0
        self.failures: list[Failure] = []
        self._total = len(subjects) if isinstance(subjects, Sized) else None
        self._progress = progress

    def add(self, subject: object, outcome: object) -> None:
        """Record the outcome of one entity. An error that is not a DynaormError is raised."""
        if isinstance(outcome, DynaormError):
            self.failures.append((subject, outcome))
        elif isinstance(outcome, Exception):
            self.stop(outcome)

    def add_all(self, outcome: list[Failure] | Exception) -> None:
        """Record the failures of several entities. An error that ended their work is raised."""
        if isinstance(outcome, Exception):
            self.stop(outcome)
        self.failures += outcome

    def stop(self, reason: Exception) -> NoReturn:
        """Raise the error that ends the work. Its cause is a BulkError with the earlier failures."""
        if self.failures:
            raise reason from BulkError(failures=tuple(self.failures))
        raise reason

    def advance(self, count: int) -> None:
        """Record that a window of so many entities is done."""
        self.done += count
        if self._progress is not None:
            self._progress(self.done, self._total)

    def end(self) -> None:
        """Raises BulkError if entities failed."""
        if self.failures:
            raise BulkError(failures=tuple(self.failures))


def windows(subjects: Iterable[T], size: int) -> Iterator[list[T]]:
    """Divide an iterable into lists of ``size``."""
    left = iter(subjects)
    while window := list(islice(left, size)):
        yield window


def check_progress(progress: object) -> None:
    """Raises UsageError for what cannot be called after a window, which would be too late."""
    if progress is not None:
        check_plain_function("progress={}", progress, takes=2)


def check_many(subjects: object, concurrency: object) -> None:
    """Raises UsageError for one entity in place of several (models are iterable, too), and for no concurrency."""
    if not isinstance(subjects, Iterable) or isinstance(subjects, BaseModel | str | bytes):
        raise UsageError(
            problem=f"a single {type(subjects).__name__} was given where several are expected",
            remedy="give a list",
        )
    check_count("concurrency={}", concurrency)
