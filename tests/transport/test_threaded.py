"""A blocking transport serves as many tasks as it keeps connections, in the context of each."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from dynaorm.transport import Call, NoAnswer, Reply
from dynaorm.transport.asynchronous import WORKERS, ThreadedTransport

LIST = Call("ListTables", {})
task_number: ContextVar[int] = ContextVar("task_number")


class Blocking:
    """A transport that answers once so many calls wait for it."""

    def __init__(self, calls: int) -> None:
        self._all = threading.Barrier(calls)
        self.closed = 0

    def call(self, call: Call, /) -> Reply:
        self._all.wait(10)
        return {call.operation: task_number.get()}

    def close(self) -> None:
        self.closed += 1


def test_as_many_calls_run_side_by_side_as_there_are_threads() -> None:
    transport = ThreadedTransport(Blocking(WORKERS))

    async def one(number: int) -> Reply:
        task_number.set(number)
        return await transport.call(LIST)

    async def main() -> list[Reply]:
        return await asyncio.gather(*(one(number) for number in range(WORKERS)))

    assert asyncio.run(main()) == [{"ListTables": number} for number in range(WORKERS)]


def test_a_closed_transport_can_be_called_again() -> None:
    inner = Blocking(1)
    transport = ThreadedTransport(inner)
    task_number.set(1)

    async def main() -> None:
        await transport.call(LIST)
        transport.close()
        await transport.call(LIST)
        transport.close()

    asyncio.run(main())
    assert inner.closed == 2


def test_what_the_other_transport_raises_is_raised() -> None:
    class Silent:
        def call(self, call: Call, /) -> Reply:
            raise NoAnswer(f"no {call.operation}")

    transport = ThreadedTransport(Silent())
    with pytest.raises(NoAnswer, match="no ListTables"):
        asyncio.run(transport.call(LIST))
    transport.close()
