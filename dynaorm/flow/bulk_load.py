"""``bulk_load``: BatchWriteItem, which replaces any stored item and supports no conditions.

Rule 1. A window has the effect of writing its entities one after another: of two with the same key, the last is stored.
Rule 2. A Put without an answer is sent again, because a second Put of the same item does no harm. If it stays without
        an answer, the entity is unsettled, as after any other write.
Rule 3. If DynamoDB refuses a request because of one item, each item is sent alone, so that only that one fails.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias, TypeVar

from dynaorm.entity.state import unsettled_of
from dynaorm.entity.table import Ident, Table, contents_of
from dynaorm.errors import DynaormError, OutcomeUnknown, StoreError, Throttled, UsageError
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
from dynaorm.flow.commit import settle
from dynaorm.flow.read import answered, error_of_refusal, spent
from dynaorm.flow.windows import (
    CODES_OF_AN_ITEM,
    CONCURRENCY,
    BulkProgress,
    Failure,
    Progress,
    check_many,
    windows,
)
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import BATCH_WRITE_LIMIT, packed, puts_of
from dynaorm.item.value import Item
from dynaorm.plan.inspection import Load, check_loadable, load_of, plan_of
from dynaorm.plan.intent import Save
from dynaorm.record import record

T = TypeVar("T")

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

    def _taken_apart(self) -> Iterator["_Batch"]:
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
