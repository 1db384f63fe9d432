"""Tools for the tests of projects that use dynaorm: engines, faults, consistency checks, plan snapshots, a clock.

Nothing in the library imports this package. It contains no DynamoDB of its own; moto and ministack are used.
A name is imported when it is first used, so a test that only injects a fault does not load moto.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dynaorm.testing.build import Factory, factory
    from dynaorm.testing.clock import FakeClock
    from dynaorm.testing.consistency import (
        Broken,
        Inconsistency,
        assert_consistent,
        assert_consistent_async,
        inconsistencies,
    )
    from dynaorm.testing.entity_strategy import entities
    from dynaorm.testing.faults import (
        Fault,
        FaultyTransport,
        conflict,
        crash_after,
        crash_before,
        in_progress,
        lost_answer,
        lost_request,
        throttle,
    )
    from dynaorm.testing.ministack import Ministack
    from dynaorm.testing.moto_engine import strict_moto
    from dynaorm.testing.scripted import ScriptedTransport
    from dynaorm.testing.seeds import load_seeds
    from dynaorm.testing.snapshots import snapshot
    from dynaorm.testing.store import Store
    from dynaorm.testing.tables import tables_of

__all__ = [
    "Broken",
    "Factory",
    "FakeClock",
    "Fault",
    "FaultyTransport",
    "Inconsistency",
    "Ministack",
    "ScriptedTransport",
    "Store",
    "assert_consistent",
    "assert_consistent_async",
    "conflict",
    "crash_after",
    "crash_before",
    "entities",
    "factory",
    "in_progress",
    "inconsistencies",
    "load_seeds",
    "lost_answer",
    "lost_request",
    "snapshot",
    "strict_moto",
    "tables_of",
    "throttle",
]

_FAULTS: Final = (
    "Fault",
    "FaultyTransport",
    "conflict",
    "crash_after",
    "crash_before",
    "in_progress",
    "lost_answer",
    "lost_request",
    "throttle",
)
_HOMES: Final = {
    "build": ("Factory", "factory"),
    "clock": ("FakeClock",),
    "consistency": (
        "Broken",
        "Inconsistency",
        "assert_consistent",
        "assert_consistent_async",
        "inconsistencies",
    ),
    "entity_strategy": ("entities",),
    "faults": _FAULTS,
    "ministack": ("Ministack",),
    "scripted": ("ScriptedTransport",),
    "seeds": ("load_seeds",),
    "snapshots": ("snapshot",),
    "store": ("Store",),
    "moto_engine": ("strict_moto",),
    "tables": ("tables_of",),
}
_HOME: Final = {name: home for home, names in _HOMES.items() for name in names}

# Type checkers must not see this function: with it, they accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
