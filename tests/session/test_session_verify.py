"""``verify``: its scope, its rate, and correct items that must not be reported."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm import Key, Session, tools
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Reply, Transport
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing.clock import FakeClock
from tests.integrity.conftest import created
from tests.integrity.zoo import Book, Group, Member, Raw, Voucher, app, clock, key_of, member, text
from tests.memory import MEMORY
from tests.raw_tables import REGION


@pytest.fixture
def raw(moto_line: tuple[Transport, Any]) -> Iterator[Raw]:
    with MEMORY.empty():
        for one in created(Raw(moto_line[1], str, moto_line[0])):
            one.fill()
            yield one


def kinds(raw: Raw, *named: Any) -> list[FindingKind]:
    return [one.kind for one in tools.verify(raw.session, *named)]


def test_of_a_class_only_its_own_items_are_judged(raw: Raw) -> None:
    raw.delete(app, key_of("email#ann@x"))
    raw.delete(app, key_of("BOOK#1", "v2_TEXT"))
    raw.put(app, key_of("JUNK", "JUNK"))
    assert kinds(raw, Member) == [FindingKind.MISSING_GUARD]
    assert kinds(raw, Book) == [FindingKind.VERSION_GAP]
    assert kinds(raw, Voucher) == []
    assert kinds(raw, Member, Book) == [FindingKind.VERSION_GAP, FindingKind.MISSING_GUARD]


def test_a_doubt_about_unknown_attributes_says_how_to_name_them(raw: Raw) -> None:
    raw.delete(app, key_of("email#ann@x"))
    raw.change(app, member("ann"), legacy=text("x"))
    (finding,) = tools.verify(raw.session, Member)
    assert "does not declare 'legacy'" in finding.uncertain_because
    assert finding.uncertain_because.endswith("--foreign-attribute, or RunOptions(foreign_attributes=...)")


@pytest.mark.parametrize("named", [app, Group, Member])
def test_a_total_is_doubtful_if_a_source_cannot_be_read(raw: Raw, named: Any) -> None:
    raw.change(app, member("ann"), status={"N": "1"})
    raw.change(app, key_of("GROUP#red", "INFO"), members={"N": "9"})
    stored = raw.items(app)
    unread, *guards, total = tools.verify(raw.session, named)
    # Nobody can tell which values it holds.
    assert {one.kind for one in guards} == (set() if named is Group else {FindingKind.NOT_JUDGED})
    assert (unread.kind, unread.entity) == (FindingKind.UNREADABLE, "Member")
    assert (total.kind, total.repairable) == (FindingKind.TOTAL, False)
    assert total.uncertain_because.startswith("an item of Member cannot be read")
    assert all(one.is_left for one in tools.repair(raw.session, named))
    assert raw.items(app) == stored


class _Metered:
    """A transport that counts the units consumed, and when."""

    def __init__(self, inner: Transport, clock: FakeClock) -> None:
        self._inner = inner
        self._clock = clock
        self.consumed = 0.0
        self.steps: list[tuple[float, float]] = []

    def call(self, call: Call, /) -> Reply:
        if call.operation == "Scan":
            self.steps.append((self._clock.monotonic(), self.consumed))
        request = {**call.request, "ReturnConsumedCapacity": "TOTAL"}
        reply = self._inner.call(Call(call.operation, request))
        found = reply.get("ConsumedCapacity") or ()
        for one in (found,) if isinstance(found, dict) else found:
            self.consumed += one["CapacityUnits"]
        return reply


def test_a_rate_is_kept(raw: Raw) -> None:
    now = clock()
    meter = _Metered(raw.transport, now)
    session = Session(transport=meter, clock=now)
    assert list(tools.verify(session, app, rate=5)) == []
    assert len(meter.steps) > 4
    assert meter.consumed > 20
    # No step begins before what was consumed until then is paid for ...
    assert all(consumed <= 5 * time + 1e-6 for time, consumed in meter.steps)
    # ... nor much later.
    assert now.monotonic() <= meter.consumed / 5
    slow = now.monotonic()
    assert list(tools.verify(session, app, rate=100_000)) == []
    assert now.monotonic() - slow < slow / 10


def test_time_that_went_unused_is_not_made_up_for(raw: Raw) -> None:
    now = clock()
    meter = _Metered(raw.transport, now)
    session = Session(transport=meter, clock=now)
    raw.change(app, member("ann"), GSI1PK=text("old"))
    findings = tools.verify(session, app, rate=5)
    assert next(findings).kind is FindingKind.INDEX_KEYS
    # Whoever reads the findings takes their time.
    now.advance(3600)
    before, consumed = now.monotonic(), meter.consumed
    list(findings)
    rested = [(time - before, units - consumed) for time, units in meter.steps if time >= before]
    assert rested[-1][1] > 5
    assert all(units <= 5 * (time + 1) + 1e-6 for time, units in rested)


def test_progress_is_told(raw: Raw) -> None:
    told: list[tuple[int, int | None]] = []
    list(tools.verify(raw.session, app, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (len(raw.items(app)[app.name]), None)


@pytest.mark.parametrize("verb", ["repair", "backfill"])
def test_nothing_is_repaired_inside_a_block_of_the_same_session(raw: Raw, verb: str) -> None:
    raw.delete(app, key_of("email#ann@x"))
    with (
        raw.session.transaction(),
        pytest.raises(
            UsageError, match=rf"{verb}\(session, ...\) .* would not be .*call it before or after the block"
        ),
    ):
        list(getattr(tools, verb)(raw.session, app))
    assert kinds(raw, app) == [FindingKind.MISSING_GUARD]


@pytest.mark.parametrize("named", [(), ("app",), (app, 5)])
def test_nothing_else_can_be_verified(named: Any) -> None:
    with Session(region=REGION) as session, pytest.raises(UsageError, match="name"):
        tools.verify(session, *named)


@pytest.mark.parametrize("options", [{"segments": 0}, {"rate": 0}, {"rate": -1}])
def test_a_division_or_rate_that_makes_no_sense_is_refused(options: Any) -> None:
    with Session(region=REGION) as session, pytest.raises(UsageError, match="give"):
        tools.verify(session, app, **options)


@pytest.mark.parametrize("verb", ["verify", "repair", "backfill"])
@pytest.mark.parametrize("wrong", [{"progress": 1}, {"dry_run": "no"}])
def test_wrong_arguments_are_refused_by_the_call_itself(raw: Raw, verb: str, wrong: dict[str, Any]) -> None:
    if verb != "verify" or "dry_run" not in wrong:
        with pytest.raises(UsageError):
            getattr(tools, verb)(raw.session, app, **wrong)


def test_consistent_is_checked_where_a_version_makes_it_needless(raw: Raw) -> None:
    with pytest.raises(UsageError, match="consistent='x'"):
        raw.session.get(Key(Book, isbn="1"), version=1, consistent="x")  # type: ignore[call-overload]  # wrong
