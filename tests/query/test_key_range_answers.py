"""What engines answer to the conditions, after the check, is what plain Python finds among a few hundred keys."""

import operator
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template.compile import compile_template
from dynaorm.entity.template.key_part import KeyPart, key_part, versioned_key_part
from dynaorm.entity.template.version import versioned
from dynaorm.entity.text.of_type import scalar_of
from dynaorm.entity.text.scalar import Scalar
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.condition import And, equals, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import AttributeValue
from dynaorm.query.key_range import Bound, Operator
from dynaorm.testing.endpoint import transport_to
from tests.query.asked import Asked

LETTERS = "abAB_%#'\"!$~ é\uffff\U0001f600"
ENTITIES = 240
QUESTIONS = 40
BATCH = 25


COMPARED: dict[Operator, Callable[..., bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda own, low, high: low <= own <= high,
    "begins_with": lambda own, prefix: own.startswith(prefix),
}


@dataclass(frozen=True)
class Case:
    """A key of one type, and the field of it that is bounded."""

    template: str
    field: str
    kind: KeyKind = "S"
    version: str | None = None

    @property
    def part(self) -> KeyPart:
        found: dict[str, Scalar | None] = {
            "name": scalar_of(str),
            "other": scalar_of(str),
            "number": scalar_of(int),
            "content": scalar_of(bytes),
        }
        scalars = {name: scalar for name, scalar in found.items() if scalar is not None}
        inner = compile_template(self.template, scalars, kind=self.kind, sort=True)
        attribute = KeyAttribute("SK", self.kind)
        if self.version is None:
            return key_part(attribute, inner, 1024)
        return versioned_key_part(attribute, versioned(self.version, inner), inner)


CASES = [
    Case("{name}", "name"),
    Case("P_{name}#{other}", "name"),
    Case("{name}~{number:03d}", "number"),
    Case("{number:03d:desc}_{name}", "number"),
    Case("A%{name}", "name", version="v{version}_{sk}"),
    Case("{name}", "name", version="{sk}_v{version}"),
    Case("{number}", "number", "N"),
    Case("{content}", "content", "B"),
    Case("{content}", "content", "B", version="v{version}_{sk}"),
]


def some(random: Random, field: str) -> Any:
    if field == "number":
        return random.randrange(40)
    if field == "content":
        return random.choice([b"a", b"b", b"v", b"\x00"]) + random.choice([b"", b"\x7f", b"\x80", b"\xff"])
    return "".join(random.choices(LETTERS, k=random.randrange(1, 4)))


def a_question(random: Random, case: Case, part: KeyPart) -> tuple[dict[str, Any], tuple[Bound, ...]]:
    before = part.fields[: part.fields.index(case.field)]
    equal = {name: some(random, name)[:1] for name in before}
    low, high = some(random, case.field), some(random, case.field)
    signs: list[tuple[Operator, ...]] = [
        ("<",),
        ("<=",),
        (">",),
        (">=",),
        (">=", "<"),
        (">", "<="),
        ("between",),
    ]
    if case.field != "number":
        signs += [("begins_with",)]
    chosen = random.choice(signs)
    if chosen == ("between",):
        return equal, (Bound(case.field, "between", (low, high)),)
    if chosen == ("begins_with",):
        return equal, (Bound(case.field, "begins_with", (low[:1],)),)
    return equal, tuple(
        Bound(case.field, sign, (value,)) for sign, value in zip(chosen, (low, high), strict=False)
    )


def is_wanted(
    part: KeyPart, equal: dict[str, Any], bounds: tuple[Bound, ...], values: dict[str, Any]
) -> bool:
    assert part.template is not None
    (piece,) = [one for one in part.template.pieces if one.placeholder.field == bounds[0].field]

    def text(value: Any) -> Any:
        return value if part.attribute.kind != "S" or piece.placeholder.desc else piece.write(value)

    own = text(values[bounds[0].field])
    asked = [(bound.operator, [text(value) for value in bound.values]) for bound in bounds]
    return all(values[name] == value for name, value in equal.items()) and all(
        COMPARED[sign](own, *others) for sign, others in asked
    )


@pytest.fixture(scope="module")
def transport(ministack_endpoint: str) -> Iterator[Transport]:
    with closing(transport_to(ministack_endpoint)) as found:
        yield found


def create(transport: Transport, table: str, kind: KeyKind) -> None:
    schema = [("PK", "HASH", "S"), ("SK", "RANGE", kind)]
    request = {
        "TableName": table,
        "KeySchema": [{"AttributeName": name, "KeyType": role} for name, role, _ in schema],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": one} for name, _, one in schema],
        "BillingMode": "PAY_PER_REQUEST",
    }
    transport.call(Call("CreateTable", request))


def put_all(transport: Transport, table: str, keys: list[AttributeValue]) -> None:
    for start in range(0, len(keys), BATCH):
        puts = [
            {"PutRequest": {"Item": {"PK": {"S": "p"}, "SK": key}}} for key in keys[start : start + BATCH]
        ]
        transport.call(Call("BatchWriteItem", {"RequestItems": {table: puts}}))


def answer(transport: Transport, table: str, asked: Asked) -> list[Any]:
    """The keys that the engine finds and the tests let through. Versions are told by their class."""
    if asked.is_empty:
        return []
    names, partition = Placeholders(), equals("PK", {"S": "p"})
    condition = partition if asked.condition is None else And((partition, asked.condition))
    request: dict[str, Any] = {"TableName": table, "KeyConditionExpression": render(condition, names)}
    request |= {"ExpressionAttributeNames": names.names, "ExpressionAttributeValues": names.values}
    found = [content(item["SK"]) for item in transport.call(Call("Query", request))["Items"]]
    return [key for key in found if asked.part.match(key) is not None and asked.by_key(key)]


def content(key: AttributeValue) -> Any:
    ((_, found),) = key.items()
    return found


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.kind} {case.template} {case.version or ''}".strip()
)
def test_an_engine_answers_what_python_finds(
    transport: Transport, unique_name: Callable[[str], str], case: Case
) -> None:
    random, part, table = Random(7), case.part, unique_name("ranges")
    entities: dict[Any, dict[str, Any]] = {}
    for _ in range(ENTITIES):
        values = {name: some(random, name) for name in part.fields}
        key = part.render(values)
        assert key is not None
        entities[key] = values
    versions = (
        {part.version.number(one, values) for values in entities.values() for one in (1, 10)}
        if part.version
        else set()
    )
    create(transport, table, case.kind)
    put_all(transport, table, [{case.kind: key} for key in {*entities, *versions} if key is not None])
    for _ in range(QUESTIONS):
        equal, bounds = a_question(random, case, part)
        expected = [key for key, values in entities.items() if is_wanted(part, equal, bounds, values)]
        assert answer(transport, table, Asked(part, equal, bounds)) == sorted(
            expected, key=int if case.kind == "N" else None
        ), (
            equal,
            bounds,
        )
    transport.call(Call("DeleteTable", {"TableName": table}))
