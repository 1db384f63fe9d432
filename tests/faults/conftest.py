"""A DynamoDB with the tables of the classes that the test's module names, on either engine."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dynaorm.testing import FakeClock, tables_of
from dynaorm.transport import Transport
from tests.faults.store import Store
from tests.memory import MEMORY


@pytest.fixture
def moto(
    request: pytest.FixtureRequest, clock: FakeClock, moto_line: tuple[Transport, Any]
) -> Iterator[Store]:
    with MEMORY.empty(clock=clock):
        yield Store(*moto_line, clock, str).create(*tables_of(request.module))


@pytest.fixture
def ministack(
    request: pytest.FixtureRequest,
    clock: FakeClock,
    ministack_line: tuple[Transport, Any],
    unique_name: Callable[[str], str],
) -> Iterator[Store]:
    store = Store(*ministack_line, clock, unique_name).create(*tables_of(request.module))
    yield store
    store.drop()


@pytest.fixture(params=["moto", "ministack"])
def store(request: pytest.FixtureRequest) -> Store:
    """Either engine."""
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def token(unique_name: Callable[[str], str]) -> str:
    """A token of this test: ministack is shared, and remembers tokens."""
    return unique_name("TRANSACTION")
