"""Law: a field with its own ``encode=`` stands in keys as encoded, and is decoded when a key is matched back."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Key, Session, Table
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue

app = Table("encoded-keys", indexes=[GlobalIndex("GSI1")], type_attribute=None)


def written(at: datetime) -> AttributeValue:
    return {"S": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"}


def read(stored: AttributeValue) -> datetime:
    return datetime.fromisoformat(stored["S"])


Javascript = Annotated[datetime, Attribute(encode=written, decode=read)]


class Event(Entity, table=app, pk="EVENT#{name}", sk="AT#{at}#{name}"):
    name: str
    at: Annotated[datetime, InKey(), Attribute(encode=written, decode=read)]
    until: Javascript | None = None
    by_day = Index("GSI1", pk="DAY#{at:%Y-%m-%d}", sk="{until}")


class Plain(Entity, table=Table("plain-keys"), pk="PLAIN#{at}", sk="P"):
    at: datetime


class Log(Entity, table=Table("encoded-logs", type_attribute=None), pk="LOG#{name}#{at}", sk="L"):
    name: str
    at: Javascript


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MILLISECONDS = st.integers(0, 10**12).map(lambda step: NOON + timedelta(milliseconds=step))


@given(MILLISECONDS)
def test_a_key_has_the_encoded_text_and_gives_the_value_back(at: datetime) -> None:
    mapping = mapping_of(Event)
    event = Event(name="n", at=at, until=at)
    key = mapping.primary_key.of(vars(event))
    assert key["SK"] == {"S": f"AT#{written(at)['S']}#n"}
    found = index_keys(mapping, mapping.subject({}, vars(event)))
    assert found == {"GSI1PK": {"S": f"DAY#{at:%Y-%m-%d}"}, "GSI1SK": written(at)}
    assert mapping.sort is not None
    assert mapping.sort.match(key["SK"]["S"]) == {"at": at, "name": "n"}


@given(MILLISECONDS, MILLISECONDS)
def test_encoded_keys_sort_as_their_texts(one: datetime, other: datetime) -> None:
    texts = [
        str(mapping_of(Event).primary_key.of(vars(Event(name="n", at=at)))["SK"]["S"])
        for at in sorted((one, other))
    ]
    assert texts == sorted(texts)


@pytest.fixture
def session(engine: Transport) -> Iterator[Session]:
    with Session(transport=engine) as session:
        session.create_table(app)
        yield session
    engine.call(Call("DeleteTable", {"TableName": app.name}))


def test_a_query_compares_with_the_encoded_text(engine: Transport, session: Session) -> None:
    times = [NOON + timedelta(milliseconds=step) for step in range(5)]
    for at in times:
        item = {"PK": {"S": "EVENT#n"}, "SK": {"S": f"AT#{written(at)['S']}#n"}, "name": {"S": "n"}}
        engine.call(Call("PutItem", {"TableName": app.name, "Item": item}))
    found = session.query(Event, name="n").ge(at=times[1]).lt(at=times[4]).all()
    assert [event.at for event in found] == times[1:4]
    assert session.get_one(Key(Event, name="n", at=times[2])).at == times[2]


def test_a_key_with_a_time_in_another_spelling_is_not_read() -> None:
    item = {"PK": {"S": "PLAIN#2024-01-01T12:00:00.000Z"}, "SK": {"S": "P"}, "_type": {"S": "Plain"}}
    with pytest.raises(DecodeError, match=r"another spelling .* or encode= and decode= if it is in a key"):
        mapping_of(Plain).loader.hydrate({**item, "at": {"S": "2024-01-01T12:00:00.000Z"}})


def test_the_remedy_for_another_spelling_is_its_encoding() -> None:
    """No ``{at:raw}``, which escapes nothing and changes nothing."""
    key = {"PK": {"S": "LOG#n#2024-01-01T12:00:00.000000Z"}, "SK": {"S": "L"}}
    remedy = r"write \{name:raw\} in the template, or let encode= of at return what it has"
    with pytest.raises(DecodeError, match=remedy):
        mapping_of(Log).loader.hydrate({**key, "name": {"S": "n"}, "at": written(NOON)})
