"""What an answer means: a reply, a refusal, or none."""

import json
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynaorm import Entity, F, GlobalIndex, Index, Key, Retry, Session, Table, Unique
from dynaorm.errors import DynaormError, OutcomeUnknown, Unreachable
from dynaorm.item.json_body import Body
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, NoAnswer, Refusal, Reply
from dynaorm.transport.answer import check_reply, reply_of


def reply(status: int, content: object, **headers: str) -> Mapping[str, Any]:
    return reply_of(
        "GetItem", status, {"x-amzn-requestid": "REQUEST1", **headers}, json.dumps(content).encode()
    )


def refused(content: object, status: int = 400) -> Refusal:
    with pytest.raises(Refusal) as caught:
        reply(status, content)
    return caught.value


def unanswered(status: int, body: bytes, headers: Mapping[str, str]) -> str:
    with pytest.raises(NoAnswer) as caught:
        reply_of("GetItem", status, headers, body)
    assert caught.value.sent
    return caught.value.reason


def test_a_refusal_has_code_message_and_request_id() -> None:
    refusal = refused({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": "no"})
    assert (refusal.code, refusal.message, refusal.request_id) == ("ValidationException", "no", "REQUEST1")
    assert (refusal.reasons, refusal.item) == ((), None)
    assert refused({"__type": "ThrottlingException", "Message": "slow"}).message == "slow"
    assert refused({"__type": "AccessDenied:http://internal/", "message": None}).code == "AccessDenied"


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_http_5xx_is_no_answer_because_the_write_may_have_happened(status: int) -> None:
    body = b'{"__type":"x#InternalServerError","message":"oh"}'
    assert unanswered(status, body, {}) == f"HTTP {status} InternalServerError: oh"


@pytest.mark.parametrize("status", [201, 204, 302, 400, 403, 404])
def test_json_of_somebody_else_is_no_answer(status: int) -> None:
    assert "without an error of DynamoDB's own" in unanswered(status, b'{"detail":"Not Found"}', {})


@pytest.mark.parametrize("checksum", ["1", "", "x", str(crc32(b"{}") + 1)])
def test_an_answer_that_does_not_match_its_checksum_is_none(checksum: str) -> None:
    reason = unanswered(200, b"{}", {"x-amz-crc32": checksum})
    assert reason == "the reply does not match its checksum (x-amz-crc32)"


def test_an_answer_that_matches_its_checksum_is_one_and_is_not_taken_apart_before_it_is_asked() -> None:
    raw = b'{"Item":{"a":{"B":"/w=="}}}'
    found = reply_of("GetItem", 200, {"x-amz-crc32": str(crc32(raw))}, raw)
    assert isinstance(found, Body)
    assert found.raw is raw
    assert found == {"Item": {"a": {"B": b"\xff"}}}


@pytest.mark.parametrize(
    "body",
    [
        b'{"Item":',
        b"{]",
        b'{"Item":{"a":{"B":"?"}}}',
        b'{"Item":5}',
        b'{"Item":{"a":{}}}',
        b'{"Item":{"a":{"X":"a"}}}',
        b'{"Items":{}}',
        b'{"Items":[5]}',
        b'{"LastEvaluatedKey":[]}',
        b'{"Count":"1"}',
        b'{"Responses":[]}',
        b'{"Responses":{"app":{}}}',
        b'{"UnprocessedKeys":{"app":5}}',
        b'{"ConsumedCapacity":5}',
        b'{"Item":null}',
    ],
)
def test_an_invalid_reply_that_matches_its_checksum_is_never_an_empty_one(body: bytes) -> None:
    found = reply_of("BatchGetItem", 200, {"x-amz-crc32": str(crc32(body))}, body)
    with pytest.raises(Unreachable, match="BatchGetItem"):
        check_reply(found)
    with pytest.raises(NoAnswer) as silence:
        reply_of("BatchGetItem", 200, {}, body)
    assert silence.value.sent


@pytest.mark.parametrize(
    "body", [b'{"Item":', b"{]", b'{"Item":{"a":{"B":"?"}}}', b'{"Items":{}}', b'{"Item":5}']
)
def test_a_broken_reply_that_matches_its_checksum_is_never_an_empty_one(body: bytes) -> None:
    found = reply_of("Query", 200, {"x-amz-crc32": str(crc32(body))}, body)
    for look in (lambda: found.get("x"), lambda: "x" in found, lambda: bool(found), lambda: list(found)):
        with pytest.raises(Unreachable, match="Query"):
            look()


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"x"', b"\x80", b"", b"["])
def test_an_answer_that_is_no_json_object_is_none(body: bytes, status: int) -> None:
    assert unanswered(status, body, {}) == f"HTTP {status} without JSON: is the endpoint a DynamoDB?"
    with pytest.raises(NoAnswer):
        reply_of("GetItem", status, {"x-amz-crc32": str(crc32(body))}, body)


# -- whatever comes back -----------------------------------------------------------------------------------------------

app = Table("answers-app", indexes=[GlobalIndex("GSI1")])


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    slug: Annotated[str | None, Unique()] = None
    text: str = "x"
    views: int = 0
    by_text = Index("GSI1", pk="{text}", sk="{name}")


ITEM = {
    "PK": {"S": "NOTE#a"},
    "SK": {"S": "N"},
    "_type": {"S": "Note"},
    "_rev": {"S": "r"},
    "name": {"S": "a"},
    "text": {"S": "x"},
    "views": {"N": "1"},
}
REPLY = {
    "Item": ITEM,
    "Attributes": ITEM,
    "Items": [ITEM],
    "Count": 1,
    "ScannedCount": 1,
    "Responses": {"answers-app": [ITEM]},
    "UnprocessedKeys": {},
    "UnprocessedItems": {},
    "ConsumedCapacity": {"CapacityUnits": 1},
    "__type": "x#TransactionCanceledException",
    "message": "no",
    "CancellationReasons": [{"Code": "ConditionalCheckFailed", "Message": "no", "Item": ITEM}],
}
SCRAPS: st.SearchStrategy[object] = st.sampled_from(
    [
        None,
        5,
        1.5,
        True,
        "text",
        [],
        {},
        [5],
        {"S": 5},
        {"S": "a"},
        {"N": "x"},
        {"M": 5},
        {"L": [5]},
        {"X": {}},
    ]
)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in some JSON."""
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield from places(member, (*path, name))


def put(value: Any, path: tuple[Any, ...], scrap: object) -> Any:
    """The same JSON with something else in one place."""
    if not path:
        return scrap
    changed = value.copy()
    changed[path[0]] = put(value[path[0]], path[1:], scrap) if path[1:] else scrap
    return changed


class Saying:
    """A transport that gives one answer to everything."""

    def __init__(self, status: int, body: bytes, checksum: bool) -> None:
        self._answer = status, {"x-amz-crc32": str(crc32(body))} if checksum else {}, body

    def call(self, call: Call, /) -> Reply:
        return reply_of(call.operation, *self._answer)


def writes(session: Session) -> Iterator[Callable[[], object]]:
    yield lambda: session.save(Note(name="a"))
    yield lambda: session.save(Note(name="a", slug="s"))
    yield lambda: session.update(Key(Note, name="a"), F.text.set("y"))
    yield lambda: session.delete(Key(Note, name="a"))
    yield lambda: session.bulk_load([Bare(name="a")])


def reads(session: Session) -> Iterator[Callable[[], object]]:
    yield lambda: session.get(Note, name="a")
    yield lambda: session.get_by(Note, slug="s")
    yield lambda: session.get_many([Key(Note, name="a")])
    yield lambda: session.exists(Note, name="a")
    yield lambda: session.query(Note, name="a").first()
    yield lambda: session.query(Note.by_text, text="x").page(1)


class Bare(Entity, table=app, pk="BARE#{name}", sk="B"):
    name: str


@given(
    st.sampled_from([*places(REPLY), ("LastEvaluatedKey",)]),
    SCRAPS,
    st.sampled_from([200, 400, 500]),
    st.booleans(),
)
def test_whatever_comes_back_is_an_answer_or_an_error_of_dynaorms_own(
    path: tuple[Any, ...], scrap: object, status: int, checksum: bool
) -> None:
    transport = Saying(status, json.dumps(put(REPLY, path, scrap)).encode(), checksum)
    with Session(transport=transport, clock=FakeClock(jitter=0), retry=Retry(attempts=2)) as session:
        for one in (*writes(session), *reads(session)):
            with suppress(DynaormError):
                one()


WHOLE = json.dumps(REPLY).encode()


@given(
    st.binary(max_size=20).map(lambda junk: b"{" + junk)
    | st.integers(0, len(WHOLE) - 1).map(lambda cut: WHOLE[:cut])
)
def test_a_write_whose_reply_is_no_json_has_no_known_outcome(body: bytes) -> None:
    assume(body != b"{}")
    transport = Saying(200, body, checksum=True)
    with Session(transport=transport, clock=FakeClock(jitter=0), retry=Retry(attempts=2)) as session:
        for write in [*writes(session)][:2]:
            with pytest.raises(OutcomeUnknown):
                write()
        for read in reads(session):
            with pytest.raises(Unreachable):
                read()
