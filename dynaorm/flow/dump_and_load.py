"""Tables as lines: ``dump`` writes them, ``load`` saves what they have, and the forms in which files have items."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from dynaorm.argument import check_count, check_flag
from dynaorm.entity.classify import NotAnEntity, class_of, no_entity, unknown_item
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.state import set_state
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
from dynaorm.failure import counted, suggestion
from dynaorm.flow.bulk_write import put_items, write_each
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.integrity.reads import RateLimiter, ScannedPage, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.verify import check_segments
from dynaorm.flow.read import load as load_entity
from dynaorm.flow.windows import CODES_OF_AN_ITEM, CONCURRENCY
from dynaorm.item.json_body import ITEM, item_in, item_line
from dynaorm.item.size import BATCH_WRITE_LIMIT
from dynaorm.item.value import Item
from dynaorm.plan.derived_kinds import levels_of
from dynaorm.plan.inspection import item_of
from dynaorm.plan.intent import Save
from dynaorm.record import record

# The forms in which files have items: those of ``dump``, of exports to S3, and of AWS's own command line.
#
# | form | whose it is |
# |---|---|
# | ``{"Item": {...}}`` | a line of ``dump``, or of an export to S3 |
# | ``{"User": {"user_id": "u1"}}`` | a line of ``dump(entities=True)``, of ``dynaorm get --json``, or a seed |
# | ``{"Items": [...]}`` | what ``aws dynamodb scan`` and ``query`` print |
# | ``{"app": [{"PutRequest": {"Item": {...}}}]}`` | a file of ``aws dynamodb batch-write-item`` |
# | ``{"PK": {"S": "..."}, ...}`` | an item itself |
# | ``[...]`` | several of these |

FORMS: Final = (
    'give lines such as {"Item": {...}} or {"User": {...}}, or what aws dynamodb scan or batch-write-item has'
)


def items_in(line: bytes, table: Table, names: Collection[str]) -> list[Item | ValueError | UsageError]:
    """The items of a line, or of a whole file, in place of each that is none an error that says why.

    Args:
        line: the JSON.
        table: the table of the items.
        names: its declared and its physical name: requests name the tables of their items.
    """
    try:
        return [item_in(line)]  # nearly all lines have this form
    except ValueError as problem:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return [problem]
    return [_item(one, table) for one in _records(found, names)]


def _records(found: Any, names: Collection[str]) -> Iterator[Any]:
    """The members of lists, responses and requests."""
    if isinstance(found, list):
        yield from chain.from_iterable(_records(one, names) for one in found)
    elif not isinstance(found, dict):
        yield found
    elif isinstance(found.get("Items"), list):
        yield from ({ITEM: one} for one in found["Items"])
        if found.get("LastEvaluatedKey") or found.get("NextToken"):
            yield ValueError("the answer goes on after these items; scan the rest, too")
    elif isinstance(found.get("RequestItems"), dict):
        yield from _records(found["RequestItems"], names)
    elif found and all(_is_request(one) for one in found.values()):
        for name, requests in found.items():
            yield from _records(requests, names) if name in names else [_elsewhere(name)] * len(requests)
    else:
        yield found.get("PutRequest", found)


def _is_request(found: Any) -> bool:
    return isinstance(found, list) and all(
        isinstance(one, dict) and one.keys() <= {"PutRequest", "DeleteRequest"} for one in found
    )


def _elsewhere(table: str) -> ValueError:
    return ValueError(f"it is an item of the table {table!r}")


def _item(found: Any, table: Table) -> Item | ValueError | UsageError:
    if isinstance(found, ValueError):
        return found
    if not isinstance(found, dict):
        return ValueError(f"it is not an object with the member {ITEM!r} or the name of a class")
    try:
        if ITEM in found:
            return item_in(json.dumps(found).encode())
        if all(isinstance(found.get(key.name), dict) and key.kind in found[key.name] for key in table.keys):
            return item_in(json.dumps({ITEM: found}).encode())
        mapping = class_in(found, table)
        return _item_of(mapping, entity_from_json(mapping, found[mapping.name]))
    except (ValueError, DynaormError) as problem:
        return problem if isinstance(problem, UsageError | ValueError) else ValueError(str(problem))


def class_in(found: Mapping[str, Any], table: Table) -> EntityMapping:
    """The class whose name one member of an object has. Raises ValueError."""
    classes = {mapping.name: mapping for mapping in catalog_of(table).mappings.values()}
    named = [name for name in found if name in classes]
    if len(named) != 1:
        raise ValueError(f"it has neither the member {ITEM!r} nor one with the name of a class")
    return classes[named[0]]


def _item_of(mapping: EntityMapping, entity: Any) -> Item:
    """The item of a new entity, with the times that a session keeps."""
    kept = {one.attribute: one.encode(getattr(entity, name)) for name, one in mapping.kept.items()}
    return {**item_of(entity), **{name: value for name, value in kept.items() if value is not None}}


def entity_from_json(mapping: EntityMapping, content: Any) -> Any:
    """A new entity from its fields in JSON. Raises UsageError."""
    name = mapping.name
    if not isinstance(content, dict):
        raise UsageError(
            problem=f"the value of {name!r} is not an object", remedy="give the fields of one entity"
        )
    known = [*mapping.entity.model_fields]
    for given in content:
        if given not in known:
            raise UsageError(problem=f"{name} has no field {given!r}", remedy=suggestion(given, known))
    try:
        # Fields have their own names here, whatever aliases they have.
        return mapping.entity.__pydantic_validator__.validate_json(
            json.dumps(content), by_alias=False, by_name=True
        )
    except ValidationError as wrong:
        # Without the input, which may be a secret.
        problems = [
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors(include_input=False)
        ]
        raise UsageError(
            problem=f"no valid {name}: {'; '.join(problems)}", remedy="correct these values"
        ) from wrong


def entity_line(mapping: EntityMapping, item: Item, entity: Any) -> bytes | None:
    """The line of an entity in readable JSON; None if it would not load as the same entity.

    That is so for what an item has beside its class, and for values that the application does not write: masked
    secrets, bytes that are no text, fields that it leaves out.
    """
    table = mapping.table
    every = (*table.key_names, table.type_attribute, table.revision_attribute)
    if item.keys() - mapping.known_attributes.union(name for name in every if name is not None):
        return None
    try:
        content = entity.model_dump(mode="json", by_alias=False, round_trip=True)
        read = entity_from_json(mapping, content)
        text = json.dumps({mapping.name: content}, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, UsageError):  # pydantic's errors of serialization are ValueErrors
        return None
    is_same = all(is_equal(vars(read)[name], vars(entity)[name]) for name in mapping.fields)
    return f"{text}\n".encode() if is_same else None


def joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file; a file that is one JSON document of several lines is one line."""
    lines = iter(lines)
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    if head and not _is_json(head[-1]):
        head += lines
        whole = head[0][:0].join(head)
        if _is_json(whole):
            head = [whole]
    yield from chain(head, lines)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# ``dump``: every item of a table as a line, page by page.
