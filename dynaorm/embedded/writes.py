"""PutItem, UpdateItem, DeleteItem, BatchWriteItem and TransactWriteItems.

Rule 1. An action is prepared first: whatever is wrong with the request alone is a ValidationException.
Rule 2. Then it is judged against the stored item, and made. A transaction judges all actions before it makes any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dynaorm.embedded import rules
from dynaorm.embedded.database import Database, item_of, operation
from dynaorm.embedded.expression import VALUES, changes_for, expressions, projected
from dynaorm.embedded.reads import cancelled, check_distinct
from dynaorm.embedded.shape import Layout, Place, Shape
from dynaorm.embedded.streams import record_change
from dynaorm.embedded.values import number_problem, stored_values
from dynaorm.flow.call import Reason, Refusal, Reply
from dynaorm.item import size as sizes
from dynaorm.item.condition import holds
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import item_size, write_units
from dynaorm.item.update import apply_changes
from dynaorm.item.value import Item

_FAILED: Final = "ConditionalCheckFailedException"
_MOST_TOKEN: Final = 36
_SECONDS: Final = 600.0
"""How long a token is remembered after its request."""
_MOST_TOKENS: Final = 500
"""So many tokens are stored between two times that old ones are deleted."""
_ONE: Final = (
    "ConditionExpression ReturnValues ReturnValuesOnConditionCheckFailure ReturnItemCollectionMetrics "
    f"{rules.PLACEHOLDERS}"
)
_MANY: Final = f"ReturnItemCollectionMetrics {rules.CAPACITY}"


class _Action:
    """An action of a request. It is prepared, then judged, then made.

    Raises:
        Refusal: something is wrong with the request alone.
    """

    def __init__(self, db: Database, kind: str, request: Mapping[str, Any]) -> None:
        self.kind = kind
        self.layout = layout = db.table(request["TableName"])
        self.given, changes, self.condition = expressions(request, "UpdateExpression", "ConditionExpression")
        self.changes = changes or ()
        self.item = stored_values(request["Item" if kind == "Put" else "Key"])
        if VALUES in self.item:
            raise rules.invalid("Empty attribute name")
        self.size = item_size(self.item) if kind == "Put" else 0
        if self.size > sizes.ITEM_LIMIT:
            raise rules.invalid("Item size has exceeded the maximum allowed size")
        for name in [change.path[0] for change in self.changes]:
            if name in layout.base.names:
                raise rules.invalid_parameter(
                    f"Cannot update attribute {name}. This attribute is part of the key"
                )
        self.problem = ""
        self.place: Place | None = None
        try:
            self.place = layout.item_place(self.item) if kind == "Put" else layout.key_place(self.item)
        except rules.InvalidAction as wrong:
            self.problem = str(wrong)
        shown = rules.choice(request, "ReturnValuesOnConditionCheckFailure", "NONE", "ALL_OLD")
        self.shows_item = shown == "ALL_OLD"
        self.before: Item | None = None
        self.after: Item | None = None

    @property
    def located(self) -> Place:
        """Where the item lies. Raises InvalidAction if the key is wrong."""
        if self.place is None:
            raise rules.InvalidAction(self.problem)
        return self.place

    def judge(self, db: Database) -> None:
        """Find out what becomes of the stored item. Raises InvalidAction, or Refusal if the condition does not hold."""
        row = db.row(self.layout.base, self.located)
        old_size = 0
        if row is not None:
            self.before, old_size = item_of(row[0]), row[1]
        if self.condition is not None and not holds(self.condition, {**(self.before or {}), **self.given}):
            shown = self.before if self.shows_item else None
            raise Refusal(_FAILED, "The conditional request failed", item=shown)
        if self.kind == "Update":
            self.after = self._updated(self.item if self.before is None else self.before)
            self.size = item_size(self.after)
            if self.size > sizes.ITEM_LIMIT:
                raise rules.InvalidAction("Item size to update has exceeded the maximum allowed size")
            self.layout.check_index_keys(self.after)
        else:
            self.after = {"Put": self.item, "Delete": None}.get(self.kind, self.before)
        self.units = write_units(max(old_size, self.size))

    def _updated(self, base: Item) -> Item:
        try:
            return apply_changes(base, changes_for(base, self.changes, self.given))
        except ValueError as problem:
            text = str(problem)
        if "path leads" in text:
            text = "The document path provided in the update expression is invalid for update"
        elif "has type" in text:
            text = "An operand in the update expression has an incorrect data type"
        else:
            text = number_problem(text)
        raise rules.InvalidAction(text)

    def store(self, db: Database, units: rules.Units, factor: float = 1.0) -> None:
        """Store what the item has become, with its index entries and stream record. Adds the write units it takes."""
        layout, place = self.layout, self.located
        units[layout.name, "", ""] += factor * self.units
        if self.before == self.after:
            return
        if self.after is None:
            db.execute(layout.base.delete, *place)
        else:
            db.execute(layout.base.put, *place, self.size, encode_body(self.after))
        for shape in layout.indexes:
            if more := _store_entry(db, shape, place, (self.before, self.after)):
                units[layout.name, shape.kind, shape.index or ""] += more
        if layout.view is not None:
            record_change(db, layout, self.before, self.after)


def _store_entry(db: Database, shape: Shape, place: Place, items: tuple[Item | None, Item | None]) -> float:
    """Store what an index has of an item, before and after. The write units that it takes."""
    units = 0.0
    (left, old), (taken, new) = [_entry(shape, item or {}) for item in items]
    if left is not None and left != taken:
        db.execute(shape.delete, *left, *place)
        units += write_units(item_size(old))
    if taken is not None and (left != taken or old != new):
        size = item_size(new)
        db.execute(shape.put, *taken, *place, size, encode_body(new))
        units += write_units(size)
    return units


def _entry(shape: Shape, item: Item) -> tuple[Place | None, Item]:
    """Where an item stands in an index, and what the index has of it."""
    if shape.projected is not None:
        item = {name: value for name, value in item.items() if name in shape.projected}
    return shape.place_of(item), item


def fill(db: Database, layout: Layout, shape: Shape) -> None:
    """Store the entries of a new index."""
    rows = db.execute(f"SELECT h, r, item FROM {layout.base.sql}").fetchall()  # noqa: S608 - a name that was checked
    for partition, sort, text in rows:
        _store_entry(db, shape, (partition, sort), (None, item_of(text)))


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


def _write(db: Database, kind: str, request: Mapping[str, Any], *returned: str) -> Reply:
    wanted = rules.choice(request, "ReturnValues", *returned)
    action = _Action(db, kind, request)
    units: rules.Units = defaultdict(float)
    action.judge(db)
    action.store(db, units)
    reply = rules.consumed(request, units)
    shown = action.before if wanted.endswith("OLD") else action.after
    if wanted == "NONE" or shown is None:
        return reply
    if wanted.startswith("UPDATED"):
        shown = projected(shown, [change.path for change in action.changes]) if action.changes else {}
    return {"Attributes": shown, **reply} if shown else reply


# -- several items -----------------------------------------------------------------------------------------------------


@operation("RequestItems", _MANY, writes=True)
def batch_write_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a BatchWriteItem."""
    tables = request["RequestItems"].items()
    writes = [(table, *next(iter(write.items()))) for table, each in tables for write in each]
    rules.check_length("requestItems", len(writes), sizes.BATCH_WRITE_LIMIT)
    if len(encode_body(request)) > sizes.REQUEST_LIMIT:
        raise rules.invalid("Request size exceeded the limit of 16 MB")
    actions = []
    for table, kind, write in writes:
        if kind not in ("PutRequest", "DeleteRequest"):
            raise rules.not_in_engine(f"the request {kind} of BatchWriteItem")
        actions.append(_Action(db, kind.removesuffix("Request"), {"TableName": table, **write}))
    if len({(action.layout.name, action.located) for action in actions}) < len(actions):
        raise rules.invalid("Provided list of item keys contains duplicates")
    units: rules.Units = defaultdict(float)
    for action in actions:
        action.judge(db)
        action.store(db, units)
    return {"UnprocessedItems": {}, **rules.consumed(request, units, listed=True)}


