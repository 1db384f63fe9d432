"""Tables of one engine as AWS's own client sees them: what the tests of several folders store and compare by hand."""

from collections.abc import Callable
from typing import Any

import botocore.session

from dynaorm import Table
from dynaorm.testing.clock import FakeClock
from dynaorm.transport import Call, Transport

REGION = "us-east-1"

# Made once, because it reads the service's description.
_AWS = botocore.session.get_session()


def aws_client(endpoint: str) -> Any:
    """AWS's own low-level client."""
    return _AWS.create_client("dynamodb", region_name=REGION, endpoint_url=endpoint)


class PlainClient:
    """The methods of AWS's low-level client over a transport: ``put_item(TableName=..., Item=...)``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        operation = name.title().replace("_", "")
        return lambda **request: dict(self._transport.call(Call(operation, request)))


class RawTables:
    """The tables of a test on one DynamoDB.

    Attributes:
        client: AWS's own low-level client, which knows nothing of dynaorm.
        clock: the clock of every session.
        name: the physical name of a declared table.
    """

    def __init__(self, client: Any, clock: FakeClock, name: Callable[[str], str]) -> None:
        self.client = client
        self.clock = clock
        self.name = name
        self._created: list[str] = []

    def created(self, *tables: Table) -> None:
        """Remember tables, and their guard tables, for ``drop``."""
        self._created += [self.name(one.name) for table in tables for one in (table, table.guards)]

    def raw(self, table: Table) -> list[dict[str, Any]]:
        """Every item of a table exactly as stored, in the order of their keys."""
        found = self.client.scan(TableName=self.name(table.name), ConsistentRead=True)["Items"]
        return sorted(found, key=lambda item: [str(item[name]) for name in table.key_names])

    def put(self, table: Table, **item: Any) -> None:
        """Store an item by hand."""
        self.client.put_item(TableName=self.name(table.name), Item=item)

    def remove(self, table: Table, partition: str, sort: str) -> None:
        """Delete an item by hand, as TTL or a console does."""
        key = dict(zip(table.key_names, ({"S": partition}, {"S": sort}), strict=True))
        self.client.delete_item(TableName=self.name(table.name), Key=key)

    def drop(self) -> None:
        """Delete the tables."""
        for name in dict.fromkeys(self._created):
            self.client.delete_table(TableName=name)
