"""Real processes that race, crash and are killed: one of them wins, nothing is lost, nothing is half done."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from dynaorm.testing.faults import EXIT_STATUS

RACER = Path(__file__).with_name("racer.py")
PROCESSES = 4
PATIENCE = 120.0


class Arena:
    """A table of this test in another process, and processes that work on it."""

    def __init__(self, endpoint: str, table: str) -> None:
        self.endpoint = endpoint
        self.table = table
        self.client: Any = botocore.session.get_session().create_client(
            "dynamodb", region_name="us-east-1", endpoint_url=endpoint
        )
        self._running: list[subprocess.Popen[str]] = []

    def start(self, work: str, **arguments: Any) -> "subprocess.Popen[str]":
        """Start a process that is ready to work, and waits."""
        command = [sys.executable, str(RACER), self.endpoint, self.table, work, json.dumps(arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._running.append(process)
        return process

    def race(self, *works: tuple[str, dict[str, Any]]) -> list[Any]:
        """Let several processes work at the same time, and return their results."""
        processes = [self.start(work, **arguments) for work, arguments in works]
        for process in processes:
            assert _output(process).readline() == "ready\n"
        for process in processes:
            _go(process)
        outcomes = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * len(processes)
        return [json.loads(outcome.splitlines()[-1]) for outcome in outcomes]

    def run(self, work: str, **arguments: Any) -> Any:
        """Let one process work, and return its result."""
        return self.race((work, arguments))[0]

    def put(self, **item: Any) -> None:
        self.client.put_item(TableName=self.table, Item=item)

    def items(self) -> list[dict[str, Any]]:
        found = self.client.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return sorted(found, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))

    def get(self, partition: str, sort: str) -> dict[str, Any]:
        (found,) = [item for item in self.items() if (item["PK"]["S"], item["SK"]["S"]) == (partition, sort)]
        return found

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.client.delete_table(TableName=self.table)
        self.client.close()


def _output(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    return process.stdout


def _go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.fixture
def arena(ministack_endpoint: str, unique_name: Callable[[str], str]) -> Iterator[Arena]:
    arena = Arena(ministack_endpoint, unique_name("Race"))
    key = {"PK": "HASH", "SK": "RANGE"}
    arena.client.create_table(
        TableName=arena.table,
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in key.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in key],
        BillingMode="PAY_PER_REQUEST",
    )
    yield arena
    arena.close()


def text(value: str) -> dict[str, str]:
    return {"S": value}


def put_user(arena: Arena, name: str) -> None:
    """A user and its two guard items, written by hand."""
    key = {"PK": text(f"USER#{name}"), "SK": text("PROFILE")}
    values = {"email": text(f"{name}@x.org"), "phone": text(name)}
    arena.put(**key, **values, user_id=text(name), _type=text("User"), _rev=text("by hand"))
    for constraint, value in values.items():
        guard = text(f"{constraint}#{value['S']}")
        arena.put(PK=guard, SK=guard, owner={"M": key})


def put_page(arena: Arena) -> None:
    """A page at version 1, written by hand."""
    page = {"PK": text("PAGE#home"), "name": text("home"), "text": text(""), "_rev": text("by hand")}
    numbered = {**page, "version": {"N": "1"}, "version_at": text("2024-01-01T00:00:00.000000Z")}
    arena.put(**numbered, SK=text("v0_TEXT"), _type=text("Page"))
    arena.put(**numbered, SK=text("v1_TEXT"))


def broken(items: Sequence[dict[str, Any]]) -> list[str]:
    """Everything that is half done: values without guard, guards without entity, gaps in versions, differing copies."""
    by_key = {(item["PK"]["S"], item["SK"]["S"]): item for item in items}
    expected: dict[tuple[str, str], dict[str, Any]] = {}
    faults: list[str] = []
    for item in items:
        kind = item["PK"]["S"].partition("#")[0]
        if kind == "USER":
            key = {"PK": item["PK"], "SK": item["SK"]}
            for constraint in ("email", "phone"):
                guard = f"{constraint}#{item[constraint]['S']}"
                expected[guard, guard] = {"PK": text(guard), "SK": text(guard), "owner": {"M": key}}
        elif kind == "PAGE" and item["SK"]["S"] == "v0_TEXT":
            numbers = range(1, int(item["version"]["N"]) + 1)
            versions = [by_key.get((item["PK"]["S"], f"v{number}_TEXT"), {}) for number in numbers]
            faults += [f"version {number} is missing" for number in numbers if not versions[number - 1]]
            if versions[-1].get("text") != item["text"] or versions[-1].get("_rev") != item["_rev"]:
                faults.append("the latest copy is not the latest version")
    guards = {key: item for key, item in by_key.items() if key[0].startswith(("email#", "phone#"))}
    faults += [f"{key} should be {item}" for key, item in expected.items() if guards.get(key) != item]
    faults += [f"{key} belongs to nobody" for key in guards if key not in expected]
    return faults


def versions(arena: Arena) -> list[int]:
    keys = (item["SK"]["S"] for item in arena.items() if item["PK"]["S"] == "PAGE#home")
    return sorted(int(key.removeprefix("v").removesuffix("_TEXT")) for key in keys)


# -- races -------------------------------------------------------------------------------------------------------------


def test_of_processes_that_create_one_value_one_wins(arena: Arena) -> None:
    rounds = 12
    won = arena.race(*(("create", {"me": str(me), "rounds": rounds}) for me in range(PROCESSES)))
    assert [sum(each) for each in zip(*won, strict=True)] == [1] * rounds
    items = arena.items()
    assert broken(items) == []
    assert len(items) == 3 * rounds, "of the losers nothing is left"


def test_a_lock_has_one_holder_and_jobs_are_done_once(arena: Arena) -> None:
    rounds, jobs = 3, range(6)
    for number in jobs:
        key = {"PK": text(f"JOB#{number}"), "SK": text("JOB")}
        arena.put(**key, _type=text("Job"), number={"N": str(number)}, receipt=text(""), _rev=text("r"))
    lease = {"PK": text("LEASE#s"), "SK": text("LEASE"), "shard": text("s"), "owner": text("")}
    arena.put(**lease, _type=text("Lease"), host=text("h"), counter={"N": "1"})
    made = arena.race(*(("compete", {"me": str(me), "rounds": rounds}) for me in range(3)))
    # Nobody else changed what the lock guards between a read and the write of what follows from it.
    held = sorted(fence for each in made for fence in each["lock"])
    assert len(set(held)) == 3 * rounds
    assert arena.get("BALANCE#l", "BALANCE")["amount"] == {"N": str(3 * rounds)}
    assert arena.get("LOCK#l", "LOCK")["owner"] == text("")
    # Each write of the lease raised its number by one, and no two processes wrote one number.
    numbers = sorted(number for each in made for number in each["lease"])
    assert numbers == [*range(2, 3 * 3 * rounds + 2)]
    takes = [each["lease"][at : at + 3] for each in made for at in range(0, 3 * rounds, 3)]
    assert all(take == [*range(take[0], take[0] + 3)] for take in takes), "nobody wrote while another held it"
    stored = arena.get("LEASE#s", "LEASE")
    assert (stored["host"], stored["counter"]) == (text("h"), {"N": str(numbers[-1])})
    assert sorted(job for each in made for job in each["jobs"]) == [*jobs]
    assert not [item for item in arena.items() if item["PK"]["S"].startswith("JOB#")]
    assert made[0]["answers"] == made[1]["answers"] == made[2]["answers"]
    effects = [item for item in arena.items() if item["PK"]["S"].startswith("EFFECT#")]
    assert [item["times"] for item in effects] == [{"N": "1"}] * rounds


def test_an_equal_block_under_one_token_is_applied_once(arena: Arena) -> None:
    revisions = arena.race(*[("register", {"token": arena.table})] * PROCESSES)
    assert set(revisions) == {arena.get("USER#one", "PROFILE")["_rev"]["S"]}
    assert versions(arena) == [0, 1]
    assert broken(arena.items()) == []


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "write"),
    [
        ("crash_before", "create"),
        ("crash_after", "change"),
        ("crash_after", "delete"),
        ("crash_before", "version"),
        ("crash_after", "version"),
    ],
)
def test_a_process_that_dies_in_a_save_leaves_all_or_nothing(arena: Arena, fault: str, write: str) -> None:
    put_user(arena, "one")
    put_page(arena)
    before = arena.items()
    process = arena.start("crash", fault=fault, write=write)
    process.communicate("go\n", timeout=PATIENCE)
    assert process.returncode == EXIT_STATUS
    left = arena.items()
    assert broken(left) == []
    assert (left == before) is (fault == "crash_before")
    arena.run("finish", write=write)
    done = arena.items()
    assert broken(done) == []
    assert (done == left) is (fault == "crash_after"), "what was committed is not done twice"


def test_a_block_of_a_dead_process_is_recognised_by_its_token(arena: Arena) -> None:
    process = arena.start("register", token=arena.table, fault="crash_after")
    process.communicate("go\n", timeout=PATIENCE)
    assert process.returncode == EXIT_STATUS
    committed = arena.items()
    assert len(committed) == 6
    assert arena.run("register", token=arena.table) == committed[3]["_rev"]["S"]
    assert arena.items() == committed


def test_a_plan_of_unknown_outcome_is_settled_by_another_process(arena: Arena, tmp_path: Path) -> None:
    arena.run("lose", path=str(tmp_path / "plan"))
    committed = arena.items()
    assert len(committed) == 3
    assert arena.run("resume", path=str(tmp_path / "plan")) is True
    assert arena.items() == committed
