"""Measure how evenly one session serves many callers at once: calls of each, and how long calls take.

Run: make bench-fairness

200 tasks share one asynchronous session, and 16 threads one synchronous session, each over its 50 connections. Each
caller gets entities one after another for some seconds from a stub server that answers at once. Every session is
measured in three rounds, and the row with the median of ``most/least`` is shown. ``most/least`` compares the calls of
the caller that had most with those of the one that had fewest.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.callers import TASKS, THREADS, Served, by_tasks, by_threads
from benchmarks.events import Event, set_credentials
from benchmarks.stub import stub_server
from dynaorm import AsyncSession, Session
from dynaorm.transport import AsyncDirectTransport, DirectTransport

SECONDS: Final = 4.0
ROUNDS: Final = 3


def of_tasks(open_session: Callable[[], AsyncSession]) -> Served:
    async def main() -> Served:
        async with open_session() as session:
            return await by_tasks(lambda: session.get(Event, number=1), SECONDS)

    return asyncio.run(main())


def of_threads(open_session: Callable[[], Session]) -> Served:
    with open_session() as session:
        return by_threads(lambda: session.get(Event, number=1), SECONDS)


def row(rounds: list[Served]) -> tuple[str, ...]:
    one = sorted(rounds, key=lambda served: served.most_to_least)[len(rounds) // 2]
    times = (f"{one.p50 * 1e3:.1f}", f"{one.p99 * 1e3:.1f}", f"{one.p99 / one.p50:.1f}")
    return f"{one.calls:,.0f}", f"{one.most_to_least:.2f}", *times


def main() -> None:
    set_credentials()
    grid = Grid("callers", "transport", "calls/s", "most/least", "p50 ms", "p99 ms", "p99/p50")
    with stub_server() as endpoint:
        measured: dict[tuple[str, str], Callable[[], Served]] = {
            (f"{THREADS} threads", "default"): lambda: of_threads(lambda: Session(endpoint=endpoint)),
            (f"{THREADS} threads", "direct"): lambda: of_threads(
                lambda: Session(transport=DirectTransport(endpoint=endpoint))
            ),
            (f"{TASKS} tasks", "default"): lambda: of_tasks(lambda: AsyncSession(endpoint=endpoint)),
            (f"{TASKS} tasks", "direct"): lambda: of_tasks(
                lambda: AsyncSession(transport=AsyncDirectTransport(endpoint=endpoint))
            ),
        }
        found: dict[tuple[str, str], list[Served]] = {name: [] for name in measured}
        for _ in range(ROUNDS):
            for name, measure in measured.items():
                found[name].append(measure())
    for (callers, transport), rounds in found.items():
        grid.add_row(callers, transport, *row(rounds))
    Console(width=100).print(grid)


if __name__ == "__main__":
    main()
