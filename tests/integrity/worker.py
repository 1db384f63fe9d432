"""A process of its own: ``worker.py ENDPOINT MARK FOLDER WORK CALLS``.

It does one of ``WORKS``, with files in a folder: a checkpoint, and what the work takes or makes. It is killed by the
operating system at its call of this number, before it is sent or, where half a call is added, after it was answered; 0
lets it end.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from dynaorm import Session, Table, tools
from dynaorm.integrity.run import RunOptions, backfill, repair, verify
from dynaorm.integrity.serialize import as_json, finding_in
from dynaorm.tools import Finding, RepairResult
from dynaorm.transport import Call, DirectTransport, Reply
from tests.integrity.shop import now
from tests.integrity.zoo import TABLES, app, clock, far


def apply(session: Session, table: Table, *, options: RunOptions) -> Iterable[RepairResult]:
    tools.apply(session, table, backfill=False)
    yield from backfill(session, table, options=options)


def mend(session: Session, *tables: Table, options: RunOptions) -> Iterable[RepairResult]:
    assert options.checkpoint is not None
    named = Path(options.checkpoint).with_name("findings").read_text().splitlines()
    yield from repair(session, *tables, options=RunOptions(), findings=map(finding_in, named))


def load(session: Session, *tables: Table, options: RunOptions, raw: bool = False) -> Iterable[RepairResult]:
    assert options.checkpoint is not None
    folder = Path(options.checkpoint).parent
    for table in tables:
        tools.load(session, table, folder / f"dumped-{table.name}", raw=raw, concurrency=2)
    return ()


def dump(session: Session, *tables: Table, options: RunOptions) -> Iterable[RepairResult]:
    assert options.checkpoint is not None
    for table in tables:
        again = Path(options.checkpoint).with_name(f"again-{table.name}")
        again.unlink(missing_ok=True)
        tools.dump(session, table, again)
    return ()


WORKS: dict[str, tuple[Callable[..., Iterable[Finding | RepairResult]], tuple[Table, ...]]] = {
    "verify": (verify, TABLES),
    "repair": (repair, TABLES),
    "apply": (apply, (now,)),
    "mend": (mend, TABLES),
    "load": (load, (app, far)),
    "put": (partial(load, raw=True), TABLES),
    "dump": (dump, TABLES),
}


class Deadly:
    """A transport that ends its process at a call."""

    def __init__(self, endpoint: str, calls: float) -> None:
        self._inner = DirectTransport(endpoint=endpoint)
        self._moments = int(2 * calls)

    def call(self, call: Call, /) -> Reply:
        self._count()
        reply = self._inner.call(call)
        self._count()
        return reply

    def _count(self) -> None:
        self._moments -= 1
        if self._moments == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main(endpoint: str, mark: str, folder: str, verb: str, calls: str) -> None:
    work, tables = WORKS[verb]
    session = Session(
        transport=Deadly(endpoint, float(calls)),
        table_names=lambda name: f"{name}-{mark}",
        clock=clock(),
    )
    # A low rate makes small pages, and waiting costs nothing on this clock.
    options = RunOptions(rate=10, checkpoint=Path(folder, "checkpoint"), segments=2)
    for found in work(session, *tables, options=options):
        sys.stdout.write(f"{as_json(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
