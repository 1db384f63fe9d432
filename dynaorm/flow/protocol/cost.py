"""The requests and capacity that a query has used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from dynaorm.flow.protocol.call import Reply
from dynaorm.record import record


@record(frozen=False)
class ReadCost:
    """Answered requests, and the read capacity units that DynamoDB reported for them."""

    requests: int = 0
    read_units: float = 0.0

    @classmethod
    def of(cls, costs: Iterable[ReadCost]) -> Self:
        """The sum of several."""
        found = cls()
        found.take(costs)
        return found

    def take(self, costs: Iterable[ReadCost]) -> None:
        """Add the costs of others."""
        for one in costs:
            self.requests += one.requests
            self.read_units += one.read_units

    def add(self, reply: Reply) -> None:
        """Count one answer to a request with ``ReturnConsumedCapacity``."""
        consumed = reply.get("ConsumedCapacity") or ()
        if isinstance(consumed, dict):
            units = float(consumed.get("CapacityUnits", 0))
        else:  # BatchGetItem reports each table.
            units = sum(float(one.get("CapacityUnits", 0)) for one in consumed) if consumed else 0.0
        # Flows of a repair count in several threads. CPython switches between threads at calls, and here is none.
        self.requests += 1
        self.read_units += units
