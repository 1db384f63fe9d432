"""Laws 2 and 3: a codec reads what it writes. ``ANY_ISO`` reads any spelling, and Python judges its conditions."""

import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from ipaddress import IPv6Address, IPv6Network
from itertools import count
from pathlib import PurePosixPath
from typing import Annotated, Any, Final
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, NaiveDatetime

from dynaorm import (
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    codecs,
    item_of,
    tools,
)
from dynaorm.errors import ConditionFailed, DecodeError, DynaormError
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.item.condition import Condition
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue

NUMBERS: Final = count()
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
spelled = Table("other-spellings", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])
AnyIso = Annotated[datetime, Attribute(codec=codecs.ANY_ISO)]


class Inner(BaseModel):
    at: datetime
    text: str = "t"


class AnyInner(BaseModel):
    at: AnyIso
    text: str = "t"


class Strict(Entity, table=spelled, pk="STRICT#{number}", sk="S"):
    number: str
    instant: datetime = NOON
    wall: NaiveDatetime | None = None
    day: date | None = None
    clock: time | None = None
    uuid: UUID | None = None
    address: IPv6Address | None = None
    network: IPv6Network | None = None
    path: PurePosixPath | None = None
    seconds: Annotated[datetime | None, Attribute(codec=codecs.ISO_SECONDS)] = None
    times: list[datetime] = Field(default_factory=list)
    days: dict[str, date] = Field(default_factory=dict)
    moments: set[datetime] = Field(default_factory=set)
    inner: Inner | None = None
    n: int = 0
    by_instant = Index("GSI1", pk="STRICT", sk="{instant}")


def of_instant(at: datetime) -> Iterator[str]:
    yield at.isoformat()
    yield at.isoformat().replace("+00:00", "+0000")
    yield at.strftime("%Y-%m-%d %H:%M:%S.%fZ")
    yield at.strftime("%Y-%m-%dT%H:%M:%S,%fZ")
    yield at.strftime("%Y%m%dT%H%M%S.%fZ")
    yield at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    for hours in (-5, 2, 14):
        yield at.astimezone(timezone(timedelta(hours=hours))).isoformat()
    if not at.microsecond:
        yield at.strftime("%Y-%m-%dT%H:%M:%SZ")


INSTANTS: Final = st.integers(-90_000, 90_000).map(lambda half: NOON + timedelta(seconds=half / 2))
FOREIGN: Final = INSTANTS.flatmap(lambda at: st.sampled_from([*of_instant(at)]))
OTHERS: Final[Mapping[str, st.SearchStrategy[AttributeValue]]] = {
    "instant": FOREIGN.map(lambda text: {"S": text}),
    "wall": st.sampled_from(["2024-01-01T12:00:00", "2024-01-01 12:00:00.000000"]).map(lambda text: {"S": text}),
    "day": st.sampled_from(["20240101", "2024-W01-1"]).map(lambda text: {"S": text}),
    "clock": st.sampled_from(["12:00", "12:00:00", "120000"]).map(lambda text: {"S": text}),
    "uuid": st.uuids().flatmap(
        lambda one: st.sampled_from(
            [f"{{{one}}}", one.hex, f"urn:uuid:{one}", str(one).replace("-", "", 1), f"+{one.hex[1:]}"]
        )
    ).map(lambda text: {"S": text}),
    "address": st.just({"S": "0:0:0:0:0:0:0:1"}),
    "network": st.just({"S": "2001:DB8::/32"}),
    "path": st.just({"S": "a//b"}),
    "seconds": FOREIGN.filter(lambda text: "Z" not in text or "." in text).map(lambda text: {"S": text}),
    "times": FOREIGN.map(lambda text: {"L": [{"S": text}]}),
    "days": st.just({"M": {"a": {"S": "20240101"}}}),
    "moments": FOREIGN.map(lambda text: {"SS": [text]}),
    "inner": FOREIGN.map(lambda text: {"M": {"at": {"S": text}, "more": {"N": "1"}}}),
}  # fmt: skip
OF_TIMES: Final = {"seconds", "instant", "wall", "day", "clock", "times", "days", "moments", "inner"}


