"""A small sound run, made of known operations on a table in memory: what the checkers' tests corrupt."""

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from dynaorm import Session
from dynaorm.transport import PynamoTransport, Transport
from tests.memory import MEMORY
from tests.raw_tables import PlainClient
from tests.torture.checker import check_table
from tests.torture.entities import (
    TABLES,
    Document,
    Group,
    Lease,
    Loose,
    Membership,
    Memo,
    Parcel,
    Purse,
    Till,
    User,
    app,
)
from tests.torture.history import Run, check_history
from tests.torture.journal import Journal, Record, read_journals
from tests.torture.kinds_of_tokens import opening, paying
from tests.torture.operations import (
    Operation,
    deleting,
    inserting,
    moving,
    pruning,
    purging,
    reading,
    saving,
)
from tests.torture.orders import check_orders
from tests.torture.table import raw_items, snapshot_of
from tests.torture.tokens import check_tokens
from tests.torture.worker import Worker


@dataclass
class Ground:
    """A table's items and the journals of who wrote them, to be falsified."""

    items: list[dict[str, Any]]
    records: list[Record]

    def item(self, partition: str, sort: str | None = None) -> dict[str, Any]:
        """The item with this key; a guard's sort key is its partition key."""
        key = {"PK": {"S": partition}, "SK": {"S": sort or partition}}
        (found,) = [item for item in self.items if key.items() <= item.items()]
        return found

    def remove(self, partition: str, sort: str | None = None) -> None:
        self.items.remove(self.item(partition, sort))

    def record(self, name: str, on: str) -> Record:
        """The only operation of this kind on an entity."""
        (found,) = [
            one for one in self.records if one.name == name and any(each.on == on for each in one.effects)
        ]
        return found

    def change(self, record: Record, **changes: Any) -> Record:
        self.records[self.records.index(record)] = changed = replace(record, **changes)
        return changed

    def run(self) -> Run:
        return Run(snapshot_of(self.items), sorted(self.records, key=lambda record: record.begin))

    def broken(self) -> set[str]:
        """The invariants of table and journals that do not hold."""
        run = self.run()
        found = [*check_table(run.table), *check_history(run), *check_tokens(run)]
        return {violation.invariant for violation in found}

    def payment(self, token: str, at: int) -> Record:
        """One of the payments under a token, by its place in time."""
        paid = [one for one in self.records if one.amount and one.effects[0].on == token]
        return sorted(paid, key=lambda record: record.begin)[at]

    def without_order(self) -> set[tuple[str, str]]:
        """What no order explains."""
        return {(violation.invariant, violation.subject) for violation in check_orders(self.run()).violations}


@dataclass(frozen=True)
class Made:
    """How a run is made: where its journals and items are, what its process is called, and what decides."""

    folder: Path
    table: str
    process: str
    seed: int = 0
    faulty: float = 0.0


