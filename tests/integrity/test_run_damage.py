"""Every kind of damage is found, and nothing else; what can be mended is, and nothing else is touched."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dynaorm import Session, tools
from dynaorm.errors import UnexpectedRefusal
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.integrity.run import RunOptions, backfill, repair, verify
from dynaorm.tools import Finding
from dynaorm.transport import Call, Refusal, Reply, Transport
from tests.integrity.damages import DAMAGES, portions
from tests.integrity.zoo import TABLES, Book, Damage, Found, Raw, app, clock, key_of, member, populate, text

READS = {"Scan", "Query", "BatchGetItem", "GetItem", "TransactGetItems", "DescribeTable"}


def found(findings: Iterable[Finding]) -> list[Found]:
    return sorted(
        (
            (one.kind, one.table, " ".join(next(iter(value.values())) for value in one.item_key.values()))
            for one in findings
        ),
        key=str,
    )


def wanted(*damages: Damage) -> list[Found]:
    return sorted((one for damage in damages for one in damage.found), key=str)


def test_what_is_saved_is_clean(raw: Raw) -> None:
    populate(raw.session)
    assert list(tools.verify(raw.session, *TABLES)) == []
    assert list(verify(raw.session, *TABLES, options=RunOptions(segments=4))) == []
    assert list(repair(raw.session, *TABLES)) == []


def test_every_kind_of_finding_has_its_damage() -> None:
    kinds = {kind for damage in DAMAGES for kind, _, _ in damage.found}
    # Only a backfill finds that an entity is incomplete.
    assert kinds == set(FindingKind) - {FindingKind.INCOMPLETE}


def damaged(raw: Raw, damages: list[Damage]) -> dict[str, list[dict[str, Any]]]:
    raw.fill()
    for damage in damages:
        damage.do(raw)
    return raw.items(*TABLES)


@pytest.mark.parametrize("damages", portions(), ids=lambda some: some[0].name.replace(" ", "-"))
def test_damage_is_found_and_mended_or_left_and_nothing_else_is_touched(
    ministack: Raw, damages: list[Damage]
) -> None:
    stored = damaged(ministack, damages)
    repairable = [one for one in damages if one.mends]
    findings = list(tools.verify(ministack.session, *TABLES))
    assert found(findings) == wanted(*damages), [str(one) for one in findings]
    assert found(one for one in findings if one.repairable) == wanted(*repairable)
    assert found(verify(ministack.session, *TABLES, options=RunOptions(segments=3))) == wanted(*damages)

    mended = list(repair(ministack.session, *TABLES))
    assert found(one.finding for one in mended) == wanted(*damages)
    assert {one.outcome for one in mended if one.finding.repairable} <= {Outcome.REPAIRED}
    assert {one.outcome for one in mended if not one.finding.repairable} <= {
        Outcome.NEEDS_DECISION,
        Outcome.SKIPPED,
    }
    after = ministack.items(*TABLES)
    keys = {key for _, _, key in wanted(*repairable)}
    assert untouched(after, keys) == untouched(stored, keys)

    # The second time there is nothing left to do.
    again = list(repair(ministack.session, *TABLES))
    assert found(one.finding for one in again) == wanted(*(one for one in damages if not one.mends))
    assert {one.outcome for one in again} <= {Outcome.NEEDS_DECISION, Outcome.SKIPPED}
    assert ministack.items(*TABLES) == after


def untouched(items: dict[str, list[dict[str, object]]], keys: set[str]) -> list[str]:
    """Every item but those of some keys, and the versions of a book or page among them."""
    return [
        repr(item)
        for table in TABLES
        for item in items[table.name]
        if not any(key.split()[0] in repr([item[name] for name in table.key_names]) for key in keys)
    ]


class _Recording:
    """A transport that remembers what it was asked to do."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.operations: set[str] = set()

    def call(self, call: Call, /) -> Reply:
        self.operations.add(call.operation)
        return self._inner.call(call)


