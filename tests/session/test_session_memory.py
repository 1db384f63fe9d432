"""The memory of a session and its transport does not grow with the number of entities saved or read."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from dynaorm import Session
from dynaorm.flow.call import Call, Reply
from dynaorm.testing.clock import FakeClock
from dynaorm.transport import DirectTransport
from tests.cast.documents import Page
from tests.transport.unruly import unruly_server

SLACK = 20_000
"""Bytes that caches of a fixed size may still take; what 300 saves send is 18 times as much."""


class Compliant:
    """A DynamoDB that is content with every write and has nothing stored (the ``Transport`` protocol)."""

    def call(self, _: Call, /) -> Reply:
        return {}


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def kept_after(work: Callable[[int], object], times: int) -> int:
    """How many bytes more are held after doing something many times, once it has been done some times already."""

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    for number in range(200):
        work(number)
    before = held()
    for number in range(200, 200 + times):
        work(number)
    return held() - before


def save_read_and_delete(session: Session, number: int) -> None:
    person = session.save(Page(text="n" * 500, name=str(number), slug=f"{number}@example.com"))
    person.slug = f"{number}@example.org"
    session.save(person)
    with session.transaction() as tx:
        tx.save(Page(text="n" * 500, name=f"t{number}", slug=f"t{number}@example.com"))
        tx.delete(person)
    assert session.get(Page, name=f"never stored {number}") is None
    session.plan(Page(text="n" * 500, name=f"p{number}", slug=f"p{number}@example.com"))


def test_a_session_holds_nothing_that_grows_with_what_it_saved() -> None:
    with Session(transport=Compliant(), clock=FakeClock()) as session:
        assert kept_after(lambda number: save_read_and_delete(session, number), 300) < SLACK


def test_a_direct_transport_holds_nothing_that_grows_with_its_calls() -> None:
    with (
        unruly_server() as server,
        DirectTransport(endpoint=server.endpoint) as transport,
        Session(transport=transport, clock=FakeClock()) as session,
    ):

        def save(number: int) -> None:
            session.save(Page(text="n" * 500, name=str(number), slug=f"{number}@example.com"))
            server.requests.clear()

        assert kept_after(save, 300) < SLACK
    assert server.connections == 1


def test_what_a_session_would_hold_is_seen() -> None:
    """The measure itself: entities that are kept are more than the slack."""
    kept: list[Page] = []
    with Session(transport=Compliant(), clock=FakeClock()) as session:

        def save(number: int) -> None:
            kept.append(session.save(Page(text="n" * 500, name=str(number), slug=f"{number}@example.com")))

        assert kept_after(save, 100) > SLACK
