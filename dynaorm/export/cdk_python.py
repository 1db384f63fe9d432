"""A Python module for the AWS CDK that declares tables as ``TableV2``."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from dynaorm.description.description import IndexDescription, KeyAttributeDescription, TableDescription
from dynaorm.errors import UsageError
from dynaorm.export.stack import StackTable, TableNames, stack_of
from dynaorm.failure import shown

_TYPES: Final = {"S": "STRING", "N": "NUMBER", "B": "BINARY"}

_HEAD: Final = '''"""The DynamoDB tables, written by dynaorm from their declarations."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct


class {stack}(Stack):
    """The tables {names}."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
'''


def cdk(
    tables: Iterable[TableDescription] | TableDescription,
    *,
    table_names: TableNames = None,
    stack_name: str = "Tables",
) -> str:
    """The text of a Python module with a CDK stack of some tables.

    Args:
        tables: their descriptions.
        table_names: physical names, as for ``Session``.
        stack_name: the name of the class.

    Raises:
        UsageError: two tables would have one id, or ``stack_name`` is no name of a class.

    Examples:
        >>> "class Tables(" in cdk(describe(app))
        True
    """
    named: object = stack_name
    if not isinstance(named, str) or not named.isidentifier():
        raise UsageError(
            problem=f"stack_name={shown(stack_name)} cannot name a class", remedy="give an identifier"
        )
    stack = stack_of(tables, table_names)
    names = ", ".join(one.description.name for one in stack)
    lines = [_HEAD.format(stack=stack_name, names=names)]
    for one in stack:
        lines += [*_table(one), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(table: StackTable) -> Iterator[str]:
    described = table.description
    yield f"        self.{table.snake_id} = dynamodb.TableV2("
    yield "            self,"
    yield f"            {_text(table.logical_id)},"
    yield f"            table_name={_text(table.name)},"
    yield f"            partition_key={_attribute(described.partition[0])},"
    if described.sort:
        yield f"            sort_key={_attribute(described.sort[0])},"
    yield "            billing=dynamodb.Billing.on_demand(),"
    for kind, argument in (("global", "global_secondary_indexes"), ("local", "local_secondary_indexes")):
        if indexes := [one for one in described.indexes if one.kind == kind]:
            yield f"            {argument}=["
            for one in indexes:
                yield from _index(one)
            yield "            ],"
    if described.ttl_attribute is not None:
        yield f"            time_to_live_attribute={_text(described.ttl_attribute)},"
    if described.stream is not None:
        yield f"            dynamo_stream=dynamodb.StreamViewType.{described.stream},"
    yield "            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification("
    yield "                point_in_time_recovery_enabled=True,"
    yield "            ),"
    yield "            deletion_protection=True,"
    yield "            removal_policy=RemovalPolicy.RETAIN,"
    yield "        )"


def _index(index: IndexDescription) -> Iterator[str]:
    name = "GlobalSecondaryIndexPropsV2" if index.kind == "global" else "LocalSecondaryIndexProps"
    yield f"                dynamodb.{name}("
    yield f"                    index_name={_text(index.name)},"
    if index.kind == "global":
        yield from _side("partition_key", index.partition)
    yield from _side("sort_key", index.sort)
    if isinstance(index.projection, str):
        yield f"                    projection_type=dynamodb.ProjectionType.{index.projection},"
    else:
        yield "                    projection_type=dynamodb.ProjectionType.INCLUDE,"
        yield "                    non_key_attributes=["
        yield from (f"                        {_text(one)}," for one in index.projection)
        yield "                    ],"
    yield "                ),"


def _side(argument: str, keys: tuple[KeyAttributeDescription, ...]) -> Iterator[str]:
    if len(keys) == 1:
        yield f"                    {argument}={_attribute(keys[0])},"
    elif keys:
        yield f"                    {argument}s=["
        yield from (f"                        {_attribute(one)}," for one in keys)
        yield "                    ],"


def _attribute(key: KeyAttributeDescription) -> str:
    return f"dynamodb.Attribute(name={_text(key.name)}, type=dynamodb.AttributeType.{_TYPES[key.type]})"


def _text(value: str) -> str:
    """A string as Python text, in double quotes: the syntax of JSON is Python's, but for escaped surrogates."""
    return json.dumps(value, ensure_ascii=False)