def test_a_dry_run_plans_what_can_be_mended_and_sends_no_write(ministack: Raw) -> None:
    damages = portions()[0]
    stored = damaged(ministack, damages)
    transport = _Recording(ministack.transport)
    session = Session(transport=transport, table_names=ministack.name, clock=clock())
    for planned in (
        list(repair(session, *TABLES, options=RunOptions(dry_run=True))),
        list(tools.repair(session, *TABLES, dry_run=True)),
    ):
        assert found(one.finding for one in planned) == wanted(*damages)
        for one in planned:
            assert (one.outcome is Outcome.PLANNED, one.is_left) == (
                one.finding.repairable,
                not one.finding.repairable,
            )
            assert (one.plan is not None) == one.finding.repairable
    list(backfill(session, *TABLES, options=RunOptions(dry_run=True)))
    list(tools.backfill(session, *TABLES, dry_run=True))
    list(tools.verify(session, *TABLES))
    assert transport.operations <= READS
    assert ministack.items(*TABLES) == stored


# -- who comes between -------------------------------------------------------------------------------------------------


def repaired_after(raw: Raw, work: Callable[[], object]) -> list[Outcome]:
    """What becomes of faults when somebody who knows no revisions writes before the first is mended."""
    session = raw.session_before("TransactWriteItems", work)
    return [one.outcome for one in repair(session, app)]


def test_a_value_changed_behind_every_revision_is_not_claimed(moto: Raw) -> None:
    moto.fill()
    moto.delete(app, key_of("email#ann@x"))
    outcomes = repaired_after(moto, lambda: moto.change(app, member("ann"), email=text("eve@x")))
    assert outcomes == [Outcome.RESOLVED]
    assert found(tools.verify(moto.session, app)) == [
        (FindingKind.MISSING_GUARD, app.name, "email#eve@x email#eve@x")
    ]


def test_a_copy_changed_behind_every_revision_is_kept_as_it_is_then(moto: Raw) -> None:
    moto.fill()
    version, latest = key_of("BOOK#2", "v4_TEXT"), key_of("BOOK#2", "v0_TEXT")
    moto.delete(app, version)
    assert repaired_after(moto, lambda: moto.change(app, latest, text=text("new"))) == [Outcome.REPAIRED]
    assert moto.get(app, version)["text"] == text("new")
    assert list(tools.verify(moto.session, app)) == []


@pytest.mark.parametrize("revision", ["its own", None])
def test_a_version_that_a_repair_puts_is_the_latest_copy_without_type_and_index_keys(
    moto: Raw, revision: str | None
) -> None:
    moto.fill()
    latest = key_of("BOOK#2", "v0_TEXT")
    moto.change(app, latest, version=None, version_at=None, **({} if revision else {"_rev": None}))
    assert [one.outcome for one in tools.repair(moto.session, Book)] == [Outcome.REPAIRED]
    copy = moto.get(app, latest)
    assert ("_rev" in copy) is (revision is not None)
    del copy["_type"]
    assert moto.get(app, key_of("BOOK#2", "v5_TEXT")) == {**copy, "SK": text("v5_TEXT")}


def test_an_orphan_that_somebody_claims_meanwhile_is_not_deleted(moto: Raw) -> None:
    moto.fill()
    orphan = key_of("email#zoe@x")
    moto.put(app, orphan, owner={"M": key_of("GROUP#red", "MEMBER#zoe")})

    def claim() -> None:
        moto.put(app, orphan, owner={"M": member("ann")})
        moto.change(app, member("ann"), email=text("zoe@x"))

    assert repaired_after(moto, claim) == [Outcome.RESOLVED]
    assert moto.get(app, orphan)["owner"] == {"M": member("ann")}


def test_who_may_not_write_is_told_at_once(moto: Raw) -> None:
    class ReadOnly(_Recording):
        def call(self, call: Call, /) -> Reply:
            if call.operation not in READS:
                raise Refusal("AccessDeniedException", "not authorized to perform: dynamodb:PutItem")
            return super().call(call)

    damaged(moto, portions()[0])
    session = Session(transport=ReadOnly(moto.transport), clock=clock())
    with pytest.raises(UnexpectedRefusal, match="not authorized"):
        list(tools.repair(session, *TABLES))
