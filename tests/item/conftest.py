"""A DynamoDB in this process, to compare with."""

from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from moto import mock_aws


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    """A client of moto, with a table ``items`` whose partition key is ``PK``."""
    with mock_aws():
        client: Any = botocore.session.get_session().create_client("dynamodb", region_name="eu-west-1")
        client.create_table(
            TableName="items",
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client