def _operations(perform: Callable[[Operation], object]) -> None:
    def sent(operation: Operation | None) -> None:
        assert operation is not None
        perform(operation)

    ann, bob = User(id="0-1", email="Ann@0", phone="1"), User(id="0-2", email="bob@0", nick="b", team="red")
    text, gone = Document(id="0-1", text="one", slug="s"), Document(id="0-2")
    parcel = Parcel(shelf="0-a", place="1", label="l")
    one, two = (Membership(group_id="0-g", user_id=user, hours=3) for user in "12")
    for entity in (ann, bob, text, gone, parcel, Group(group_id="0-g"), one, two):
        sent(inserting(entity))
    sent(inserting(User(id="0-3", email="ann@0")))  # refused
    sent(saving(text, {"text": "two"}, "save again"))
    sent(saving(text, {"text": "three"}))
    sent(deleting(gone))
    sent(moving(parcel, {"shelf": "0-b"}))
    sent(saving(two, {"active": False}))
    sent(reading("User 0-1"))
    sent(saving(ann, {"name": "Ann"}))
    sent(reading("User 0-2"))
    for counter in (Till(id="t-0-1"), Till(id="t-0-8"), Purse(id="0")):
        sent(opening(counter))
    old, purged = Document(id="0-3", text="one"), Document(id="0-4", text="one")
    for document in (old, purged):
        sent(inserting(document))
        sent(saving(document, {"text": "two"}))
        sent(saving(document, {"text": "three"}))
    sent(pruning("Document 0-3", 2))
    sent(deleting(purged))
    sent(purging("Document 0-4"))
    sent(inserting(Document(id="0-4", text="four"), "create again"))
    sent(inserting(Memo(id="0-1", text="one"), "insert a note", is_plain=True))
    until = datetime.fromtimestamp(int(time.time()) + 3600, UTC)
    sent(inserting(Lease(id="0-1", text="one", until=until), "insert a lease"))
    sent(reading("Lease 0-1"))
    sent(inserting(Loose(id="0-1", text="one"), is_plain=True))
    for token, amount in (("t-0-1", 1), ("t-0-1", 100), ("t-0-8", 100), ("t-0-1", 1)):
        sent(paying(token, "0", amount))


def _ground(transport: Transport, endpoint: str | None, work: Callable[[Worker], None], made: Made) -> Ground:
    names = {table.name: f"{made.table}{suffix}" for table, suffix in TABLES.items()}
    with Session(transport=transport, table_names=names) as session:
        for table in TABLES:
            session.create_table(table)
    journal = Journal(made.folder, made.process)
    worker = Worker(transport, made.table, journal, Random(made.seed), faulty=made.faulty, deadly=0.0)
    work(worker)
    worker.close()
    journal.close()
    client = PlainClient(MEMORY)
    items = [
        dict(item)
        for name in names.values()
        for item in (raw_items(endpoint, name) if endpoint else client.scan(TableName=name)["Items"])
    ]
    return Ground(items, read_journals(made.folder))


@pytest.fixture(scope="session")
def _sound(credentials: None, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    made = Made(tmp_path_factory.mktemp("journals"), app.name, "1.1")
    with MEMORY.empty():
        transport = MEMORY
        return _ground(transport, None, lambda worker: _operations(worker.perform), made)


@pytest.fixture
def ground(_sound: Ground) -> Ground:
    """The sound run, one's own to corrupt."""
    return deepcopy(_sound)


class Working(Protocol):
    """Runs one worker in this process, on a table in memory, with faults.

    ``under``: what lies between the worker and the table. ``process``: what its process is called.
    """

    def __call__(
        self,
        work: Callable[[Worker], None],
        under: Callable[[Transport], Transport] | None = None,
        process: str = "1.1",
    ) -> Ground: ...


@pytest.fixture
def worked(credentials: None, tmp_path: Path) -> Working:
    def run(
        work: Callable[[Worker], None],
        under: Callable[[Transport], Transport] | None = None,
        process: str = "1.1",
    ) -> Ground:
        transport: Transport = MEMORY
        wire = transport if under is None else under(transport)
        with MEMORY.empty():
            return _ground(wire, None, work, Made(tmp_path, f"{app.name}-{process}", process, faulty=0.5))

    return run


@pytest.fixture
def drawn(
    ministack_endpoint: str, tmp_path: Path, unique_name: Callable[[str], str]
) -> Callable[[int, int], Ground]:
    """Runs one worker in this process for so many operations of a seed, with faults."""

    def draw(seed: int, operations: int) -> Ground:
        def work(worker: Worker) -> None:
            for number in range(operations):
                worker.draw(str(number // 60))

        transport = PynamoTransport(endpoint=ministack_endpoint)
        made = Made(tmp_path, unique_name(app.name), unique_name("1"), seed, faulty=0.5)
        ground = _ground(transport, ministack_endpoint, work, made)
        transport.close()
        return ground

    return draw
