"""All seven key conditions of DynamoDB, on string, number and binary sort keys: AWS's article on sort keys."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, BinaryKey, Entity, NumberKey, Table
from tests.story.engine import Engine

log = Table(
    "EventLog", pk="deviceID", sk=NumberKey("timestamp"), type_attribute=None, revision_attribute=None
)
texts = Table("Texts", pk="pk", sk="sk", type_attribute=None, revision_attribute=None, key_fields="in_key")
blobs = Table("Blobs", pk="pk", sk=BinaryKey("sk"), type_attribute=None, revision_attribute=None)
times = Table("Times", pk="pk", sk=NumberKey("epoch"), type_attribute=None, revision_attribute=None)


class Event(Entity, table=log):
    """Both keys are fields of the entity, so no template is needed."""

    device_id: Annotated[str, Attribute("deviceID")]
    timestamp: int
    event_id: Annotated[str, Attribute("eventID")]


class Text(Entity, table=texts, pk="{shelf}", sk="{word}"):
    shelf: str
    word: str


class Blob(Entity, table=blobs, pk="{shelf}", sk="{digest}"):
    shelf: Annotated[str, Attribute("pk")]
    digest: Annotated[bytes, Attribute("sk")]


class Moment(Entity, table=times, pk="{place}", sk="{at:epoch}"):
    place: str
    at: datetime


def epoch(*moment: int) -> int:
    year, month, day, hour = moment
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp())


AUGUST, SEPTEMBER, YEARS_AGO = epoch(2018, 8, 29, 12), epoch(2018, 9, 4, 1), epoch(2011, 7, 9, 13)


def key_conditions(engine: Engine) -> list[tuple[str, Any]]:
    """The key condition of each query that was sent, with its names and values filled in."""
    found = []
    for call in engine.calls:
        text = call.request["KeyConditionExpression"]
        for name, stored in call.request["ExpressionAttributeNames"].items():
            text = text.replace(name, stored)
        values = {
            key: next(iter(one.values())) for key, one in call.request["ExpressionAttributeValues"].items()
        }
        found.append((text, list(values.values())))
    return found


# -- numbers: the event log --------------------------------------------------------------------------------------------


@pytest.fixture
def events(engine: Engine) -> Engine:
    engine.create(log)
    with engine.session() as session:
        for number, moment in enumerate([AUGUST, SEPTEMBER, YEARS_AGO], start=1):
            session.save(Event(device_id="123", timestamp=moment, event_id=f"e{number}"))
    engine.forget()
    return engine


def test_the_three_records_of_the_article_are_stored_under_numbers(events: Engine) -> None:
    assert sorted(events.raw(log), key=lambda item: int(item["timestamp"]["N"])) == [
        {"deviceID": {"S": "123"}, "timestamp": {"N": "1310216400"}, "eventID": {"S": "e3"}},
        {"deviceID": {"S": "123"}, "timestamp": {"N": "1535544000"}, "eventID": {"S": "e1"}},
        {"deviceID": {"S": "123"}, "timestamp": {"N": "1536022800"}, "eventID": {"S": "e2"}},
    ]


def test_the_records_before_a_time_are_one_less_than_condition(events: Engine) -> None:
    found = events.session().query(Event, device_id="123").lt(timestamp=1536019200).all()
    assert [one.event_id for one in found] == ["e3", "e1"]
    assert found.requests == 1
    assert key_conditions(events) == [("deviceID = :v0 AND timestamp < :v1", ["123", "1536019200"])]


def test_the_records_between_two_times_include_both_ends(events: Engine) -> None:
    found = events.session().query(Event, device_id="123").between(timestamp=(AUGUST, SEPTEMBER)).all()
    assert [one.event_id for one in found] == ["e1", "e2"]
    assert key_conditions(events) == [
        ("deviceID = :v0 AND timestamp BETWEEN :v1 AND :v2", ["123", str(AUGUST), str(SEPTEMBER)])
    ]


def test_a_datetime_in_a_number_key_is_asked_for_as_a_datetime(engine: Engine) -> None:
    engine.create(times)
    at = [datetime(2018, 8, 29, 12, tzinfo=UTC), datetime(2018, 9, 4, 1, tzinfo=UTC)]
    with engine.session() as session:
        for one in at:
            session.save(Moment(place="here", at=one))
        assert engine.raw(times)[0] == {
            "pk": {"S": "here"},
            "epoch": {"N": "1535544000"},
            "place": {"S": "here"},
            "at": {"S": "2018-08-29T12:00:00.000000Z"},
        }
        midnight = datetime(2018, 9, 4, tzinfo=UTC)
        engine.forget()
        assert [one.at for one in session.query(Moment, place="here").lt(at=midnight)] == at[:1]
        assert key_conditions(engine) == [("pk = :v0 AND epoch < :v1", ["here", "1536019200"])]


# -- strings -----------------------------------------------------------------------------------------------------------

WORDS = ["2018", "Alpha", "alpha", "alphabet", "beta", "beta_", "betax", "Ünder"]


@pytest.fixture
def words(engine: Engine) -> Engine:
    engine.create(texts)
    with engine.session() as session:
        for word in WORDS:
            session.save(Text(shelf="1", word=word))
    engine.forget()
    return engine


TEXTS: list[tuple[str, Any, list[str]]] = [
    ("eq", "alpha", ["alpha"]),
    ("lt", "alpha", ["2018", "Alpha"]),
    ("le", "alpha", ["2018", "Alpha", "alpha"]),
    ("gt", "alpha", ["alphabet", "beta", "beta_", "betax", "Ünder"]),
    ("ge", "alpha", ["alpha", "alphabet", "beta", "beta_", "betax", "Ünder"]),
    ("between", ("Alpha", "beta"), ["Alpha", "alpha", "alphabet", "beta"]),
    ("begins_with", "alpha", ["alpha", "alphabet"]),
    # A pattern character has no special meaning, and case matters.
    ("begins_with", "beta_", ["beta_"]),
    ("begins_with", "ALPHA", []),
]


def test_texts_are_compared_by_each_operator_in_the_order_of_their_bytes(words: Engine) -> None:
    session = words.session()
    for operator, value, expected in TEXTS:
        found = getattr(session.query(Text, shelf="1"), operator)(word=value).all()
        assert ([one.word for one in found], found.requests) == (expected, 1), operator


# -- bytes -------------------------------------------------------------------------------------------------------------

DIGESTS = [b"\x00", b"\x00\xff", b"\x7f", b"\x80", b"\xff", b"\xff\x00"]


BYTES: list[tuple[str, Any, list[int]]] = [
    ("eq", b"\x7f", [2]),
    ("lt", b"\x7f", [0, 1]),
    ("le", b"\x7f", [0, 1, 2]),
    ("gt", b"\x7f", [3, 4, 5]),
    ("ge", b"\x7f", [2, 3, 4, 5]),
    ("between", (b"\x00\xff", b"\x80"), [1, 2, 3]),
    ("begins_with", b"\xff", [4, 5]),
]


def test_bytes_are_compared_by_each_operator_as_unsigned(engine: Engine) -> None:
    engine.create(blobs)
    with engine.session() as session:
        for digest in DIGESTS:
            session.save(Blob(shelf="1", digest=digest))
        for operator, value, expected in BYTES:
            found = getattr(session.query(Blob, shelf="1"), operator)(digest=value).all()
            assert [one.digest for one in found] == [DIGESTS[number] for number in expected], operator
