"""GetItem, BatchGetItem, TransactGetItems, Query and Scan.

A reply is made of the JSON that is stored, and parsed by whoever wants its items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynaorm.embedded import rules
from dynaorm.embedded.database import Database, item_of, operation
from dynaorm.embedded.expression import expressions, projected
from dynaorm.embedded.shape import Layout, Shape, key_range
from dynaorm.embedded.values import stored_values
from dynaorm.flow.call import Reason, Refusal, Reply
from dynaorm.item.condition import holds, paths_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.path import Path
from dynaorm.item.size import ACTION_LIMIT, KB, MB
from dynaorm.item.value import Item

_MOST_KEYS: Final = 100
_MOST_BATCH_BYTES: Final = 16 * MB
_MOST_SEGMENTS: Final = 1_000_000
_READ_UNIT: Final = 4 * KB
_PAGE: Final = (
    "IndexName FilterExpression ProjectionExpression Select Limit ExclusiveStartKey ConsistentRead "
    f"{rules.PLACEHOLDERS}"
)


@operation("TableName Key", f"ConsistentRead ProjectionExpression {rules.NAMES}")
def get_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a GetItem."""
    layout = db.table(request["TableName"])
    text, size = _stored(db, layout, request)
    if text is not None and rules.CAPACITY not in request:
        return Body(b'{"Item":%b}' % text)
    capacity = rules.consumed(request, {(layout.name, "", ""): _units(request, size)})
    return capacity if text is None else Body(b'{"Item":%b%b' % (text, _rest(capacity)))


def _stored(db: Database, layout: Layout, read: Mapping[str, Any]) -> tuple[bytes | None, int]:
    """The JSON of what a read asks for, None for nothing, and the size of the item."""
    _, paths = expressions(read, "ProjectionExpression")
    row = db.row(layout.base, layout.key_place(stored_values(read["Key"])))
    if row is None:
        return None, 0
    return (row[0] if paths is None else encode_body(projected(item_of(row[0]), paths))), row[1]


