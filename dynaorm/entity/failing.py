"""A function that a class names and that fails: which one it is, of which field, and what an error says of it.

Rule 1. ValueError is how a function refuses a value: its message is the reason. Every other failure is a fault of the
        function: the message names the function and the error's class. It does not repeat the error's own message,
        because that of a KeyError is the value, which may be a secret.
Rule 2. The original error is the cause, unless its traceback could show a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from dynaorm.failure import ValueErrorWithRemedy

V = TypeVar("V")
R = TypeVar("R")

REMEDY: Final = "let it take every value, or raise ValueError with the reason"
_OURS: Final = ("dynaorm", "pydantic", "pydantic_core")


class FunctionFailed(ValueErrorWithRemedy):
    """A function of the user's fails, and not by ValueError (rule 1)."""

    @classmethod
    def of(cls, function: str, raised: Exception, problem: str = "") -> FunctionFailed:
        """The error for a function: ``normalize=``. ``problem`` goes before: ``cannot be encoded, because``."""
        return cls(f"{problem} {function} raises {type(raised).__name__}".lstrip(), REMEDY)


def of_user(name: str, function: Callable[[V], R], problem: str = "") -> Callable[[V], R]:
    """The function, of which every failure is a ValueError: a KeyError would mean an absent attribute."""

    def called(value: V) -> R:
        try:
            return function(value)
        except ValueError:
            raise
        except Exception as raised:
            raise FunctionFailed.of(name, raised, problem) from raised

    return called


def original(problem: Exception) -> Exception:
    """The error that a user's function raised, if this is about one; otherwise the error itself."""
    cause = problem.__cause__
    return cause if isinstance(problem, FunctionFailed) and isinstance(cause, Exception) else problem


def blamed(entity: type[BaseModel], raised: Exception) -> tuple[str, str]:
    """The field and the name of the function that failed while pydantic validated an entity; no field for none."""
    code = _first_code(raised.__traceback__)
    if code is None:
        return "", "a validator"
    called = f"{code.co_name}()"
    for field, kind, function in _functions(entity):
        if getattr(getattr(function, "__func__", function), "__code__", None) is code:
            return field, f"{kind} {called}"
    return "", called


def _first_code(traceback: TracebackType | None) -> CodeType | None:
    """The code of the function that pydantic called."""
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _OURS:
            return frame.f_code
        traceback = traceback.tb_next
    return None


def _functions(entity: type[BaseModel]) -> Iterator[tuple[str, str, Any]]:
    """The functions that pydantic calls for one field, with the field and what they are to it."""
    for name, info in entity.model_fields.items():
        yield name, "default_factory", info.default_factory
        for one in info.metadata:
            yield name, "validator", getattr(one, "func", None)
    for decorator in entity.__pydantic_decorators__.field_validators.values():
        for name in decorator.info.fields:
            yield name, "validator", decorator.func
