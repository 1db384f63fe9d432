"""``load``: the entities in lines, saved anew with everything that belongs to them; or the items as they are.

Rule 1. An entity is saved as any new one is: with guard items, as version 1, counted in totals. Guard items, versions,
        tombstones and token items in the lines are left out, and counted.
Rule 2. What no class knows, the spelling of values and the time of creation are as in the line.
Rule 3. Targets of totals come before what they count, so the lines are read several times. Totals begin at 0.
Rule 4. An entity that is stored already as it is in the line is done. So an interrupted load can be repeated.
Rule 5. What is refused is returned with its place and the reason, and does not stop the others. A file of which nothing
        has a form that is known is an error.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final, TypeAlias

from dynaorm.argument import check_count, check_flag
from dynaorm.entity.classify import NotAnEntity, class_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import EntityMapping
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
    UsageError,
)
from dynaorm.failure import counted
from dynaorm.flow.bulk_load import put_items
from dynaorm.flow.bulk_write import write_each
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.lines import FORMS, items_in
from dynaorm.flow.read import load as load_entity
from dynaorm.flow.windows import CODES_OF_AN_ITEM, CONCURRENCY
from dynaorm.item.size import BATCH_WRITE_LIMIT
from dynaorm.item.value import Item
from dynaorm.plan.intent import Save
from dynaorm.plan.kinds.derived_kinds import levels_of
from dynaorm.record import record

_PER_PLACE: Final = 16

_ENDING: Final = (Throttled, Unreachable, TableNotFound)
"""Errors that would repeat for every later line."""


@record
class Place:
    """Where an item is.

    Attributes:
        file: the path of its file; None for an open file.
        line: the number of its line, from 1.
        item: its number in a line, or in a whole file, that has several; None in one that has no other.
    """

    file: str | None
    line: int
    item: int | None = None

    def __str__(self) -> str:
        where = [] if self.file is None else [self.file]
        which = f"line {self.line}" if self.item is None else f"line {self.line}, item {self.item}"
        return ", ".join([*where, which])


Failure: TypeAlias = tuple[Place, DynaormError]
"""Where an item is, and why it was refused."""


@record
class RefusedItem:
    """An item that was not loaded.

    Attributes:
        place: where it is: the ``file``, the ``line`` and the ``item``.
        error: the name of the error.
        reason: why it was refused. It may quote values.
    """

    place: Place
    error: str
    reason: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.place}: {self.error}: {self.reason}"


@record
class LoadResult:
    """What ``load`` did. Its text says of each item that was refused where it is, and why.

    Attributes:
        items: the number of items in the files.
        stored: how many were written.
        present: how many entities were stored already as they are in their lines.
        left_out: the items that are no entities, by what they are: ``{"guard": 3}``.
        refused: the items that were refused.

    Examples:
        >>> import io
        >>> print(load(session, app, io.BytesIO(b'{"User": {"user_id": "3", "email": "cy@x.com"}}')))
        1 item: 1 stored, 0 stored before, 0 refused
    """

    items: int = 0
    stored: int = 0
    present: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    refused: tuple[RefusedItem, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether no item was refused."""
        return not self.refused

    def __str__(self) -> str:
        head = f"{counted(self.items, 'item')}: {self.stored} stored, {self.present} stored before"
        return "\n".join([f"{head}, {len(self.refused)} refused", *map(str, self.refused)])


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
    items: int = 0
    stored: int = 0
    present: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedItem] = field(default_factory=list)
    _unusable: int = 0
    _of_file: tuple[int, int] = (0, 0)

    @property
    def result(self) -> LoadResult:
        """What was done so far."""
        refused = sorted(
            self.refused, key=lambda one: (one.place.file or "", one.place.line, one.place.item or 0)
        )
        left_out = dict(sorted(self.left_out.items()))
        return LoadResult(self.items, self.stored, self.present, left_out, tuple(refused))

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

    def load(self, lines: Sequence[tuple[int, bytes]], file: str | None) -> Flow[None]:
        """Load numbered lines of a file.

        Raises:
            StoreError: no more lines can be loaded. Load these lines again later.
        """
        items: list[tuple[Place, Item]] = []
        failures: list[tuple[Place, Exception]] = []
        names = {self.table.name, self.context.table_name(self.table.name)}
        for number, line in lines:
            found = items_in(line, self.table, names) if line.strip() else []
            for position, item in enumerate(found, 1):
                place = Place(file, number, position if len(found) > 1 else None)
                if isinstance(item, Exception):
                    failures.append((place, item))
                else:
                    items.append((place, item))
        # On later readings, these were refused and counted before.
        if self.level == 0:
            self.items += len(items) + len(failures)
            self._unusable += len(failures)
        else:
            failures = []
        failures += yield from (self._put(items) if self.raw else self._save(items))
        self.refused += [RefusedItem(place, type(why).__name__, str(why)) for place, why in failures]

    def end_file(self, file: str | None) -> None:
        """Say that a file has ended. Raises UsageError if it has lines, and none of a form that is known."""
        items, unusable = self._of_file
        self._of_file = self.items, self._unusable
        if 0 < self._unusable - unusable == self.items - items:
            first = next(one for one in self.refused if one.place.file == file)
            raise UsageError(
                problem=f"nothing in {file or 'this file'} can be loaded: line {first.place.line}: {first.reason}",
                remedy=FORMS,
            )

    # -- items as they are ---------------------------------------------------------------------------------------------

    def _put(self, items: Sequence[tuple[Place, Item]]) -> Flow[list[Failure]]:
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

    def _save(self, items: Sequence[tuple[Place, Item]]) -> Flow[list[Failure]]:
        failures: list[Failure] = []
        new: dict[int, _New] = {}
        for place, item in items:
            try:
                one = self._new(place, item)
            except DecodeError as problem:
                failures.append((place, problem))
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
        return [(one.place, error)]

    def _new(self, place: Place, item: Item) -> "_New | None":
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
        return _New(place, mapping, item, entity)

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


@record(frozen=False, eq=False)
class _New:
    """An entity in a line."""

    place: Place
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
