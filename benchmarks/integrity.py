"""Measure time and memory of verify, repair and backfill on a big table, and kill them to see whether anything is lost.

Run: nice python benchmarks/integrity.py [ITEMS] [SEED] (default 100,000 items) on ministack (DYNAORM_MINISTACK).

Every command runs in a process of its own. After ``verify``, one item in a hundred is damaged. ``repair`` is killed
with ``kill -9`` ten times at random moments and started again; then every item is compared with its expected content.
``backfill`` is tested the same way, on a tenth as many items without constraint, index and totals.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import botocore.session

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.plan.values import new_image
from dynaorm.testing.ministack import Ministack

ROOT = Path(__file__).parents[1]
GROUPS = 100
KILLS = 10

app = Table("bench", indexes=[GlobalIndex("GSI1")])
old = Table("bench-old", indexes=[GlobalIndex("GSI1")])


class Group(Entity, table=app, pk="GROUP#{group}", sk="INFO"):
    group: int
    users: int = 0


class User(Entity, table=app, pk="USER#{number:07d}", sk="PROFILE"):
    number: int
    email: Annotated[str, Unique()]
    group: int
    note: str = "x" * 100
    by_group = Index("GSI1", pk="GROUP#{group}", sk="{email}")
    in_group = Aggregate(Group, count="users")


class Team(Entity, table=old, pk="TEAM#{team}", sk="INFO"):
    team: int
    players: int = 0


class Player(Entity, table=old, pk="PLAYER#{number:07d}", sk="PROFILE"):
    number: int
    email: Annotated[str, Unique()]
    team: int
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{email}")
    in_team = Aggregate(Team, count="players")


Items = dict[tuple[str, str], dict[str, Any]]


def image(entity: Any) -> dict[str, Any]:
    mapping, values = mapping_of(type(entity)), vars(entity)
    return {**new_image(mapping, mapping.primary_key.of(values), values), "_rev": {"S": "0"}}


def with_guards(entities: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for entity in entities:
        item = image(entity)
        yield item
        guard = {"S": f"email#{entity.email}"}
        yield {"PK": guard, "SK": guard, "owner": {"M": {name: item[name] for name in ("PK", "SK")}}}


def healthy(count: int) -> Iterator[dict[str, Any]]:
    """The groups, and ``count`` items of users and their guards, as saves would have stored them."""
    users = count // 2
    for group in range(GROUPS):
        yield image(Group(group=group, users=len(range(group, users, GROUPS))))
    yield from with_guards(
        User(number=number, email=f"user{number}@example.org", group=number % GROUPS)
        for number in range(users)
    )


def players(count: int) -> Iterator[Player]:
    for number in range(count):
        yield Player(number=number, email=f"player{number}@example.org", team=number % GROUPS)


def bare(entity: Any) -> dict[str, Any]:
    """The item of an entity that was stored before its index was declared."""
    return {name: value for name, value in image(entity).items() if not name.startswith("GSI1")}


def complete(count: int) -> Iterator[dict[str, Any]]:
    """What a backfill of the players must store."""
    for team in range(GROUPS):
        yield image(Team(team=team, players=len(range(team, count, GROUPS))))
    yield from with_guards(players(count))


class Bench:
    """Loads and reads tables with botocore, and runs the commands of dynaorm."""

    def __init__(self, endpoint: str, folder: Path, chance: random.Random) -> None:
        self.client: Any = botocore.session.get_session().create_client(
            "dynamodb", region_name="us-east-1", endpoint_url=endpoint
        )
        self._options = ["--endpoint", endpoint, "--region", "us-east-1", "--json"]
        self._checkpoint = folder / "checkpoint"
        self._out = folder / "out"
        self._chance = chance

    def load(self, table: Table, items: Iterable[dict[str, Any]]) -> None:
        began, count = time.monotonic(), 0
        portion: list[dict[str, Any]] = []
        for item in items:
            portion.append({"PutRequest": {"Item": item}})
            count += 1
            if len(portion) == 25:
                self.client.batch_write_item(RequestItems={table.name: portion})
                portion = []
        if portion:
            self.client.batch_write_item(RequestItems={table.name: portion})
        print(f"{count:,} items loaded in {time.monotonic() - began:.0f} s")

    def stored(self, table: Table) -> Items:
        """All items, without revisions, because a repair writes new ones."""
        pages = self.client.get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True)
        return keyed(item for page in pages for item in page["Items"])

    def command(
        self, verb: str, target: str, *more: str, lives: float | None = None
    ) -> list[dict[str, Any]] | None:
        """Run a command and return its findings. If it is killed after ``lives`` seconds, return None."""
        arguments = [verb, f"benchmarks.integrity:{target}", *self._options, *more]
        began, memory, is_killed = time.monotonic(), [], False
        with self._out.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "dynaorm.cli", *arguments], cwd=ROOT, stdout=out
            )
            while process.poll() is None:
                time.sleep(0.2)
                seconds = time.monotonic() - began
                memory.append((seconds, rss(process.pid)))
                if lives is not None and seconds > lives:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    is_killed = process.returncode == -signal.SIGKILL
                    break
        sizes = [size for seconds, size in memory if size and (seconds > 4 or seconds > memory[-1][0] / 2)]
        told = self._out.read_text().splitlines()
        how = "killed" if is_killed else f"status {process.returncode}"
        print(
            f"{' '.join([verb, *more[:-1]]):<24} {time.monotonic() - began:6.1f} s  {how:<9} {len(told):>6} told  "
            f"MB of memory, by quarters: {' '.join(f'{max(some):.0f}' for some in quarters(sizes))}"
        )
        if not is_killed and process.returncode not in (0, 1):
            sys.exit(f"{verb} ended with status {process.returncode}")
        return None if is_killed else [json.loads(line) for line in told]

    def killed_until_done(self, verb: str, target: str) -> list[dict[str, Any]]:
        """Run a command, kill it at random moments and start it again; after ten kills let it finish."""
        began, kills = time.monotonic(), 0
        while True:
            lives = self._chance.uniform(3, 30) if kills < KILLS else None
            told = self.command(verb, target, "--yes", "--checkpoint", str(self._checkpoint), lives=lives)
            if told is not None:
                print(f"{verb}: {kills} times killed, {time.monotonic() - began:.0f} s in all")
                return told
            kills += 1


def keyed(items: Iterable[dict[str, Any]]) -> Items:
    return {(item["PK"]["S"], item["SK"]["S"]): {**item, "_rev": None} for item in items}


def quarters(sizes: list[float]) -> Iterator[list[float]]:
    """The measurements of each quarter of a run."""
    for number in range(4):
        yield sizes[len(sizes) * number // 4 : len(sizes) * (number + 1) // 4] or [0]


def rss(process: int) -> float:
    """The resident memory of a process in MB; 0 if the process has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0.0
    return pages * resource.getpagesize() / 1e6


