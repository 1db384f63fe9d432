"""Tasks share the connections of their event loop: in the order they ask, and safe from each other's cancellations."""

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from dynaorm.transport import NoAnswer
from dynaorm.transport.http.async_connection import AsyncConnection, AsyncConnectionPool
from dynaorm.transport.http.http_answer import HttpAnswer
from tests.transport.http.pools import LOOPS, limits, request, route_of
from tests.transport.unruly import Request, Unruly, answer, response

T = TypeVar("T")


class Run(Protocol):
    """Does some work with a pool to this server, in an event loop of its own, and returns what it returns."""

    def __call__(
        self,
        server: Unruly,
        work: Callable[[AsyncConnectionPool], Awaitable[T]],
        ca_bundle: Path | None = None,
        **changed: Any,
    ) -> T: ...


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    """Runs work in an event loop of each kind."""

    def in_a_loop(
        server: Unruly,
        work: Callable[[AsyncConnectionPool], Awaitable[T]],
        ca_bundle: Path | None = None,
        **changed: Any,
    ) -> T:
        async def main() -> T:
            pool = AsyncConnectionPool(route_of(server.endpoint, ca_bundle), limits(**changed))
            try:
                return await work(pool)
            finally:
                await pool.close()

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(main())

    return in_a_loop


def test_requests_run_side_by_side_over_no_more_connections_than_given(run: Run, server: Unruly) -> None:
    both = threading.Barrier(2)

    def together(peer: socket.socket, request: Request) -> bool:
        both.wait(10)
        return answer({})(peer, request)

    server.otherwise = together

    async def work(pool: AsyncConnectionPool) -> list[HttpAnswer]:
        return await asyncio.gather(*(pool.send(request()) for _ in range(6)))

    assert len(run(server, work, pool_size=2)) == 6
    assert server.connections == 2


def test_tasks_that_send_again_and_again_take_turns(run: Run, server: Unruly) -> None:
    turns: list[int] = []

    async def work(pool: AsyncConnectionPool) -> None:
        async def repeat(number: int) -> None:
            for _ in range(5):
                await pool.send(request())
                turns.append(number)

        await asyncio.gather(*(repeat(number) for number in range(10)))

    run(server, work, pool_size=1)
    assert turns == [*range(10)] * 5


def test_bytes_that_arrive_while_the_loop_runs_end_an_idle_connection(run: Run, server: Unruly) -> None:
    asked, closed = threading.Event(), threading.Event()

    def speak_late(peer: socket.socket, _: Request) -> bool:
        peer.sendall(response({}))
        asked.wait(10)
        peer.sendall(response({"Item": {"PK": {"S": "another's"}}}))
        with suppress(ConnectionError):
            peer.recv(1)  # until the other side closes, in whichever way
        closed.set()
        return False

    server.will(speak_late)

    async def work(pool: AsyncConnectionPool) -> HttpAnswer:
        await pool.send(request())
        asked.set()
        assert await asyncio.to_thread(closed.wait, 10)
        return await pool.send(request())

    assert run(server, work).body == b"{}"
    assert server.connections == 2


def test_waiting_for_a_connection_ends_and_nothing_was_sent(run: Run, server: Unruly) -> None:
    server.otherwise = server.stay_silent

    async def work(pool: AsyncConnectionPool) -> None:
        first = asyncio.ensure_future(pool.send(request()))
        await asyncio.sleep(0)
        with pytest.raises(NoAnswer, match=r"no connection was free for 0\.1 s \(pool_size=1\)") as caught:
            await pool.send(request())
        assert not caught.value.sent
        with pytest.raises(NoAnswer):
            await first

    run(server, work, pool_size=1, timeout=0.1)


@pytest.mark.parametrize("secure", [False, True])
def test_a_cancelled_request_does_not_leave_its_answer_to_the_next(
    run: Run, secure: bool, server: Unruly, secure_server: Unruly, certificate: Path
) -> None:
    asked = secure_server if secure else server
    arrived = threading.Event()

    def late(peer: socket.socket, request: Request) -> bool:
        arrived.set()
        asked.closed.wait(10)
        return answer({"Item": {"PK": {"S": "late"}}})(peer, request)

    asked.will(late)

    async def work(pool: AsyncConnectionPool) -> HttpAnswer:
        cancelled = asyncio.ensure_future(pool.send(request()))
        await asyncio.to_thread(arrived.wait, 10)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        asked.closed.set()
        return await pool.send(request())

    assert run(asked, work, certificate, pool_size=1).body == b"{}"
    assert asked.connections == 2


@pytest.mark.parametrize("steps", range(12))
def test_a_request_cancelled_at_any_step_leaves_its_place_to_the_next(
    run: Run, steps: int, server: Unruly
) -> None:
    async def work(pool: AsyncConnectionPool) -> None:
        for _ in range(5):
            cancelled = [asyncio.ensure_future(pool.send(request())) for _ in range(3)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for one in cancelled:
                one.cancel()
            await asyncio.wait(cancelled)
            assert (await pool.send(request(b'"mine"'))).body == b'{"echo": "mine"}'

    server.otherwise = lambda peer, request: answer({"echo": request.content})(peer, request)
    run(server, work, pool_size=1)


def test_a_connection_in_use_when_the_pool_is_closed_closes_after_its_answer(
    run: Run, server: Unruly
) -> None:
    arrived, go = threading.Event(), threading.Event()

    def wait(peer: socket.socket, request: Request) -> bool:
        arrived.set()
        go.wait(10)
        return answer({})(peer, request)

    server.will(wait)

    async def work(pool: AsyncConnectionPool) -> None:
        under_way = asyncio.ensure_future(pool.send(request()))
        await asyncio.to_thread(arrived.wait, 10)
        await pool.close()
        go.set()
        assert (await under_way).status == 200
        assert await asyncio.to_thread(server.closed.wait, 10)

    run(server, work)


def test_a_request_on_a_connection_that_the_server_has_spoken_on_is_not_sent(
    run: Run, server: Unruly
) -> None:
    """Bytes that came before the request end the connection, and what is written to it is dropped."""

    async def work(pool: AsyncConnectionPool) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            opened = socket.create_connection(listening.getsockname())
            _, connection = await loop.create_connection(lambda: AsyncConnection(loop, opened), sock=opened)
            peer, _ = await asyncio.to_thread(listening.accept)
            with peer:
                peer.sendall(response({}))
                await connection.closed
                with pytest.raises(NoAnswer, match="spoke before it was asked") as caught:
                    await connection.exchange(memoryview(b"GET"), limits())
        assert not caught.value.sent
        # No timer keeps the connection and its buffer.
        lost = weakref.ref(connection)
        del connection, caught
        gc.collect()
        assert lost() is None

    run(server, work)
