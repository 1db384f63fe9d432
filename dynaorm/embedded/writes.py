"""PutItem, UpdateItem, DeleteItem, BatchWriteItem and TransactWriteItems.

Rule 1. An action is prepared first: whatever is wrong with the request alone is a ValidationException.
Rule 2. Then it is judged against the stored item, and made. A transaction judges all actions before it makes any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from dynaorm.embedded.expression import bound, changes_for
from dynaorm.embedded.reads import cancelled, check_distinct, projected
from dynaorm.embedded.refusal import InvalidAction, invalid, invalid_parameter, not_in_engine
from dynaorm.embedded.shape import INDEXES, Layout, Place, Shape
from dynaorm.embedded.streams import record_change
from dynaorm.embedded.values import number_problem, stored_values
from dynaorm.embedded.work import Work, choice, consumed, item_of, out_of_bounds
from dynaorm.flow.call import Reason, Refusal, Reply
from dynaorm.item.condition import Condition, holds
from dynaorm.item.json_body import encode_body
from dynaorm.item.path import Path
from dynaorm.item.size import (
    ACTION_LIMIT,
    BATCH_WRITE_LIMIT,
    ITEM_LIMIT,
    REQUEST_LIMIT,
    TRANSACTION_LIMIT,
    item_size,
    size_bound,
    write_units,
)
from dynaorm.item.update import apply_changes
from dynaorm.item.value import Item
from dynaorm.record import record

Kind: TypeAlias = Literal["Put", "Update", "Delete", "ConditionCheck"]

_FAILED: Final = "The conditional request failed"
_TOO_LARGE: Final = "Item size has exceeded the maximum allowed size"
_MOST_TOKEN: Final = 36
TOKEN_SECONDS: Final = 600.0
"""How long a token is remembered after its request."""
_UPDATED: Final = ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
_Units: TypeAlias = Counter[tuple[str, str]]
"""Write units by kind and name of an index; those of the table itself under two empty texts."""


@record(quick=True)
class Action:
    """A prepared action. It has either a place or a problem."""

    kind: Kind
    layout: Layout
    place: Place | None
    problem: str
    given: Item
    changes: Sequence[tuple[Path, Any]]
    condition: Condition | None
    shows_item: bool

    def holds_for(self, before: Item | None) -> bool:
        """Whether its condition holds for the stored item."""
        return self.condition is None or holds(self.condition, before or {})

    def result(self, before: Item | None) -> Item | None:
        """The item that it leaves. Raises InvalidAction if it cannot."""
        if self.kind == "Put":
            return self.given
        if self.kind == "Delete":
            return None
        if self.kind == "ConditionCheck":
            return before
        base = self.given if before is None else before
        try:
            after = apply_changes(base, changes_for(base, self.changes))
        except ValueError as problem:
            raise InvalidAction(_update_problem(problem)) from None
        if is_too_large(after):
            raise InvalidAction("Item size to update has exceeded the maximum allowed size")
        self.layout.check_index_keys(after)
        return after


def is_too_large(item: Item) -> bool:
    """Whether an item has more than 400 KB."""
    return size_bound(item) > ITEM_LIMIT and item_size(item) > ITEM_LIMIT


def _update_problem(problem: ValueError) -> str:
    text = str(problem)
    if "path leads" in text:
        return "The document path provided in the update expression is invalid for update"
    if "has type" in text:
        return "An operand in the update expression has an incorrect data type"
    return number_problem(problem)


def prepared(work: Work, kind: Kind, request: Mapping[str, Any]) -> Action:
    """An action of a request. Raises Refusal for what is wrong with the request alone."""
    layout = work.layout(request["TableName"])
    changes, condition = bound(request, "UpdateExpression", "ConditionExpression")
    given = stored_values(request["Item" if kind == "Put" else "Key"])
    if kind == "Put" and is_too_large(given):
        raise invalid(_TOO_LARGE)
    for path, _ in changes or ():
        if path[0] in layout.base.names:
            raise invalid_parameter(f"Cannot update attribute {path[0]}. This attribute is part of the key")
    place, problem = None, ""
    try:
        place = layout.item_place(given) if kind == "Put" else layout.key_place(given)
    except InvalidAction as wrong:
        problem = str(wrong)
    shows_item = choice(request, "ReturnValuesOnConditionCheckFailure", "NONE", "ALL_OLD") == "ALL_OLD"
    return Action(kind, layout, place, problem, given, changes or (), condition, shows_item)


def _place_of(action: Action) -> Place:
    if action.place is None:
        raise InvalidAction(action.problem)
    return action.place


# -- one item ----------------------------------------------------------------------------------------------------------


def put_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a PutItem."""
    return _write(work, "Put", request, choice(request, "ReturnValues", "NONE", "ALL_OLD"))


