"""The torture test for a few seconds: processes that compete, meet faults and are killed break no promise."""

from pathlib import Path

from tests.torture.boss import Settings, torture
from tests.torture.report import report


def test_processes_that_fight_meet_faults_and_are_killed_break_no_promise(
    ministack_endpoint: str, tmp_path: Path
) -> None:
    settings = Settings(
        folder=tmp_path,
        seconds=8.0,
        processes=2,
        seed=5,
        epoch=3.0,
        kill_every=3.0,
        endpoint=ministack_endpoint,
    )
    outcome = torture(settings)
    told = report(outcome)
    assert outcome.violations == [], told
    assert outcome.ends["killed"] >= 1, told
    assert sum(record.outcome == "acknowledged" for record in outcome.run.records) >= 10, told
    assert sum(len(record.struck) for record in outcome.run.records) >= 1, told
