"""The asynchronous direct transport: one for several event loops, and one clock for all."""

import asyncio
import time
from typing import Annotated

from dynaorm import AsyncDirectTransport, AsyncSession, Entity, Table, Unique
from dynaorm.flow.protocol.call import Call
from dynaorm.testing.clock import FakeClock
from tests.transport.unruly import Unruly, keeps_time

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})
people = Table("people")


class Person(Entity, table=people, pk="PERSON#{person_id}", sk="PROFILE"):
    person_id: str
    email: Annotated[str, Unique()]


def test_one_transport_serves_one_event_loop_after_the_other(server: Unruly) -> None:
    transport = AsyncDirectTransport(endpoint=server.endpoint)

    async def visit() -> None:
        await transport.call(GET)
        await transport.close()
        await transport.call(GET)
        await transport.close()
        await transport.close()

    asyncio.run(visit())
    asyncio.run(visit())
    assert (server.connections, len(server.requests)) == (4, 4)


def test_a_transport_keeps_nothing_of_event_loops_that_are_closed(server: Unruly) -> None:
    transport = AsyncDirectTransport(endpoint=server.endpoint)

    async def visit() -> asyncio.AbstractEventLoop:
        async with transport:
            await transport.call(GET)
        return asyncio.get_running_loop()

    loops = [asyncio.run(visit()) for _ in range(3)]
    assert all(loop.is_closed() for loop in loops)
    assert len(server.requests) == 3


def test_a_wrong_clock_is_set_by_the_servers_and_a_session_does_not_notice(server: Unruly) -> None:
    server.otherwise = keeps_time(time.time() + 86_400)

    async def main() -> None:
        async with (
            AsyncDirectTransport(endpoint=server.endpoint) as transport,
            AsyncSession(transport=transport, clock=FakeClock()) as session,
        ):
            await session.save(Person(person_id="1", email="a@example.com"))

    asyncio.run(main())
    assert len(server.requests) == 2
