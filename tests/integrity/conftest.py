"""Two DynamoDBs with the tables of the zoo: strict moto in this process, ministack in another."""

from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest

from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport
from tests.integrity.zoo import TABLES, Raw

REGION = "us-east-1"


def raw_on(endpoint: str | None, name: Callable[[str], str]) -> Iterator[Raw]:
    """The tables of the zoo, empty, on an engine."""
    transport = PynamoTransport(endpoint=endpoint, region=REGION)
    client: Any = botocore.session.get_session().create_client(
        "dynamodb", region_name=REGION, endpoint_url=endpoint
    )
    raw = Raw(client, name, transport)
    raw.create(*TABLES)
    yield raw
    for table in TABLES:
        client.delete_table(TableName=name(table.name))
    client.close()
    transport.close()


@pytest.fixture
def moto() -> Iterator[Raw]:
    with strict_moto():
        yield from raw_on(None, str)


@pytest.fixture
def ministack(ministack_endpoint: str, unique_name: Callable[[str], str]) -> Iterator[Raw]:
    yield from raw_on(ministack_endpoint, unique_name)


@pytest.fixture(params=["moto", "ministack"])
def raw(request: pytest.FixtureRequest) -> Raw:
    """Either engine."""
    found: Raw = request.getfixturevalue(request.param)
    return found
