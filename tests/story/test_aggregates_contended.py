"""Many writers count in one group at the same time, in threads and in processes: no count is lost."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.story.aggregates_writer import Group, Membership, app, connected, work

if TYPE_CHECKING:
    from tests.story.conftest import Engine

WRITERS = 4
ROUNDS = 12
SCRIPT = Path(__file__).with_name("aggregates_writer.py")
PATIENCE = 120


@pytest.fixture
def contended(ministack: "Engine") -> "Engine":
    """Two groups, and a membership that all writers change."""
    ministack.create(app)
    with ministack.session() as session:
        session.save(Group(group_id="g"))
        session.save(Group(group_id="h"))
        session.save(Membership(group_id="g", user_id="shared"))
    return ministack


def check(engine: "Engine") -> None:
    """Check that the totals equal the stored memberships, and that the shared membership has every increment."""
    items = engine.raw(app)
    groups = {item["group_id"]["S"]: item for item in items if item["SK"]["S"] == "INFO"}
    for name, group in groups.items():
        edges = [item for item in items if item["group_id"]["S"] == name and item["SK"]["S"] != "INFO"]
        assert int(group["members"]["N"]) == len(edges)
        assert int(group["hours"]["N"]) == sum(int(edge["hours"]["N"]) for edge in edges)
    (shared,) = [item for item in items if item["SK"]["S"] == "USER#shared"]
    assert int(shared["hours"]["N"]) == WRITERS * ROUNDS
    assert len(items) == 3 + WRITERS * (ROUNDS - ROUNDS // 3)


def test_threads_lose_no_increment(contended: "Engine", ministack_endpoint: str) -> None:
    table = contended.name(app.name)
    sessions = [connected(ministack_endpoint, table) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        refused = list(pool.map(work, sessions, "abcd", [ROUNDS] * WRITERS))
    assert refused == [0] * WRITERS
    check(contended)


def test_processes_lose_no_increment(contended: "Engine", ministack_endpoint: str) -> None:
    table = contended.name(app.name)
    command = [sys.executable, str(SCRIPT), ministack_endpoint, table]
    processes = [
        subprocess.Popen(
            [*command, me, str(ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for me in "abcd"
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        said = together(processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert said == ["0\n"] * WRITERS
    check(contended)


def together(processes: list["subprocess.Popen[str]"]) -> list[str]:
    """Let all processes start, then wait for their results."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate(timeout=PATIENCE)[0] for process in processes]
