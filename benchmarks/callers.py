"""Many callers of one client at once: how many calls each of them makes, and how long the calls take."""

import asyncio
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

TASKS = 200
THREADS = 16
CONNECTIONS = 50


@dataclass(frozen=True, slots=True)
class Served:
    """How evenly callers were served.

    Attributes:
        calls: calls per second of all callers together.
        most_to_least: the calls of the caller that had most, divided by those of the one that had fewest.
        p50: the median time of a call in seconds.
        p99: the time in seconds within which 99 % of the calls ended.
    """

    calls: float
    most_to_least: float
    p50: float
    p99: float


async def by_tasks(call: Callable[[], Awaitable[object]], seconds: float) -> Served:
    """Let 200 tasks call one after another for some seconds."""
    all_durations: list[list[float]] = [[] for _ in range(TASKS)]
    await asyncio.gather(*(call() for _ in range(TASKS)))  # connect
    end = time.perf_counter() + seconds

    async def caller(durations: list[float]) -> None:
        while (began := time.perf_counter()) < end:
            await call()
            durations.append(time.perf_counter() - began)

    await asyncio.gather(*map(caller, all_durations))
    return served(all_durations, seconds)


def by_threads(call: Callable[[], object], seconds: float) -> Served:
    """Let 16 threads call one after another for some seconds."""
    all_durations: list[list[float]] = [[] for _ in range(THREADS)]
    failures: list[Exception] = []
    connected = threading.Barrier(THREADS)

    def caller(durations: list[float]) -> None:
        try:
            call()
            connected.wait()
            end = time.perf_counter() + seconds
            while (began := time.perf_counter()) < end:
                call()
                durations.append(time.perf_counter() - began)
        except Exception as failure:  # noqa: BLE001 - raised below, in the thread that waits
            failures.append(failure)
            connected.abort()

    threads = [threading.Thread(target=caller, args=(durations,)) for durations in all_durations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return served(all_durations, seconds)


def served(all_durations: Sequence[Sequence[float]], seconds: float) -> Served:
    """Sum up the seconds of each call of each caller."""
    calls = [len(durations) for durations in all_durations]
    together = [duration for durations in all_durations for duration in durations]
    most_to_least = max(calls) / min(calls) if min(calls) else float("inf")
    p99 = statistics.quantiles(together, n=100)[98] if len(together) > 1 else float("inf")
    return Served(sum(calls) / seconds, most_to_least, statistics.median(together), p99)
