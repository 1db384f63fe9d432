"""Reading items by key, with retries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import repeat as repeated
from typing import TYPE_CHECKING, Any, Final

from dynaorm.entity.classify import live_class
from dynaorm.entity.key import Key, no_class, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import Loaded, is_entity, state_of
from dynaorm.entity.table import Ident, KeyAttribute, KeyKind, Table, contents_of, ident_of
from dynaorm.errors import (
    Contention,
    StoreError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    UnknownField,
    Unreachable,
    UsageError,
)
from dynaorm.failure import counted, shown
from dynaorm.flow.call import (
    Call,
    Context,
    Flow,
    NoAnswer,
    ReadCost,
    Refusal,
    Reply,
    conflict_in,
    is_retryable,
    throttle_in,
    waited,
)
from dynaorm.item.value import Item, is_item
from dynaorm.late import late
from dynaorm.record import record
from dynaorm.remedies import is_denial

# Checks that a reply has what everything that reads it relies on: above all, the keys of its items.
#
# Rule 1. DynamoDB returns no item without its key attributes, each of the declared type. A server that does is not
#         understood: its reply is no answer, and its items are not taken for absent ones.


_CONTENTS: Final[dict[KeyKind, type]] = {"S": str, "N": str, "B": bytes}


def check_keys(operation: str, items: Iterable[Any], keys: Sequence[KeyAttribute]) -> None:
    """Raise Unreachable if an item of a reply has not all of these attributes."""
    wanted = [(key.name, key.kind, _CONTENTS[key.kind]) for key in keys]
    for item in items:
        for name, kind, of_content in wanted:
            try:
                content = item[name][kind]
            except (KeyError, TypeError):
                content = None
            is_content = type(content) is of_content
            if not is_content or (kind == "N" and not _is_finite(content)):
                reason = f"an item without its key {name!r} of type {kind}"
                raise Unreachable(operation=operation, attempts=1, reason=reason)


def updated_item(call: Call, reply: Reply, table: Table) -> Item | None:
    """The item that an update returns, if the call asks for it. Raises NoAnswer without it: nothing is settled."""
    if "ReturnValues" not in call.request:
        return None
    item: Item | None = reply.get("Attributes")
    try:
        check_keys(call.operation, [item], table.keys)
    except Unreachable as trouble:
        raise NoAnswer(trouble.reason) from None
    return item


def check_item(operation: str, item: Any) -> None:
    """Raise Unreachable if an item has anything, at any depth, that DynamoDB does not return."""
    if not is_item(item):
        reason = "an item with an attribute of the wrong type"
        raise Unreachable(operation=operation, attempts=1, reason=reason)


def part_of(operation: str, reply: Any, *path: str | int) -> Any:
    """A part of a reply that DynamoDB always gives. Raises Unreachable without it."""
    found = reply
    try:
        for name in path:
            found = found[name]
    except (LookupError, TypeError):
        where = ".".join(map(str, path))
        reason = f"a reply without {where}: is the endpoint a DynamoDB?"
        raise Unreachable(operation=operation, attempts=1, reason=reason) from None
    return found


def items_at_once(reply: Reply, tables: Sequence[Table]) -> list[Item | None]:
    """The items in a reply to TransactGetItems, None where there is none; ``tables``: that of each item.

    Raises:
        Unreachable: an item has not its key, or the reply has another number of answers.
    """
    responses = reply.get("Responses", ())
    if len(responses) != len(tables):
        reason = f"{counted(len(responses), 'answer')} to {counted(len(tables), 'key')}"
        raise Unreachable(operation="TransactGetItems", attempts=1, reason=reason)
    items: list[Item | None] = [response.get("Item") for response in responses]
    for item, table in zip(items, tables, strict=True):
        check_keys("TransactGetItems", [] if item is None else [item], table.keys)
    return items


def _is_finite(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


if TYPE_CHECKING:
    from dynaorm.entity import foreign_item
    from dynaorm.flow import call
    from dynaorm.plan.intent import Reads
else:
    late(globals(), foreign_item="dynaorm.entity.foreign_item", call="dynaorm.flow.call")

# BatchGetItem takes at most 100 keys (Amazon DynamoDB API Reference).
BATCH_GET_LIMIT = 100
# TransactGetItems reads at most 100 items, of 4 MB together (Amazon DynamoDB API Reference).
TRANSACT_GET_LIMIT = 100

_NO_HEAD: Final[Item] = {}


def repeat(call: Call, context: Context, pauses: Iterator[float] | None = None) -> Flow[Reply]:
    """The reply to a call that may safely be sent any number of times.

    ``pauses``: those that are left, if the call itself is a repetition.

    Raises:
        Throttled, Contention, Unreachable: retries are spent.
        TableNotFound, UnexpectedRefusal: DynamoDB said no.
    """
    try:
        return (yield from answered(call, context, pauses))
    except Refusal as refusal:
        raise error_of_refusal(refusal, call) from refusal


def answered(call: Call, context: Context, pauses: Iterator[float] | None = None) -> Flow[Reply]:
    """The reply to a call, as ``repeat`` does, but without translating refusals. Raises Refusal."""
    # Most calls are not repeated, and need no pauses.
    began = context.clock.monotonic()
    attempts = 0
    while True:
        attempts += 1
        trouble: Refusal | NoAnswer
        try:
            reply: Reply = yield call
        except NoAnswer as silence:
            trouble = silence
        except Refusal as refusal:
            if not is_retryable(refusal):
                raise
            trouble = refusal
        else:
            return reply
        if pauses is None:
            pauses = context.retry.pauses(context.clock, began)
        if not (yield from waited(pauses)):
            raise spent(trouble, call, attempts) from trouble


def spent(trouble: Refusal | NoAnswer, call: Call, attempts: int) -> StoreError:
    """The error of a read whose retries are spent."""
    if isinstance(trouble, NoAnswer):
        return Unreachable(operation=call.operation, attempts=attempts, reason=trouble.reason)
    if (code := throttle_in(trouble)) is not None:
        return Throttled(attempts=attempts, code=code)
    if (code := conflict_in(trouble)) is not None:
        return Contention(attempts=attempts, code=code)
    return error_of_refusal(trouble, call)


def error_of_refusal(refusal: Refusal, call: Call, action: str = "") -> StoreError:
    """The error of a refusal that is not part of a plan."""
    if refusal.code == "ResourceNotFoundException":
        return TableNotFound(table=", ".join(tables_in(call.request)))
    error = UnexpectedRefusal(
        code=refusal.code,
        message=refusal.message,
        request_id=refusal.request_id,
        reasons=tuple(reason.code if reason is not None else "None" for reason in refusal.reasons),
        action=action,
    )
    if is_denial(refusal.code):
        tables = ", ".join(map(repr, tables_in(call.request)))
        where = f" on {tables}" if tables else ""
        error.problem = (
            f"these credentials may not do {call.operation}{where} ({refusal.code}: {refusal.message})"
        )
    return error


def tables_in(request: Mapping[str, Any]) -> list[str]:
    """The physical names of the tables a request names, in order."""
    if "TableName" in request:
        return [request["TableName"]]
    if "RequestItems" in request:
        return list(request["RequestItems"])
    bodies = [body for action in request.get("TransactItems", ()) for body in action.values()]
    return list(dict.fromkeys(body["TableName"] for body in bodies))


def get_item(table: Table, key: Item, context: Context) -> Flow[Item | None]:
    """The stored item under a key, read strongly consistent; None if there is none."""
    reply = yield from _get(table, key, context, consistent=True)
    item: Item | None = reply.get("Item")
    check_keys("GetItem", [] if item is None else [item], table.keys)
    return item


def get_items_at_once(
    places: Sequence[tuple[Table, Item]], context: Context, *, cost: ReadCost | None = None
) -> Flow[list[Item | None]]:
    """Up to 100 items, each by its table and key, as they all are at one moment; None for each that does not exist.

    ``cost``: counts the request and its capacity, if given.
    """
    gets = [{"Get": {"TableName": context.table_name(table.name), "Key": dict(key)}} for table, key in places]
    request: dict[str, Any] = {"TransactItems": gets}
    if cost is not None:
        request["ReturnConsumedCapacity"] = "TOTAL"
    reply = yield from repeat(Call("TransactGetItems", request), context)
    if cost is not None:
        cost.add(reply)
    return items_at_once(reply, [table for table, _ in places])


def describe_table(name: str, context: Context) -> Flow[Reply]:
    """The description of a table, which has its status. Raises as ``repeat``."""
    operation = "DescribeTable"
    reply = yield from repeat(Call(operation, {"TableName": name}), context)
    part_of(operation, reply, "Table", "TableStatus")
    found: Reply = reply["Table"]
    return found


def _get(table: Table, key: Item, context: Context, *, consistent: bool) -> Flow[Reply]:
    name = context.table_name(table.name)
    return repeat(
        Call("GetItem", {"TableName": name, "Key": dict(key), "ConsistentRead": consistent}), context
    )


def get_items(
    table: Table, keys: Sequence[Item], context: Context, *, cost: ReadCost | None = None
) -> Flow[list[Item]]:
    """Up to 100 items of a table by key, read strongly consistent, in no order.

    ``cost``: counts the requests and capacity, if given.
    """
    found = yield from find_items(table, keys, context, None, consistent=True, cost=cost)
    return [item for _, _, item in found]


def get_each_item(places: Sequence[tuple[Table, Item]], context: Context) -> Flow[dict[Ident, Item | None]]:
    """Any number of items, each by its table and key, read strongly consistent; None for each that does not exist.

    Several of one table are read together, one alone as ``get_item`` does.
    """
    found: dict[Ident, Item | None] = dict.fromkeys(ident_of(table, key) for table, key in places)
    if len(found) == 1:
        table, key = places[0]
        return {ident_of(table, key): (yield from get_item(table, key, context))}
    asked: dict[str, tuple[Table, dict[Ident, Item]]] = {}
    for table, key in places:
        asked.setdefault(table.name, (table, {}))[1][ident_of(table, key)] = key
    batches = [
        (table, [*keys.values()][start : start + BATCH_GET_LIMIT])
        for table, keys in asked.values()
        for start in range(0, len(keys), BATCH_GET_LIMIT)
    ]
    replies = yield from call.gather(
        [get_items(table, batch, context) for table, batch in batches], len(batches)
    )
    for (table, _), items in zip(batches, replies, strict=True):
        found |= {ident_of(table, item): item for item in items}
    return found


def with_items(reads: Reads, places: Iterable[tuple[EntityMapping, Item]], context: Context) -> Flow[Reads]:
    """The reads with these items, of which those are read, together, that have not been."""
    unread = [
        (mapping.table, key)
        for mapping, key in places
        if not reads.items or ident_of(mapping.table, key) not in reads.items
    ]
    if not unread:
        return reads
    return reads.with_more((yield from get_each_item(unread, context)), frozenset())


def find_items(
    table: Table,
    keys: Sequence[Item],
    context: Context,
    reader: ReplyReader | None,
    *,
    consistent: bool,
    expired: bool = False,
    cost: ReadCost | None = None,
) -> Flow[list[tuple[Ident, Any, Item]]]:
    """``get_items`` with a reader of replies: entities, and items for the codecs. Unprocessed keys are requested again.

    Each comes after the contents of its key, and before the attributes that the reader was made for; where nothing was
    read by it, before the item itself. ``expired``: include expired entities.
    """
    name = context.table_name(table.name)
    found: list[tuple[Ident, Any, Item]] = []
    waiting: list[Item] = list(keys)
    pauses = context.retry.pauses(context.clock)
    call: Call | None = None
    while waiting:
        if call is None:
            request: dict[str, Any] = {
                "RequestItems": {name: {"Keys": waiting, "ConsistentRead": consistent}}
            }
            if cost is not None:
                request["ReturnConsumedCapacity"] = "TOTAL"
            call = Call("BatchGetItem", request)
        reply = yield from repeat(call, context, pauses)
        reading = reader.read(reply, None if expired else context.clock.now()) if reader is not None else None
        if reading is None:
            found += _items_in(reply, table, name)
        else:
            found += zip(reading.idents, reading.found, reading.heads or repeated(_NO_HEAD), strict=False)
        rest = reply if reading is None else reading.rest
        if cost is not None:
            cost.add(rest)
        left = rest.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
        check_keys("BatchGetItem", left, table.keys)
        # BatchGetItem leaves keys out at 16 MB, too, which is no throttle: as long as it answers some, the rest is
        # asked for at once. If it answers none, the same request is repeated, in what is left of its time.
        if len(left) >= len(waiting):
            if not (yield from waited(pauses)):
                raise Throttled(attempts=context.retry.attempts, code="UnprocessedKeys")
        else:
            call, waiting, pauses = None, left, context.retry.pauses(context.clock)
    return found


def _items_in(reply: Reply, table: Table, name: str) -> list[tuple[Ident, Any, Item]]:
    items = [dict(item) for item in reply.get("Responses", {}).get(name, [])]
    check_keys("BatchGetItem", items, table.keys)
    return [(contents_of(table, item), item, item) for item in items]


def load(
    mapping: EntityMapping, key: Item, context: Context, *, consistent: bool, required: Key[Any] | None = None
) -> Flow[Any | None]:
    """The live entity under a key; None if there is none.

    ``required``: the key as the caller knows it, if an item of another class in the entity's place is an error.

    Raises:
        DecodeError: the item cannot be read.
        EntityNotFound: an item of another class is stored in the place of a required entity.
    """
    reply = yield from _get(mapping.table, key, context, consistent=consistent)
    now = context.clock.now()
    reader = reader_of(mapping.table, (mapping.entity,), "GetItem")
    reading = reader.read(reply, now) if reader is not None else None
    item: Item | None
    if reading is None:
        if (item := reply.get("Item")) is not None:
            check_keys("GetItem", [item], mapping.table.keys)
    else:
        found = next(iter(reading.found), None)
        if found is None or is_entity(found):
            return found
        item = found
        check_keys("GetItem", [item], mapping.table.keys)
    stored = live_class(mapping, item, now)
    if stored is not None and item is not None:
        return stored.loader.hydrate(item)
    if required is not None:
        raise foreign_item.not_found(mapping, required, item, now)
    return None


# The target of a call: a class, and the primary key of an item.

OPTIONS = ("version", "as_of", "consistent")
"""The keywords that ``get`` takes beside a Key. Beside a class, its keywords are fields."""


@record
class Target:
    """A class and a rendered primary key.

    Attributes:
        mapping: the class.
        key: the primary key of the main item.
        state: the snapshot of the entity object that was given, if it is a loaded one.
    """

    mapping: EntityMapping
    key: Item
    state: Loaded | None = None

    @property
    def name(self) -> Key[Any]:
        """The key as users and errors know it."""
        return stored_key(self.mapping, self.key)


def target_of(named: Any) -> Target:
    """The target a ``Key`` or an entity object names. Raises UsageError for a key of no class."""
    if isinstance(named, Key):
        if named.entity is None:
            raise no_class(named)
        return Target(mapping_of(named.entity), named.primary_key)
    mapping, state = mapping_of(type(named)), state_of(named)
    key = mapping.primary_key.of(vars(named)) if state is None else mapping.key_of(state.item)
    return Target(mapping, key, state)


def key_and_options(
    named: Any, keywords: Mapping[str, Any], unnamed: tuple[Any, ...] = ()
) -> tuple[Key[Any], Mapping[str, Any]]:
    """``get(User, user_id=...)`` names a key by fields; ``get(Key(...), version=...)`` gives options.

    Raises:
        UsageError: neither a class nor a Key; or there are values without the name of a field.
        UnknownField, InvalidValue: as Key does. Of an option beside a class, the error says where it belongs.
    """
    if unnamed:
        raise UsageError(
            problem=f"get() was given {counted(len(unnamed), 'value')} without the name of a field",
            remedy=f"write get({_fields_of_key(named)})",
        )
    if isinstance(named, Key):
        return named, keywords
    if not isinstance(named, type):
        raise UsageError(
            problem=f"{shown(named)} is neither an entity class nor a Key",
            remedy="write get(User, user_id=...) or get(Key(User, user_id=...))",
        )
    try:
        return Key(named, **keywords), {}
    except UnknownField as unknown:
        if unknown.field not in OPTIONS:
            raise
        name, fields = unknown.entity, ", ".join(f"{one}=..." for one in unknown.known)
        remedy = f"it is an option of a Key: write get(Key({name}, {fields}), {unknown.field}=...)"
        raise UnknownField(entity=name, field=unknown.field, known=(), remedy=remedy) from None


def key_or_object(verb: str, named: Any, fields: Mapping[str, Any], *, by_fields: bool = False) -> Any:
    """What a write names: a Key or an object; with ``by_fields`` also a class beside the fields of its key.

    Raises:
        UsageError: a class, or keywords that are no options.
        UnknownField, InvalidValue: as Key does.
    """
    if isinstance(named, type):
        if by_fields:
            return Key(named, **fields)
        raise UsageError(
            problem=f"{verb}() was given the class {named.__name__}",
            remedy=f"write {verb}(Key({_fields_of_key(named)}), ...)",
        )
    if fields:
        raise UsageError(
            problem=f"{verb}() has no option {next(iter(fields))!r}",
            remedy=f"fields of the key go into the Key, and changes into a dict: {verb}(Key(User, user_id=...), ...)",
        )
    return named


def _fields_of_key(named: Any) -> str:
    """The arguments of a Key of a class, as they are written."""
    if not isinstance(named, type):
        return "User, user_id=..."
    return ", ".join([named.__name__, *(f"{name}=..." for name in mapping_of(named).key_fields)])
