"""Work that is killed anywhere goes on where it was, and comes to the same end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.integrity.damages import DAMAGES, together
from tests.integrity.shop import now, store
from tests.integrity.test_run_damage import found, wanted
from tests.integrity.zoo import TABLES, Raw

WORKER = Path(__file__).with_name("worker.py")
PATIENCE = 120.0


class Killer:
    """Processes on the tables of a test, killed at moments of chance."""

    def __init__(self, endpoint: str, raw: Raw, folder: Path) -> None:
        self._endpoint = endpoint
        self._mark = raw.name("").removeprefix("-")
        self._folder = folder

    def work(self, verb: str, calls: float) -> Any:
        """What came of one process; None where it was killed."""
        arguments = [self._endpoint, self._mark, str(self._folder), verb, str(calls)]
        run = subprocess.run(
            [sys.executable, str(WORKER), *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if run.returncode == -signal.SIGKILL:
            return None
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def work_on(self, verb: str, chance: Random, most: int) -> int:
        """Let processes be killed until one comes to its end; how many were."""
        killed = 0
        # A process that is killed at its first calls makes no headway: later ones live longer.
        while self.work(verb, chance.uniform(1, most) + 2 * killed) is None:
            killed += 1
            assert killed < 40
        return killed


@pytest.fixture
def killer(ministack_endpoint: str, ministack: Raw, tmp_path: Path) -> Killer:
    return Killer(ministack_endpoint, ministack, tmp_path)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_repair_that_is_killed_comes_to_the_same_end(ministack: Raw, killer: Killer, seed: int) -> None:
    ministack.fill()
    chance = Random(seed)
    shuffled = chance.sample(DAMAGES, len(DAMAGES))
    damages = together(sorted(shuffled, key=lambda one: not one.mends))
    for damage in damages:
        damage.do(ministack)
    assert found(ministack.session.verify(*TABLES)) == wanted(*damages)
    assert killer.work_on("repair", chance, 40) > 2
    left = [damage for damage in damages if not damage.mends]
    assert found(ministack.session.verify(*TABLES)) == wanted(*left)


def test_a_backfill_that_is_killed_comes_to_the_same_end(
    ministack: Raw, killer: Killer, tmp_path: Path
) -> None:
    store(ministack.session)
    assert killer.work_on("backfill", Random(3), 8) > 2
    findings = list(ministack.session.verify(now))
    assert [one.kind.value for one in findings] == ["duplicate value"]
    lines = (tmp_path / "duplicates").read_text().splitlines()
    assert len(lines) == 1
    assert not (tmp_path / "checkpoint").exists()
    ministack.client.delete_table(TableName=ministack.name("shop"))


def test_a_process_that_is_killed_while_it_reads_has_written_nothing(ministack: Raw, killer: Killer) -> None:
    store(ministack.session)
    stored = ministack.items(now)
    assert killer.work("backfill", 1) is None
    assert ministack.items(now) == stored
    ministack.client.delete_table(TableName=ministack.name("shop"))
