"""GetItem, BatchGetItem, TransactGetItems, Query and Scan.

A reply is made of the JSON that is stored, and parsed by whoever wants its items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynaorm.embedded.expression import bound
from dynaorm.embedded.key_range import key_range
from dynaorm.embedded.refusal import InvalidAction, invalid, invalid_parameter
from dynaorm.embedded.shape import INDEXES, Layout, Shape
from dynaorm.embedded.values import stored_values
from dynaorm.embedded.work import Work, choice, consumed, item_of, out_of_bounds, read_units
from dynaorm.flow.call import Reason, Refusal, Reply
from dynaorm.item.condition import Condition, holds, paths_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.path import Path
from dynaorm.item.size import ACTION_LIMIT, MB
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

_MOST_KEYS: Final = 100
_MOST_BATCH_BYTES: Final = 16 * MB
_MOST_SEGMENTS: Final = 1_000_000


def get_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a GetItem."""
    layout = work.layout(request["TableName"])
    text, size = _stored(work, layout, request)
    is_consistent = bool(request.get("ConsistentRead"))
    units = consumed(request, layout.name, read_units(size, consistent=is_consistent))
    if text is None:
        return units
    return Body(b'{"Item":%b%b' % (text, _rest(units)))


def _stored(work: Work, layout: Layout, read: Mapping[str, Any]) -> tuple[bytes | None, int]:
    """The JSON of what a read asks for, None for nothing, and the size of the item."""
    (paths,) = bound(read, "ProjectionExpression")
    row = work.row(layout.base, layout.key_place(stored_values(read["Key"])))
    if row is None:
        return None, 0
    return (row[0] if paths is None else encode_body(projected(item_of(row[0]), paths))), row[1]


def _rest(members: Mapping[str, Any]) -> bytes:
    """The JSON of the other members of an object, with its end."""
    return b"," + encode_body(members)[1:] if members else b"}"


