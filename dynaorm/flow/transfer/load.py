"""``load``: the entities in lines, saved anew with everything that belongs to them; or the items as they are.

Rule 1. An entity is saved as any new one is: with guard items, as version 1, counted in totals. Guard items, versions,
        tombstones and token items in the lines are left out, and counted.
Rule 2. What no class knows, the spelling of values and the time of creation are as in the line.
Rule 3. Targets of totals come before what they count, so the lines are read several times. Totals begin at 0.
Rule 4. An entity that is stored already as it is in the line is done. So an interrupted load can be repeated.
Rule 5. What is refused is returned with its line and the reason, and does not stop the others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final, TypeAlias

from dynaorm.argument import check_count, check_flag
from dynaorm.entity.classify import NotAnEntity, class_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.received import received
from dynaorm.entity.state import set_state
from dynaorm.entity.stored_entity import no_entity
from dynaorm.entity.table import Table, check_table
from dynaorm.errors import (
    AlreadyExists,
    DecodeError,
    DynaormError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
)
from dynaorm.flow.bulk.windows import CODES_OF_AN_ITEM, CONCURRENCY
from dynaorm.flow.bulk.write import write_each
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import load as load_entity
from dynaorm.flow.transfer.put_items import put_items
from dynaorm.item.batch import BATCH_WRITE_LIMIT
from dynaorm.item.item_line import item_in
from dynaorm.item.value import Item
from dynaorm.plan.intent import Save
from dynaorm.plan.kinds.derived_kinds import levels_of
from dynaorm.record import record

_PER_PLACE: Final = 16
Failure: TypeAlias = tuple[int, DynaormError]
"""The number of a line, and why it was refused."""

_ENDING: Final = (Throttled, Unreachable, TableNotFound)
"""Errors that would repeat for every later line."""


@record
class RefusedLine:
    """A line that was not loaded.

    Attributes:
        number: its number, from 1.
        line: the line.
        error: the name of the error.
        reason: why it was refused. It may quote values.
    """

    number: int
    line: bytes = field(repr=False)
    error: str
    reason: str = field(repr=False)


@record
class LoadResult:
    """What ``load`` did.

    Attributes:
        lines: the number of lines.
        stored: how many were written.
        present: how many entities were stored already as they are in their lines.
        left_out: the lines that are no entities, by what they are: ``{"guard": 3}``.
        refused: the lines that were refused, by the names of the errors.
    """

    lines: int = 0
    stored: int = 0
    present: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether no line was refused."""
        return not self.refused


