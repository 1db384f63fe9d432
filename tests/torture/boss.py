"""Runs the processes of a torture test, kills some, replaces those that ended, and then runs the checkers."""

import os
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dynaorm import Session
from dynaorm.testing import Ministack
from dynaorm.testing.faults import EXIT_STATUS
from dynaorm.testing.ministack import find_ministack
from tests.torture.checker import Violation, check_table
from tests.torture.entities import TABLES, app
from tests.torture.history import Run, check_history
from tests.torture.journal import read_journals
from tests.torture.orders import Orders, check_orders
from tests.torture.table import raw_items, snapshot_of
from tests.torture.tokens import check_tokens
from tests.torture.worker import STOP
from tests.torture.worker import Orders as WorkerOrders

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds in which a process must start, and must end when it is asked to."""
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run.

    Attributes:
        folder: where the journals are kept.
        seconds: how long the processes work.
        processes: how many work at a time.
        seed: decides what they draw, and which process is killed when.
        epoch: seconds after which all processes go on to entities that were never stored.
        kill_every: seconds between two kills, on average.
        endpoint: a running DynamoDB; without it, a ministack is started.
    """

    folder: Path
    seconds: float = 60.0
    processes: int = 4
    seed: int = 0
    epoch: float = 5.0
    kill_every: float = 10.0
    endpoint: str | None = None


@dataclass
class Outcome:
    """The result of a run.

    Attributes:
        run: table and journals.
        orders: the result of the search for an order.
        violations: everything that is wrong.
        ends: how processes ended: ``finished``, ``killed``, ``crashed`` on purpose, or ``failed``.
        seconds: of work, and of checking.
    """

    run: Run
    orders: Orders
    violations: list[Violation] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    seconds: tuple[float, float] = (0.0, 0.0)


class Crew:
    """The processes at work. When one ends, another takes its place.

    Args:
        settings: of the run.
        endpoint, table: where they work.
    """

    def __init__(self, settings: Settings, endpoint: str, table: str) -> None:
        self.ends: Counter[str] = Counter()
        self.violations: list[Violation] = []
        self._settings = settings
        self._begins = time.monotonic_ns()
        self._where = (endpoint, table)
        self._chance = Random(settings.seed)
        self._killed: set[int] = set()
        # Names become revisions and tokens, and DynamoDB remembers tokens for longer than a run.
        self._mark = uuid.uuid4().hex[:6]
        self._numbers: Counter[int] = Counter()
        self._working: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}

    def work(self) -> None:
        """Let all processes work until the time is over, and kill one now and then, at least one.

        The time starts when all are at work.
        """
        for place in range(1, self._settings.processes + 1):
            self._start(place)
        for place in sorted(self._working):
            self._await(place)
        ends = time.monotonic() + self._settings.seconds
        while (left := ends - time.monotonic()) > 0:
            place = self._chance.choice(sorted(self._working))
            pause = self._settings.kill_every * self._chance.uniform(0.5, 1.5)
            self._watch(place, min(pause, left), kill=pause < left)
        while not self.ends["killed"]:  # All that were chosen had crashed on purpose, or the time was short.
            self._watch(self._chance.choice(sorted(self._working)), 0, kill=True)
        (self._settings.folder / STOP).touch()
        for place in sorted(self._working):
            self._working[place][1].wait(PATIENCE)
            self._ended(place)

    def _await(self, place: int) -> None:
        """Wait until a process works: killing one that has not begun would test nothing."""
        name, process = self._working[place]
        journal = self._settings.folder / f"{name}.jsonl"
        for _ in range(round(PATIENCE / PAUSE)):
            if (journal.exists() and journal.stat().st_size) or process.poll() is not None:
                return
            self._wait(process, PAUSE)

    def _watch(self, place: int, pause: float, *, kill: bool) -> None:
        """Wait for a process to end, and kill it if it does not. Then fill every empty place."""
        _, process = self._working[place]
        if not self._wait(process, pause) and kill:
            self._await(place)
            process.kill()
            process.wait()
            self._killed.add(process.pid)
        for each in [each for each, (_, one) in self._working.items() if one.poll() is not None]:
            self._ended(each)
            self._start(each)

    def _wait(self, process: "subprocess.Popen[bytes]", seconds: float) -> bool:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End all processes that still work."""
        for _, process in self._working.values():
            process.kill()
            process.wait()

    def _start(self, place: int) -> None:
        self._numbers[place] += 1
        name = f"{self._mark}.{place}.{self._numbers[place]}"
        endpoint, table = self._where
        orders = WorkerOrders(
            endpoint=endpoint,
            table=table,
            process=name,
            seed=self._settings.seed,
            folder=str(self._settings.folder),
            begins=self._begins,
            epoch=int(self._settings.epoch * 1e9),
        )
        with (self._settings.folder / f"{name}.stderr").open("wb") as said:
            process = subprocess.Popen(orders.command(), cwd=ROOT, stdin=subprocess.DEVNULL, stderr=said)
        self._working[place] = (name, process)

    def _ended(self, place: int) -> None:
        name, process = self._working.pop(place)
        if process.pid in self._killed and process.returncode < 0:
            self.ends["killed"] += 1
        elif process.returncode == EXIT_STATUS:
            self.ends["crashed on purpose"] += 1
        elif process.returncode == 0:
            self.ends["finished"] += 1
        else:
            self.ends["failed"] += 1
            said = (self._settings.folder / f"{name}.stderr").read_text()
            self.violations.append(
                Violation("processes do not fail", f"{name}, exit {process.returncode}", said)
            )


def torture(settings: Settings) -> Outcome:
    """Run, and check everything."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    name = f"{app.name}-{uuid.uuid4().hex[:12]}"
    with _credentials(), ExitStack() as stack:
        endpoint = settings.endpoint or stack.enter_context(_ministack()).endpoint
        names = {table.name: f"{name}{suffix}" for table, suffix in TABLES.items()}
        with Session(endpoint=endpoint, table_names=names) as session:
            for table in TABLES:
                session.create_table(table)
        begun = time.monotonic()
        crew = Crew(settings, endpoint, name)
        stack.callback(crew.close)
        crew.work()
        worked = time.monotonic()
        items = [item for one in names.values() for item in raw_items(endpoint, one)]
        run = Run(snapshot_of(items), read_journals(settings.folder))
    outcome = check(run)
    outcome.violations += crew.violations
    outcome.ends = crew.ends
    outcome.seconds = (worked - begun, time.monotonic() - worked)
    return outcome


def check(run: Run) -> Outcome:
    """Check every invariant of a finished run."""
    orders = check_orders(run)
    violations = [*check_table(run.table), *check_history(run), *check_tokens(run), *orders.violations]
    violations += [
        Violation("histories are decided", subject, "the search was given up") for subject in orders.undecided
    ]
    return Outcome(run, orders, violations)


def _ministack() -> Ministack:
    return Ministack(find_ministack([ROOT / ".venv-ministack" / "bin" / "ministack"]))


@contextmanager
def _credentials() -> Iterator[None]:
    """Set fake credentials for this process and its children, unless there are some."""
    given = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    missing = {name: value for name, value in given.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]
