"""The numbers, flags and functions that calls are given. One rule decides for all calls what is a count, and so on.

Rule 1. A count is an ``int``. ``True`` and ``2.0`` are none: whoever gives them means something else.
Rule 2. A flag is a ``bool``: the text ``"False"`` would be true.
"""

from __future__ import annotations

from inspect import iscoroutinefunction
from math import inf

from dynaorm.errors import UsageError
from dynaorm.failure import shown


def check_count(written: str, number: object, *, least: int = 1, most: int | None = None) -> None:
    """Raise UsageError for anything but an int in a range.

    ``written``: the argument as its caller writes it, with ``{}`` for the number.
    """
    if type(number) is int and least <= number and (most is None or number <= most):
        return
    wanted = f"from {least} on" if most is None else f"from {least} to {most}"
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


def check_function(written: str, function: object) -> None:
    """Raise UsageError for what cannot be called."""
    if not callable(function):
        raise UsageError(
            problem=f"{written.format(shown(function))} is not a function",
            remedy="give one without calling it: its name, or a lambda",
        )


def check_plain_function(written: str, function: object) -> None:
    """Raise UsageError for what cannot be called, and for an asynchronous function, which nobody would await."""
    check_function(written, function)
    if iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - not whether it can be called
        raise UsageError(
            problem=f"{written.format(shown(function))} is an asynchronous function, and is called without await",
            remedy="give one that is not, and does not wait",
        )