@record(frozen=False)
class LineLoad:
    """A load, window by window.

    Attributes:
        table: the table.
        context: the session's settings.
        raw: put the items as they are.
        concurrency: the number of requests at a time.
        level: which entities are loaded: those of classes of this level.
    """

    table: Table
    context: Context
    raw: bool = False
    concurrency: int = CONCURRENCY
    level: int = 0
    lines: int = 0
    stored: int = 0
    present: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def result(self) -> LoadResult:
        """What was done so far."""
        return LoadResult(
            self.lines, self.stored, self.present, _sorted(self.left_out), _sorted(self.refused)
        )

    @property
    def window(self) -> int:
        """How many lines are loaded together."""
        return self.concurrency * (2 * BATCH_WRITE_LIMIT if self.raw else _PER_PLACE)

    @property
    def levels(self) -> int:
        """How often the lines are read (Rule 3)."""
        return 1 if self.raw else 1 + max(self._level_of.values(), default=0)

    @cached_property
    def _level_of(self) -> dict[EntityMapping, int]:
        return levels_of(catalog_of(self.table).mappings.values())

    def load(self, lines: Sequence[tuple[int, bytes]]) -> Flow[list[RefusedLine]]:
        """Load numbered lines. Returns those that were refused.

        Raises:
            StoreError: no more lines can be loaded. Load these lines again later.
        """
        items: list[tuple[int, Item]] = []
        refused: list[RefusedLine] = []
        for number, line in lines:
            try:
                if line.strip():
                    items.append((number, item_in(line)))
            except ValueError as problem:
                refused.append(RefusedLine(number, line, "ValueError", str(problem)))
        failures = yield from (self._put(items) if self.raw else self._save(items))
        # On later readings, these were refused and counted before.
        refused, self.lines = (refused, self.lines + len(lines)) if self.level == 0 else ([], self.lines)
        texts = dict(lines)
        refused += [RefusedLine(one, texts[one], type(why).__name__, str(why)) for one, why in failures]
        self.refused.update(one.error for one in refused)
        return sorted(refused, key=lambda one: one.number)

    # -- items as they are ---------------------------------------------------------------------------------------------

    def _put(self, items: Sequence[tuple[int, Item]]) -> Flow[list[Failure]]:
        keyed = [(one, item) for one, item in items if self._has_key(item)]
        lacking = [
            (one, no_entity(self.table, item, NotAnEntity.UNKNOWN))
            for one, item in items
            if not self._has_key(item)
        ]
        failures = yield from put_items(self.table, keyed, self.context, self.concurrency)
        self.stored += len(keyed) - len(failures)
        return [*lacking, *failures]

    def _has_key(self, item: Item) -> bool:
        return all(key.kind in item.get(key.name, ()) for key in self.table.keys)

    # -- entities ------------------------------------------------------------------------------------------------------

    def _save(self, items: Sequence[tuple[int, Item]]) -> Flow[list[Failure]]:
        failures: list[Failure] = []
        new: dict[int, _New] = {}
        for number, item in items:
            try:
                one = self._new(number, received(self.table, item))
            except DecodeError as problem:
                failures.append((number, problem))
            else:
                if one is not None:
                    new[id(one.entity)] = one
        ended = yield from write_each(
            [one.entity for one in new.values()],
            lambda entity: Save(entity, origin=new[id(entity)].item),
            self.context,
            self.concurrency,
        )
        self.stored += len(new) - len(ended)
        for entity, error in ended:
            failures += yield from self._judged(new[id(entity)], error)
        return failures

    def _judged(self, one: "_New", error: DynaormError) -> Flow[list[Failure]]:
        """The failure of an entity, if it is one. Raises an error that would repeat for every later line."""
        if _ends(error):
            raise error
        if isinstance(error, AlreadyExists) and (yield from self._is_present(one)):
            self.present += 1
            return []
        return [(one.number, error)]

    def _new(self, number: int, item: Item) -> "_New | None":
        """The entity of an item as a new one; None if it is none, has expired or is of another level.

        Raises:
            DecodeError: the item is of no declared class, or not valid.
        """
        mapping = class_of(self.table, item)
        if not isinstance(mapping, EntityMapping):
            if self.level == 0 and mapping is NotAnEntity.UNKNOWN:
                raise no_entity(self.table, item, mapping)
            if self.level == 0:
                self.left_out[mapping.value] += 1
            return None
        if self._level_of.get(mapping, 0) != self.level:
            return None
        if mapping.is_expired(item, self.context.clock.now()):
            self.left_out["expired"] += 1
            return None
        # What others keep begins anew, or saving them would count twice.
        begun = {mapping.fields[name].attribute for name in mapping.maintained} & item.keys()
        item = {**item, **{name: {"N": "0"} for name in begun}}
        entity = mapping.loader.hydrate(item)
        set_state(entity, None)
        return _New(number, mapping, item, entity)

    def _is_present(self, one: "_New") -> Flow[bool]:
        """Whether an entity is stored as in its line, but for what other writes keep (Rule 4)."""
        try:
            stored = yield from load_entity(
                one.mapping, one.mapping.key_of(one.item), self.context, consistent=True
            )
        except DecodeError:
            return False
        if type(stored) is not one.mapping.entity:
            return False
        return all(
            is_equal(vars(stored)[name], vars(one.entity)[name])
            for name in one.mapping.fields
            if name not in one.mapping.managed
        )


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


@record(frozen=False, eq=False)
class _New:
    """An entity in a line."""

    number: int
    mapping: EntityMapping
    item: Item
    entity: Any


def _ends(problem: DynaormError) -> bool:
    """Whether an error would repeat for every later line."""
    if isinstance(problem, UnexpectedRefusal):
        return not problem.reasons and problem.code not in CODES_OF_AN_ITEM
    return isinstance(problem, _ENDING)


def line_load(
    table: Table, context: Context, *, raw: bool = False, concurrency: int = CONCURRENCY
) -> LineLoad:
    """A load that has not begun. Raises UsageError for what cannot be loaded."""
    check_table("load", table)
    check_flag("raw={}", raw)
    check_count("concurrency={}", concurrency)
    return LineLoad(table, context, raw, concurrency)
