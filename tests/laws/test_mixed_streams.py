"""A Lambda handler over random histories of mixed classes: each change is handled at least once, in order per item.

Records are duplicated, batches are cut anywhere, items are mixed in any order that keeps that of each item, and
functions fail at random. Lambda delivers again what the answer asks for, and nothing else.
"""

import asyncio
import copy
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaorm.streams import Unreadable, changes, handler
from dynaorm.transport import Call, Transport
from tests.laws.mixed_classes import TABLE, Pick, spec_of
from tests.laws.test_mixes import OPERATIONS, World, read
from tests.streams.events import in_kinesis, in_kinesis_pipes, in_lambda, in_pipes, written

Record: TypeAlias = dict[str, Any]
Mark: TypeAlias = tuple[str, str]
"""What a function was told: the kind of the change, and the number of its record."""

SHARD: Final = "shardId-000000000006:"
FORMS: Final[Sequence[tuple[Callable[..., Any], str]]] = (
    (in_lambda, "{}"),
    (in_kinesis, "{}"),
    (in_pipes, "id-{}"),
    (in_kinesis_pipes, SHARD + "{}"),
)
"""The forms of events, each with the name that its source gives to a record."""


def history(world: World) -> list[Record]:
    """The records of a random history: those of each item in their order, some of them twice."""
    lines: defaultdict[str, list[tuple[Any, Any]]] = defaultdict(list)
    before = world.raw()[TABLE]
    for _ in range(10):
        world.pick([one for one in OPERATIONS if one is not read])(world)
        after = world.raw()[TABLE]
        for place in sorted({*before, *after}):
            if before.get(place) != after.get(place):
                lines[place].append((before.get(place), after.get(place)))
        before = after
    keys = tuple(one.name for one in world.classes.table.keys)
    found: list[Record] = []
    while lines:
        place = world.pick(sorted(lines))
        old, new = lines[place].pop(0)
        if not lines[place]:
            del lines[place]
        one = written(old, new, keys=keys, table=TABLE, sequence=1000 + len(found))
        found += [one, copy.deepcopy(one)] if world.pick((False, False, False, True)) else [one]
    return found


class Functions:
    """The functions of a handler, which fail at random, and what they have handled of each item."""

    def __init__(self, world: World) -> None:
        self.classes, self.on = world.classes, handler(world.classes.table)
        self.handled: defaultdict[str, list[Mark]] = defaultdict(list)
        failing = (str(world.pick(range(1000, 1020))) for _ in range(world.pick((0, 2, 6))))
        self.failing, self.failed = Counter(failing), ""
        kinds = (self.on.inserted, self.on.changed, self.on.deleted)
        for adding in world.pick(((self.on.any,), kinds)):
            adding(self.classes.thing)(self._take)
        if self.classes.total is not None and not world.spec.totals:
            self.on.any(self.classes.total)(self._take)

    def _take(self, change: Any) -> None:
        if self.failing[change.sequence] > 0:
            self.failing[change.sequence] -= 1
            self.failed = change.sequence
            raise OSError("the function failed")
        self.handled[repr(change.key)].append((type(change).__name__, change.sequence))


def deliver(world: World, functions: Functions, records: Sequence[Record]) -> None:
    """What Lambda does: it delivers from the record that the answer names, until the answer names none."""
    form, name = world.pick(FORMS)
    start = 0
    while start < len(records):
        batch = records[start : start + world.pick((1, 2, 5, 9))]
        event = form(*batch)
        is_awaited = world.pick((False, False, True))
        answer = asyncio.run(functions.on.handle(event)) if is_awaited else functions.on(event)
        names = [name.format(one["dynamodb"]["SequenceNumber"]) for one in batch]
        failures = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
        assert failures in ([], [name.format(functions.failed)])
        start += min((names.index(one) for one in failures), default=len(batch))


def once(marks: Sequence[Mark]) -> list[Mark]:
    """Without what was handled before."""
    return list(dict.fromkeys(marks))


def program(engine: Transport, pick: Pick) -> None:
    world = World(spec_of(pick), engine, pick)
    try:
        records, functions = history(world), Functions(world)
        deliver(world, functions, records)
        wanted: defaultdict[str, list[Mark]] = defaultdict(list)
        for number, one in enumerate(records):
            for change in changes(in_lambda(one), world.classes.table):
                assert not isinstance(change, Unreadable), (number, change)
                wanted[repr(change.key)].append((type(change).__name__, str(change.sequence)))
        assert {key: once(marks) for key, marks in functions.handled.items()} == {
            key: once(marks) for key, marks in wanted.items()
        }
    except BaseException as error:
        error.add_note("\n".join([repr(world.spec), *world.log[-12:]]))
        raise
    finally:
        for table in world.classes.tables:
            engine.call(Call("DeleteTable", {"TableName": table.name}))


@settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_each_change_is_handled_in_order_despite_failures(
    engine: Transport, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynaorm")

    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    program(engine, pick)
