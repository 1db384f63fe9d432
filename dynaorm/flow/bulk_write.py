"""``save_many`` and ``delete_many``: one plan for each entity, or for each block of entities; several at a time.

Rule 1. They are not atomic: every entity is attempted, and a ``BulkError`` reports those that failed.
Rule 2. A block that is refused because of one of its entities is divided in two halves, and each is sent by itself,
        until the failed entities are alone. So the entities that fail are those that would fail without blocks.
Rule 3. Blocks that may add to one total are sent one after the other: DynamoDB refuses transactions that meet.
Rule 4. Without blocks, entities of a window are sent after those that they change: a total that is added to first makes
        an entity of its key alone, which would be in the way of the one that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel

from dynaorm.argument import check_count
from dynaorm.entity.key import Key, identity
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import unsettled_of
from dynaorm.entity.table import Ident, Table, contents_of
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import (
    Contention,
    DynaormError,
    OutcomeUnknown,
    StoreError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.failure import counted
from dynaorm.flow.call import (
    Call,
    Context,
    Flow,
    NoAnswer,
    Refusal,
    Reply,
    gather,
    is_retryable,
    outcomes,
    waited,
)
from dynaorm.flow.commit import commit, settle
from dynaorm.flow.read import answered, error_of_refusal, spent
from dynaorm.flow.windows import (
    CODES_OF_AN_ITEM,
    CONCURRENCY,
    BulkProgress,
    Failure,
    Progress,
    T,
    check_many,
    windows,
)
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import ACTION_LIMIT, BATCH_WRITE_LIMIT, packed, puts_of
from dynaorm.item.value import Item
from dynaorm.plan.derived_kinds import levels_of
from dynaorm.plan.inspection import Load, check_loadable, load_of, plan_of
from dynaorm.plan.intent import Deletion, Intent, Save
from dynaorm.plan.totals import contended
from dynaorm.record import record

E = TypeVar("E")

# A window ends when its slowest plan does. The more plans a window has, the less this matters.
_PLANS_PER_PLACE: Final = 16
_BLOCKS_PER_PLACE: Final = 4
_OF_ALL: Final = (OutcomeUnknown, Throttled, Contention, Unreachable, TableNotFound)
"""The errors of a block that are not the fault of an entity: smaller blocks would not help."""


def save_many(
    entities: Iterable[E],
    context: Context,
    *,
    per_transaction: int = 1,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[list[E]]:
    """Save the entities, ``per_transaction`` of them by one plan, and return them in order.

    Raises:
        BulkError: some entities failed; the others are saved.
        UsageError: ``per_transaction`` is not 1 to 100.
    """
    saved: list[E] = []

    def given() -> Iterable[E]:
        for entity in entities:
            # An iterator can be read only once, and the caller gets back what it gave.
            saved.append(entity)
            yield entity

    check_many(entities, concurrency)
    blocks = _Blocks(Save, context, per_transaction, concurrency, BulkProgress(entities, progress))
    yield from blocks.write(given())
    return saved


def delete_many(
    targets: Iterable[Any],
    context: Context,
    *,
    per_transaction: int = 1,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[None]:
    """Delete the loaded entities and those with the keys, ``per_transaction`` of them by one plan.

    Raises as ``save_many``.
    """
    check_many(targets, concurrency)
    blocks = _Blocks(
        Deletion, context, per_transaction, concurrency, BulkProgress(targets, progress), _Seen()
    )
    yield from blocks.write(targets)


def write_each(
    entities: Sequence[Any], intent_of: Callable[[Any], Intent], context: Context, concurrency: int
) -> Flow[list[Failure]]:
    """Write some entities, each by one plan. Returns those that failed.

    Raises what is no ``DynaormError``, after all have ended.
    """
    tally = BulkProgress(entities, None)
    blocks = _Blocks(intent_of, context, 1, concurrency, tally)
    # Rule 3.
    some = _apart([entity] for entity in entities)
    for outcome in (yield from outcomes([blocks._one_by_one(one) for one in some], concurrency)):
        tally.add_all(outcome)
    return tally.failures


class _Seen:
    """What was given to be deleted, in any window: when it is given again, it is deleted already."""

    def __init__(self) -> None:
        # Little of each, because there may be millions: of a key a digest; an entity that the caller does not keep
        # cannot be given again.
        self._keys = set[bytes]()
        self._entities = WeakValueDictionary[int, Any]()

    def is_new(self, subject: object) -> bool:
        """Whether a key or an entity is given for the first time. Nothing is remembered of what is neither."""
        if isinstance(subject, Key):
            told = repr((id(subject.entity), identity(subject.primary_key)))
            digest = blake2b(told.encode(errors="surrogatepass"), digest_size=16).digest()
            is_new = digest not in self._keys
            self._keys.add(digest)
            return is_new
        if not isinstance(subject, BaseModel):
            return True
        is_new = self._entities.get(id(subject)) is not subject
        self._entities[id(subject)] = subject
        return is_new


@record
class _Blocks:
    """How entities and keys are written: what each means, and how many at a time."""

    intent_of: Callable[[Any], Intent]
    context: Context
    size: int
    concurrency: int
    tally: BulkProgress
    seen: _Seen | None = None

    def write(self, subjects: Iterable[Any]) -> Flow[None]:
        """Raises BulkError, UsageError."""
        check_count("per_transaction={}", self.size, most=ACTION_LIMIT)
        if self.size == 1:
            yield from self._each(subjects)
            return
        for window in windows(subjects, self.size * self.concurrency * _BLOCKS_PER_PLACE):
            blocks = windows(_distinct(window, self.seen), self.size)
            # Rule 3.
            ended = yield from outcomes([self._one_by_one(some) for some in _apart(blocks)], self.concurrency)
            for outcome in ended:
                self.tally.add_all(outcome)
            self.tally.advance(len(window))
        self.tally.end()

    def _each(self, subjects: Iterable[Any]) -> Flow[None]:
        for window in windows(subjects, self.concurrency * _PLANS_PER_PLACE):
            for some in _by_level(_distinct(window, self.seen)):
                flows = [commit([self.intent_of(one)], self.context) for one in some]
                ended = yield from outcomes(flows, self.concurrency)
                for one, outcome in zip(some, ended, strict=True):
                    self.tally.add(one, outcome)
            self.tally.advance(len(window))
        self.tally.end()

    def _one_by_one(self, blocks: Sequence[Sequence[Any]]) -> Flow[list[Failure]]:
        failures: list[Failure] = []
        for block in blocks:
            failures += yield from self._block(block)
        return failures

    def _block(self, subjects: Sequence[Any]) -> Flow[list[Failure]]:
        """Write subjects in one transaction: those that failed."""
        try:
            yield from commit([self.intent_of(subject) for subject in subjects], self.context)
        except DynaormError as problem:
            if len(subjects) == 1 or not _is_of_an_entity(problem):
                return [(subject, problem) for subject in subjects]
            # Rule 2.
            middle = len(subjects) // 2
            first = yield from self._block(subjects[:middle])
            second = yield from self._block(subjects[middle:])
            return first + second
        return []


def _is_of_an_entity(problem: DynaormError) -> bool:
    """Whether one of several entities was refused, or they are too many for one transaction."""
    # With reasons, one action was refused, such as an item that is too large; without, the whole request, as for want
    # of a permission.
    if isinstance(problem, UnexpectedRefusal):
        return bool(problem.reasons) or problem.code in CODES_OF_AN_ITEM
    return not isinstance(problem, _OF_ALL)


def _apart(blocks: Iterable[list[Any]]) -> list[list[list[Any]]]:
    """The blocks in lists, such that blocks of different lists add to different totals."""
    found: list[tuple[set[object], list[list[Any]]]] = []
    for block in blocks:
        targets = {target for entity in block for target in _targets(entity)}
        together = [one for one in found if not one[0].isdisjoint(targets)]
        merged = targets.union(*(one[0] for one in together))
        found = [one for one in found if one not in together]
        found.append((merged, [*(earlier for one in together for earlier in one[1]), block]))
    return [some for _, some in found]


def _by_level(subjects: Sequence[Any]) -> list[list[Any]]:
    """Entities and keys in lists, such that no entity changes one of a later list. Keys are in the first."""
    known = {kind: mapping for kind in {type(subject) for subject in subjects} if (mapping := _mapping(kind))}
    levels = levels_of(known.values())
    found: dict[int, list[Any]] = {}
    for one in subjects:
        mapping = known.get(type(one))
        found.setdefault(0 if mapping is None else levels[mapping], []).append(one)
    return [found[level] for level in sorted(found)]


def _mapping(kind: type[Any]) -> EntityMapping | None:
    try:
        return mapping_of(kind)
    except DynaormError:  # writing it says so
        return None


def _targets(subject: Any) -> Iterator[object]:
    """The items in which the write of a subject may meet others: those that it names now, and its own.

    The fields of a key may not name them. All keys that do not are taken to name one and the same.
    """
    is_key = isinstance(subject, Key)
    mapping = _mapping(subject.entity if is_key else type(subject))
    if mapping is None:
        return
    given = subject.fields if is_key else vars(subject)
    for target, key in contended(mapping):
        values = _values(mapping, given, key.values())
        # A text, because a value need not be hashable. Two spellings of one target only mean a conflict, which is
        # repeated.
        yield target, *(repr(values.get(key[name])) for name in sorted(key))


def _values(mapping: EntityMapping, given: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    try:
        return mapping.with_computed(given, [name for name in names if name not in given])
    except KeyValueError:  # a key has too few fields; for an entity, saving it says so
        return given


def _distinct(window: Iterable[Any], seen: _Seen | None = None) -> list[Any]:
    if seen is not None:
        window = [one for one in window if seen.is_new(one)]
    return list({_identity(one): one for one in window}.values())


def _identity(subject: object) -> object:
    """Return what makes two subjects the same: equal keys, or one object. Two objects with one key stay two."""
    return subject if isinstance(subject, Key) else id(subject)


# ``bulk_load``: BatchWriteItem, which replaces any stored item and supports no conditions.
#
# Rule 1. A window has the effect of writing its entities one after another: of two with the same key, the last is
#         stored.
# Rule 2. A Put without an answer is sent again, because a second Put of the same item does no harm. If it stays
#         without an answer, the entity is unsettled, as after any other write.
# Rule 3. If DynamoDB refuses a request because of one item, each item is sent alone, so that only that one fails.


# Items as they are, by BatchWriteItem, which replaces whatever is stored under their keys.
#
# A Put that got no answer, or was left out, is sent again: a second Put of the same item does no harm.


Puts = dict[Ident, tuple[T, tuple[Item, bytes]]]
"""What is put under each key: what the caller knows it by, and the item with the JSON of it."""


def put_items(
    table: Table, items: Sequence[tuple[T, Item]], context: Context, concurrency: int
) -> Flow[list[tuple[T, DynaormError]]]:
    """Put items, of two with one key the last one. Returns those that DynamoDB refused.

    Raises:
        StoreError: no more items can be put.
    """
    puts: Puts[T] = {contents_of(table, item): (one, (item, encode_body(item))) for one, item in items}
    portions = packed(puts.items(), lambda entry: entry[1][1])
    ended = yield from gather([_put(table, dict(some), context) for some in portions], concurrency)
    return [failure for failures in ended for failure in failures]


def _put(table: Table, waiting: Puts[T], context: Context) -> Flow[list[tuple[T, DynaormError]]]:
    name = context.table_name(table.name)
    pauses = context.retry.pauses(context.clock)
    while waiting:
        call = Call("BatchWriteItem", puts_of(name, [some for _, some in waiting.values()]))
        try:
            reply = yield from answered(call, context, pauses)
        except Refusal as refusal:
            if refusal.code not in CODES_OF_AN_ITEM:
                raise error_of_refusal(refusal, call) from refusal
            if len(waiting) == 1:
                return [(one, error_of_refusal(refusal, call)) for one, _ in waiting.values()]
            return (yield from _one_by_one(table, waiting, context))
        left = reply.get("UnprocessedItems", {}).get(name, [])
        keys = {contents_of(table, one["PutRequest"]["Item"]) for one in left}
        if len(keys) < len(waiting):
            # As long as DynamoDB takes some, it is not failing: retries count anew.
            pauses = context.retry.pauses(context.clock)
        waiting = {ident: one for ident, one in waiting.items() if ident in keys}
        if waiting and not (yield from waited(pauses)):
            raise Throttled(attempts=context.retry.attempts, code="UnprocessedItems")
    return []


def _one_by_one(table: Table, puts: Puts[T], context: Context) -> Flow[list[tuple[T, DynaormError]]]:
    failures: list[tuple[T, DynaormError]] = []
    for ident, one in puts.items():
        failures += yield from _put(table, {ident: one}, context)
    return failures


# A window ends when its slowest request does. The more requests a window has, the less this matters.
_REQUESTS_PER_PLACE: Final = 2

_UNPROCESSED: Final = "UnprocessedItems"

Loads: TypeAlias = list[Load]
"""The entities of a window with the same key. The last one is stored."""


def bulk_load(
    entities: Iterable[Any],
    context: Context,
    *,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[int]:
    """Store every entity, replacing any item with the same key, and return their number.

    Raises:
        UsageError: a class has unique values or versions. Nothing was sent; for an iterator, earlier windows were.
        BulkError: some entities failed; the others are stored.
        TableNotFound, UnexpectedRefusal: no more entities can be stored.
    """
    check_many(entities, concurrency)
    tally = BulkProgress(entities, progress)
    checked: set[type] = set()
    # A collection can be read twice, so all its classes are checked before the first request; an iterator's by window.
    if isinstance(entities, Collection):
        _check(entities, checked, tally)
    for window in windows(entities, concurrency * _REQUESTS_PER_PLACE * BATCH_WRITE_LIMIT):
        _check(window, checked, tally)
        yield from _load(window, context, concurrency, tally)
        tally.advance(len(window))
    tally.end()
    return tally.done


def _check(entities: Iterable[object], checked: set[type], tally: BulkProgress) -> None:
    for entity in dict.fromkeys(map(type, entities)):
        if entity in checked:
            continue
        try:
            check_loadable(entity)
        except DynaormError as problem:
            tally.stop(problem)
        checked.add(entity)


def _load(window: list[Any], context: Context, concurrency: int, tally: BulkProgress) -> Flow[None]:
    """Store a window. Raises errors that would repeat for every later window."""
    # An object given twice counts in its last place (Rule 1).
    waiting = list({id(entity): entity for entity in reversed(window)}.values())[::-1]
    waiting = yield from _settled(waiting, context, concurrency, tally)
    tables: dict[str, dict[Ident, Loads]] = {}
    for entity in waiting:
        try:
            load = load_of(entity, context.clock.new_id(), context.clock.now())
        except DynaormError as problem:
            tally.add(entity, problem)
            continue
        table = load.mapping.table
        of_table = tables.setdefault(context.table_name(table.name), {})
        # BatchWriteItem refuses a request with one key twice: a key has one Put, of its last entity.
        of_table.setdefault(contents_of(table, load.key), []).append(load)
    batches = [
        _Batch(name, dict(portion), context)
        for name, of_table in tables.items()
        for portion in packed(of_table.items(), lambda entry: (entry[1][-1].item, entry[1][-1].text))
    ]
    ended = yield from outcomes([batch.sent() for batch in batches], concurrency)
    # Before ``stop``, which gives all failures so far as the cause of what ends the load.
    for batch in batches:
        tally.failures += batch.failures
    for outcome in ended:
        if isinstance(outcome, Exception):
            tally.stop(outcome)


def _settled(entities: list[Any], context: Context, concurrency: int, tally: BulkProgress) -> Flow[list[Any]]:
    """Settle the last writes of entities. Returns the entities without those that are still unsettled."""
    unsettled = [entity for entity in entities if unsettled_of(entity) is not None]
    if not unsettled:
        return entities
    # ``settle`` needs an intent that is no deletion; this one is never compiled.
    flows = [settle([Save(entity, overwrite=True)], context) for entity in unsettled]
    ended = yield from outcomes(flows, concurrency)
    for entity, outcome in zip(unsettled, ended, strict=True):
        tally.add(entity, outcome)
    failed = {
        id(entity) for entity, outcome in zip(unsettled, ended, strict=True) if isinstance(outcome, Exception)
    }
    return [entity for entity in entities if id(entity) not in failed]


@record(frozen=False)
class _Batch:
    """The items of one BatchWriteItem, and their state.

    Attributes:
        table: the physical name of their table.
        waiting: the entities that are not stored yet.
        context: the context of the session.
        doubtful: the keys of items that may be stored, because an attempt got no answer.
        in_flight: whether an attempt is under way.
        attempts: the number of attempts.
        failures: the entities that failed, with their errors.
        request: the request for the items that are waiting. It is the same object as long as they are the same, because
            that is how a session knows that it is repeated, and limits the time for it.
    """

    table: str
    waiting: dict[Ident, Loads]
    context: Context
    doubtful: set[Ident] = field(default_factory=set)
    in_flight: bool = False
    attempts: int = 0
    failures: list[Failure] = field(default_factory=list)
    request: Call | None = None

    def sent(self) -> Flow[None]:
        """Store the items. Raises errors that concern the whole table."""
        try:
            yield from self._attempts()
        except BaseException as raised:
            # An attempt under way may have been made; after a UsageError, as of missing credentials, it was not.
            if self.in_flight and not isinstance(raised, UsageError):
                self.doubtful.update(self.waiting)
            for ident in self.doubtful & self.waiting.keys():
                # For its effect on the objects alone: what cut it off goes on to the caller.
                self._unsettle(self.waiting[ident], "it was cut off")
            raise

    def _attempts(self) -> Flow[None]:
        pauses = self.context.retry.pauses(self.context.clock)
        while self.waiting:
            trouble = yield from self._attempt()
            # DynamoDB throttles a batch by leaving items out. As long as it takes some, it is not failing: retries
            # count anew.
            if trouble is None:
                pauses = self.context.retry.pauses(self.context.clock)
            elif isinstance(trouble, Refusal) and not is_retryable(trouble) and trouble.code != _UNPROCESSED:
                yield from self._refused(trouble)
                return
            # After progress, too: AWS asks for a pause before unprocessed items are sent again (BatchWriteItem).
            if self.waiting and not (yield from waited(pauses)):
                self._give_up(trouble)
                return

    def _attempt(self) -> Flow[Refusal | NoAnswer | None]:
        """Send the waiting items. Returns the trouble, or None if at least one was stored."""
        self.attempts += 1
        self.in_flight = True
        try:
            reply = yield self._call()
        except NoAnswer as silence:
            self.in_flight = False
            if silence.sent:
                self.doubtful.update(self.waiting)
            return silence
        except Refusal as refusal:
            self.in_flight = False
            return refusal
        self.in_flight = False
        left = self._left(reply)
        stored = [ident for ident in self.waiting if ident not in left]
        for ident in stored:
            self.request = None
            for load in self.waiting.pop(ident):
                load.effect.apply()
        return None if stored else Refusal(_UNPROCESSED)

    def _call(self) -> Call:
        if self.request is None:
            last = [(loads[-1].item, loads[-1].text) for loads in self.waiting.values()]
            self.request = Call("BatchWriteItem", puts_of(self.table, last))
        return self.request

    def _left(self, reply: Reply) -> set[Ident]:
        """Return the keys of unprocessed items. If the answer names other items, all: a second Put does no harm."""
        table = next(iter(self.waiting.values()))[-1].mapping.table
        unprocessed = reply.get("UnprocessedItems", {}).get(self.table, [])
        try:
            left = {contents_of(table, one["PutRequest"]["Item"]) for one in unprocessed}
        except (KeyError, TypeError, AttributeError):
            left = set()
        return left if left <= self.waiting.keys() and len(left) == len(unprocessed) else set(self.waiting)

    def _refused(self, refusal: Refusal) -> Flow[None]:
        if refusal.code not in CODES_OF_AN_ITEM:
            raise error_of_refusal(refusal, self._call()) from refusal
        if len(self.waiting) > 1:
            # Rule 3.
            for alone in self._taken_apart():
                yield from alone.sent()
                self.failures += alone.failures
            return
        ((ident, loads),) = self.waiting.items()
        error = error_of_refusal(refusal, self._call(), plan_of(loads, self.table).actions[0].reason)
        self._fail(ident, error, f"an attempt got no answer, and the next was refused ({refusal.code})")

    def _taken_apart(self) -> Iterator[_Batch]:
        while self.waiting:
            ident, loads = next(iter(self.waiting.items()))
            # Before it is sent: if that is cut off, the batch of this one item unsettles it, and this one must not do
            # it again.
            del self.waiting[ident]
            yield _Batch(self.table, {ident: loads}, self.context, self.doubtful & {ident})

    def _give_up(self, trouble: Refusal | NoAnswer | None) -> None:
        error: StoreError
        if trouble is None or (isinstance(trouble, Refusal) and trouble.code == _UNPROCESSED):
            error, why = Throttled(attempts=self.attempts, code=_UNPROCESSED), _UNPROCESSED
        else:
            error = spent(trouble, self._call(), self.attempts)
            why = trouble.reason if isinstance(trouble, NoAnswer) else trouble.code
        for ident in self.waiting:
            self._fail(ident, error, f"no answer after {counted(self.attempts, 'attempt')} ({why})")

    def _fail(self, ident: Ident, error: StoreError, why: str) -> None:
        loads = self.waiting[ident]
        # A refusal of this attempt does not say what became of an earlier one that got no answer.
        if ident in self.doubtful:
            error = self._unsettle(loads, why)
        self.failures += [(load.entity, error) for load in loads]

    def _unsettle(self, loads: Loads, why: str) -> OutcomeUnknown:
        plan = plan_of(loads, self.table)
        for effect in plan.effects:
            effect.unsettle(plan)
        return OutcomeUnknown(
            plan=plan,
            reason=why,
            remedy="load it again, which does no harm; session.resume(error.plan) only reports the outcome",
        )
