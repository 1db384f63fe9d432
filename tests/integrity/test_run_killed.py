"""Work that is killed anywhere goes on where it was, and comes to the same end."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from dynaorm import Table
from dynaorm.flow.integrity.finding import Finding
from dynaorm.integrity.report import finding_in
from tests.conftest import ROOT
from tests.integrity.damages import DAMAGES, together
from tests.integrity.shop import User, fill, now
from tests.integrity.test_run_damage import found, wanted
from tests.integrity.zoo import TABLES, Damage, Raw

WORKER = Path(__file__).with_name("worker.py")
PATIENCE = 120.0
RUNS = int(os.environ.get("TORTURE_RUNS", "1"))


class Killer:
    """Processes on the tables of a test, killed at moments of chance."""

    def __init__(self, endpoint: str, raw: Raw, folder: Path) -> None:
        self._endpoint = endpoint
        self._mark = raw.name("").removeprefix("-")
        self._folder = folder

    def work(self, verb: str, calls: float) -> list[Finding] | None:
        """What one process told of; None where it was killed."""
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
        return [finding_in(line) for line in run.stdout.splitlines()]

    def work_on(self, verb: str, chance: Random, most: int) -> list[Finding]:
        """Let processes be killed until one comes to its end; what that told of. Two were killed at least."""
        killed = 0
        # A process that is killed at its first calls makes no headway: later ones live longer.
        while (told := self.work(verb, chance.uniform(most / 2, most) + 4 * killed)) is None:
            killed += 1
            assert killed < 40
        assert killed > 1
        return told


@pytest.fixture
def killer(ministack_endpoint: str, ministack: Raw, tmp_path: Path) -> Killer:
    return Killer(ministack_endpoint, ministack, tmp_path)


def damaged(ministack: Raw, chance: Random) -> list[Damage]:
    """As much damage at once as can be, most of it such that it can be mended."""
    ministack.fill()
    shuffled = chance.sample(DAMAGES, len(DAMAGES))
    damages = together(sorted(shuffled, key=lambda one: not one.mends))
    for damage in damages:
        damage.do(ministack)
    return damages


def test_a_repair_that_is_killed_comes_to_the_same_end(ministack: Raw, killer: Killer) -> None:
    chance = Random(1)
    damages = damaged(ministack, chance)
    told = killer.work_on("repair", chance, 40)
    left = wanted(*(damage for damage in damages if not damage.mends))
    assert found(one for one in told if not one.mendable) == left
    assert found(ministack.session.verify(*TABLES)) == left


def test_verifying_that_is_killed_finds_everything_at_its_end(ministack: Raw, killer: Killer) -> None:
    chance = Random(2)
    damages = damaged(ministack, chance)
    stored = ministack.items(*TABLES)
    assert found(killer.work_on("verify", chance, 30)) == wanted(*damages)
    assert ministack.items(*TABLES) == stored


@pytest.mark.parametrize("seed", range(3, 3 + RUNS))
def test_an_index_is_added_and_filled_by_killed_processes(
    ministack: Raw, killer: Killer, tmp_path: Path, seed: int
) -> None:
    ministack.session.create_table(Table("shop"))
    fill(ministack.session)
    killer.work_on("apply", Random(seed), 20)
    assert ministack.session.compare_table(now) == ()
    findings = list(ministack.session.verify(now))
    assert [one.kind.value for one in findings] == ["duplicate value"]
    lines = (tmp_path / "duplicates").read_text().splitlines()
    assert len(lines) == 1
    assert not (tmp_path / "checkpoint").exists()
    members = ministack.session.query(User.by_team, team="a").all()
    assert [one.user_id for one in members] == ["1", "2"]
    ministack.client.delete_table(TableName=ministack.name("shop"))
