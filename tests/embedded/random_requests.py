"""Random requests of every operation on items, over random tables, most of them valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

NAMES = ("a", "b", "c", "d", "e")
KINDS = ("S", "N", "B")
_OLD = ("NONE", "ALL_OLD")
_OF_UPDATES = ("UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
_KEYS: dict[str, list[Any]] = {
    "S": ["a", "ab", "b", "\x00", "ä", "a\x00b", "x" * 30],
    "N": ["0", "1", "-1", "1.5", "10", "-0.001", "1000", "99999999999999999999", "-2"],
    "B": [b"a", b"\x00", b"ab", b"\xff", b"\xff\xff", b"a\x00"],
}
_NO_KEYS: dict[str, list[Any]] = {"S": [""], "N": [], "B": [b""]}
_BAD_KEYS: dict[str, list[Any]] = {"S": ["", "k" * 2049], "N": ["x", "1e126"], "B": [b""]}


class Requests:
    """Draws a table and requests for it.

    Args:
        random: what decides.
        mark: a suffix for the name of the table.
    """

    def __init__(self, random: Random, mark: str) -> None:
        self.random = random
        self.table = f"t-{mark}"
        self.kinds: dict[str, str] = {}
        self.key = [("pk", self._kind("pk"))]
        if random.random() < 0.75:
            self.key.append(("sk", self._kind("sk")))
        self.indexes: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {}
        self.projections: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._drawn = [*NAMES, *NAMES, "pk", "sk"]
        self.create = self._create()

    # -- the table ---------------------------------------------------------------------------------------------------

    def _kind(self, name: str) -> str:
        return self.kinds.setdefault(name, self.random.choice(KINDS))

    def _create(self) -> dict[str, Any]:
        random = self.random
        request: dict[str, Any] = {
            "TableName": self.table,
            "KeySchema": _schema(self.key[:1], self.key[1:]),
            "BillingMode": "PAY_PER_REQUEST",
        }
        for position in range(random.randrange(3)):
            names = random.sample(
                [*NAMES[:3], "sk" if len(self.key) > 1 else "pk"], random.choice((1, 2, 2, 3))
            )
            cut = random.randrange(1, len(names) + 1)
            self._index(request, "GlobalSecondaryIndexes", f"gsi{position}", names[:cut], names[cut:])
        if len(self.key) > 1:
            for position in range(random.randrange(2)):
                self._index(
                    request, "LocalSecondaryIndexes", f"lsi{position}", ["pk"], [random.choice(NAMES[:3])]
                )
        request["AttributeDefinitions"] = [
            {"AttributeName": name, "AttributeType": kind} for name, kind in self.kinds.items()
        ]
        return request

    def _index(
        self, request: dict[str, Any], argument: str, name: str, own: list[str], sort: list[str]
    ) -> None:
        keys = [(each, self._kind(each)) for each in own], [(each, self._kind(each)) for each in sort]
        self.indexes[name] = keys
        projection: dict[str, Any] = {"ProjectionType": self.random.choice(("ALL", "KEYS_ONLY", "INCLUDE"))}
        if projection["ProjectionType"] == "INCLUDE":
            projection["NonKeyAttributes"] = self.random.sample(NAMES[3:], self.random.choice((1, 2)))
        names = [each for each, _ in (*keys[0], *keys[1], *self.key)]
        is_whole = projection["ProjectionType"] == "ALL"
        self.projections[name] = (
            self._drawn if is_whole else [*names, *projection.get("NonKeyAttributes", ())]
        )
        request.setdefault(argument, []).append(
            {"IndexName": name, "KeySchema": _schema(*keys), "Projection": projection}
        )

    # -- values ------------------------------------------------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _key_value(self, kind: str) -> dict[str, Any]:
        if self._chance(0.01):
            return {kind: self.random.choice(_BAD_KEYS[kind])}
        if self._chance(0.01):
            kind = self.random.choice(KINDS)
        return {kind: self.random.choice(_KEYS[kind])}

    def value(self, depth: int = 0) -> dict[str, Any]:
        random = self.random
        tag = random.choice(
            ("S", "N", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")[: 12 - 2 * (depth > 1)]
        )
        match tag:
            case "S" | "N" | "B":
                return {tag: random.choice([*_KEYS[tag], *_NO_KEYS[tag]])}
            case "BOOL":
                return {tag: random.random() < 0.5}
            case "NULL":
                return {tag: True}
            case "SS" | "NS" | "BS":
                few = random.sample(_KEYS[tag[0]], random.randrange(0 if self._chance(0.05) else 1, 4))
                return {tag: few}
            case "L":
                return {tag: [self.value(depth + 1) for _ in range(random.randrange(4))]}
        return {"M": {name: self.value(depth + 1) for name in random.sample(NAMES, random.randrange(4))}}

    def item_key(self) -> dict[str, Any]:
        key = {name: self._key_value(kind) for name, kind in self.key}
        if self._chance(0.01):
            key["extra"] = {"S": "x"}
        return key

    def item(self) -> dict[str, Any]:
        item = self.item_key()
        for name in self.random.sample(NAMES, self.random.randrange(len(NAMES) + 1)):
            is_key = name in self.kinds and self._chance(0.97)
            item[name] = self._key_value(self.kinds[name]) if is_key else self.value()
        return item

    # -- expressions -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._names, self._values = {}, {}

    def _name(self, name: str) -> str:
        if self._chance(0.5) and name not in ("a", "b"):
            return name
        return self._names.setdefault(f"#{name}", name) and f"#{name}"

    def path(self) -> str:
        text = self._name(self.random.choice(self._drawn))
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            text += (
                f"[{self.random.randrange(3)}]"
                if self._chance(0.4)
                else f".{self._name(self.random.choice(NAMES))}"
            )
        return text

    def placeholder(self, value: dict[str, Any]) -> str:
        name = f":v{len(self._values)}"
        self._values[name] = value
        return name

    def condition(self, depth: int = 0) -> str:
        if depth < 2 and self._chance(0.4):
            forms = ("NOT {}", "({})", "{} AND {}", "{} OR {}")
            form = self.random.choice(forms)
            return form.format(*(self.condition(depth + 1) for _ in range(form.count("{"))))
        return self.random.choice(
            (self._called, self._called, self._sized, self._between, self._listed, self._compared)
        )()

    def _called(self) -> str:
        path = self.path()
        kind = self.random.choice((*KINDS, "BOOL", "NULL", "SS", "NS", "BS", "L", "M"))
        argument, values = self.random.choice(
            (
                ("attribute_exists({})", []),
                ("attribute_not_exists({})", []),
                ("attribute_type({}, {})", [{"S": kind}]),
                ("begins_with({}, {})", [self.scalar(self.random.choice("SSB"))]),
                ("contains({}, {})", [self.value()]),
            )
        )
        return argument.format(path, *map(self.placeholder, values))

    def _sized(self) -> str:
        path, kind = self.path(), self.random.choice(("S", "B", "SS", "NS", "BS", "L", "M"))
        number = self.placeholder(self.scalar("N"))
        typed = f"attribute_type({path}, {self.placeholder({'S': kind})})"
        return f"({typed} AND size({path}) {self.random.choice('<>')} {number})"

    def _between(self) -> str:
        kind = self.random.choice(KINDS)
        low, high = (self.placeholder(self.scalar(kind)) for _ in range(2))
        return f"{self.path()} BETWEEN {low} AND {high}"

    def _listed(self) -> str:
        values = [self.placeholder(self.value()) for _ in range(self.random.randrange(1, 4))]
        return f"{self.path()} IN ({', '.join(values)})"

    def _compared(self) -> str:
        sign = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
        left = self.path()
        if self._chance(0.3):
            other = self.path()
            return f"attribute_exists({left}) AND attribute_exists({other}) AND {left} {sign} {other}"
        value = self.value() if sign in ("=", "<>") else self.scalar(self.random.choice(KINDS))
        return f"{left} {sign} {self.placeholder(value)}"

    def scalar(self, kind: str) -> dict[str, Any]:
        return {kind: self.random.choice(_KEYS[kind])}

    def update(self) -> str:
        random = self.random
        clauses: dict[str, list[str]] = {}
        for _ in range(random.choice((1, 1, 2, 3))):
            path = self.path() if self._chance(0.3) else self._name(random.choice(NAMES))
            match random.randrange(8):
                case 0 | 1 | 2:
                    clauses.setdefault("SET", []).append(f"{path} = {self._source(path)}")
                case 3:
                    sign = random.choice("+-")
                    left = (
                        f"if_not_exists({path}, {self.placeholder({'N': '0'})})"
                        if self._chance(0.5)
                        else path
                    )
                    number = self.placeholder({"N": random.choice(_KEYS["N"])})
                    clauses.setdefault("SET", []).append(f"{path} = {left} {sign} {number}")
                case 4:
                    clauses.setdefault("REMOVE", []).append(path)
                case 5 | 6:
                    value = random.choice(({"N": "2.5"}, self.sets()))
                    clauses.setdefault("ADD", []).append(f"{path} {self.placeholder(value)}")
                case 7:
                    clauses.setdefault("DELETE", []).append(f"{path} {self.placeholder(self.sets())}")
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items())

    def sets(self) -> dict[str, Any]:
        kind = self.random.choice(KINDS)
        return {f"{kind}S": self.random.sample(_KEYS[kind], self.random.randrange(1, 3))}

    def _source(self, path: str) -> str:
        match self.random.randrange(5):
            case 0:
                return f"if_not_exists({self.path()}, {self.placeholder(self.value())})"
            case 1:
                parts = [self.placeholder({"L": [self.value(2)]}), path]
                self.random.shuffle(parts)
                return f"list_append({parts[0]}, {parts[1]})"
            case 2:
                return self.path()
        name = path.lstrip("#")
        if name in self.kinds and self._chance(0.9):
            return self.placeholder(self._key_value(self.kinds[name]))
        return self.placeholder(self.value())

    def _placeholders(self) -> dict[str, Any]:
        if self._chance(0.01):
            self._names["#unused"] = "x"
        request: dict[str, Any] = {}
        if self._names:
            request["ExpressionAttributeNames"] = dict(self._names)
        if self._values:
            request["ExpressionAttributeValues"] = dict(self._values)
        return request

    # -- requests ----------------------------------------------------------------------------------------------------

    def write(self, verb: str, condition: float = 0.5) -> dict[str, Any]:
        """The parameters that a Put, Update, Delete or ConditionCheck has, alone or in a transaction."""
        self._begin()
        request: dict[str, Any] = {"TableName": self.table}
        if verb == "Put":
            request["Item"] = self.item()
        else:
            request["Key"] = self.item_key()
        if verb == "Update" and self._chance(0.95):
            request["UpdateExpression"] = self.update()
        if verb == "ConditionCheck" or self._chance(condition):
            request["ConditionExpression"] = self.condition()
            if self._chance(0.5):
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return request | self._placeholders()

    def request(self) -> tuple[str, dict[str, Any]]:
        """An operation and its parameters."""
        draws: dict[str, tuple[int, Callable[[], dict[str, Any]]]] = {
            "PutItem": (5, lambda: self.write("Put", 0.2) | self._returns(*_OLD)),
            "UpdateItem": (4, lambda: self.write("Update", 0.3) | self._returns(*_OLD, *_OF_UPDATES)),
            "DeleteItem": (1, lambda: self.write("Delete") | self._returns(*_OLD)),
            "GetItem": (1, self._get),
            "BatchGetItem": (1, lambda: {"RequestItems": {self.table: self._keys()}}),
            "TransactGetItems": (1, lambda: {"TransactItems": [{"Get": self._get()} for _ in self._few()]}),
            "BatchWriteItem": (
                1,
                lambda: {"RequestItems": {self.table: [self._batched() for _ in self._few()]}},
            ),
            "TransactWriteItems": (2, self._transaction),
            "Query": (3, self.query),
            "Scan": (1, self._scan),
        }
        (operation,) = self.random.choices([*draws], [weight for weight, _ in draws.values()])
        return operation, draws[operation][1]()

    def _few(self) -> range:
        return range(self.random.randrange(1, 5))

    def _get(self) -> dict[str, Any]:
        return {"TableName": self.table, **self._read(self.item_key())}

    def _transaction(self) -> dict[str, Any]:
        verbs = self.random.choices(("Put", "Update", "Delete", "ConditionCheck"), k=len(self._few()))
        request: dict[str, Any] = {"TransactItems": [{verb: self.write(verb, 0.3)} for verb in verbs]}
        if self._chance(0.3):
            request["ClientRequestToken"] = f"{self.table}-{self.random.randrange(3)}"
        return request

    def _scan(self) -> dict[str, Any]:
        self._begin()
        request: dict[str, Any] = {"TableName": self.table}
        if self._chance(0.3):
            request |= {"TotalSegments": self.random.randrange(1, 4), "Segment": 0}
        return self._page(request, self._some_index())

    def _returns(self, *allowed: str) -> dict[str, Any]:
        return {"ReturnValues": self.random.choice(allowed)} if self._chance(0.7) else {}

    def _read(self, key: dict[str, Any]) -> dict[str, Any]:
        self._begin()
        read: dict[str, Any] = {"Key": key}
        if self._chance(0.5):
            read["ProjectionExpression"] = self.projection()
            read |= self._placeholders()
        return read

    def projection(self) -> str:
        return ", ".join(self.path() for _ in range(self.random.randrange(1, 4)))

    def _keys(self) -> dict[str, Any]:
        keys = {str(key): key for key in (self.item_key() for _ in range(self.random.randrange(1, 6)))}
        read = self._read({})
        del read["Key"]
        return {"Keys": [*keys.values()], **read}

    def _batched(self) -> dict[str, Any]:
        if self._chance(0.6):
            return {"PutRequest": {"Item": self.item()}}
        return {"DeleteRequest": {"Key": self.item_key()}}

    def query(self) -> dict[str, Any]:
        self._begin()
        index = self._some_index()
        own, sort = (self.key[:1], self.key[1:]) if index is None else self.indexes[index]
        clauses = [f"{self._name(name)} = {self.placeholder(self._key_value(kind))}" for name, kind in own]
        for name, kind in sort[: self.random.randrange(len(sort) + 1)]:
            if self._chance(0.3) and (name, kind) != sort[-1]:
                clauses.append(f"{self._name(name)} = {self.placeholder(self._key_value(kind))}")
                continue
            clauses.append(self._ranged(self._name(name), kind))
            break
        self.random.shuffle(clauses)
        request: dict[str, Any] = {"TableName": self.table, "KeyConditionExpression": " AND ".join(clauses)}
        if self._chance(0.4):
            request["ScanIndexForward"] = self._chance(0.5)
        return self._page(request, index)

    def _projected(self, index: str | None) -> list[str]:
        return self.projections[index] if index is not None else self._drawn

    def _some_index(self) -> str | None:
        return self.random.choice([*self.indexes]) if self.indexes and self._chance(0.5) else None

    def _ranged(self, name: str, kind: str) -> str:
        if self._chance(0.25):
            low, high = (self.placeholder(self._key_value(kind)) for _ in range(2))
            return f"{name} BETWEEN {low} AND {high}"
        if self._chance(0.25):
            return f"begins_with({name}, {self.placeholder(self._key_value(kind))})"
        sign = self.random.choice(("=", "<", "<=", ">", ">="))
        return f"{name} {sign} {self.placeholder(self._key_value(kind))}"

    def _page(self, request: dict[str, Any], index: str | None) -> dict[str, Any]:
        if index is not None:
            request["IndexName"] = index
        if self._chance(0.4):
            # ministack filters by what an index does not have.
            everything, self._drawn = (
                self._drawn,
                self.projections[index] if index is not None else self._drawn,
            )
            request["FilterExpression"] = self.condition()
            self._drawn = everything
        if self._chance(0.4):
            request |= self._selected(index or "")
        if self._chance(0.4):
            request["Limit"] = self.random.randrange(1, 6)
        if self._chance(0.2):
            request["ConsistentRead"] = True
        return request | self._placeholders()

    def _selected(self, index: str) -> dict[str, Any]:
        # ministack does not read from the table what a local index lacks.
        if index.startswith("lsi"):
            return {"Select": self.random.choice(("ALL_PROJECTED_ATTRIBUTES", "COUNT"))}
        if self._chance(0.5):
            return {"ProjectionExpression": self.projection()}
        return {"Select": self.random.choice(("ALL_PROJECTED_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES"))}


def _schema(own: list[tuple[str, str]], sort: list[tuple[str, str]]) -> list[dict[str, str]]:
    sides: Iterator[tuple[str, str]] = iter(
        [*((name, "HASH") for name, _ in own), *((name, "RANGE") for name, _ in sort)]
    )
    return [{"AttributeName": name, "KeyType": side} for name, side in sides]
