"""A server whose pages never end is noticed, in every loop over pages."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, Key, Retry, Session, Table, tools
from dynaorm.errors import Throttled, Unreachable
from dynaorm.flow.call import Call, PageKeys, Reply
from dynaorm.item.value import Item
from dynaorm.testing import ScriptedTransport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.tables import assert_consistent

APP = Table("endless")


class Note(Entity, table=APP, pk="NOTE#{slug}", sk="N#{number:03d}"):
    slug: str
    number: int


def key(number: int) -> dict[str, dict[str, str]]:
    return {"PK": {"S": "NOTE#a"}, "SK": {"S": f"N#{number:03d}"}}


@given(st.integers(0, 40), st.integers(1, 40))
def test_a_circle_of_pages_is_noticed_wherever_it_begins(before: int, length: int) -> None:
    pages = PageKeys[Item]()
    read = 0
    with pytest.raises(Unreachable, match="ends where an earlier page ended"):
        for _ in range(3 * (before + length) + 3):
            number = read if read < before else before + (read - before) % length
            assert pages.checked("Query", key(number)) == key(number)
            read += 1
    assert read >= before + length


@given(st.integers(0, 200))
def test_pages_that_end_are_read(number: int) -> None:
    pages = PageKeys[Item]()
    assert [pages.checked("Scan", key(one)) for one in range(number)] == [key(one) for one in range(number)]
    assert pages.checked("Scan", None) is None


class Endless:
    """Answers every read with pages that go round in a circle, and never processes a key."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._calls = 0

    def call(self, call: Call, /) -> Reply:
        self._calls += 1
        assert self._calls < 100
        if call.operation == "BatchGetItem":
            ((table, request),) = call.request["RequestItems"].items()
            return {"Responses": {}, "UnprocessedKeys": {table: {"Keys": [*request["Keys"], key(1)]}}}
        return {"Items": [], "Count": 0, "LastEvaluatedKey": key(self._calls % self._length)}


READS: dict[str, Callable[[Session], Any]] = {
    "query": lambda session: session.query(Note, slug="a").all(),
    "first": lambda session: session.query(Note, slug="a").first(),
    "iterated": lambda session: list(session.query(Note, slug="a").descending()),
    "page": lambda session: session.query(Note, slug="a").page(5),
    "count": lambda session: session.scan(Note, segments=3).count(),
    "keys": lambda session: session.scan(Note).keys().all(),
    "verify": lambda session: list(tools.verify(session, APP)),
    "assert_consistent": lambda session: assert_consistent(session, APP),
}


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("name", READS)
def test_a_read_of_endless_pages_ends(name: str, length: int) -> None:
    session = Session(transport=Endless(length), clock=FakeClock(jitter=0))
    with pytest.raises(Unreachable, match="is the endpoint a DynamoDB"):
        READS[name](session)


@pytest.mark.parametrize("name", READS)
def test_an_empty_last_key_ends_a_read(name: str) -> None:
    """So says the API reference; DynamoDB itself leaves it out."""
    transport = ScriptedTransport(*[{"Items": [], "Count": 0, "ScannedCount": 0, "LastEvaluatedKey": {}}] * 3)
    assert not READS[name](Session(transport=transport, clock=FakeClock(jitter=0)))


def test_a_batch_that_never_shrinks_ends() -> None:
    session = Session(transport=Endless(1), clock=FakeClock(jitter=0), retry=Retry(attempts=5))
    with pytest.raises(Throttled, match="UnprocessedKeys"):
        session.get_many([Key(Note, slug="a", number=2)])
