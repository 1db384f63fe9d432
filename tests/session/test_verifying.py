"""``session.verify``: its scope, its pace, and what is no fault."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm import AsyncSession, Session
from dynaorm.errors import UsageError
from dynaorm.flow.finding import Kind
from dynaorm.testing.strict_moto import strict_moto
from tests.integrity.conftest import REGION, raw_on
from tests.integrity.zoo import (
    TABLES,
    Book,
    Group,
    Member,
    Raw,
    Voucher,
    app,
    clock,
    epoch,
    key_of,
    member,
    populate,
    text,
)


@pytest.fixture
def raw() -> Iterator[Raw]:
    with strict_moto():
        for one in raw_on(None, str):
            populate(one.session)
            yield one


def kinds(raw: Raw, *named: Any) -> list[Kind]:
    return [one.kind for one in raw.session.verify(*named)]


def test_of_a_class_only_its_own_items_are_judged(raw: Raw) -> None:
    raw.delete(app, key_of("email#ann@x"))
    raw.delete(app, key_of("BOOK#1", "v2_TEXT"))
    raw.put(app, key_of("JUNK", "JUNK"))
    assert kinds(raw, Member) == [Kind.MISSING_GUARD]
    assert kinds(raw, Book) == [Kind.VERSION_GAP]
    assert kinds(raw, Voucher) == []
    assert kinds(raw, Member, Book) == [Kind.VERSION_GAP, Kind.MISSING_GUARD]


def test_a_total_is_found_by_what_has_it_and_by_what_is_counted(raw: Raw) -> None:
    raw.change(app, key_of("GROUP#red", "INFO"), members={"N": "9"})
    assert kinds(raw, Group) == kinds(raw, Member) == kinds(raw, app) == [Kind.TOTAL]
    assert kinds(raw, Book) == []


def test_no_total_is_judged_while_something_that_counts_cannot_be_read(raw: Raw) -> None:
    raw.change(app, member("ann"), status={"N": "1"})
    raw.change(app, key_of("GROUP#red", "INFO"), members={"N": "9"})
    assert kinds(raw, app) == [Kind.UNREADABLE]


def test_guards_written_by_hand_are_no_fault_unless_two_hold_their_value(raw: Raw) -> None:
    for code in ("c1", "c2"):
        raw.change(app, key_of(f"code#{code}"), owner=None)
    assert kinds(raw, app) == []
    voucher = key_of("VOUCHER#3", "VOUCHER")
    raw.put(app, voucher, _type=text("Voucher"), voucher_id=text("3"), code=text("c2"))
    (finding,) = raw.session.verify(app)
    assert (finding.kind, finding.key) == (Kind.DUPLICATE, key_of("code#c2"))
    assert sorted(owner["PK"]["S"] for owner in finding.owners) == ["VOUCHER#2", "VOUCHER#3"]


def test_what_has_expired_is_absent(raw: Raw) -> None:
    raw.change(app, key_of("VOUCHER#1", "VOUCHER"), ends=epoch(-1))
    assert kinds(raw, app) == [Kind.ORPHAN_GUARD]
    raw.change(app, key_of("code#c1"), ends=epoch(-1))
    assert kinds(raw, app) == []


def test_a_rate_is_kept(raw: Raw) -> None:
    now = clock()
    session = Session(transport=raw.transport, clock=now)
    assert list(session.verify(*TABLES, rate=10)) == []
    slow = now.monotonic()
    assert slow > 3
    assert list(session.verify(*TABLES, rate=100_000)) == []
    assert now.monotonic() - slow < slow / 10


def test_progress_is_told(raw: Raw) -> None:
    told: list[tuple[int, int | None]] = []
    list(raw.session.verify(app, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (len(raw.items(app)[app.name]), None)


@pytest.mark.parametrize("named", [(), ("app",), (app, 5)])
def test_nothing_else_can_be_verified(raw: Raw, named: Any) -> None:
    with pytest.raises(UsageError, match="name"):
        raw.session.verify(*named)


@pytest.mark.parametrize("options", [{"segments": 0}, {"rate": 0}, {"rate": -1}])
def test_a_division_or_rate_that_makes_no_sense_is_refused(raw: Raw, options: Any) -> None:
    with pytest.raises(UsageError, match="give"):
        raw.session.verify(app, **options)


def test_an_asynchronous_session_finds_the_same(raw: Raw) -> None:
    raw.delete(app, key_of("email#ann@x"))
    raw.change(app, member("bob"), GSI1PK=text("old"))

    async def verified() -> list[Kind]:
        async with AsyncSession(region=REGION, clock=clock()) as session:
            return [one.kind async for one in session.verify(app, segments=2)]

    assert asyncio.run(verified()) == kinds(raw, app) == [Kind.INDEX_KEYS, Kind.MISSING_GUARD]
