"""PutItem, UpdateItem, DeleteItem, BatchWriteItem and TransactWriteItems.

Rule 1. An action is prepared first: whatever is wrong with the request alone is a ValidationException.
Rule 2. Then it is judged against the stored item, and made. A transaction judges all actions before it makes any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from dynaorm.embedded.database import Database, item_of, operation
from dynaorm.embedded.expression import changes_for, expressions, projected
from dynaorm.embedded.reads import cancelled, check_distinct
from dynaorm.embedded.request import (
    CAPACITY,
    PLACEHOLDERS,
    InvalidAction,
    Units,
    check_length,
    choice,
    consumed,
    invalid,
    invalid_parameter,
    not_in_engine,
)
from dynaorm.embedded.shape import Layout, Place, Shape
from dynaorm.embedded.streams import record_change
from dynaorm.embedded.values import number_problem, stored_values
from dynaorm.flow.call import Reason, Refusal, Reply
from dynaorm.item.condition import Condition, holds
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import (
    ACTION_LIMIT,
    BATCH_WRITE_LIMIT,
    ITEM_LIMIT,
    REQUEST_LIMIT,
    TRANSACTION_LIMIT,
    item_size,
    write_units,
)
from dynaorm.item.update import Change, apply_changes
from dynaorm.item.value import Item
from dynaorm.record import record

Kind: TypeAlias = Literal["Put", "Update", "Delete", "ConditionCheck"]
_Side: TypeAlias = tuple[Item | None, int]
"""An item before or after, and its size."""

_FAILED: Final = "ConditionalCheckFailedException"
_MOST_TOKEN: Final = 36
_SECONDS: Final = 600.0
"""How long a token is remembered after its request."""
_MOST_TOKENS: Final = 500
"""So many tokens are stored between two times that old ones are deleted."""
_ONE: Final = (
    "ConditionExpression ReturnValues ReturnValuesOnConditionCheckFailure ReturnItemCollectionMetrics "
    f"{PLACEHOLDERS}"
)
_MANY: Final = f"ReturnItemCollectionMetrics {CAPACITY}"


@record(quick=True)
class _Action:
    """A prepared action. It has either a place or a problem."""

    kind: Kind
    layout: Layout
    place: Place | None
    problem: str
    item: Item
    size: int
    changes: Sequence[Change]
    condition: Condition | None
    given: Item
    shows_item: bool

    def outcome(self, db: Database) -> tuple[_Side, _Side]:
        """The stored item, and what becomes of it. Raises InvalidAction, or Refusal if its condition does not hold."""
        row = db.row(self.layout.base, self.located)
        before, size = (None, 0) if row is None else (item_of(row[0]), row[1])
        if self.condition is not None and not holds(self.condition, {**(before or {}), **self.given}):
            shown = before if self.shows_item else None
            raise Refusal(_FAILED, "The conditional request failed", item=shown)
        if self.kind == "Put":
            return (before, size), (self.item, self.size)
        if self.kind == "Delete":
            return (before, size), (None, 0)
        if self.kind == "ConditionCheck":
            return (before, size), (before, size)
        after = self._updated(self.item if before is None else before)
        return (before, size), (after, item_size(after))

    @property
    def located(self) -> Place:
        if self.place is None:
            raise InvalidAction(self.problem)
        return self.place

    def _updated(self, base: Item) -> Item:
        try:
            after = apply_changes(base, changes_for(base, self.changes, self.given))
        except ValueError as problem:
            raise InvalidAction(_update_problem(problem)) from None
        if item_size(after) > ITEM_LIMIT:
            raise InvalidAction("Item size to update has exceeded the maximum allowed size")
        self.layout.check_index_keys(after)
        return after


def _update_problem(problem: ValueError) -> str:
    text = str(problem)
    if "path leads" in text:
        return "The document path provided in the update expression is invalid for update"
    if "has type" in text:
        return "An operand in the update expression has an incorrect data type"
    return number_problem(problem)


def _prepared(db: Database, kind: Kind, request: Mapping[str, Any]) -> _Action:
    """An action of a request. Raises Refusal for what is wrong with the request alone."""
    layout = db.table(request["TableName"])
    given, changes, condition = expressions(request, "UpdateExpression", "ConditionExpression")
    item = stored_values(request["Item" if kind == "Put" else "Key"])
    size = item_size(item) if kind == "Put" else 0
    if size > ITEM_LIMIT:
        raise invalid("Item size has exceeded the maximum allowed size")
    for change in changes or ():
        name = change.path[0]
        if name in layout.base.names:
            raise invalid_parameter(f"Cannot update attribute {name}. This attribute is part of the key")
    place, problem = None, ""
    try:
        place = layout.item_place(item) if kind == "Put" else layout.key_place(item)
    except InvalidAction as wrong:
        problem = str(wrong)
    shows = choice(request, "ReturnValuesOnConditionCheckFailure", "NONE", "ALL_OLD") == "ALL_OLD"
    return _Action(kind, layout, place, problem, item, size, changes or (), condition, given, shows)


# -- one item ----------------------------------------------------------------------------------------------------------


@operation("TableName Item", _ONE, writes=True)
def put_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a PutItem."""
    return _write(db, "Put", request, "NONE", "ALL_OLD")


