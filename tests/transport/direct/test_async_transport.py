"""The asynchronous direct transport: one for several event loops, and one clock for all."""

import asyncio
import gc
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from dynaorm import AsyncSession
from dynaorm.testing import FakeClock
from dynaorm.transport import AsyncDirectTransport, Call
from tests.cast.people import User
from tests.transport.http.pools import LOOPS, NewLoop
from tests.transport.unruly import Unruly, keeps_time

GET = Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "a"}}})


@pytest.fixture(params=LOOPS)
def new_loop(request: pytest.FixtureRequest) -> NewLoop:
    return LOOPS[request.param]


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


def sockets_to(server: Unruly) -> int:
    """The open sockets of this process that are connected to the server."""
    return sum(server.endpoint == f"http://127.0.0.1:{port}" for port in peers())


def peers() -> Iterator[int]:
    """The ports that this process is connected to."""
    for descriptor in range(256):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as one:
                    yield one.getpeername()[1] if one.family == socket.AF_INET else 0


async def twenty_at_once(transport: AsyncDirectTransport) -> None:
    """Over twenty connections."""
    # The first call of all looks for its settings in a thread, so that a later one could find its connection idle.
    await transport.call(GET)
    await asyncio.gather(*(transport.call(GET) for _ in range(20)))


def end_in_order(transport: AsyncDirectTransport, new_loop: NewLoop) -> None:
    """As ``asyncio.run`` does."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(twenty_at_once(transport))


def only_close(transport: AsyncDirectTransport, new_loop: NewLoop) -> None:
    """As programs do that make a loop themselves. Nothing in the loop is told."""
    loop = new_loop()
    loop.run_until_complete(twenty_at_once(transport))
    loop.close()


def test_no_socket_outlives_an_event_loop_that_ends_in_order(server: Unruly, new_loop: NewLoop) -> None:
    transport = AsyncDirectTransport(endpoint=server.endpoint)
    for _ in range(3):
        end_in_order(transport, new_loop)
        assert sockets_to(server) == 0
    assert server.connections == 60


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_no_socket_outlives_its_event_loop_once_another_uses_the_transport(
    server: Unruly, new_loop: NewLoop
) -> None:
    """The loop warns of what was open when it was closed."""
    transport = AsyncDirectTransport(endpoint=server.endpoint)
    only_close(transport, new_loop)

    async def visit() -> int:
        await transport.call(GET)
        return sockets_to(server)

    assert asyncio.run(visit()) == 1
    only_close(transport, new_loop)
    asyncio.run(transport.close())
    assert sockets_to(server) == 0
    gc.collect()  # the warnings are those of this test


def test_a_transport_that_nobody_closed_leaves_nothing_open(server: Unruly, new_loop: NewLoop) -> None:
    async def main() -> None:
        await AsyncDirectTransport(endpoint=server.endpoint).call(GET)
        gc.collect()
        await asyncio.to_thread(server.closed.wait, 10)
        assert sockets_to(server) == 0

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())


def test_a_wrong_clock_is_set_by_the_servers_and_a_session_does_not_notice(server: Unruly) -> None:
    server.otherwise = keeps_time(time.time() + 86_400)

    async def main() -> None:
        async with (
            AsyncDirectTransport(endpoint=server.endpoint) as transport,
            AsyncSession(transport=transport, clock=FakeClock()) as session,
        ):
            await session.save(User(user_id="1", email="a@example.com"))

    asyncio.run(main())
    assert len(server.requests) == 2
