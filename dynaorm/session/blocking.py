"""Work that blocks, such as that on files, where it may block: in the thread of the caller."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def run(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """The result of some work."""
    return work(*given, **named)


def opened(
    make: Callable[P, AbstractContextManager[T]], *given: P.args, **named: P.kwargs
) -> AbstractContextManager[T]:
    """What ``make`` returns: something that is opened and closed by work that blocks."""
    return make(*given, **named)
