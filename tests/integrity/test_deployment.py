"""Two versions of a service are deployed one after the other, while ``apply`` and ``backfill`` run and both write."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Table, tools
from tests.conftest import ROOT
from tests.integrity.shop import Team, User, now
from tests.integrity.zoo import Raw

WORKER = Path(__file__).with_name("deployed.py")
Worker = Any
RUNS = int(os.environ.get("TORTURE_RUNS", "1"))


def started(endpoint: str, raw: Raw, version: str, seed: int) -> Worker:
    return subprocess.Popen(
        [sys.executable, str(WORKER), endpoint, raw.name("shop"), version, str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_writing(worker: Worker) -> bool:
    """Wait until a worker has written."""
    found: str = worker.stdout.readline()
    return found == "writing\n"


def stopped(workers: list[Worker]) -> None:
    """Let workers come to their end. None of them was refused a write."""
    for worker in workers:
        told, failed = worker.communicate(timeout=60)
        assert worker.returncode == 0, failed
        assert int(told) >= 20


@pytest.mark.parametrize("run", range(RUNS))
def test_no_write_is_refused_and_nothing_is_wrong_afterwards(
    ministack: Raw, ministack_endpoint: str, run: int
) -> None:
    session = ministack.session
    session.create_table(Table("shop"))
    old = [started(ministack_endpoint, ministack, "old", 4 * run + seed) for seed in (1, 2)]
    new = [started(ministack_endpoint, ministack, "new", 4 * run + seed) for seed in (3, 4)]
    try:
        assert all(map(is_writing, old))
        assert [step.text for step in tools.apply(session, now, backfill=False).steps] == [
            "create the index 'GSI1'"
        ]
        assert all(map(is_writing, new))
        stopped(old)
        assert tools.apply(session, now).left == ()
        list(tools.backfill(session, now))
        stopped(new)
        # What an old worker changed after a new one had written it.
        list(tools.repair(session, now))
        assert list(tools.verify(session, now)) == []
        users = session.scan(User).all()
        for team in ("a", "b"):
            members = [one for one in users if one.team == team]
            assert {one.user_id for one in session.query(User.by_team, team=team)} == {
                one.user_id for one in members
            }
            counted = session.get(Team, team=team)
            assert (counted.members if counted is not None else 0) == len(members)
        assert all(session.get_by(User, email=one.email) == one for one in users)
    finally:
        for worker in (*old, *new):
            worker.kill()
        ministack.client.delete_table(TableName=ministack.name("shop"))
