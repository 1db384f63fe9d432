"""Two DynamoDBs with the tables of the zoo: dynaorm's in this process, ministack in another."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dynaorm.transport import Transport
from tests.integrity.zoo import TABLES, Raw
from tests.memory import MEMORY


def created(raw: Raw) -> Iterator[Raw]:
    raw.create(*TABLES)
    yield raw
    for table in TABLES:
        raw.client.delete_table(TableName=raw.name(table.name))


@pytest.fixture
def moto(moto_line: tuple[Transport, Any]) -> Iterator[Raw]:
    with MEMORY.empty():
        transport, client = moto_line
        yield from created(Raw(client, str, transport))


@pytest.fixture
def ministack(ministack_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Raw]:
    transport, client = ministack_line
    yield from created(Raw(client, unique_name, transport))


@pytest.fixture(params=["moto", "ministack"])
def raw(request: pytest.FixtureRequest) -> Raw:
    """Either engine."""
    found: Raw = request.getfixturevalue(request.param)
    return found
