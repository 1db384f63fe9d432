"""Measure what must not grow with use: the memory of a process that reads a million items, and of a long session.

Run: make bench-scale, which writes the tables of this module, too

Each row is a process of its own. One reads a million items of a scan, one by one, and keeps none. Another gets, changes
and saves an entity 100,000 times with one session. The stub server runs in another process.
"""

import asyncio
import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.events import Event
from benchmarks.page import table
from benchmarks.stub import stub_server
from dynaorm import AsyncSession, Session
from dynaorm.transport import AsyncDirectTransport, DirectTransport

TRANSPORTS: Final = ("default", "direct")
PARTS: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)
"""When memory is measured: after these parts of the work."""

Marks: TypeAlias = list[tuple[int, float]]
"""The number of items or calls so far, and the resident memory in MB."""


class Gauge:
    """Notes the memory of this process as the work goes on."""

    def __init__(self, total: int) -> None:
        self.marks: Marks = []
        self._next = [round(total * part) for part in PARTS]

    def passed(self, number: int) -> None:
        """Called after each item or call."""
        if self._next and number >= self._next[0]:
            self._next.pop(0)
            gc.collect()
            self.marks.append((number, resident_megabytes()))


def resident_megabytes() -> float:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def opened(transport: str, endpoint: str) -> Iterator[Session]:
    """A session over a transport."""
    if transport == "default":
        with Session(endpoint=endpoint) as session:
            yield session
    else:
        with DirectTransport(endpoint=endpoint) as direct:
            yield Session(transport=direct)


def stream(transport: str, total: int) -> tuple[float, Marks]:
    """CPU seconds, and the memory while a scan is read item by item."""
    gauge = Gauge(total)
    with stub_server(total) as endpoint, opened(transport, endpoint) as session:
        began = time.process_time()
        for number, _ in enumerate(session.scan(Event), start=1):
            gauge.passed(number)
        return time.process_time() - began, gauge.marks


def long_session(transport: str, total: int) -> tuple[float, Marks]:
    """CPU seconds, and the memory while one session gets and saves."""
    gauge = Gauge(total)
    with stub_server() as endpoint, opened(transport, endpoint) as session:
        began = time.process_time()
        for number in range(1, total + 1):
            event = session.get_one(Event, number=number)
            event.visitor = f"visitor {number}"
            session.save(event)
            gauge.passed(number)
        return time.process_time() - began, gauge.marks


def long_async_session(transport: str, total: int) -> tuple[float, Marks]:
    """The same in an event loop, by ten tasks."""
    return asyncio.run(_long_async_session(transport, total))


async def _long_async_session(transport: str, total: int) -> tuple[float, Marks]:
    gauge, tasks = Gauge(total), 10
    done = 0

    async def work(session: AsyncSession, numbers: range) -> None:
        nonlocal done
        for number in numbers:
            event = await session.get_one(Event, number=number)
            event.visitor = f"visitor {number}"
            await session.save(event)
            done += 1
            gauge.passed(done)

    with stub_server() as endpoint:
        direct = AsyncDirectTransport(endpoint=endpoint) if transport == "direct" else None
        session = AsyncSession(transport=direct) if direct else AsyncSession(endpoint=endpoint)
        async with session:
            began = time.process_time()
            await asyncio.gather(*(work(session, range(first, total, tasks)) for first in range(tasks)))
            spent = time.process_time() - began
        if direct:
            await direct.close()
    return spent, gauge.marks


def measured(
    work: Callable[[str, int], tuple[float, Marks]], transport: str, total: int
) -> tuple[float, Marks]:
    """Do the work in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, transport, total).result()


def report(items: int, entities: int) -> str:
    """Two tables, of scans and of long sessions."""
    streams = [(name, items, *measured(stream, name, items)) for name in TRANSPORTS]
    kinds = {"": long_session, "async ": long_async_session}
    sessions = [
        (kind + name, entities, *measured(work, name, entities))
        for kind, work in kinds.items()
        for name in TRANSPORTS
    ]
    return "\n\n".join(
        [
            f"Resident memory in MB while a scan reads {items:,} items one by one, after parts of them:",
            _table(streams),
            f"The same while one session reads, changes and saves {entities:,} entities; async: by ten tasks:",
            _table(sessions),
        ]
    )


def _table(rows: Sequence[tuple[str, int, float, Marks]]) -> str:
    lines = [
        [name, f"{spent / total * 1e6:,.1f}", *(f"{resident:,.1f}" for _, resident in marks)]
        for name, total, spent, marks in rows
    ]
    return table(["transport", "CPU µs each", *(f"{part:.0%}" for part in PARTS)], lines, words=1)
