"""Stories over the asynchronous direct transport: told whole, with an answer lost, with a save cancelled."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from dynaorm import AsyncDirectTransport, AsyncSession, DirectTransport, Session
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.item.json_body import encode_body
from dynaorm.testing.clock import FakeClock
from tests.cast.documents import Page
from tests.cast.tables import app
from tests.transport.unruly import Request, Unruly, answer


@pytest.fixture
def carried_out(
    server: Unruly, ministack_endpoint: str, unique_name: Callable[[str], str]
) -> Iterator[Callable[[Request], Reply]]:
    """What the unruly server does to pass a request on to ministack, where the table is."""
    with DirectTransport(endpoint=ministack_endpoint) as behind:
        with Session(transport=behind, table_names=unique_name) as session:
            session.create_table(app)

        def pass_on(request: Request) -> Reply:
            operation = request.headers["x-amz-target"].rpartition(".")[2]
            return behind.call(Call(operation, json.loads(request.body)))

        server.otherwise = lambda peer, request: answer(None, raw=encode_body(pass_on(request)))(
            peer, request
        )
        yield pass_on


def test_a_save_cancelled_before_its_answer_is_settled_by_the_next(
    server: Unruly, carried_out: Callable[[Request], Reply], unique_name: Callable[[str], str]
) -> None:
    written = threading.Event()

    def keep(peer: socket.socket, request: Request) -> bool:
        carried_out(request)
        written.set()
        return server.stay_silent()

    server.will(keep)

    async def work() -> None:
        async with (
            AsyncDirectTransport(endpoint=server.endpoint) as transport,
            AsyncSession(transport=transport, table_names=unique_name, clock=FakeClock()) as session,
        ):
            fay = Page(name="6", slug="fay")
            saving = asyncio.ensure_future(session.save(fay))
            await asyncio.to_thread(written.wait, 10)
            saving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await saving
            fay.text = "new"
            await session.save(fay)
            assert await session.get(Page, name="6") == fay

    asyncio.run(work())