def delete_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a DeleteItem."""
    return _write(work, "Delete", request, choice(request, "ReturnValues", "NONE", "ALL_OLD"))


def update_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateItem."""
    return _write(work, "Update", request, choice(request, "ReturnValues", *_UPDATED))


def _write(work: Work, kind: Kind, request: Mapping[str, Any], wanted: str) -> Reply:
    action = prepared(work, kind, request)
    before = _stored(work, action.layout.base, _place_of(action))
    if not action.holds_for(before):
        raise Refusal("ConditionalCheckFailedException", _FAILED, item=before if action.shows_item else None)
    after = action.result(before)
    units = store(work, action.layout, _place_of(action), before=before, after=after)
    shown = before if wanted.endswith("OLD") else after
    reply: dict[str, Any] = {}
    if wanted != "NONE" and shown is not None:
        if wanted.startswith("UPDATED"):
            shown = projected(shown, [path for path, _ in action.changes]) if action.changes else None
        if shown:
            reply["Attributes"] = shown
    return reply | _consumed(request, action.layout.name, units)


def _stored(work: Work, shape: Shape, place: Place) -> Item | None:
    row = work.row(shape, place)
    return None if row is None else item_of(row[0])


def store(work: Work, layout: Layout, place: Place, *, before: Item | None, after: Item | None) -> _Units:
    """Store what an item has become, with its index entries and stream record. The write units that it takes."""
    sizes = [0 if item is None else item_size(item) for item in (before, after)]
    units: _Units = Counter({("", ""): write_units(max(sizes))})
    if before == after:
        return units
    text = b""
    if after is None:
        work.execute(f"DELETE FROM {layout.base.sql} WHERE h = ? AND r = ?", *place)  # noqa: S608 - a checked name
    else:
        text = encode_body(after)
        work.execute(
            f"INSERT OR REPLACE INTO {layout.base.sql} VALUES (?, ?, ?, ?)",  # noqa: S608 - as above
            *place,
            sizes[1],
            text,
        )
    for shape in layout.indexes:
        _store_entry(work, shape, place, text, before=before, after=after, units=units)
    if layout.view is not None:
        record_change(work, layout, before, after)
    return units


def _store_entry(
    work: Work,
    shape: Shape,
    place: Place,
    text: bytes,
    *,
    before: Item | None,
    after: Item | None,
    units: _Units,
) -> None:
    left, taken = (None if item is None else shape.place_of(item) for item in (before, after))
    old, new = (_entry(shape, item) for item in (before, after))
    if left == taken and (left is None or old == new):
        return
    name = INDEXES[not shape.is_global], shape.index or ""
    if left is not None and left != taken:
        work.execute(
            f"DELETE FROM {shape.sql} WHERE h = ? AND r = ? AND bh = ? AND br = ?",  # noqa: S608 - as above
            *left,
            *place,
        )
        units[name] += write_units(item_size(old or {}))
    if taken is not None and after is not None and new is not None:
        size = item_size(new)
        work.execute(
            f"INSERT OR REPLACE INTO {shape.sql} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - as above
            *taken,
            *place,
            size,
            text if shape.projected is None else encode_body(new),
        )
        units[name] += write_units(size)


def _entry(shape: Shape, item: Item | None) -> Item | None:
    """What an index has of an item."""
    if item is None or shape.projected is None:
        return item
    return {name: value for name, value in item.items() if name in shape.projected}


def fill(work: Work, layout: Layout, shape: Shape) -> None:
    """Store the entries of a new index."""
    rows = work.execute(f"SELECT h, r, item FROM {layout.base.sql}").fetchall()  # noqa: S608 - as above
    for partition, sort, text in rows:
        _store_entry(work, shape, (partition, sort), text, before=None, after=item_of(text), units=Counter())


def _consumed(request: Mapping[str, Any], table: str, units: _Units, factor: int = 1) -> dict[str, Any]:
    indexes = {name: float(count) for name, count in units.items() if name[1]}
    return consumed(request, table, float(units["", ""] * factor), indexes)


def _all_consumed(request: Mapping[str, Any], units: Mapping[str, _Units], factor: int = 1) -> dict[str, Any]:
    capacity = [
        each for table, sum_ in units.items() for each in _consumed(request, table, sum_, factor).values()
    ]
    return {"ConsumedCapacity": capacity} if capacity else {}


