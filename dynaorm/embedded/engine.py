"""A DynamoDB in this process: answers each operation by its rules, and refuses what it does not know by name."""

from __future__ import annotations

from typing import Final

from dynaorm.embedded import reads, rules, streams, tables, writes
from dynaorm.embedded.database import OPERATIONS, Database
from dynaorm.flow.call import Call, Clock, Reply
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.process import NotPicklable, register

_HOME: Final = "arn:aws:dynamodb:us-east-1:000000000000:"
_MODULES: Final = (reads, streams, tables, writes)
"""They have the operations."""


class Engine(Database, NotPicklable):
    """A transport to a DynamoDB in this process. Threads may share it.

    Args:
        file: the path of the database; None for the memory of this process.
        clock: the source of time; the system's by default.
        home: what the ARNs of its tables begin with.
    """

    server = None

    def __init__(self, file: str | None = None, *, clock: Clock | None = None, home: str = _HOME) -> None:
        super().__init__(file, (clock or SystemClock()).now, home)
        register(self)

    def call(self, call: Call, /) -> Reply:
        """Answer a request.

        Raises:
            Refusal: as DynamoDB would refuse it, or the engine does not know the operation or a parameter.
            NoAnswer: another process used the database for too long. Nothing was written.
        """
        operation = OPERATIONS.get(call.operation)
        if operation is None:
            raise rules.not_in_engine(f"the operation {call.operation}")
        operation.check(call.operation, call.request)
        try:
            return self.answer(operation, call.request, call.timeout)
        except rules.InvalidAction as problem:
            raise rules.invalid(str(problem)) from None
