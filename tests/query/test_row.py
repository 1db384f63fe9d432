"""``query.values``: rows of some fields, as the whole entities would have them, and what is read for them."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from pydantic import Field, SecretStr

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, Session, Table
from dynaorm.errors import DecodeError, UnknownField, UsageError
from dynaorm.flow.call import Call, Transport
from dynaorm.session import Row
from dynaorm.testing.faults import FaultyTransport

app = Table(
    "values-app",
    indexes=[
        GlobalIndex("GSI1", projection=("_type", "email", "hits", "until")),
        GlobalIndex("GSI2", projection="KEYS_ONLY"),
    ],
)


class User(Entity, table=app, pk="ORG#{org}", sk="USER#{name}"):
    org: str
    name: str
    email: str
    hits: int = 3
    tags: set[str] = Field(default_factory=set)
    made: list[int] = Field(default_factory=lambda: [7])
    note: Annotated[str | None, Attribute("remark", formerly=("comment",))] = None
    joined: datetime | None = None
    secret: SecretStr = SecretStr("s")
    hint: str = Field(default="h", repr=False)
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_email = Index("GSI1", pk="EMAILS#{org}", sk="{email}")
    by_hits = Index("GSI2", pk="HITS#{org}", sk="{hits:05d}")


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def users(session: Session, wire: FaultyTransport) -> Session:
    session.save(User(org="o", name="a", email="a@x", note="n", joined=NOON, tags={"t"}))
    session.save(User(org="o", name="b", email="b@x", hits=9))
    wire.calls.clear()
    return session


def sent(wire: FaultyTransport) -> list[tuple[str, list[str]]]:
    """The operations, each with the attributes that it asked for."""
    found = []
    for call in wire.calls:
        names = call.request.get("ExpressionAttributeNames", {})
        asked = call.request.get("ProjectionExpression", "")
        found.append((call.operation, sorted(names[one] for one in asked.split(", ")) if asked else []))
    wire.calls.clear()
    return found


def test_a_row_has_the_values_by_name_and_by_place(users: Session) -> None:
    rows = users.query(User, org="o").values("email", "joined", "hits").all()
    assert rows == [("a@x", NOON, 3), ("b@x", None, 9)]
    email, joined, hits = rows[0]
    assert (rows[0].email, rows[0].joined, rows[0].hits) == (email, joined, hits)
    assert repr(rows[1]) == "Row(email='b@x', joined=None, hits=9)"
    assert isinstance(rows[0], Row)
    with pytest.raises(AttributeError):
        _ = rows[0].name


def test_only_the_attributes_are_asked_for(users: Session, wire: FaultyTransport) -> None:
    users.query(User, org="o").values("email", "note").all()
    key = ["GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"]
    ((operation, asked),) = sent(wire)
    assert operation == "Query"
    assert asked == ["PK", "SK", "_type", "comment", "email", "remark", "until"]
    assert not set(key) & set(asked)


def test_an_index_that_has_the_attributes_answers_alone(users: Session, wire: FaultyTransport) -> None:
    assert users.query(User.by_email, org="o").values("email", "hits").all() == [("a@x", 3), ("b@x", 9)]
    assert [operation for operation, _ in sent(wire)] == ["Query"]
    assert users.query(User.by_email, org="o").filter(F.hits > 5).values("email").all() == [("b@x",)]
    assert [operation for operation, _ in sent(wire)] == ["Query"]


def test_a_value_that_does_not_fit_is_reported_and_others_do_not_matter(
    users: Session, moto: Transport
) -> None:
    change = {"UpdateExpression": "SET hits = :x", "ExpressionAttributeValues": {":x": {"S": "many"}}}
    key = {"PK": {"S": "ORG#o"}, "SK": {"S": "USER#a"}}
    moto.call(Call("UpdateItem", {"TableName": "values-app", "Key": key, **change}))
    assert users.query(User, org="o").values("email").all() == [("a@x",), ("b@x",)]
    with pytest.raises(DecodeError, match="hits"):
        users.query(User, org="o").values("hits").all()
    problems: list[DecodeError] = []
    lenient = Session(transport=moto, on_decode_error=problems.append)
    assert lenient.query(User, org="o").values("hits").all() == [(9,)]
    assert len(problems) == 1


def test_no_repr_shows_a_secret(users: Session) -> None:
    (row, _) = users.query(User, org="o").values("secret", "hint").all()
    assert repr(row) == "Row(secret=**********, hint=**********)"
    assert (row.secret.get_secret_value(), row.hint) == ("s", "h")


@pytest.mark.parametrize(
    ("names", "error"), [(("mail",), UnknownField), ((), UsageError), (("email", "email"), UsageError)]
)
def test_a_wrong_name_is_refused_before_anything_is_sent(
    users: Session, wire: FaultyTransport, names: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        users.query(User, org="o").values(*names)
    assert wire.calls == []
