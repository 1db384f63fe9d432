"""Where a table is, and how large it is: what a person is told before a tool works on it."""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from dynaorm.entity.table import Table
from dynaorm.record import record

READ_UNIT: Final = 4096
"""The bytes of one strongly consistent read unit (Amazon DynamoDB Developer Guide, "Read and write operations")."""

WRITE_UNIT: Final = 1024
"""The bytes of one write unit, of the same source."""


@record
class TableLocation:
    """Where a table is. DynamoDB updates the two sizes every six hours.

    Attributes:
        declared: its declared name.
        name: its physical name.
        account: the AWS account; None if its ARN does not tell.
        region: the AWS Region; None if its ARN does not tell.
        items: the approximate number of its items.
        size: the approximate number of their bytes.
    """

    declared: str
    name: str
    account: str | None
    region: str | None
    items: int | None
    size: int | None = None

    @property
    def scan_units(self) -> int | None:
        """The read units of one strongly consistent scan: one for each 4 KB. None if the size is not known."""
        return None if self.size is None else ceil(self.size / READ_UNIT)

    @property
    def put_units(self) -> int | None:
        """The write units of writing each item once: one for each started KB. None if the sizes are not known."""
        if self.items is None or self.size is None:
            return None
        return self.items * max(1, ceil(self.size / self.items / WRITE_UNIT)) if self.items else 0


def location_of(table: Table, name: str, description: Mapping[str, Any]) -> TableLocation:
    """Where a table is, by its physical name and ``Table`` of DescribeTable; an empty one, if it does not exist."""
    # arn:aws:dynamodb:REGION:ACCOUNT:table/NAME
    parts = [*description.get("TableArn", "").split(":"), *[""] * 5]
    return TableLocation(
        declared=table.name,
        name=name,
        account=parts[4] or None,
        region=parts[3] or None,
        items=description.get("ItemCount"),
        size=description.get("TableSizeBytes"),
    )
