"""Requests and items as one reads them: expressions with their names and values, in DynamoDB's words."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from dynaorm.transport import Call, Refusal, Reply, Transport

_KINDS: Final = ("PutItem", "UpdateItem", "DeleteItem")
_WIDTH: Final = 118
_MOST: Final = 6
"""How many parts of a batch are shown whole."""


def show(value: Any) -> str:
    """An attribute value, or an item."""
    if isinstance(value, Mapping) and len(value) == 1 and (shown := _of_type(*next(iter(value.items())))):
        return shown
    if isinstance(value, Mapping):
        return _map(value)
    return repr(value)


def _of_type(kind: str, value: Any) -> str:
    shown = _SHOWN.get(kind)
    return "" if shown is None or not isinstance(value, shown[0]) else shown[1](value)


def _text(value: str) -> str:
    # A fingerprint is as good by its beginning.
    short = re.sub(r"\b([0-9a-f]{6})[0-9a-f]{26}\b", r"\1", value)
    short = re.sub(r"(.)\1{19,}", lambda run: f"{run[1]}*{len(run[0])}", short)
    return json.dumps(short, ensure_ascii="\U0010ffff" in short)


def _map(value: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {show(one)}" for name, one in value.items()) + "}"


def _set(kind: str) -> Callable[[Any], str]:
    return lambda value: f"{kind}S(" + ", ".join(sorted(show({kind: one}) for one in value)) + ")"


_SHOWN: Final[dict[str, tuple[Any, Callable[[Any], str]]]] = {
    "S": (str, _text),
    "N": (str, str),
    "B": (bytes | bytearray, lambda value: repr(bytes(value))),
    "BOOL": (bool, lambda value: str(value).lower()),
    "NULL": (bool, lambda _: "null"),
    "M": (Mapping, _map),
    "L": (list | tuple, lambda value: "[" + ", ".join(map(show, value)) + "]"),
    **{f"{kind}S": (list | tuple | set, _set(kind)) for kind in "SNB"},
}


def _key(key: Mapping[str, Any]) -> str:
    return "[" + ", ".join(map(show, key.values())) + "]"


class _Request:
    """The parameters of a request, each taken once; what nobody took is told in the end."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._left = dict(request)
        self._names = self._left.pop("ExpressionAttributeNames", {})
        self._values = self._left.pop("ExpressionAttributeValues", {})

    def take(self, name: str, default: Any = None) -> Any:
        return self._left.pop(name, default)

    def expression(self, name: str, word: str = "") -> str:
        text = self.take(f"{name}Expression")
        if text is None:
            return ""
        text = re.sub(r"#\w+", lambda found: self._names[found[0]], text)
        text = re.sub(r":\w+", lambda found: show(self._values[found[0]]), text)
        for pattern, short in _WORDS.items():
            text = re.sub(pattern, short, text)
        return f"{word} {text}" if word else text

    def rest(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self._left.items())


_WORDS: Final = {
    r"attribute_exists\(": "exists(",
    r"attribute_not_exists\(": "missing(",
    r"attribute_type\(": "type(",
    r"\(missing\((\w+)\) OR type\(\1, \"S\"\)\)": r"own(\1)",
}
"""Shorter words of conditions. A revision is one's own if there is none, or one that dynaorm can have written."""


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _action(kind: str, request: Mapping[str, Any]) -> str:
    one = _Request(request)
    table, item, key = one.take("TableName"), one.take("Item"), one.take("Key")
    returns = one.take("ReturnValuesOnConditionCheckFailure")
    condition = one.expression("Condition", "IF")
    values = one.take("ReturnValues")
    told = f"RETURN {values}" if values else ""
    told += "" if (returns == "ALL_OLD") is bool(condition) else "(does not return the item)"
    what = f"{table} {show(item)}" if item is not None else f"{table}{_key(key)}"
    return _joined(kind, what, one.expression("Update"), condition, told, one.rest())


def _read(kind: str, request: Mapping[str, Any]) -> str:
    one = _Request(request)
    table, index, key = one.take("TableName"), one.take("IndexName"), one.take("Key")
    start = one.take("ExclusiveStartKey")
    words = [
        f"{kind} {table}{f'.{index}' if index else ''}{_key(key) if key is not None else ''}",
        one.expression("KeyCondition", "WHERE"),
        one.expression("Filter", "FILTER"),
        one.expression("Projection", "ONLY"),
        f"LIMIT {limit}" if (limit := one.take("Limit")) is not None else "",
        "DESCENDING" if one.take("ScanIndexForward", True) is False else "",
        "CONSISTENT" if one.take("ConsistentRead") else "",
        f"AFTER {show(start)}" if start is not None else "",
    ]
    one.take("ReturnConsumedCapacity")
    return _joined(*words, one.rest())


def lines_of(call: Call) -> list[str]:
    """A request, one line for each of its parts."""
    name, request = call.operation, dict(call.request)
    if name in _KINDS:
        return [_action(name.removesuffix("Item"), request)]
    if name == "TransactWriteItems":
        actions = [_action(*next(iter(one.items()))) for one in request.pop("TransactItems")]
        token = request.pop("ClientRequestToken", None)
        head = _joined(name, f"token {token}" if token else "", *(f"{k}={v}" for k, v in request.items()))
        return [head, *(f"  {one}" for one in actions)]
    if name in ("GetItem", "Query", "Scan"):
        return [_read(name.removesuffix("Item"), request)]
    if name == "TransactGetItems":
        return [name, *(f"  {_read('Get', one['Get'])}" for one in request.pop("TransactItems"))]
    if name == "BatchGetItem":
        asked = [
            f"  {_read('', {**rest, 'TableName': table}).strip()} {' '.join(map(_key, rest_keys))}"
            for table, given in request.pop("RequestItems").items()
            for rest_keys, rest in [(given["Keys"], {k: v for k, v in given.items() if k != "Keys"})]
        ]
        return [name, *asked]
    if name == "BatchWriteItem":
        tables = request.pop("RequestItems").items()
        put = [f"  {_written(table, one)}" for table, ones in tables for one in ones]
        return [name, *(put if len(put) <= _MOST else [put[0], f"  ... {len(put) - 2} more ...", put[-1]])]
    return [_joined(name, *(f"{key}={value}" for key, value in request.items()))]