def damage(bench: Bench, count: int, chance: random.Random) -> int:
    """Damage one item in a hundred and some totals, in ways that ``repair`` can correct; return how many."""
    ways: Counter[str] = Counter()
    for number in chance.sample(range(count // 2), count // 100):
        user = image(User(number=number, email=f"user{number}@example.org", group=number % GROUPS))
        guard = {
            "PK": {"S": f"email#user{number}@example.org"},
            "SK": {"S": f"email#user{number}@example.org"},
        }
        way = chance.choice(
            ["guard deleted", "owner changed", "index key changed", "index key gone", "orphan"]
        )
        ways[way] += 1
        if way == "guard deleted":
            bench.client.delete_item(TableName=app.name, Key=guard)
            continue
        item = {
            "owner changed": {**guard, "owner": {"M": {"PK": {"S": "USER#nobody"}, "SK": {"S": "PROFILE"}}}},
            "index key changed": {**user, "GSI1PK": {"S": "GROUP#elsewhere"}},
            "index key gone": {name: value for name, value in user.items() if not name.startswith("GSI1")},
            "orphan": {
                "PK": {"S": f"email#former{number}"},
                "SK": {"S": f"email#former{number}"},
                "owner": {"M": {name: user[name] for name in ("PK", "SK")}},
            },
        }[way]
        bench.client.put_item(TableName=app.name, Item=item)
    for group in range(0, GROUPS, 10):
        ways["total"] += 1
        bench.client.put_item(TableName=app.name, Item=image(Group(group=group, users=1)))
    print(", ".join(f"{number} {way}" for way, number in ways.items()))
    return ways.total()


def compare(name: str, found: Items, wanted: Items) -> None:
    lost, more = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    other = [key for key in wanted.keys() & found.keys() if wanted[key] != found[key]]
    print(
        f"{name}: {len(lost)} items lost, {len(more)} too many, {len(other)} different, {len(wanted):,} compared"
    )
    if lost or more or other:
        sys.exit(f"not as they should be: {[*lost, *more, *other][:5]}")


def main(count: int, seed: int) -> None:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Ministack() as server:
        with Session(endpoint=server.endpoint, region="us-east-1") as session:
            session.create_table(app)
            session.create_table(old)
        bench = Bench(server.endpoint, Path(folder), chance)
        bench.load(app, healthy(count))
        assert bench.command("verify", "app") == []
        damaged = damage(bench, count, chance)
        found = bench.command("verify", "app", "--segments", "4")
        assert found is not None
        print(f"{len(found)} found of {damaged}")
        repaired(bench, count)
        bench.load(old, map(bare, players(count // 10)))
        completed(bench, count // 10)


def repaired(bench: Bench, count: int) -> None:
    bench.killed_until_done("repair", "app")
    assert bench.command("verify", "app") == []
    compare("repaired", bench.stored(app), keyed(healthy(count)))


def completed(bench: Bench, count: int) -> None:
    bench.killed_until_done("backfill", "old")
    assert bench.command("verify", "old") == []
    compare("completed", bench.stored(old), keyed(complete(count)))


if __name__ == "__main__":
    given = [int(one.replace(",", "")) for one in sys.argv[1:]]
    main(*(given + [100_000, 1][len(given) :]))
