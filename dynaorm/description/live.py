"""The comparison of a description with a live table."""

from collections.abc import Mapping
from typing import Any

from dynaorm.argument import check_kind
from dynaorm.description.description import TableDescription, check_description
from dynaorm.errors import UsageError
from dynaorm.flow.table_differences import Difference, missing_table, table_differences


def differences(
    description: TableDescription,
    live: Mapping[str, Any] | None,
    live_ttl: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
) -> tuple[Difference, ...]:
    """What differs between a description and a live table. No request is sent: ``session.compare_table`` asks.

    Args:
        description: the declared table.
        live: the answer of DescribeTable; None if there is no such table.
        live_ttl: the answer of DescribeTimeToLive; without it, TTL is not compared.
        name: the physical name of the table; its declared name without it.

    Raises:
        UsageError: ``live`` or ``live_ttl`` is no such answer.

    Examples:
        >>> [difference.kind for difference in differences(describe(app), None)]
        ['no table']
    """
    check_description(description)
    if name is not None:
        check_kind("name={}", name, str, "a str", remedy="give the physical name of the table")
    wanted = {**description.create_table(), **({} if name is None else {"TableName": name})}
    if live is None:
        return (missing_table(wanted, description.ttl_attribute),)
    try:
        ttl = None if live_ttl is None else live_ttl.get("TimeToLiveDescription", live_ttl)
        found = live.get("Table", live)
        stored = {
            one.attribute: f"{cls.name}.{one.name}" for cls in description.classes for one in cls.fields
        }
        return table_differences(wanted, found, ttl=description.ttl_attribute, live_ttl=ttl, stored=stored)
    except (LookupError, TypeError, AttributeError) as problem:
        raise UsageError(
            problem="this is no description of a table as DynamoDB gives it",
            remedy="give the answers of DescribeTable and DescribeTimeToLive",
        ) from problem