@operation("TransactItems", f"ClientRequestToken {_MANY}", writes=True)
def transact_write_items(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a TransactWriteItems."""
    parts = [next(iter(each.items())) for each in request["TransactItems"]]
    rules.check_length("transactItems", len(parts), sizes.ACTION_LIMIT)
    token, body = request.get("ClientRequestToken"), encode_body(request)
    if len(body) > sizes.TRANSACTION_LIMIT:
        _check_sent([part for _, part in parts])
    actions = [_Action(db, kind, part) for kind, part in parts]
    if token is not None and not _is_new(db, token, body):
        return {}
    check_distinct([(action.layout.name, action.place or repr(action.item)) for action in actions])
    _judge(db, actions)
    units: rules.Units = defaultdict(float)
    for action in actions:
        action.store(db, units, 2.0)
    return rules.consumed(request, units, listed=True)


def _judge(db: Database, actions: Sequence[_Action]) -> None:
    """Judge all actions. Raises Refusal if one is invalid, or its condition does not hold."""
    reasons = {i: Reason("ValidationError", each.problem) for i, each in enumerate(actions) if each.problem}
    for position, action in () if reasons else enumerate(actions):
        try:
            action.judge(db)
        except rules.InvalidAction as problem:
            reasons[position] = Reason("ValidationError", str(problem))
        except Refusal as refusal:
            if refusal.code != _FAILED:
                raise
            reasons[position] = Reason("ConditionalCheckFailed", refusal.message, refusal.item)
    if reasons:
        raise cancelled(len(actions), reasons)


def _check_sent(parts: Sequence[Mapping[str, Any]]) -> None:
    sent = ("Item", "Key", "ExpressionAttributeValues")
    if sum(item_size(part.get(name, {})) for part in parts for name in sent) > sizes.TRANSACTION_LIMIT:
        raise rules.invalid("Collection size of all items in the transaction request cannot exceed 4 MB")


def _is_new(db: Database, token: str, body: bytes) -> bool:
    """Store a token. False: a request with it succeeded in the last ten minutes. Raises Refusal if that was another."""
    rules.check_length("clientRequestToken", len(token), _MOST_TOKEN)
    now = db.now()
    put = db.execute('INSERT OR IGNORE INTO ":tokens" VALUES (?, ?, ?)', token, now, body)
    if put.rowcount:
        if (put.lastrowid or 0) % _MOST_TOKENS == 0:
            db.execute('DELETE FROM ":tokens" WHERE at <= ?', now - _SECONDS)
        return True
    at, earlier = db.execute('SELECT at, body FROM ":tokens" WHERE token = ?', token).fetchone()
    if at <= now - _SECONDS:
        db.execute('UPDATE ":tokens" SET at = ?, body = ? WHERE token = ?', now, body, token)
        return True
    if earlier == body:
        return False
    raise Refusal(
        "IdempotentParameterMismatchException",
        "The request uses the same client token as a previous, non-identical request",
    )
