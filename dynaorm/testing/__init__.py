"""Tools for the tests of projects that use dynaorm: engines, faults, consistency checks, plan snapshots, a clock.

Nothing in the library imports this package. It contains no DynamoDB of its own; moto and ministack are used.
A name is imported when it is first used, so a test that only injects a fault does not load moto.
"""

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.description.factory import Factory, factory
    from dynaorm.testing.clock import FakeClock
    from dynaorm.testing.consistency import (
        Broken,
        Inconsistency,
        assert_consistent,
        assert_consistent_async,
        inconsistencies,
    )
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
    from dynaorm.testing.recorded_stream import stream_events
    from dynaorm.testing.seeds import load_seeds
    from dynaorm.testing.snapshots import snapshot
    from dynaorm.testing.store import Store
    from dynaorm.testing.strategies import entities
    from dynaorm.testing.tables import tables_of
    from dynaorm.testing.transports import ScriptedTransport

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
    "stream_events",
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
    "dynaorm.description.factory": ("Factory", "factory"),
    "dynaorm.testing.clock": ("FakeClock",),
    "dynaorm.testing.consistency": (
        "Broken",
        "Inconsistency",
        "assert_consistent",
        "assert_consistent_async",
        "inconsistencies",
    ),
    "dynaorm.testing.strategies": ("entities",),
    "dynaorm.testing.faults": _FAULTS,
    "dynaorm.testing.ministack": ("Ministack",),
    "dynaorm.testing.transports": ("ScriptedTransport",),
    "dynaorm.testing.seeds": ("load_seeds",),
    "dynaorm.testing.snapshots": ("snapshot",),
    "dynaorm.testing.store": ("Store",),
    "dynaorm.testing.recorded_stream": ("stream_events",),
    "dynaorm.testing.moto_engine": ("strict_moto",),
    "dynaorm.testing.tables": ("tables_of",),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)
