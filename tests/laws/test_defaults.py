"""Absent means the default: of classes, rows and conditions drawn at random.

Python over the loaded entity, the resolved condition evaluated here, and the filter of an engine have to agree. A field
with a ``default_factory`` has no value while its attribute is absent.

ministack gives NULL a size, refuses begins_with where an item stores no text, and finds no bytes within bytes. So it is
asked about the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings
from pydantic import BaseModel, Field

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import ConditionFailed, UsageError
from dynaorm.item.condition import Condition, holds, render
from dynaorm.item.path import Placeholders, value_at
from dynaorm.item.resolve import resolve
from dynaorm.item.update import Change
from dynaorm.testing.ministack import transport_to
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue
from tests.laws.defaults import Case, by_python, cases, numbers

Understood: TypeAlias = Callable[[str, str], bool]
"""Whether an engine understands an expression with these values."""


def by_engine(
    transport: Transport, table: str, condition: Condition, understood: Understood
) -> set[str] | None:
    """The keys of the rows that an engine finds; None if it does not understand the condition."""
    placeholders = Placeholders()
    try:
        text = render(condition, placeholders)
    except UsageError:  # longer than DynamoDB accepts
        return None
    if not understood(text, repr(placeholders.values)):
        return None
    request: dict[str, Any] = {"TableName": table, "FilterExpression": text}
    request["ExpressionAttributeNames"] = placeholders.names
    if placeholders.values:
        request["ExpressionAttributeValues"] = placeholders.values
    return {item["PK"]["S"] for item in transport.call(Call("Scan", request))["Items"]}


def check(case: Case, transport: Transport | None = None, understood: Understood = lambda *_: True) -> None:
    table = f"defaults-{next(numbers)}"
    if transport is not None:
        transport.call(Call("CreateTable", {"TableName": table, **KEYS}))
        for row in case.rows:
            transport.call(Call("PutItem", {"TableName": table, "Item": row}))
    for asked in case.asked:
        condition = resolve(asked.condition, FieldResolver(case.mapping))
        expected = {row["PK"]["S"] for row in case.rows if by_python(case, asked, row)}
        here = {row["PK"]["S"] for row in case.rows if holds(condition, row)}
        assert here == expected, asked.text
        if transport is not None:
            assert by_engine(transport, table, condition, understood) in (expected, None), asked.text
    if transport is not None:
        transport.call(Call("DeleteTable", {"TableName": table}))


KEYS: Final[Mapping[str, Any]] = {
    "KeySchema": [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(scope="module")
def server(ministack_endpoint: str) -> Iterator[Transport]:
    transport = transport_to(ministack_endpoint)
    yield transport
    transport.close()


@given(cases())
@settings(max_examples=100)
def test_a_condition_means_what_python_says_of_the_loaded_entity(case: Case) -> None:
    check(case)


@given(case=cases())
@settings(max_examples=15)
def test_a_strict_moto_finds_what_python_finds(engine: Transport, case: Case) -> None:
    check(case, engine)


@given(case=cases())
@settings(max_examples=15)
def test_ministack_finds_what_python_finds(server: Transport, case: Case) -> None:
    def understood(text: str, values: str) -> bool:
        is_sized = "size(" in text and "NULL" in repr(case.rows)
        is_searched = "begins_with" in text or ("contains" in text and "'B'" in values)
        return not (is_sized or is_searched)

    check(case, server, understood)


# -- what users see ----------------------------------------------------------------------------------------------------

app = Table("defaults")


class Limits(BaseModel):
    quota: int = 50
    label: str | None = None


class Folder(Entity, table=app, pk="FOLDER#{name}", sk="F"):
    name: str
    files: int = 0
    quota: int = 50
    opt: int | None = 5
    tags: set[str] = set()  # noqa: RUF012
    marks: set[str] | None = None
    steps: list[int] = [1, 2]  # noqa: RUF012
    counts: dict[str, int] = {}  # noqa: RUF012
    limits: Limits = Limits()
    bound: Limits | None = None
    made: list[int] = Field(default_factory=lambda: [7])


BARE: Final = Key(Folder, name="bare")


@pytest.fixture
def session(server: Transport) -> Iterator[Session]:
    """A session whose table holds one folder, with no attribute but its name."""
    with Session(transport=server) as session:
        session.create_table(app)
        bare = {**BARE.primary_key, "_type": {"S": "Folder"}, "name": {"S": "bare"}}
        server.call(Call("PutItem", {"TableName": "defaults", "Item": bare}))
        yield session


def stored(server: Transport, name: str) -> AttributeValue | None:
    item = server.call(Call("GetItem", {"TableName": "defaults", "Key": BARE.primary_key}))["Item"]
    return value_at(item, (name,))


FOUND: Final = [
    F.files == 0,
    F.files < 5,
    ~(F.files != 0),
    F.quota.between(40, 60),
    F.quota.is_in([1, 50]),
    F.opt == 5,
    F.tags == frozenset(),
    F.tags.size() == 0,
    ~F.tags.contains("a"),
    F.marks == None,  # noqa: E711
    F.steps.contains(2),
    F.counts.size() < 1,
    F.limits.quota == 50,
    F.limits.label == None,  # noqa: E711
    F.quota == F.limits.quota,
    F.quota.missing(),
    F.made.missing(),
    ~(F.made.size() == 1),
]
PASSED_OVER: Final = [
    F.files != 0,
    F.files > 0,
    F.files.is_in([]),
    F.opt == None,  # noqa: E711
    F.tags != set(),
    F.marks != None,  # noqa: E711
    F.marks == {"a"},
    F.bound.quota == 50,
    F.quota.exists(),
    F.made == [7],
    F.made.contains(7),
]


@pytest.mark.parametrize("condition", FOUND, ids=repr)
def test_a_filter_and_a_check_accept_what_absence_means(session: Session, condition: Condition) -> None:
    assert [one.name for one in session.scan(Folder).filter(condition).all()] == ["bare"]
    with session.transaction() as tx:
        tx.check(BARE, condition)


@pytest.mark.parametrize("condition", PASSED_OVER, ids=repr)
def test_a_filter_and_a_check_refuse_what_absence_does_not_mean(
    session: Session, condition: Condition
) -> None:
    assert session.scan(Folder).filter(condition).all() == []
    with pytest.raises(ConditionFailed), session.transaction() as tx:
        tx.check(BARE, condition)


def test_what_dynaorm_saves_is_found_by_its_defaults(session: Session) -> None:
    session.save(Folder(name="saved"))
    for condition in [*FOUND[:15], F.made == [7], F.made.size() == 1]:
        assert "saved" in {one.name for one in session.scan(Folder).filter(condition).all()}, condition
    session.delete(Key(Folder, name="saved"))


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        (F.files.add(1), "files", {"N": "1"}),
        (F.quota.add(10), "quota", {"N": "60"}),
        (F.quota.add(-50), "quota", {"N": "0"}),
        (F.opt.add(1), "opt", {"N": "6"}),
        (F.tags.add({"a"}), "tags", {"SS": ["a"]}),
        (F.tags.discard("a"), "tags", None),
        (F.steps.append(3), "steps", {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}),
        (F.steps.prepend(0), "steps", {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}),
        (F.steps[0].set(9), "steps", {"L": [{"N": "9"}, {"N": "2"}]}),
        (F.counts["k"].set(1), "counts", {"M": {"k": {"N": "1"}}}),
        (F.counts["k"].add(1), "counts", {"M": {"k": {"N": "1"}}}),
        (F.limits.quota.set(1), "limits", {"M": {"quota": {"N": "1"}}}),
        (F.limits.quota.add(1), "limits", {"M": {"quota": {"N": "51"}}}),
        (F.bound.quota.set(1), "bound", {"M": {"quota": {"N": "1"}}}),
        (F.bound.quota.add(1), "bound", {"M": {"quota": {"N": "51"}}}),
    ],
    ids=repr,
)
def test_a_change_starts_from_what_absence_means(
    session: Session, server: Transport, change: Change, name: str, expected: AttributeValue | None
) -> None:
    session.update(BARE, change)
    found = stored(server, name)
    if found is not None and "M" in found:
        found = {"M": {member: value for member, value in found["M"].items() if member != "label"}}
    assert found == expected


def test_a_change_inside_of_a_stored_map_is_one_request(session: Session) -> None:
    session.update(BARE, F.counts["k"].set(1))
    changed = session.update(BARE, F.counts["k"].add(1))
    assert changed.counts == {"k": 2}
    with session.transaction() as tx:
        tx.update(BARE, F.counts["j"].add(1))
    assert session.get_one(Folder, name="bare").counts == {"k": 2, "j": 1}


def test_a_transaction_changes_a_part_of_an_absent_map(session: Session, server: Transport) -> None:
    with session.transaction() as tx:
        tx.update(BARE, F.counts["k"].add(1))
        tx.save(Folder(name="other"))
    assert stored(server, "counts") == {"M": {"k": {"N": "1"}}}
    session.delete(Key(Folder, name="other"))


def test_a_part_of_nothing_is_not_removed(session: Session) -> None:
    with pytest.raises(UsageError, match="Folder cannot be changed so: the path leads through 'bound'"):
        session.update(BARE, F.bound.quota.remove())
