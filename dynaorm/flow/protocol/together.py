"""Running several flows at once, and what becomes of all when one of them fails.

Every flow is run to its end, whatever the others come to: a write that was begun is never left without an outcome.
"""

from collections.abc import Sequence
from typing import TypeVar

from dynaorm.flow.protocol.call import Flow, Together

T = TypeVar("T")


def gather(flows: Sequence[Flow[T]], limit: int) -> Flow[list[T]]:
    """The results of several flows, in order; the first failure is raised once all have ended.

    ``limit``: how many run at a time at most.
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
    """The same with failures in the place of results. What stops the program (Ctrl-C) is no outcome, and is raised."""
    if limit > 1 and len(flows) > 1:
        replies: list[T | Exception] = yield Together(tuple(flows), limit)
        return replies
    ended: list[T | Exception] = []
    for flow in flows:
        try:
            ended.append((yield from flow))
        except Exception as failure:  # noqa: BLE001 - an outcome like any other, which the caller will judge
            ended.append(failure)
    return ended
