"""Work that is killed anywhere goes on where it was, and comes to the same end."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dynaorm import Table, tools
from dynaorm.description import classify
from dynaorm.integrity.serialize import as_json, finding_in
from dynaorm.tools import Finding
from tests.conftest import ROOT
from tests.integrity.damages import DAMAGES, together
from tests.integrity.shop import User, fill, now
from tests.integrity.test_run_damage import found, wanted
from tests.integrity.zoo import TABLES, Damage, Raw, app, far

WORKER = Path(__file__).with_name("worker.py")
PATIENCE = 120.0
GIVEN_ANEW = {"_rev", "version", "version_at"}
"""What a load gives to an entity that it saves."""
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

    def work_on(self, verb: str, chance: Random, most: float, *, later: float = 4) -> list[Finding]:
        """Let processes be killed until one comes to its end; what that told of. Two were killed at least.

        ``most``: the calls that the first one makes. ``later``: how many more each one makes than the one before.
        """
        killed = 0
        # A process that is killed at its first calls makes no headway: later ones live longer.
        while (told := self.work(verb, chance.uniform(most / 2, most) + later * killed)) is None:
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
    assert found(one for one in told if not one.repairable) == left
    assert found(tools.verify(ministack.session, *TABLES)) == left


def test_verifying_that_is_killed_finds_everything_at_its_end(ministack: Raw, killer: Killer) -> None:
    chance = Random(2)
    damages = damaged(ministack, chance)
    stored = ministack.items(*TABLES)
    assert found(killer.work_on("verify", chance, 30)) == wanted(*damages)
    assert ministack.items(*TABLES) == stored


def test_a_repair_of_named_findings_that_is_killed_comes_to_the_same_end(
    ministack: Raw, killer: Killer, tmp_path: Path
) -> None:
    chance = Random(3)
    damages = damaged(ministack, chance)
    findings = map(as_json, tools.verify(ministack.session, *TABLES))
    (tmp_path / "findings").write_text("".join(f"{one}\n" for one in findings))
    killer.work_on("mend", chance, 40, later=20)
    left = wanted(*(damage for damage in damages if not damage.mends))
    assert found(tools.verify(ministack.session, *TABLES)) == left


@pytest.mark.parametrize("verb", ["load", "put"])
def test_a_load_that_is_killed_stores_every_line_at_its_end(
    ministack: Raw, killer: Killer, tmp_path: Path, verb: str
) -> None:
    ministack.fill()
    stored = ministack.items(*TABLES)
    for table in TABLES:
        tools.dump(ministack.session, table, tmp_path / f"dumped-{table.name}")
        for item in stored[table.name]:
            ministack.delete(table, {name: item[name] for name in table.key_names})
    assert not any(ministack.items(*TABLES).values())
    killer.work_on(verb, Random(4), 2, later=1 if verb == "put" else 6)
    if verb == "put":
        assert ministack.items(*TABLES) == stored
        return
    assert list(tools.verify(ministack.session, app, far)) == []
    for table in (app, far):
        wanted = [keyed(one) for one in stored[table.name] if classify(one, table).kind == "entity"]
        loaded = ministack.items(table)[table.name]
        assert [keyed(one) for one in loaded if classify(one, table).kind == "entity"] == wanted
        assert not (tmp_path / f"checkpoint-{table.name}").exists()


def test_a_dump_that_is_killed_is_whole_at_its_end(ministack: Raw, killer: Killer, tmp_path: Path) -> None:
    ministack.fill()
    killer.work_on("dump", Random(5), 2, later=1)
    for table in TABLES:
        tools.dump(ministack.session, table, tmp_path / table.name)
        assert (tmp_path / f"again-{table.name}").read_bytes() == (tmp_path / table.name).read_bytes()


def keyed(item: dict[str, Any]) -> str:
    return str({name: item[name] for name in sorted(item) if name not in GIVEN_ANEW})


@pytest.mark.parametrize("seed", range(3, 3 + RUNS))
def test_an_index_is_added_and_filled_by_killed_processes(
    ministack: Raw, killer: Killer, tmp_path: Path, seed: int
) -> None:
    ministack.session.create_table(Table("shop"))
    fill(ministack.session)
    killer.work_on("apply", Random(seed), 20)
    assert tools.compare_table(ministack.session, now) == ()
    findings = list(tools.verify(ministack.session, now))
    assert [one.kind.value for one in findings] == ["duplicate value"]
    assert not (tmp_path / "checkpoint").exists()
    members = ministack.session.query(User.by_team, team="a").all()
    assert [one.user_id for one in members] == ["1", "2"]
    ministack.client.delete_table(TableName=ministack.name("shop"))
