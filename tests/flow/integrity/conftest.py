"""Items that sessions left, to be damaged in memory."""

import copy

import pytest

from dynaorm import Session
from dynaorm.testing import FakeClock
from tests.flow.integrity.damaged import Items, saved


@pytest.fixture(scope="module")
def left(credentials: None) -> Items:
    with Session(endpoint="memory:", clock=FakeClock()) as session:
        return saved(session)


@pytest.fixture
def items(left: Items) -> Items:
    """A copy of the items for one test."""
    return {table: copy.deepcopy(found) for table, found in left.items()}
