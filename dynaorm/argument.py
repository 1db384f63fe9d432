"""What calls are given: numbers, flags, functions, objects of a class. One rule decides for all calls.

Rule 1. A count is an ``int``. ``True`` and ``2.0`` are none: whoever gives them means something else.
Rule 2. A flag is a ``bool``: the text ``"False"`` would be true.
Rule 3. A function takes the arguments that it will be given. Otherwise it would fail after something was written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from inspect import iscoroutinefunction, signature
from math import inf
from types import FunctionType, UnionType
from typing import TypeVar

from dynaorm.errors import UsageError
from dynaorm.failure import counted, shown

T = TypeVar("T")


def check_count(written: str, number: object, *, least: int = 1, most: int = sys.maxsize) -> None:
    """Raise UsageError for anything but an int in a range.

    ``written``: the argument as its caller writes it, with ``{}`` for the number.
    """
    if type(number) is int and least <= number <= most:
        return
    is_open = most == sys.maxsize and not (isinstance(number, int) and number > most)
    wanted = f"of {least} or more" if is_open else f"from {least} to {most}"
    raise UsageError(
        problem=f"{written.format(shown(number))} is not an int {wanted}",
        remedy=f"give a whole number {wanted}",
    )


def check_amount(written: str, number: object, *, zero: bool = False, most: float = inf) -> None:
    """Raise UsageError for anything but an int or float above 0; with ``zero``, 0 is allowed, too."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    # No comparison holds for NaN.
    if is_number and (0 < number <= most or (zero and number == 0)):  # type: ignore[operator]
        return
    wanted = ("of 0 or more" if zero else "above 0") + ("" if most == inf else f", at most {most:,.0f}")
    raise UsageError(
        problem=f"{written.format(shown(number))} is not a number {wanted}", remedy=f"give a number {wanted}"
    )


def check_flag(written: str, flag: object) -> None:
    """Raise UsageError for anything but True and False."""
    if flag is not True and flag is not False:
        raise UsageError(
            problem=f"{written.format(shown(flag))} is neither True nor False", remedy="give one of them"
        )


def check_texts(**given: object) -> None:
    """Raise UsageError for arguments that are neither texts nor None."""
    for name, text in given.items():
        if text is not None and not isinstance(text, str):
            raise UsageError(problem=f"{name}={shown(text)} is not a str", remedy="give a str, or None")


def check_kind(
    written: str, given: object, kind: type | UnionType | tuple[type, ...], wanted: str, *, remedy: str = ""
) -> None:
    """Raise UsageError for anything but an object of a class.

    ``wanted``: what it should be, with an article. ``remedy``: how to get one; default to give one.
    """
    if not isinstance(given, kind):
        raise UsageError(
            problem=f"{written.format(shown(given))} is not {wanted}", remedy=remedy or f"give {wanted}"
        )


def all_of(written: str, given: object, kind: type[T], wanted: str, *, remedy: str) -> list[T]:
    """What a collection or an iterator holds. Raise UsageError for anything else, and for an element of another class.

    ``wanted`` and ``remedy`` as for ``check_kind``, about one element.
    """
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise UsageError(
            problem=f"{written.format(shown(given))} is not a collection, each {wanted}", remedy=remedy
        )
    found: list[T] = []
    for one in given:
        check_kind(written, one, kind, wanted, remedy=remedy)
        found.append(one)
    return found


def names_of(written: str, given: object) -> tuple[str, ...]:
    """The texts of a collection. Raise UsageError for anything else."""
    return tuple(all_of(written, given, str, "a name", remedy="give a list of names"))


def check_function(written: str, function: object, *, takes: int | None = None) -> None:
    """Raise UsageError for what cannot be called, or not with so many arguments."""
    if not callable(function):
        raise UsageError(
            problem=f"{written.format(shown(function))} is not a function",
            remedy="give one without calling it: its name, or a lambda",
        )
    if takes is None or _takes_exactly(function, takes):
        return
    try:
        signature(function).bind(*[None] * takes)
    except TypeError as wrong:
        raise UsageError(
            problem=f"{written.format(shown(function))} does not take {counted(takes, 'argument')} ({wrong})",
            remedy=f"give a function that takes {takes or 'none'}",
        ) from None
    except ValueError:
        # One of Python's own, whose arguments nobody knows. But its classes take one or none where they make a value.
        if isinstance(function, type) and takes > 1:
            raise UsageError(
                problem=f"{written.format(shown(function))} is a class, and not a function of "
                f"{counted(takes, 'argument')}",
                remedy=f"give a function that takes {takes}",
            ) from None


def _takes_exactly(function: object, count: int) -> bool:
    """Whether it is a function of so many positional arguments alone, which its signature would tell more slowly."""
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return False
    code = function.__code__
    return code.co_argcount == count and code.co_kwonlyargcount == 0


def check_plain_function(written: str, function: object, *, takes: int | None = None) -> None:
    """Raise UsageError as ``check_function``, and for an asynchronous function, which nobody would await."""
    check_function(written, function, takes=takes)
    if iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - not whether it can be called
        raise UsageError(
            problem=f"{written.format(shown(function))} is an asynchronous function, and is called without await",
            remedy="give one that is not, and does not wait",
        )
