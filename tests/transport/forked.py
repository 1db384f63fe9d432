"""A program that uses a session, forks, and uses it again in both processes: ``python -m tests.transport.forked``.

It prints how each child ended, what its get returned, how many of its parent's connections it has open afterwards, and
what the parent's next get returned.
"""

import asyncio
import json
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from dynaorm import AsyncSession, Entity, Retry, Session, Table
from dynaorm.transport import AsyncDirectTransport, DirectTransport

SECONDS: Final = 20
"""A child that takes longer has no end."""


class User(Entity, table=Table("app"), pk="USER#{user_id}", sk="PROFILE"):
    user_id: str


Get: TypeAlias = Callable[[], object]

opened = ExitStack()
"""What the parent closes at its end."""


def _get(session: Session) -> Get:
    return partial(session.get, User, user_id="1")


def _get_in_loops(session: AsyncSession) -> Get:
    """Each process keeps one event loop, and the parent's is there after the fork."""
    runners: dict[tuple[int, int], asyncio.Runner] = {}

    def get() -> object:
        place = os.getpid(), threading.get_ident()
        if place not in runners:
            runners[place] = opened.enter_context(asyncio.Runner())
        return runners[place].run(session.get(User, user_id="1"))

    return get


@cache
def _replace_sending() -> None:
    """Let botocore send the requests of all sessions."""
    from botocore.httpsession import URLLib3Session  # noqa: PLC0415 - the other kinds need none of it

    from tests.transport.both_ways import Wrapped  # noqa: PLC0415 - likewise

    URLLib3Session.send = Wrapped(URLLib3Session.send)  # type: ignore[method-assign,assignment]


def _through_botocore(session: Session) -> Get:
    _replace_sending()
    return _get(session)


RETRY: Final = Retry(attempts=1)

KINDS: Final[dict[str, Callable[[str], Get]]] = {
    "default": lambda url: _get(Session(endpoint=url, retry=RETRY)),
    "default through botocore": lambda url: _through_botocore(Session(endpoint=url, retry=RETRY)),
    "default async": lambda url: _get_in_loops(AsyncSession(endpoint=url, retry=RETRY)),
    "direct": lambda url: _get(Session(transport=DirectTransport(endpoint=url), retry=RETRY)),
    "direct async": lambda url: _get_in_loops(
        AsyncSession(transport=AsyncDirectTransport(endpoint=url), retry=RETRY)
    ),
}


def connections() -> set[int]:
    """The connections over TCP that this process has open, by inode."""
    found = set()
    for descriptor in range(256):
        with suppress(OSError):
            if stat.S_ISSOCK((status := os.fstat(descriptor)).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as one:
                    found |= {status.st_ino} if one.family == socket.AF_INET else set()
    return found


def in_child(work: Callable[[], Any]) -> tuple[int, Any]:
    """What a forked child ends with, and what its work returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        os.write(writing, json.dumps(work()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(text or "null")


def after_use(get: Get) -> list[Any]:
    """Fork while nothing is under way."""
    get()
    before = connections()
    child = in_child(lambda: [get(), len(connections() & before)])
    return [*child, get()]


def during_use(get: Get, begun: str, go_on: str) -> list[Any]:
    """Fork while another thread waits for credentials: their program writes to one pipe and reads from another."""
    waiting = threading.Thread(target=get)
    waiting.start()
    with Path(begun).open():
        child = in_child(get)
    with Path(go_on).open("w"):
        waiting.join()
    return [*child, get()]


def main(kind: str, begun: str, go_on: str, *endpoints: str) -> None:
    with opened:
        gets = [KINDS[kind](endpoint) for endpoint in endpoints]
        ended = [during_use(gets[0], begun, go_on), *map(after_use, gets)]
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