def _units(read: Mapping[str, Any], size: int) -> float:
    """The read units of this many bytes."""
    return max(1, -(-size // _READ_UNIT)) * (1.0 if read.get("ConsistentRead") else 0.5)


def _rest(members: Mapping[str, Any]) -> bytes:
    """The JSON of the other members of an object, with its end."""
    return b"," + encode_body(members)[1:] if members else b"}"


@operation("RequestItems", rules.CAPACITY)
def batch_get_item(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a BatchGetItem."""
    tables = request["RequestItems"]
    rules.check_length("requestItems", sum(len(read["Keys"]) for read in tables.values()), _MOST_KEYS)
    room = _MOST_BATCH_BYTES
    answers: list[bytes] = []
    left: dict[str, Any] = {}
    units: rules.Units = {}
    for name, read in tables.items():
        layout = db.table(name)
        if len({layout.key_place(stored_values(key)) for key in read["Keys"]}) < len(read["Keys"]):
            raise rules.invalid("Provided list of item keys contains duplicates")
        sum_, texts = 0.0, []
        for position, key in enumerate(read["Keys"]):
            text, size = _stored(db, layout, {**read, "Key": key})
            if size > room:
                left[name] = {**read, "Keys": read["Keys"][position:]}
                break
            room -= size
            sum_ += _units(read, size)
            if text is not None:
                texts.append(text)
        answers.append(b"%b:[%b]" % (encode_body(name), b",".join(texts)))
        units[layout.name, "", ""] = sum_
    rest = {"UnprocessedKeys": left, **rules.consumed(request, units, listed=True)}
    return Body(b'{"Responses":{%b}%b' % (b",".join(answers), _rest(rest)))


@operation("TransactItems", rules.CAPACITY)
def transact_get_items(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a TransactGetItems."""
    reads = [action["Get"] for action in request["TransactItems"]]
    rules.check_length("transactItems", len(reads), ACTION_LIMIT)
    check_distinct([(read["TableName"], repr(stored_values(read["Key"]))) for read in reads])
    answers: list[bytes] = []
    units: rules.Units = {}
    for position, read in enumerate(reads):
        layout = db.table(read["TableName"])
        try:
            text, size = _stored(db, layout, read)
        except rules.InvalidAction as problem:
            raise cancelled(len(reads), {position: Reason("ValidationError", str(problem))}) from None
        place = layout.name, "", ""
        units[place] = units.get(place, 0.0) + 4 * _units({}, size)
        answers.append(b"{}" if text is None else b'{"Item":%b}' % text)
    rest = rules.consumed(request, units, listed=True)
    return Body(b'{"Responses":[%b]%b' % (b",".join(answers), _rest(rest)))


def check_distinct(places: Sequence[object]) -> None:
    """Refuse a transaction that names an item twice."""
    if len({*places}) < len(places):
        raise rules.invalid("Transaction request cannot include multiple operations on one item")


def cancelled(actions: int, reasons: Mapping[int, Reason]) -> Refusal:
    """The refusal of a transaction because of some of its actions."""
    codes = ", ".join(reasons[index].code if index in reasons else "None" for index in range(actions))
    return Refusal(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        reasons=tuple(reasons.get(index) for index in range(actions)),
    )


# -- pages -------------------------------------------------------------------------------------------------------------


@operation("TableName", f"KeyConditionExpression ScanIndexForward {_PAGE}")
def query(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a Query."""
    page = _Page(db, request)
    partition, low, end = key_range(page.shape, page.clauses, page.given)
    page.restrict("h = ? AND r >= ?", partition, low)
    if end is not None:
        page.restrict("r < ?", end)
    for path in () if page.wanted is None else paths_of(page.wanted):
        if path[0] in page.shape.names:
            what = "Filter Expression can only contain non-primary key attributes"
            raise rules.invalid(f"{what}: Primary key attribute: {path[0]}")
    return page.reply(partition)


@operation("TableName", f"Segment TotalSegments {_PAGE}")
def scan(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a Scan."""
    page = _Page(db, request)
    segment, count = request.get("Segment"), request.get("TotalSegments")
    if segment is None and count is None:
        return page.reply()
    if segment is None or count is None:
        given, missing = ("Segment", "TotalSegments") if count is None else ("TotalSegments", "Segment")
        raise rules.invalid(
            f"The {missing} parameter is required but was not present in the request when parameter {given} is present"
        )
    if not 0 <= segment < count <= _MOST_SEGMENTS:
        raise rules.invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {count}"
        )
    page.restrict("segment(h, ?) = ?", count, segment)
    return page.reply()


class _Page:
    """What a Query or Scan reads: rows of a table or index, and what is wanted of them."""

    def __init__(self, db: Database, request: Mapping[str, Any]) -> None:
        self.db = db
        self.request = request
        self.layout = db.table(request["TableName"])
        self.shape = self.layout.shape(request.get("IndexName"))
        self.given, self.clauses, self.wanted, self.paths = expressions(
            request, "KeyConditionExpression", "FilterExpression", "ProjectionExpression"
        )
        self.where: list[str] = []
        self.parameters: list[object] = []

    def restrict(self, condition: str, *parameters: object) -> None:
        """Read only rows for which a condition holds."""
        self.where.append(condition)
        self.parameters += parameters

    def reply(self, partition: bytes | None = None) -> Reply:
        """Read them; of one ``partition``, if it is given."""
        request, shape, layout = self.request, self.shape, self.layout
        if request.get("ConsistentRead") and shape.is_global:
            raise rules.invalid("Consistent reads are not supported on global secondary indexes")
        select, is_fetched = _selected(shape, request, self.paths)
        limit = request.get("Limit")
        size, scanned, last = 0, 0, None
        texts: list[bytes] = []
        is_plain = self.wanted is None and self.paths is None and not is_fetched
        for text, bytes_ in self._rows(partition):
            if scanned and size + bytes_ > MB:
                break
            size, scanned, last = size + bytes_, scanned + 1, text
            if is_plain:
                texts.append(text)
            elif (shown := self._shown(text, is_fetched=is_fetched)) is not None:
                texts.append(shown)
        else:
            last = last if scanned == limit else None
        members: dict[str, Any] = {"Count": len(texts), "ScannedCount": scanned}
        if last is not None:
            item = item_of(last)
            members["LastEvaluatedKey"] = {name: item[name] for name in (*layout.base.names, *shape.names)}
        units = {
            (layout.name, "", ""): 0.0,
            (layout.name, shape.kind, shape.index or ""): _units(request, size),
        }
        members |= rules.consumed(request, units)
        return members if select == "COUNT" else Body(b'{"Items":[%b]%b' % (b",".join(texts), _rest(members)))

    def _rows(self, partition: bytes | None) -> Iterable[tuple[bytes, int]]:
        limit, start = self.request.get("Limit"), self.request.get("ExclusiveStartKey")
        if limit is not None and limit < 1:
            raise rules.unmet("Limit", limit, "have value greater than or equal to 1")
        is_forward = self.request.get("ScanIndexForward") is not False
        columns = self.shape.columns
        if start is not None:
            places = self._start(stored_values(start))
            is_query = partition is not None
            if is_query and places[0] != partition:
                what = "is outside query boundaries based on provided conditions"
                raise rules.invalid(f"The provided starting key {what}")
            sign = ">" if is_forward else "<"
            # The column is an end of what SQLite reads: by row values alone, it would read from the beginning.
            self.restrict(f"{columns[is_query]} {sign}= ?", places[is_query])
            self.restrict(f"({', '.join(columns)}) {sign} ({', '.join('?' * len(columns))})", *places)
        order = ", ".join(columns if is_forward else [f"{column} DESC" for column in columns])
        return self.db.execute(
            f"SELECT item, size FROM {self.shape.sql} WHERE {' AND '.join(self.where) or 'TRUE'} "  # noqa: S608 - checked
            f"ORDER BY {order} LIMIT ?",
            *self.parameters,
            -1 if limit is None else limit,
        )

    def _start(self, start: Item) -> Sequence[bytes]:
        """Where an ExclusiveStartKey lies. Raises Refusal if it is none of this table or index."""
        table, shape = self.layout.base, self.shape
        base, place = table.place_of(start), shape.place_of(start)
        if base is None or place is None or start.keys() != {*table.names, *shape.names}:
            raise rules.invalid("The provided starting key is invalid")
        return place if shape.index is None else (*place, *base)

    def _shown(self, text: bytes, *, is_fetched: bool) -> bytes | None:
        """What is returned of a row, None for nothing; ``is_fetched``: a local index reads it from the table."""
        item = item_of(text)
        if self.wanted is not None and not holds(self.wanted, {**item, **self.given}):
            return None
        if is_fetched:
            place = self.layout.base.place_of(item)
            row = None if place is None else self.db.row(self.layout.base, place)
            assert row is not None  # both are written in one transaction
            text = row[0]
        return text if self.paths is None else encode_body(projected(item_of(text), self.paths))


def _selected(shape: Shape, request: Mapping[str, Any], paths: list[Path] | None) -> tuple[str, bool]:
    """What is selected, and whether a local index must read it from the table. Raises Refusal for what is not there."""
    select = request.get("Select") or ""
    if select:
        kinds = ("ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT")
        rules.choice(request, "Select", *kinds)
    if paths is not None and select not in ("", "SPECIFIC_ATTRIBUTES"):
        named = "only the Count" if select == "COUNT" else select
        raise rules.invalid(f"Cannot specify the ProjectionExpression when choosing to get {named}")
    if paths is None and select == "SPECIFIC_ATTRIBUTES":
        raise rules.invalid(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and shape.index is None:
        raise rules.invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if shape.projected is None:
        return select, False
    if select == "ALL_ATTRIBUTES" and shape.is_global:
        raise rules.invalid_parameter(
            f"Select type ALL_ATTRIBUTES is not supported for global secondary index {shape.index} because its "
            "projection type is not ALL"
        )
    lacking = sorted({str(path[0]) for path in paths or ()} - shape.projected)
    if lacking and shape.is_global:
        listed = ", ".join(lacking)
        raise rules.invalid_parameter(f"Global secondary index {shape.index} does not project [{listed}]")
    return select, bool(lacking) or select == "ALL_ATTRIBUTES"
