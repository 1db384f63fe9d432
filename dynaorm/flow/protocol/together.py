"""Running several flows concurrently.

Every flow runs to its end, even if another one fails, so that no write is left without an outcome.
"""

from collections.abc import Sequence
from typing import TypeVar

from dynaorm.flow.protocol.call import Flow, Together

T = TypeVar("T")


def gather(flows: Sequence[Flow[T]], limit: int) -> Flow[list[T]]:
    """The results of several flows, in order. The first failure is raised after all have ended.

    ``limit``: the most flows to run at a time.
    """
    if len(flows) == 1:
        return [(yield from flows[0])]
    results: list[T] = []
    for outcome in (yield from outcomes(flows, limit)):
        if isinstance(outcome, Exception):
            raise outcome
        results.append(outcome)
    return results


def outcomes(flows: Sequence[Flow[T]], limit: int) -> Flow[list[T | Exception]]:
    """The results of several flows, with exceptions in place of results. Ctrl-C is raised at once."""
    if limit > 1 and len(flows) > 1:
        replies: list[T | Exception] = yield Together(tuple(flows), limit)
        return replies
    ended: list[T | Exception] = []
    for flow in flows:
        try:
            ended.append((yield from flow))
        except Exception as failure:  # noqa: BLE001 - the caller decides about every failure
            ended.append(failure)
    return ended