#
# Rule 1. Only a few pages are held at a time, whatever the size of the table.
# Rule 2. The lines come in the order of the scan. Sorted, those of equal tables are equal.
# Rule 3. Writers may run: each item is as it was when its page was read, which is no state of the table at one moment.


@record
class DumpResult:
    """What ``dump`` wrote.

    Attributes:
        lines: the number of lines.
        left_out: the items without a line, by what they are: ``{"guard": 3}``. Only entities leave something out.

    Examples:
        >>> import io
        >>> dump(session, app, io.BytesIO())
        DumpResult(lines=8, left_out={})
    """

    lines: int
    left_out: dict[str, int] = field(default_factory=dict)


@record(frozen=False)
class Dump:
    """A dump, step by step.

    Attributes:
        table: the table.
        limiter: keeps to a rate.
        segments: the parts of the table, each with its position.
        entities: entities in readable JSON, in place of items.
        lines: how many lines there are so far.
        left_out: what has no line.
    """

    table: Table
    limiter: RateLimiter
    segments: list[ScanSegment]
    entities: bool = False
    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    _pages: list[ScannedPage] = field(default_factory=list)

    @property
    def result(self) -> DumpResult:
        """What was done so far."""
        return DumpResult(self.lines, dict(sorted(self.left_out.items())))

    def steps(self) -> Iterator[Flow[list[bytes]]]:
        """The steps, each of which gives some lines. Run each step before you ask for the next."""
        while not all(segment.is_over for segment in self.segments):
            yield self._step()
            for page in self._pages:
                page.finish()

    def _step(self) -> Flow[list[bytes]]:
        self._pages = yield from read_pages(self.segments, self.limiter)
        items = (item for page in self._pages for item in page.items)
        found = [line for item in items if (line := self._line(item)) is not None]
        self.lines += len(found)
        return found

    def _line(self, item: Item) -> bytes | None:
        if not self.entities:
            return item_line(item)
        context = self.limiter.context
        mapping = class_of(self.table, item)
        if mapping is NotAnEntity.UNKNOWN:
            self._tell(unknown_item(self.table, item))
            return None
        if not isinstance(mapping, EntityMapping):
            self.left_out[mapping.value] += 1
            return None
        if mapping.is_expired(item, context.clock.now()):
            self.left_out["expired"] += 1
            return None
        try:
            entity = mapping.loader.hydrate(item)
        except DecodeError as problem:
            self._tell(problem)
            return None
        return entity_line(mapping, item, entity) or item_line(item)

    def _tell(self, problem: DecodeError) -> None:
        """Tell the session's handler of an item that cannot be read. Raises the error if there is none."""
        handler = self.limiter.context.on_decode_error
        if handler is None:
            raise problem
        handler(problem)
        self.left_out["unreadable"] += 1


def dump_of(
    table: Table,
    context: Context,
    *,
    entities: bool = False,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
) -> Dump:
    """A dump that has not begun. Raises UsageError for what cannot be dumped."""
    check_table("dump", table)
    check_flag("entities={}", entities)
    check_segments(segments, segment)
    return Dump(
        table, RateLimiter(context, rate), scan_segments_of([table], segments, segment), entities=entities
    )


# ``load``: the entities in lines, saved anew with everything that belongs to them; or the items as they are.
#
# Rule 1. An entity is saved as any new one is: with guard items, as version 1, counted in totals. Guard items,
#         versions, tombstones and token items in the lines are left out, and counted.
# Rule 2. What no class knows, the spelling of values and the time of creation are as in the line.
# Rule 3. Targets of totals come before what they count, so the lines are read several times. Totals begin at 0.
# Rule 4. An entity that is stored already as it is in the line is done. So an interrupted load can be repeated.
# Rule 5. What is refused is returned with its place and the reason, and does not stop the others. A file of which
#         nothing has a form that is known is an error.

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
