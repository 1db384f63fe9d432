"""Measure how evenly one session serves many callers at once: calls of each, and how long calls take.

Run: make bench-fairness

200 tasks share one asynchronous session, and 16 threads one synchronous session, each over its 50 connections. Each
caller reads items one after another for some seconds from a stub server that answers at once. ``most/least`` compares
the calls of the caller that had most with those of the one that had fewest.
"""

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.table import Table as Grid
from stub import stub_server

from dynaorm import AsyncDirectTransport, AsyncSession, DirectTransport, Entity, Session, Table

SECONDS: Final = 4.0
TASKS: Final = 200
THREADS: Final = 16


class User(Entity, table=Table("fairness"), pk="USER#{user_id}", sk="USER"):
    user_id: str


Durations = list[list[float]]
"""The seconds of each call of each caller."""


def by_tasks(open_session: Callable[[], AsyncSession]) -> Durations:
    async def caller(session: AsyncSession, end: float) -> list[float]:
        durations = []
        while (began := time.perf_counter()) < end:
            await session.get(User, user_id="1")
            durations.append(time.perf_counter() - began)
        return durations

    async def main() -> Durations:
        async with open_session() as session:
            await session.get(User, user_id="1")
            end = time.perf_counter() + SECONDS
            return await asyncio.gather(*(caller(session, end) for _ in range(TASKS)))

    return asyncio.run(main())


def by_threads(open_session: Callable[[], Session]) -> Durations:
    all_durations: Durations = [[] for _ in range(THREADS)]
    with open_session() as session:
        session.get(User, user_id="1")
        end = time.perf_counter() + SECONDS

        def caller(durations: list[float]) -> None:
            while (began := time.perf_counter()) < end:
                session.get(User, user_id="1")
                durations.append(time.perf_counter() - began)

        threads = [threading.Thread(target=caller, args=(durations,)) for durations in all_durations]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return all_durations


def row(durations: Durations) -> tuple[str, ...]:
    """Calls per second, most/least, and the median and 99th percentile of a call in ms."""
    calls = [len(each) for each in durations]
    whole = [duration * 1000 for each in durations for duration in each]
    p50, p99 = statistics.median(whole), statistics.quantiles(whole, n=100)[98]
    most_to_least = f"{max(calls) / min(calls):.2f}" if min(calls) else f"{max(calls)}/0"
    return f"{sum(calls) / SECONDS:,.0f}", most_to_least, f"{p50:.1f}", f"{p99:.1f}", f"{p99 / p50:.1f}"


def main() -> None:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    grid = Grid("callers", "transport", "calls/s", "most/least", "p50 ms", "p99 ms", "p99/p50")
    with stub_server() as endpoint:
        of_threads: dict[str, Callable[[], Session]] = {
            "default": lambda: Session(endpoint=endpoint),
            "direct": lambda: Session(transport=DirectTransport(endpoint=endpoint)),
        }
        of_tasks: dict[str, Callable[[], AsyncSession]] = {
            "default": lambda: AsyncSession(endpoint=endpoint),
            "direct": lambda: AsyncSession(transport=AsyncDirectTransport(endpoint=endpoint)),
        }
        for name, open_session in of_threads.items():
            grid.add_row(f"{THREADS} threads", name, *row(by_threads(open_session)))
        for name, open_async in of_tasks.items():
            grid.add_row(f"{TASKS} tasks", name, *row(by_tasks(open_async)))
    Console(width=100).print(grid)


if __name__ == "__main__":
    main()