def _written(table: str, request: Mapping[str, Any]) -> str:
    ((kind, one),) = request.items()
    return _action(kind.removesuffix("Request"), {**one, "TableName": table})


def _refusal(refusal: Refusal) -> str:
    told = [reason.code if reason else "-" for reason in refusal.reasons or ()]
    text = ", ".join(told) if told else refusal.code
    return " -> " + re.sub(r"ConditionalCheckFailed(Exception)?", "unmet", text)


def _units(reply: Mapping[str, Any]) -> float:
    consumed = reply.get("ConsumedCapacity") or ()
    several = [consumed] if isinstance(consumed, Mapping) else consumed
    return sum(float(one["CapacityUnits"]) for one in several)


_COSTS: Final = (
    *_KINDS,
    "TransactWriteItems",
    "TransactGetItems",
    "BatchGetItem",
    "BatchWriteItem",
    "GetItem",
    "Query",
    "Scan",
)


def _tables_of(request: Mapping[str, Any]) -> Iterator[str]:
    if "TableName" in request:
        yield request["TableName"]
    yield from request.get("RequestItems", ())
    for action in request.get("TransactItems", ()):
        yield from (one["TableName"] for one in action.values())


class Recorder:
    """A transport that keeps what is sent as text, with the capacity that it consumed."""

    server = None

    def __init__(self, inner: Transport, create: Callable[[str], None]) -> None:
        self._inner = inner
        self._create = create
        self._created: set[str] = set()
        self._creating = threading.Lock()
        self._sent: list[tuple[bool, str]] = []
        self.units: list[float] = []

    def call(self, call: Call, /) -> Reply:
        """Send a request on, and keep it."""
        for name in _tables_of(call.request):
            self._ready(name)
        lines = lines_of(call)
        is_costly = call.operation in _COSTS
        counted = (
            Call(call.operation, {**call.request, "ReturnConsumedCapacity": "TOTAL"}) if is_costly else call
        )
        try:
            reply = self._inner.call(counted)
        except Refusal as refusal:
            self._keep(lines, _refusal(refusal))
            raise
        units = _units(reply)
        self.units += [units] if "Write" in call.operation or call.operation in _KINDS else []
        self._keep(lines, f"  [{units:g}]" if units else "")
        if "ReturnConsumedCapacity" not in call.request:
            reply = {name: one for name, one in reply.items() if name != "ConsumedCapacity"}
        return reply

    def _ready(self, table: str) -> None:
        with self._creating:
            if table not in self._created:
                self._create(table)
                self._created.add(table)

    def _keep(self, lines: list[str], end: str) -> None:
        wrapped = [part for line in [lines[0] + end, *lines[1:]] for part in _wrapped(line)]
        is_main = threading.current_thread() is threading.main_thread()
        self._sent.append((is_main, "\n".join(wrapped)))

    def lines(self) -> list[str]:
        """What was sent since the last question. What threads sent beside each other is in alphabetical order."""
        sent = (
            [text for _, text in self._sent]
            if all(m for m, _ in self._sent)
            else sorted(t for _, t in self._sent)
        )
        self.clear()
        return [f"  {line}" for text in sent for line in text.split("\n")]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep nothing of what is sent inside of the block."""
        kept = list(self._sent)
        yield
        self._sent = kept

    def clear(self) -> None:
        """Forget what was sent."""
        self._sent.clear()
        self.units.clear()

    def store(self, table: str, item: Mapping[str, Any]) -> None:
        """Store an item, and do not record it."""
        self._ready(table)
        self._inner.call(Call("PutItem", {"TableName": table, "Item": dict(item)}))

    def item(self, table: str, key: Mapping[str, Any]) -> Mapping[str, Any]:
        """An item as it is stored."""
        found: Mapping[str, Any] = self._inner.call(Call("GetItem", {"TableName": table, "Key": dict(key)}))[
            "Item"
        ]
        return found

    def stored(self, table: str) -> list[Mapping[str, Any]]:
        """The items of a table, sorted."""
        self._ready(table)
        found = self._inner.call(Call("Scan", {"TableName": table, "ConsistentRead": True}))["Items"]
        return sorted(found, key=show)


def _wrapped(line: str) -> list[str]:
    """A line in pieces that fit a screen, broken before its words in capitals or at blanks."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    pieces, rest = [], line
    while len(rest) > _WIDTH and (place := _break(rest)):
        pieces.append(rest[:place].rstrip())
        rest = indent + rest[place:].lstrip()
    return [*pieces, rest]


def _break(text: str) -> int:
    least = len(text) - len(text.lstrip()) + 10
    words = [
        found.start()
        for found in re.finditer(r" (?:SET|ADD|REMOVE|DELETE|IF|FILTER|WHERE|ONLY) ", text[:_WIDTH])
    ]
    places = [place for place in words if place > least]
    return places[0] if places else text.rfind(" ", least, _WIDTH)