@operation("TableName Key", _ONE, writes=True)
def delete_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a DeleteItem."""
    return _write(db, "Delete", request, "NONE", "ALL_OLD")


@operation("TableName Key", f"UpdateExpression {_ONE}", writes=True)
def update_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateItem."""
    return _write(db, "Update", request, "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")


def _write(db: Database, kind: Kind, request: Mapping[str, Any], *returned: str) -> Reply:
    wanted = choice(request, "ReturnValues", *returned)
    action = _prepared(db, kind, request)
    before, after = action.outcome(db)
    reply = consumed(request, _store(db, action, before, after))
    if wanted == "NONE":
        return reply
    shown = (before if wanted.endswith("OLD") else after)[0]
    if wanted.startswith("UPDATED") and shown is not None:
        shown = projected(shown, [change.path for change in action.changes]) if action.changes else None
    return {"Attributes": shown, **reply} if shown else reply


def _store(db: Database, action: _Action, before: _Side, after: _Side) -> Units:
    """Store what an item has become, with its index entries and stream record. The write units that it takes."""
    (old, old_size), (new, size), layout, place = before, after, action.layout, action.located
    units: Units = {(layout.name, "", ""): float(write_units(max(old_size, size)))}
    if old == new:
        return units
    if new is None:
        db.execute(layout.base.delete, *place)
    else:
        db.execute(layout.base.put, *place, size, encode_body(new))
    for shape in layout.indexes:
        if more := _store_entry(db, shape, place, (old, new)):
            units[layout.name, shape.kind, shape.index or ""] = more
    if layout.view is not None:
        record_change(db, layout, old, new)
    return units


def _store_entry(db: Database, shape: Shape, place: Place, items: tuple[Item | None, Item | None]) -> float:
    """Store what an index has of an item, before and after. The write units that it takes."""
    units = 0.0
    (left, old), (taken, new) = [_entry(shape, item) for item in items]
    if left is not None and left != taken:
        db.execute(shape.delete, *left, *place)
        units += write_units(item_size(old))
    if taken is not None and (left != taken or old != new):
        size = item_size(new)
        db.execute(shape.put, *taken, *place, size, encode_body(new))
        units += write_units(size)
    return units


def _entry(shape: Shape, item: Item | None) -> tuple[Place | None, Item]:
    """Where an item stands in an index, and what the index has of it."""
    if item is None:
        return None, {}
    if shape.projected is None:
        return shape.place_of(item), item
    return shape.place_of(item), {name: value for name, value in item.items() if name in shape.projected}


def fill(db: Database, layout: Layout, shape: Shape) -> None:
    """Store the entries of a new index."""
    rows = db.execute(f"SELECT h, r, item FROM {layout.base.sql}").fetchall()  # noqa: S608 - a name that was checked
    for partition, sort, text in rows:
        _store_entry(db, shape, (partition, sort), (None, item_of(text)))


# -- several items -----------------------------------------------------------------------------------------------------