# -- several items -----------------------------------------------------------------------------------------------------


def batch_write_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a BatchWriteItem."""
    writes = [
        (table, *next(iter(write.items())))
        for table, each in request["RequestItems"].items()
        for write in each
    ]
    if not 1 <= len(writes) <= BATCH_WRITE_LIMIT:
        raise out_of_bounds("requestItems", 1, BATCH_WRITE_LIMIT)
    if len(encode_body(request)) > REQUEST_LIMIT:
        raise invalid("Request size exceeded the limit of 16 MB")
    actions = []
    for table, kind, write in writes:
        if kind not in ("PutRequest", "DeleteRequest"):
            raise not_in_engine(f"the request {kind} of BatchWriteItem")
        put: Kind = "Put" if kind == "PutRequest" else "Delete"
        actions.append(prepared(work, put, {"TableName": table, **write}))
    if len({(action.layout.name, _place_of(action)) for action in actions}) < len(actions):
        raise invalid("Provided list of item keys contains duplicates")
    units: dict[str, _Units] = {}
    for action in actions:
        place = _place_of(action)
        before = _stored(work, action.layout.base, place)
        used = store(work, action.layout, place, before=before, after=action.result(before))
        units.setdefault(action.layout.name, Counter()).update(used)
    return {"UnprocessedItems": {}, **_all_consumed(request, units)}


def transact_write_items(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a TransactWriteItems."""
    parts = [next(iter(each.items())) for each in request["TransactItems"]]
    if not 1 <= len(parts) <= ACTION_LIMIT:
        raise out_of_bounds("transactItems", 1, ACTION_LIMIT)
    token, body = request.get("ClientRequestToken"), encode_body(request)
    if len(body) > TRANSACTION_LIMIT:
        _check_sent([part for _, part in parts])
    actions = [prepared(work, kind, part) for kind, part in parts]
    if token is not None and _was_made(work, token, body):
        return {}
    _check_actions(actions)
    outcomes = _outcomes(work, actions)
    units: dict[str, _Units] = {}
    for action, (before, after) in zip(actions, outcomes, strict=True):
        used = store(work, action.layout, _place_of(action), before=before, after=after)
        units.setdefault(action.layout.name, Counter()).update(used)
    if token is not None:
        work.execute('INSERT OR REPLACE INTO ":tokens" VALUES (?, ?, ?)', token, work.now(), body)
    return _all_consumed(request, units, 2)


def _check_actions(actions: Sequence[Action]) -> None:
    check_distinct([(action.layout.name, action.place or repr(action.given)) for action in actions])
    for position, action in enumerate(actions):
        if action.problem:
            raise cancelled(len(actions), {position: Reason("ValidationError", action.problem)})


def _check_sent(parts: Sequence[Mapping[str, Any]]) -> None:
    sent = ("Item", "Key", "ExpressionAttributeValues")
    if sum(item_size(part.get(name, {})) for part in parts for name in sent) > TRANSACTION_LIMIT:
        raise invalid("Collection size of all items in the transaction request cannot exceed 4 MB")


def _was_made(work: Work, token: str, body: bytes) -> bool:
    """Whether a request with this token succeeded in the last ten minutes. Raises Refusal if it was another one."""
    if not 1 <= len(token) <= _MOST_TOKEN:
        raise out_of_bounds("clientRequestToken", 1, _MOST_TOKEN)
    work.execute('DELETE FROM ":tokens" WHERE at <= ?', work.now() - TOKEN_SECONDS)
    row = work.execute('SELECT body FROM ":tokens" WHERE token = ?', token).fetchone()
    if row is not None and row[0] != body:
        raise Refusal(
            "IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, non-identical request",
        )
    return row is not None


def _outcomes(work: Work, actions: Sequence[Action]) -> list[tuple[Item | None, Item | None]]:
    """Each item before and after. Raises Refusal if a condition does not hold, or an update cannot be made."""
    reasons: dict[int, Reason] = {}
    outcomes: list[tuple[Item | None, Item | None]] = []
    for position, action in enumerate(actions):
        before = _stored(work, action.layout.base, _place_of(action))
        if not action.holds_for(before):
            item = before if action.shows_item else None
            reasons[position] = Reason("ConditionalCheckFailed", _FAILED, item)
            continue
        try:
            outcomes.append((before, action.result(before)))
        except InvalidAction as problem:
            reasons[position] = Reason("ValidationError", str(problem))
    if reasons:
        raise cancelled(len(actions), reasons)
    return outcomes
