"""Finding an entity by a unique value: the guard, then its owner, both read consistently."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import Entity, ExpiresAt, Session, Table, Unique
from dynaorm.errors import Contention, DecodeError, InvalidValue, OwnerUnknown, UnknownField, UsageError
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport

NOW = 1_700_000_000

app = Table("lookup-app")
locks = Table("lookup-locks", pk="lock", sk=None)
away = Table("lookup-away", guard_table=locks)


class User(Entity, table=app, pk="USER#{user_id}", sk="U", unique={"badge": ("tenant", "number")}):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    tenant: str = "t"
    number: int | None = None


class Coupon(Entity, table=app, pk="COUPON#{code}", sk="C"):
    code: str
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Member(Entity, table=away, pk="MEMBER#{name}", sk="M"):
    name: str
    nick: Annotated[str, Unique()]


def digits_of(text: str) -> str:
    if not text.isdecimal():
        raise ValueError("has something else than digits")
    return text


class Line(Entity, table=app, pk="LINE#{name}", sk="L"):
    name: str
    phone: Annotated[str | None, Unique(normalize=digits_of)] = None


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str


def with_key(answer: Any) -> Any:
    """The same with the key of a guard item, in whatever table, which DynamoDB returns with every item."""
    if "Responses" in answer:
        return {"Responses": [*map(with_key, answer["Responses"])]}
    key = {name: {"S": "email#x"} for name in ("PK", "SK", "lock")}
    return {"Item": {**key, **answer["Item"]}} if "Item" in answer else answer


def lookup(entity: type[Any], answers: list[Answer], **fields: Any) -> tuple[Any, list[Mapping[str, Any]]]:
    transport = ScriptedTransport(*map(with_key, answers))
    found = Session(transport=transport, clock=FakeClock(NOW)).get_by(entity, **fields)
    assert transport.remaining == 0
    operations = [call.operation for call in transport.calls]
    assert operations[:2] == ["GetItem"] * len(operations[:2])
    assert operations[2:] == ["TransactGetItems"] * len(operations[2:])
    return found, [call.request for call in transport.calls]


def owner(user_id: str) -> dict[str, Any]:
    return {"Item": {"owner": {"M": {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "U"}}}}}


def user(user_id: str, **attributes: Any) -> dict[str, Any]:
    item: Item = {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "U"}, "_type": {"S": "User"}}
    return {"Item": {**item, "user_id": {"S": user_id}, "tenant": {"S": "t"}, **attributes}}


EMAIL = {"email": {"S": "Bob@X"}}


def test_a_value_is_found_by_two_consistent_reads_by_key() -> None:
    found, requests = lookup(User, [owner("1"), user("1", **EMAIL)], email="BOB@x")
    assert found == User(user_id="1", email="Bob@X")
    assert requests == [
        {
            "TableName": "lookup-app",
            "Key": {"PK": {"S": "email#bob@x"}, "SK": {"S": "email#bob@x"}},
            "ConsistentRead": True,
        },
        {
            "TableName": "lookup-app",
            "Key": {"PK": {"S": "USER#1"}, "SK": {"S": "U"}},
            "ConsistentRead": True,
        },
    ]


def at_once(*answers: Any) -> dict[str, Any]:
    return {"Responses": [*answers]}


OTHER = {"email": {"S": "other@x"}}


def test_a_value_that_changed_hands_meanwhile_is_read_as_of_one_moment() -> None:
    answers: list[Answer] = [owner("1"), user("1", **OTHER), at_once(owner("1"), user("1", **EMAIL))]
    found, requests = lookup(User, answers, email="bob@x")
    assert found.user_id == "1"
    assert requests[2] == {
        "TransactItems": [
            {"Get": {"TableName": "lookup-app", "Key": requests[number]["Key"]}} for number in (0, 1)
        ]
    }


def test_a_value_is_followed_from_owner_to_owner() -> None:
    """Each of the two had lost it to the other when its item was read."""
    answers: list[Answer] = [
        owner("1"),
        user("1", **OTHER),
        at_once(owner("2"), user("1", **OTHER)),
        at_once(owner("1"), user("2", **OTHER)),
        at_once(owner("1"), user("1", **EMAIL)),
    ]
    assert lookup(User, answers, email="bob@x")[0].user_id == "1"


def test_a_value_that_changes_hands_all_the_time_is_not_said_to_be_free() -> None:
    looks = [at_once(owner(name), user("1", **OTHER)) for name in "21" * 6]
    with pytest.raises(Contention, match="email changed hands during each of 12 reads"):
        lookup(User, [owner("1"), user("1", **OTHER), *looks], email="bob@x")


@pytest.mark.parametrize(
    "last", [at_once({}, user("1")), at_once(owner("1"), user("1")), at_once(owner("1"), {})]
)
def test_an_owner_who_gave_the_value_up_meanwhile_is_not_returned(last: Answer) -> None:
    assert lookup(User, [owner("1"), user("1"), last], email="bob@x")[0] is None


def test_a_guard_that_names_itself_is_of_no_entity() -> None:
    key = {"PK": {"S": "email#bob@x"}, "SK": {"S": "email#bob@x"}}
    assert lookup(User, [{"Item": {"owner": {"M": key}}}], email="bob@x")[0] is None


@pytest.mark.parametrize(
    "owner",
    [
        {"S": "USER#1"},
        {"M": {}},
        {"M": {"PK": {"S": "USER#1"}}},
        {"M": {"PK": {"S": "USER#1"}, "SK": {"S": ""}}},
        {"M": {"PK": {"S": "USER#1"}, "SK": {"N": "1"}}},
    ],
)
def test_a_guard_whose_owner_is_no_primary_key_is_unknown(owner: Any) -> None:
    with pytest.raises(OwnerUnknown):
        lookup(User, [{"Item": {"owner": owner}}], email="x")


def test_a_guard_whose_expiry_is_no_time_never_expires() -> None:
    guard: Item = {"owner": {"M": {"PK": {"S": "COUPON#c"}, "SK": {"S": "C"}}}, "until": {"S": "1"}}
    answers: list[Answer] = [{"Item": guard}, {}, at_once({"Item": guard}, {})]
    assert len(lookup(Coupon, answers, alias="a")[1]) == 3


def test_a_value_that_cannot_be_normalised_is_refused_and_nothing_is_sent() -> None:
    with pytest.raises(InvalidValue, match="has something else than digits") as refusal:
        lookup(Line, [], phone="1-2")
    assert (refusal.value.entity, refusal.value.field, refusal.value.value) == ("Line", "phone", "1-2")


def test_a_stored_value_that_cannot_be_normalised_makes_its_item_unreadable() -> None:
    key: Item = {"PK": {"S": "LINE#a"}, "SK": {"S": "L"}}
    stored = {"Item": {**key, "_type": {"S": "Line"}, "name": {"S": "a"}, "phone": {"S": "1-2"}}}
    with pytest.raises(DecodeError, match="has something else than digits"):
        lookup(Line, [{"Item": {"owner": {"M": key}}}, stored], phone="12")


def test_a_guard_of_an_entity_in_a_third_table_is_not_ours() -> None:
    guard = {"owner": {"M": {"table": {"S": "elsewhere"}, "PK": {"S": "MEMBER#m"}, "SK": {"S": "M"}}}}
    assert lookup(Member, [{"Item": guard}], nick="n")[0] is None


@pytest.mark.parametrize(
    ("entity", "fields", "error", "message"),
    [
        (User, {"emial": "x"}, UnknownField, "did you mean 'email'"),
        (
            User,
            {"user_id": "x"},
            UsageError,
            r"made of \(user_id\); use the fields of one that is: \(email\)",
        ),
        (User, {"tenant": "t"}, UsageError, r"\(tenant, number\)"),
        (User, {}, UsageError, "no unique constraint"),
        (Plain, {"name": "x"}, UsageError, r"declare one with Unique\(\)"),
        (User, {"email": 5}, InvalidValue, r"User\.email = 5"),
        (User, {"tenant": "t", "number": "seven"}, InvalidValue, r"User\.number = 'seven'"),
    ],
)
def test_what_cannot_be_looked_up_is_refused_without_reading(
    entity: type[Entity], fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        lookup(entity, [], **fields)