@operation("RequestItems", _MANY, writes=True)
def batch_write_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a BatchWriteItem."""
    kinds: dict[str, Kind] = {"PutRequest": "Put", "DeleteRequest": "Delete"}
    tables = request["RequestItems"].items()
    writes = [(table, *next(iter(write.items()))) for table, each in tables for write in each]
    check_length("requestItems", len(writes), BATCH_WRITE_LIMIT)
    if len(encode_body(request)) > REQUEST_LIMIT:
        raise invalid("Request size exceeded the limit of 16 MB")
    actions = []
    for table, kind, write in writes:
        if kind not in kinds:
            raise not_in_engine(f"the request {kind} of BatchWriteItem")
        actions.append(_prepared(db, kinds[kind], {"TableName": table, **write}))
    if len({(action.layout.name, action.located) for action in actions}) < len(actions):
        raise invalid("Provided list of item keys contains duplicates")
    units: Units = defaultdict(float)
    for action in actions:
        _add(units, _store(db, action, *action.outcome(db)))
    return {"UnprocessedItems": {}, **consumed(request, units, listed=True)}


def _add(units: Units, more: Units, factor: int = 1) -> None:
    for (table, kind, index), count in more.items():
        units[table, kind, index] += count if kind else factor * count


@operation("TransactItems", f"ClientRequestToken {_MANY}", writes=True)
def transact_write_items(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a TransactWriteItems."""
    parts = [next(iter(each.items())) for each in request["TransactItems"]]
    check_length("transactItems", len(parts), ACTION_LIMIT)
    token, body = request.get("ClientRequestToken"), encode_body(request)
    if len(body) > TRANSACTION_LIMIT:
        _check_sent([part for _, part in parts])
    actions = [_prepared(db, kind, part) for kind, part in parts]
    if token is not None and not _is_new(db, token, body):
        return {}
    check_distinct([(action.layout.name, action.place or repr(action.item)) for action in actions])
    for position, action in enumerate(actions):
        if action.problem:
            raise cancelled(len(actions), {position: Reason("ValidationError", action.problem)})
    units: Units = defaultdict(float)
    for action, outcome in zip(actions, _outcomes(db, actions), strict=True):
        _add(units, _store(db, action, *outcome), 2)
    return consumed(request, units, listed=True)


def _check_sent(parts: Sequence[Mapping[str, Any]]) -> None:
    sent = ("Item", "Key", "ExpressionAttributeValues")
    if sum(item_size(part.get(name, {})) for part in parts for name in sent) > TRANSACTION_LIMIT:
        raise invalid("Collection size of all items in the transaction request cannot exceed 4 MB")


def _is_new(db: Database, token: str, body: bytes) -> bool:
    """Store a token. False: a request with it succeeded in the last ten minutes. Raises Refusal if that was another."""
    check_length("clientRequestToken", len(token), _MOST_TOKEN)
    now = db.now()
    put = db.execute('INSERT OR IGNORE INTO ":tokens" VALUES (?, ?, ?)', token, now, body)
    if put.rowcount == 0:
        at, earlier = db.execute('SELECT at, body FROM ":tokens" WHERE token = ?', token).fetchone()
        if at > now - _SECONDS:
            if earlier == body:
                return False
            raise Refusal(
                "IdempotentParameterMismatchException",
                "The request uses the same client token as a previous, non-identical request",
            )
        db.execute('UPDATE ":tokens" SET at = ?, body = ? WHERE token = ?', now, body, token)
    elif (put.lastrowid or 0) % _MOST_TOKENS == 0:
        db.execute('DELETE FROM ":tokens" WHERE at <= ?', now - _SECONDS)
    return True


def _outcomes(db: Database, actions: Sequence[_Action]) -> list[tuple[_Side, _Side]]:
    """Each item before and after. Raises Refusal if a condition does not hold, or an update cannot be made."""
    reasons: dict[int, Reason] = {}
    outcomes: list[tuple[_Side, _Side]] = []
    for position, action in enumerate(actions):
        try:
            outcomes.append(action.outcome(db))
        except InvalidAction as problem:
            reasons[position] = Reason("ValidationError", str(problem))
        except Refusal as refusal:
            if refusal.code != _FAILED:
                raise
            reasons[position] = Reason("ConditionalCheckFailed", refusal.message, refusal.item)
    if reasons:
        raise cancelled(len(actions), reasons)
    return outcomes
