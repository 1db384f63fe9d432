"""Walking pages: what is asked of DynamoDB, what is passed over, and where the walk stands."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import Entity, ExpiresAt, F, GlobalIndex, Index, Session, Table, Unique, any_of
from dynaorm.errors import DecodeError, InvalidCursor
from dynaorm.flow.call import DEFAULT_RETRY, Context, Reply
from dynaorm.flow.query import fingerprint, page_of
from dynaorm.item.value import Item
from dynaorm.query.cursor import Position, encode_cursor
from dynaorm.query.query_spec import queried
from dynaorm.session.drive import drive
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport

app = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("Keys", projection="KEYS_ONLY")])


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:03d}"):
    project: str
    number: int
    status: str = "open"
    slug: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:03d}")
    by_key = Index("Keys", pk="STATUS#{status}", sk="{number:03d}")


class Sensor(Entity, table=app, pk="SENSOR#{name}", sk="S"):
    name: str
    room: str
    by_room = Index("GSI1", pk="ROOM#{room}#{name:shard2}", sk="{name}")


def item(number: int, status: str = "open", **more: Any) -> dict[str, Any]:
    text = f"{number:03d}"
    return {
        "PK": {"S": "PROJECT#p"},
        "SK": {"S": f"TICKET#{text}"},
        "_type": {"S": "Ticket"},
        "project": {"S": "p"},
        "number": {"N": str(number)},
        "status": {"S": status},
        **{f"{index}PK": {"S": f"STATUS#{status}"} for index in ("GSI1", "Keys")},
        **{f"{index}SK": {"S": text} for index in ("GSI1", "Keys")},
        **more,
    }


def key(number: int) -> dict[str, Any]:
    found = item(number)
    return {name: found[name] for name in ("PK", "SK")}


def page(*items: dict[str, Any], more: dict[str, Any] | None = None) -> Reply:
    after = {} if more is None else {"LastEvaluatedKey": more}
    return {"Items": list(items), "ConsumedCapacity": {"CapacityUnits": 0.5}, **after}


def session_on(transport: ScriptedTransport, **options: Any) -> Session:
    return Session(transport=transport, clock=FakeClock(1000.0), **options)


def test_nothing_is_sent_where_nothing_can_be_found() -> None:
    transport = ScriptedTransport()
    session = session_on(transport)
    assert session.query(Ticket, project=any_of()).all() == []
    assert session.query(Ticket, project="p").limit(0).all() == []
    assert session.query(Ticket, project="p").ge(number=5).lt(number=5).all() == []


def test_an_item_of_no_class_is_reported_and_not_dropped_silently(caplog: pytest.LogCaptureFixture) -> None:
    stranger = {"PK": {"S": "INVOICE#1"}, "SK": {"S": "I"}, "_type": {"S": "Invoice"}}
    session_on(ScriptedTransport(page(stranger, stranger, item(1)))).scan(Ticket).all()
    assert caplog.text.count("an item is skipped") == 1
    assert "from the item PK='INVOICE#1', SK='I'" in caplog.text
    assert "_type is 'Invoice', which no declared class is called" in caplog.text
    told: list[DecodeError] = []
    transport = ScriptedTransport(page(stranger, item(1)))
    found = session_on(transport, on_decode_error=told.append).scan(Ticket).all()
    assert [one.number for one in found] == [1]
    assert [problem.key for problem in told] == [{"PK": {"S": "INVOICE#1"}, "SK": {"S": "I"}}]


def test_one_bad_item_among_a_thousand_fails_the_list_or_is_handed_over() -> None:
    items = [item(number) for number in range(1000)]
    items[500]["number"] = {"S": "five hundred"}
    with pytest.raises(DecodeError) as caught:
        session_on(ScriptedTransport(page(*items))).query(Ticket, project="p").all()
    assert caught.value.key == key(500)
    assert "number" in caught.value.problems[0]
    told: list[DecodeError] = []
    session = session_on(ScriptedTransport(page(*items)), on_decode_error=told.append)
    assert len(session.query(Ticket, project="p").all()) == 999
    assert [problem.key for problem in told] == [key(500)]


def test_a_cursor_of_another_query_is_refused_and_nothing_is_sent() -> None:
    transport = ScriptedTransport(page(item(1), more=key(1)))
    session = session_on(transport)
    cursor = session.query(Ticket, project="p").page(1).cursor
    for other in (
        session.query(Ticket, project="q"),
        session.query(Ticket, project="p").descending(),
        session.query(Ticket, project="p").limit(9),
        session.query(Ticket, project="p").filter(F.status == "open"),
    ):
        with pytest.raises(InvalidCursor):
            other.page(1, after=cursor)
    with pytest.raises(InvalidCursor):
        session.query(Ticket, project="p").page(1, after="?")
    assert len(transport.calls) == 1


def test_a_cursor_of_a_key_query_that_is_not_there_is_refused() -> None:
    transport = ScriptedTransport()
    context = Context(str, DEFAULT_RETRY, FakeClock())
    spec = queried(Ticket.by_status, {"status": any_of("open", "closed")})
    forged = encode_cursor(Position(2, None), fingerprint(spec, None, str))
    with pytest.raises(InvalidCursor):
        drive(page_of(spec, context, 5, after=forged), transport, FakeClock())
    assert not transport.calls


@pytest.mark.parametrize(
    "start",
    [
        {"PK": {"S": "PROJECT#other"}, "SK": {"S": "TICKET#005"}},
        {"PK": {"S": "PROJECT#p"}, "SK": {"S": "TICKET#001"}},
        {"PK": {"S": "PROJECT#p"}, "SK": {"S": "ZEBRA"}},
    ],
    ids=["other partition", "before the range", "after the range"],
)
def test_a_cursor_made_up_of_a_key_outside_the_query_is_refused_and_nothing_is_sent(start: Item) -> None:
    transport = ScriptedTransport()
    context = Context(str, DEFAULT_RETRY, FakeClock())
    spec = session_on(transport).query(Ticket, project="p").ge(number=4)._spec
    forged = encode_cursor(Position(0, start), fingerprint(spec, None, str))
    with pytest.raises(InvalidCursor, match="damaged"):
        drive(page_of(spec, context, 5, after=forged), transport, FakeClock())
    assert not transport.calls


def test_a_cursor_is_signed_where_the_session_has_a_secret() -> None:
    open_session = session_on(ScriptedTransport(page(item(1), more=key(1))))
    cursor = open_session.query(Ticket, project="p").page(1).cursor
    with pytest.raises(InvalidCursor):
        session_on(ScriptedTransport(), cursor_secret=b"sixteen or more bytes").query(
            Ticket, project="p"
        ).page(1, after=cursor)


def test_an_item_that_does_not_tell_its_shard_is_reported_as_any_other() -> None:
    sensor = {"PK": {"S": "SENSOR#a"}, "SK": {"S": "S"}, "_type": {"S": "Sensor"}, "room": {"S": "r"}}
    broken = page({**sensor, "name": {"N": "1"}, "GSI1PK": {"S": "ROOM#r#1"}, "GSI1SK": {"S": "a"}})
    with pytest.raises(DecodeError, match="name: is stored as N"):
        session_on(ScriptedTransport(broken)).query(Sensor.by_room, room="r", name="a").all()
    told: list[DecodeError] = []
    lenient = session_on(ScriptedTransport(broken), on_decode_error=told.append)
    assert lenient.query(Sensor.by_room, room="r", name="a").all() == []
    assert [one.entity for one in told] == ["Sensor"]


def test_counts_and_keys_include_an_item_that_does_not_decode_and_the_query_reports_it() -> None:
    damaged = {**item(2), "status": {"N": "5"}}
    assert session_on(ScriptedTransport(page(item(1), damaged))).query(Ticket, project="p").count() == 2
    keys = session_on(ScriptedTransport(page(item(1), damaged))).query(Ticket, project="p").keys().all()
    assert [key.fields["number"] for key in keys] == [1, 2]
    told: list[DecodeError] = []
    session = session_on(ScriptedTransport(page(item(1), damaged)), on_decode_error=told.append)
    assert [one.number for one in session.query(Ticket, project="p").all()] == [1]
    assert [problem.key["SK"] for problem in told] == [damaged["SK"]]
