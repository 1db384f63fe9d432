"""``repair`` of findings that an earlier verification wrote: as a whole repair mends, and nothing that is right."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Table, tools
from dynaorm.errors import UsageError
from dynaorm.failure import MASK
from dynaorm.flow.integrity.finding import FindingKind, Outcome, finding_at
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.integrity.run import RunOptions, repair, verify
from dynaorm.integrity.serialize import as_json, finding_in
from dynaorm.tools import Finding, RepairResult
from tests.integrity.damages import portions
from tests.integrity.zoo import TABLES, Damage, Raw, app, key_of


def told(mended: Iterable[RepairResult]) -> list[str]:
    return sorted(
        f"{one.outcome.value}: {one.finding.kind.value} {one.finding.table} {one.finding.item_key}"
        for one in mended
    )


def damaged(raw: Raw, damages: list[Damage]) -> list[Finding]:
    raw.fill()
    for damage in damages:
        damage.do(raw)
    lines = [as_json(one, with_secrets=True) for one in verify(raw.session, *TABLES)]
    return [finding_in(line) for line in lines]


@pytest.mark.parametrize("damages", portions(), ids=lambda some: some[0].name.replace(" ", "-"))
def test_findings_are_mended_as_a_whole_repair_mends_them(moto: Raw, damages: list[Damage]) -> None:
    findings = damaged(moto, damages)
    mended = list(tools.repair(moto.session, *TABLES, findings=findings))
    assert [
        str(one.finding) for one in mended if one.finding.repairable and one.outcome is not Outcome.REPAIRED
    ] == []
    assert {one.outcome for one in mended if not one.finding.repairable} <= {
        Outcome.NEEDS_DECISION,
        Outcome.SKIPPED,
    }
    left = [as_json(one, with_secrets=True) for one in findings if not one.repairable]
    assert sorted(as_json(one, with_secrets=True) for one in verify(moto.session, *TABLES)) == sorted(left)
    after = moto.items(*TABLES)
    # A second time, and after anybody else mended them, there is nothing to do.
    again = list(repair(moto.session, *TABLES, findings=findings))
    assert {one.outcome for one in again} <= {Outcome.RESOLVED, Outcome.NEEDS_DECISION, Outcome.SKIPPED}
    assert moto.items(*TABLES) == after
    moto.fill()
    for damage in damages:
        damage.do(moto)
    whole = list(repair(moto.session, *TABLES))
    assert told(mended) == told(whole)


def test_a_dry_run_shows_the_plans_and_writes_nothing(moto: Raw) -> None:
    findings = damaged(moto, portions()[0])
    before = moto.items(*TABLES)
    options = RunOptions(dry_run=True)
    shown = [one for one in repair(moto.session, *TABLES, options=options, findings=findings) if one.plan]
    assert len(shown) == sum(one.repairable for one in findings)
    assert moto.items(*TABLES) == before


def test_what_is_right_is_not_touched_whatever_a_finding_says(moto: Raw) -> None:
    moto.fill()
    before = moto.items(*TABLES)
    wrong = [
        finding_at(
            kind, ItemAddress(app, {name: item[name] for name in app.key_names}), "made up", repairable=True
        )
        for item in before[app.name]
        for kind in FindingKind
    ]
    told_of = list(tools.repair(moto.session, *TABLES, findings=wrong))
    assert {one.outcome for one in told_of} == {Outcome.RESOLVED}
    assert moto.items(*TABLES) == before


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        ("a finding", "is not a finding"),
        (finding_at(FindingKind.TOTAL, ItemAddress(Table("other"), key_of("a", "b")), ""), "'other'"),
        (finding_at(FindingKind.TOTAL, ItemAddress(app, key_of(MASK, "b")), ""), "masked key"),
    ],
)
def test_what_cannot_be_judged_again_is_refused(moto: Raw, finding: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        tools.repair(moto.session, *TABLES, findings=[finding])


def test_a_run_of_findings_has_no_segments(moto: Raw, tmp_path: Path) -> None:
    for options in (RunOptions(segments=2), RunOptions(checkpoint=tmp_path / "c")):
        with pytest.raises(UsageError, match="leave the segments"):
            list(repair(moto.session, *TABLES, options=options, findings=[]))
