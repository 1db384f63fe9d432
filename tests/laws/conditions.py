"""The conditions of places in an index, and the computed field, of the random classes."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from hypothesis import strategies as st

from dynaorm import F

_LATE: Final = datetime(2024, 1, 1, 12, 0, 1, tzinfo=UTC)

# Each with what it means for an entity.
CONDITIONS: Final[Mapping[str, tuple[Any, Callable[[Any], bool]]]] = {
    "default": (F.flag == 7, lambda one: one.flag == 7),
    "other": (F.flag != 7, lambda one: one.flag != 7),
    "noted": ((F.note == "x") | (F.note == "y"), lambda one: one.note is not None),
    "empty": (lambda one: one.note is None, lambda one: one.note is None),
    "late": (F.at > _LATE, lambda one: one.at > _LATE),
}
WHENS: Final = (("default",), ("default", "other"), ("noted", "empty"), ("late",))
SIZES: Final = st.sampled_from(["small", "large"])


def holds(name: str | None, entity: Any) -> bool:
    """Whether a condition holds for an entity; no condition always does."""
    return name is None or CONDITIONS[name][1](entity)


def size_of(n: int) -> str:
    return "small" if n < 5 else "large"


def size(self: Any) -> str:
    """The computed field."""
    return size_of(self.n)