class Between:
    """Lets another writer write just before the next call that writes."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.other = inner, list[Callable[[], object]]()

    def call(self, call: Call, /) -> Any:
        if call.operation not in ("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"):
            while self.other:
                self.other.pop()()
        return self.inner.call(call)


@pytest.fixture(scope="module")
def wire(transport: Transport) -> Between:
    wire = Between(transport)
    Session(transport=wire).create_table(spelled)
    return wire


def put(wire: Between, entity: Entity, **changes: AttributeValue) -> None:
    item = {**item_of(entity), **changes}
    wire.inner.call(Call("PutItem", {"TableName": spelled.name, "Item": item}))


def session_of(wire: Between) -> Session:
    return Session(transport=wire, clock=FakeClock())


READS: Final[Mapping[str, Callable[[Session, str], Any]]] = {
    "get": lambda session, number: session.get(Strict, number=number),
    "get_many": lambda session, number: session.get_many([Key(Strict, number=number)]),
    "snapshot": lambda session, number: session.snapshot([Key(Strict, number=number)]),
    "query": lambda session, number: session.query(Strict, number=number).all(),
    "index": lambda session, number: session.query(Strict.by_instant).filter(F.number == number).all(),
    "scan": lambda session, number: session.scan(Strict).filter(F.number == number).all(),
    "update": lambda session, number: session.update(Key(Strict, number=number), {"n": 1}, exactly_once=True),
    "values": lambda session, number: list(session.query(Strict, number=number).values(*OTHERS)),
}  # fmt: skip


@given(data=st.data(), read=st.sampled_from(sorted(READS)), name=st.sampled_from(sorted(OTHERS)))
def test_another_spelling_is_a_decode_error(wire: Between, data: st.DataObject, read: str, name: str) -> None:
    number = str(next(NUMBERS))
    put(wire, Strict(number=number), **{name: data.draw(OTHERS[name])})
    with pytest.raises(DecodeError) as caught:
        READS[read](session_of(wire), number)
    assert caught.value.entity == "Strict"
    assert caught.value.problems[0].startswith(f"{name}: ")
    assert ("codecs.ANY_ISO" in str(caught.value)) == (name in OF_TIMES)


# -- fields that several programs write --------------------------------------------------------------------------------


class Lease(Entity, table=spelled, pk="LEASE#{number}", sk="L"):
    """A field of each kind that holds times in any spelling."""

    number: str
    until: AnyIso | None = NOON
    inner: AnyInner | None = None
    others: list[AnyInner] = Field(default_factory=list)
    day: Annotated[date | None, Attribute(codec=codecs.ANY_ISO)] = None
    n: int = 0
    open_leases = Index("GSI1", pk="LEASES", sk="{n:03d}#{number}", when=F.until > NOON)
    keys_only = Index("GSI2", pk="LEASES", sk="{number}")


ROWS: Final = st.fixed_dictionaries(
    {
        "until": FOREIGN.map(lambda text: {"S": text}),
        "inner": FOREIGN.map(lambda text: {"M": {"at": {"S": text}, "text": {"S": "t"}, "more": {"N": "1"}}}),
        "others": st.lists(
            FOREIGN.map(lambda text: {"M": {"at": {"S": text}, "text": {"S": "t"}}}), min_size=1, max_size=2
        ).map(lambda found: {"L": found}),
        "day": st.sampled_from(["2024-01-01", "20240102", "2024-W01-1"]).map(lambda text: {"S": text}),
    }
)
COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}
Verdict = tuple[Condition, Callable[[Lease], bool]]


def compared(path: Any, value_of: Callable[[Lease], Any], bound: Any) -> st.SearchStrategy[Verdict]:
    def verdict(name: str) -> Verdict:
        compare = COMPARED[name]
        return compare(path, bound), lambda lease: bool(compare(value_of(lease), bound))

    return st.sampled_from(sorted(COMPARED)).map(verdict)


CONDITIONS: Final[st.SearchStrategy[Verdict]] = st.deferred(
    lambda: (
        INSTANTS.flatmap(lambda at: compared(F.until, lambda one: one.until, at))
        | INSTANTS.flatmap(lambda at: compared(F.inner.at, lambda one: one.inner and one.inner.at, at))
        | st.sampled_from([date(2024, 1, 1), date(2024, 1, 2)]).flatmap(
            lambda day: compared(F.day, lambda one: one.day, day)
        )
        | INSTANTS.flatmap(lambda at: compared(F.others[0].at, lambda one: one.others[0].at, at))
        | INSTANTS.map(
            lambda at: (F.until.is_in([at, NOON]), lambda one: one.until in (at, NOON)),
        )
        | INSTANTS.map(
            lambda at: (F.until.between(at, NOON), lambda one: at <= (one.until or NOON) <= NOON),
        )
        | st.just((F.n == 0, lambda one: one.n == 0))
        | CONDITIONS.map(lambda one: (~one[0], lambda lease: not one[1](lease)))
        | st.tuples(CONDITIONS, CONDITIONS).map(
            lambda both: (both[0][0] & both[1][0], lambda one: both[0][1](one) and both[1][1](one))
        )
        | st.tuples(CONDITIONS, CONDITIONS).map(
            lambda both: (both[0][0] | both[1][0], lambda one: both[0][1](one) or both[1][1](one))
        )
    )
)


def in_block(session: Session, work: Callable[[Any], object]) -> None:
    with session.transaction() as tx:
        work(tx)


def loaded(session: Session, number: str) -> Lease:
    return session.get_one(Lease, number=number)


def changed(lease: Lease) -> Lease:
    lease.n += 1
    return lease


Write = Callable[[Session, Lease, Condition], object]
WRITES: Final[Mapping[str, Write]] = {
    "update by key": lambda s, one, c: s.update(Key(Lease, number=one.number), F.n.add(1), condition=c),
    "update of an object": lambda s, one, c: s.update(one, F.n.add(1), condition=c),
    "upsert": lambda s, one, c: s.upsert(Key(Lease, number=one.number), F.n.add(1), condition=c),
    "save": lambda s, one, c: s.save(changed(one), condition=c),
    "save unchanged": lambda s, one, c: s.save(one, condition=c),
    "replace": lambda s, one, c: s.save(Lease(number=one.number, n=1), replacing=c),
    "delete by key": lambda s, one, c: s.delete(Key(Lease, number=one.number), condition=c),
    "delete of an object": lambda s, one, c: s.delete(one, condition=c),
    "check by key": lambda s, one, c: in_block(s, lambda tx: tx.check(Key(Lease, number=one.number), c)),
    "check of an object": lambda s, one, c: in_block(s, lambda tx: tx.check(one, c)),
    "update in a block": lambda s, one, c: in_block(
        s, lambda tx: tx.update(Key(Lease, number=one.number), F.n.add(1), condition=c)
    ),
    "update twice": lambda s, one, c: in_block(
        s,
        lambda tx: (
            tx.update(Key(Lease, number=one.number), F.n.add(1)),
            tx.update(Key(Lease, number=one.number), F.day.set(date(2024, 1, 3)), condition=c),
        ),
    ),
    "delete in a block": lambda s, one, c: in_block(
        s, lambda tx: tx.delete(Key(Lease, number=one.number), condition=c)
    ),
    "save in a block": lambda s, one, c: in_block(s, lambda tx: tx.save(changed(one), condition=c)),
}


@given(row=ROWS, verdict=CONDITIONS, write=st.sampled_from(sorted(WRITES)))
def test_a_write_is_made_exactly_if_its_condition_holds_by_value(
    wire: Between, row: Mapping[str, AttributeValue], verdict: Verdict, write: str
) -> None:
    condition, holds = verdict
    session, number = session_of(wire), str(next(NUMBERS))
    put(wire, Lease(number=number), **row)
    lease = loaded(session, number)
    expected = holds(lease)
    try:
        WRITES[write](session, lease, condition)
    except ConditionFailed:
        assert not expected
    else:
        assert expected


@given(row=ROWS, other=ROWS, verdict=CONDITIONS, write=st.sampled_from(sorted(WRITES)))
def test_another_writer_between_read_and_write_is_seen(
    wire: Between,
    row: Mapping[str, AttributeValue],
    other: Mapping[str, AttributeValue],
    verdict: Verdict,
    write: str,
) -> None:
    condition, holds = verdict
    session, number = session_of(wire), str(next(NUMBERS))
    put(wire, Lease(number=number), **other)
    after = loaded(session, number)
    put(wire, Lease(number=number), **row)
    lease = loaded(session, number)
    first, last = holds(lease), holds(after)
    wire.other.append(lambda: put(wire, Lease(number=number), **other))
    try:
        WRITES[write](session, lease, condition)
    except ConditionFailed:
        # What was read may refuse it before anything is sent.
        assert not (first if wire.other else last)
    except DynaormError:
        pass  # the object is stale, or the entity was there first
    else:
        assert last
    finally:
        wire.other.clear()


ASKED: Final[Mapping[str, Callable[[Session], Any]]] = {
    "scan": lambda session: session.scan(Lease),
    "index": lambda session: session.query(Lease.open_leases),
    "entries": lambda session: session.query(Lease.keys_only),
}


@given(rows=st.lists(ROWS, min_size=1, max_size=4), verdict=CONDITIONS, asked=st.sampled_from(sorted(ASKED)))
def test_a_filter_compares_values(
    wire: Between, rows: list[Mapping[str, AttributeValue]], verdict: Verdict, asked: str
) -> None:
    condition, holds = verdict
    session, ids = session_of(wire), [str(next(NUMBERS)) for _ in rows]
    for number, row in zip(ids, rows, strict=True):
        keys = {"GSI1PK": "LEASES", "GSI1SK": f"000#{number}", "GSI2PK": "LEASES", "GSI2SK": number}
        put(wire, Lease(number=number), **row, **{name: {"S": text} for name, text in keys.items()})
    query = ASKED[asked](session).filter(condition)
    found = {one.number for one in query if one.number in ids}
    wanted = {number for number in ids if holds(loaded(session, number))}
    assert found == wanted
    assert query.count() == len([*query])
    for number in ids:
        session.delete(Key(Lease, number=number))


@given(row=ROWS)
def test_what_does_not_change_keeps_its_spelling(wire: Between, row: Mapping[str, AttributeValue]) -> None:
    session, number = session_of(wire), str(next(NUMBERS))
    put(wire, Lease(number=number), **row)
    session.save(changed(loaded(session, number)))
    key = dict(Key(Lease, number=number).primary_key)
    item = wire.call(Call("GetItem", {"TableName": spelled.name, "Key": key}))["Item"]
    assert {name: item[name] for name in row} == row


@given(row=ROWS)
def test_an_index_condition_is_judged_by_value(wire: Between, row: Mapping[str, AttributeValue]) -> None:
    session, number = session_of(wire), str(next(NUMBERS))
    put(wire, Lease(number=number), **row)
    session.save(changed(loaded(session, number)))
    lease = loaded(session, number)
    key = dict(Key(Lease, number=number).primary_key)
    item = wire.call(Call("GetItem", {"TableName": spelled.name, "Key": key}))["Item"]
    assert ("GSI1PK" in item) == (lease.until is not None and lease.until > NOON)


# -- verify and repair -------------------------------------------------------------------------------------------------


def test_verify_reports_other_spellings_and_repair_rewrites_them(wire: Between) -> None:
    session = session_of(wire)
    for item in wire.call(Call("Scan", {"TableName": spelled.name}))["Items"]:
        key = {name: item[name] for name in spelled.key_names}
        wire.call(Call("DeleteItem", {"TableName": spelled.name, "Key": key}))
    rows: Mapping[str, AttributeValue] = {
        "instant": {"S": "2024-01-01T14:00:00+02:00"},
        "uuid": {"S": "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"},
        "moments": {"SS": ["2024-01-01T12:00:00Z"]},
        "inner": {"M": {"at": {"S": "2024-01-01T12:00:00Z"}, "more": {"N": "1"}}},
    }
    put(wire, Strict(number="a"), **rows, GSI1PK={"S": "STRICT"}, GSI1SK=rows["instant"])
    (found,) = [*tools.verify(session, spelled)]
    assert found.kind is FindingKind.UNREADABLE
    assert found.repairable
    assert [one.is_left for one in tools.repair(session, spelled)] == [False]
    assert [*tools.verify(session, spelled)] == []
    key = dict(Key(Strict, number="a").primary_key)
    item = wire.call(Call("GetItem", {"TableName": spelled.name, "Key": key}))["Item"]
    noon: AttributeValue = {"S": "2024-01-01T12:00:00.000000Z"}
    assert item["instant"] == item["GSI1SK"] == noon
    assert item["uuid"] == {"S": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}
    assert item["moments"] == {"SS": [noon["S"]]}
    assert item["inner"] == {"M": {"at": noon, "more": {"N": "1"}}}


def test_repair_leaves_what_it_would_cut_off(wire: Between) -> None:
    session = session_of(wire)
    put(wire, Strict(number="b"), instant={"S": "2024-01-01T12:00:00.123456789Z"})
    (found,) = [one for one in tools.verify(session, spelled) if one.item_key["PK"] == {"S": "STRICT#b"}]
    assert not found.repairable
    session.delete(Key(Strict, number="b"))