def batch_get_item(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a BatchGetItem."""
    tables = request["RequestItems"]
    if not 1 <= sum(len(read["Keys"]) for read in tables.values()) <= _MOST_KEYS:
        raise out_of_bounds("requestItems", 1, _MOST_KEYS)
    room = _MOST_BATCH_BYTES
    answers: list[bytes] = []
    left: dict[str, Any] = {}
    capacity: list[Any] = []
    for name, read in tables.items():
        layout = work.layout(name)
        if len({layout.key_place(stored_values(key)) for key in read["Keys"]}) < len(read["Keys"]):
            raise invalid("Provided list of item keys contains duplicates")
        units, texts = 0.0, []
        for position, key in enumerate(read["Keys"]):
            text, size = _stored(work, layout, {**read, "Key": key})
            if size > room:
                left[name] = {**read, "Keys": read["Keys"][position:]}
                break
            room -= size
            units += read_units(size, consistent=bool(read.get("ConsistentRead")))
            if text is not None:
                texts.append(text)
        answers.append(b"%b:[%b]" % (encode_body(name), b",".join(texts)))
        capacity += consumed(request, layout.name, units).values()
    rest = {"UnprocessedKeys": left, **({"ConsumedCapacity": capacity} if capacity else {})}
    return Body(b'{"Responses":{%b}%b' % (b",".join(answers), _rest(rest)))


def transact_get_items(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a TransactGetItems."""
    reads = [action["Get"] for action in request["TransactItems"]]
    if not 1 <= len(reads) <= ACTION_LIMIT:
        raise out_of_bounds("transactItems", 1, ACTION_LIMIT)
    check_distinct([(read["TableName"], repr(stored_values(read["Key"]))) for read in reads])
    answers: list[bytes] = []
    units: dict[str, float] = {}
    for position, read in enumerate(reads):
        layout = work.layout(read["TableName"])
        try:
            text, size = _stored(work, layout, read)
        except InvalidAction as problem:
            raise cancelled(len(reads), {position: Reason("ValidationError", str(problem))}) from None
        units[layout.name] = units.get(layout.name, 0.0) + 2 * read_units(size, consistent=True)
        answers.append(b"{}" if text is None else b'{"Item":%b}' % text)
    capacity = [each for name, sum_ in units.items() for each in consumed(request, name, sum_).values()]
    return Body(
        b'{"Responses":[%b]%b'
        % (b",".join(answers), _rest({"ConsumedCapacity": capacity} if capacity else {}))
    )


def check_distinct(places: Sequence[object]) -> None:
    """Refuse a transaction that names an item twice."""
    if len({*places}) < len(places):
        raise invalid("Transaction request cannot include multiple operations on one item")


def cancelled(actions: int, reasons: Mapping[int, Reason]) -> Refusal:
    """The refusal of a transaction because of some of its actions."""
    codes = ", ".join(reasons[index].code if index in reasons else "None" for index in range(actions))
    return Refusal(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        reasons=tuple(reasons.get(index) for index in range(actions)),
    )


# -- pages -------------------------------------------------------------------------------------------------------------


def query(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a Query."""
    layout = work.layout(request["TableName"])
    shape = layout.shape(request.get("IndexName"))
    condition, wanted, paths = bound(
        request, "KeyConditionExpression", "FilterExpression", "ProjectionExpression"
    )
    partition, low, high = key_range(shape, condition)
    for path in () if wanted is None else paths_of(wanted):
        if path[0] in shape.names:
            raise invalid(
                "Filter Expression can only contain non-primary key attributes: "
                f"Primary key attribute: {path[0]}"
            )
    where, parameters = ["h = ?", "r >= ?"], [partition, low]
    if high is not None:
        where.append("r < ?")
        parameters.append(high)
    return _Page(layout, shape, request, where, parameters, wanted, paths, partition).reply(work)


def scan(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a Scan."""
    layout = work.layout(request["TableName"])
    shape = layout.shape(request.get("IndexName"))
    wanted, paths = bound(request, "FilterExpression", "ProjectionExpression")
    segment, count = request.get("Segment"), request.get("TotalSegments")
    if segment is None and count is None:
        return _Page(layout, shape, request, [], [], wanted, paths).reply(work)
    if segment is None or count is None:
        given, missing = ("Segment", "TotalSegments") if count is None else ("TotalSegments", "Segment")
        raise invalid(
            f"The {missing} parameter is required but was not present in the request when parameter {given} is present"
        )
    if not 0 <= segment < count <= _MOST_SEGMENTS:
        raise invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {count}"
        )
    return _Page(layout, shape, request, ["segment(h, ?) = ?"], [count, segment], wanted, paths).reply(work)


@record(quick=True)
class _Page:
    """What a Query or Scan reads: rows of a table or index, and what is wanted of them."""

    layout: Layout
    shape: Shape
    request: Mapping[str, Any]
    where: list[str]
    parameters: list[Any]
    wanted: Condition | None
    paths: list[Path] | None
    partition: bytes | None = None

    def reply(self, work: Work) -> Reply:
        """Read it."""
        request, shape = self.request, self.shape
        is_consistent = bool(request.get("ConsistentRead"))
        if is_consistent and shape.is_global:
            raise invalid("Consistent reads are not supported on global secondary indexes")
        select, is_fetched = _selected(shape, request, self.paths)
        size, scanned, is_over, last = 0, 0, False, b""
        texts: list[bytes] = []
        is_plain = self.wanted is None and self.paths is None and not is_fetched
        limit = request.get("Limit")
        for text, bytes_ in self._rows(work, limit):
            if scanned and size + bytes_ > MB:
                is_over = True
                break
            size, scanned, last = size + bytes_, scanned + 1, text
            if is_plain:
                texts.append(text)
                continue
            item = item_of(text)
            if self.wanted is None or holds(self.wanted, item):
                whole = _whole(work, self.layout, item) if is_fetched else None
                texts.append(self._shown(text if whole is None else whole))
        members: dict[str, Any] = {"Count": len(texts), "ScannedCount": scanned}
        if is_over or (limit is not None and scanned == limit):
            item = item_of(last)
            members["LastEvaluatedKey"] = {
                name: item[name] for name in (*self.layout.base.names, *shape.names)
            }
        members |= self._consumed(read_units(size, consistent=is_consistent))
        return members if select == "COUNT" else Body(b'{"Items":[%b]%b' % (b",".join(texts), _rest(members)))

    def _rows(self, work: Work, limit: int | None) -> Iterable[tuple[bytes, int]]:
        if limit is not None and limit < 1:
            raise invalid(
                f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            )
        where, parameters = [*self.where], [*self.parameters]
        order = ["h", "r"] if self.shape.index is None else ["h", "r", "bh", "br"]
        is_forward = self.request.get("ScanIndexForward") is not False
        start = self.request.get("ExclusiveStartKey")
        if start is not None:
            places = _start(self.layout, self.shape, stored_values(start))
            is_query = self.partition is not None
            if is_query and places[0] != self.partition:
                raise invalid(
                    "The provided starting key is outside query boundaries based on provided conditions"
                )
            sign = ">" if is_forward else "<"
            # The column is an end of what SQLite reads: by row values alone, it would read from the beginning.
            row = f"({', '.join(order)}) {sign} ({', '.join('?' * len(order))})"
            where += [f"{order[is_query]} {sign}= ?", row]
            parameters += [places[is_query], *places]
        direction = ", ".join(f"{column} {'ASC' if is_forward else 'DESC'}" for column in order)
        return work.execute(
            f"SELECT item, size FROM {self.shape.sql} "  # noqa: S608 - a name that was checked
            f"{'WHERE' if where else ''} {' AND '.join(where)} ORDER BY {direction} LIMIT ?",
            *parameters,
            -1 if limit is None else limit,
        )

    def _shown(self, text: bytes) -> bytes:
        return text if self.paths is None else encode_body(projected(item_of(text), self.paths))

    def _consumed(self, units: float) -> dict[str, Any]:
        name, shape = self.layout.name, self.shape
        if shape.index is None:
            return consumed(self.request, name, units)
        return consumed(self.request, name, 0.0, {(INDEXES[not shape.is_global], shape.index): units})


def _selected(shape: Shape, request: Mapping[str, Any], paths: list[Path] | None) -> tuple[str, bool]:
    """What is selected, and whether a local index must read it from the table. Raises Refusal for what is not there."""
    kinds = ("ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT")
    select = choice(request, "Select", *kinds) if "Select" in request else ""
    if paths is not None and select not in ("", "SPECIFIC_ATTRIBUTES"):
        named = "only the Count" if select == "COUNT" else select
        raise invalid(f"Cannot specify the ProjectionExpression when choosing to get {named}")
    if paths is None and select == "SPECIFIC_ATTRIBUTES":
        raise invalid(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and shape.index is None:
        raise invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if shape.projected is None:
        return select, False
    if select == "ALL_ATTRIBUTES" and shape.is_global:
        raise invalid_parameter(
            f"Select type ALL_ATTRIBUTES is not supported for global secondary index {shape.index} because its "
            "projection type is not ALL"
        )
    lacking = sorted({str(path[0]) for path in paths or ()} - shape.projected)
    if lacking and shape.is_global:
        raise invalid_parameter(
            f"Global secondary index {shape.index} does not project [{', '.join(lacking)}]"
        )
    return select, bool(lacking) or select == "ALL_ATTRIBUTES"


def _start(layout: Layout, shape: Shape, start: Item) -> Sequence[bytes]:
    """Where an ExclusiveStartKey lies. Raises Refusal if it is none of this table or index."""
    names = {*layout.base.names, *shape.names}
    base, place = layout.base.place_of(start), shape.place_of(start)
    if base is None or place is None or start.keys() != names:
        raise invalid("The provided starting key is invalid")
    return place if shape.index is None else (*place, *base)


def _whole(work: Work, layout: Layout, entry: Item) -> bytes:
    """The item of an entry of a local index."""
    place = layout.base.place_of(entry)
    row = None if place is None else work.row(layout.base, place)
    assert row is not None  # both are written in one transaction
    return row[0]


def projected(item: Item, paths: Sequence[Path]) -> Item:
    """The parts of an item at some paths, as a projection returns them."""
    tree: dict[str | int, Any] = {}
    for path in paths:
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
    part = _part({"M": item}, tree)
    return {} if part is None else part["M"]


def _part(value: AttributeValue, tree: Mapping[Any, Any]) -> AttributeValue | None:
    if not tree:
        return value
    ((tag, content),) = value.items()
    if tag == "M":
        inner = ((step, content[step], below) for step, below in tree.items() if step in content)
        members = {step: part for step, member, below in inner if (part := _part(member, below)) is not None}
        return {"M": members} if members else None
    if tag == "L":
        steps = sorted(step for step in tree if isinstance(step, int) and step < len(content))
        elements = [part for step in steps if (part := _part(content[step], tree[step])) is not None]
        return {"L": elements} if elements else None
    return None
