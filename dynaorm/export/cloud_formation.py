"""CloudFormation templates of tables. The CDK (``CfnInclude``) and SAM read them too.

Rule 1. A template never deletes data: tables are retained and protected from deletion, and have point-in-time recovery.
Rule 2. One update of a stack may create or delete one global index of a table (AWS CloudFormation Template Reference,
        AWS::DynamoDB::Table). ``stages`` are the templates that lead from a live table to a declared one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from dynaorm.argument import all_of, check_flag, check_kind
from dynaorm.description.description import TableDescription, check_description
from dynaorm.description.tables import differences
from dynaorm.errors import UsageError
from dynaorm.export.stack import StackTable, TableNames, references, stack_of
from dynaorm.flow.table_definition import table_steps

Resource: TypeAlias = Literal["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"]


def cloudformation(
    tables: Iterable[TableDescription] | TableDescription,
    *,
    table_names: TableNames = None,
    policy: Mapping[str, Any] | None = None,
    global_tables: bool = False,
    regions: Sequence[str] = (),
) -> dict[str, Any]:
    """The CloudFormation template of some tables.

    Args:
        tables: their descriptions.
        table_names: physical names, as for ``Session``.
        policy: a policy document (``iam_policy``) for a managed policy in the template. Its ARNs of these tables become
            references.
        global_tables: declare ``AWS::DynamoDB::GlobalTable`` in place of ``AWS::DynamoDB::Table``.
        regions: the Regions of the replicas of global tables; without any, that of the stack.

    Raises:
        UsageError: two tables would have one id; or a global table in several Regions declares a stream other than
            NEW_AND_OLD_IMAGES, which replication needs.

    Examples:
        >>> from dynaorm import Table
        >>> from dynaorm.description import describe
        >>> template = cloudformation(describe(Table("my-app")))
        >>> template["Resources"]["MyAppTable"]["Properties"]["KeySchema"][0]
        {'AttributeName': 'PK', 'KeyType': 'HASH'}
    """
    stack = stack_of(tables, table_names)
    check_flag("global_tables={}", global_tables)
    regions = all_of(
        "regions={}", regions, str, "the name of a Region", remedy='give names such as "eu-west-1"'
    )
    resources: dict[str, Any] = {}
    for one in stack:
        resources[one.logical_id] = {
            "Type": "AWS::DynamoDB::GlobalTable" if global_tables else "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": _global_properties(one, regions) if global_tables else _table_properties(one),
        }
    if policy is not None:
        resources["AccessPolicy"] = _managed_policy(stack, policy)
    names = ", ".join(one.description.name for one in stack)
    what, their = ("table", "its declaration") if len(stack) == 1 else ("tables", "their declarations")
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The DynamoDB {what} {names}, written by dynaorm from {their}"[:1024],
        "Resources": resources,
        "Outputs": {
            f"{one.logical_id}Arn": {"Value": {"Fn::GetAtt": [one.logical_id, "Arn"]}} for one in stack
        },
    }


def _table_properties(table: StackTable) -> dict[str, Any]:
    return {
        **_properties(table),
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "DeletionProtectionEnabled": True,
    }


def _properties(table: StackTable) -> dict[str, Any]:
    found = table.definition
    if table.description.stream is not None:
        # It has no StreamEnabled here.
        found["StreamSpecification"] = {"StreamViewType": table.description.stream}
    if table.description.ttl_attribute is not None:
        found["TimeToLiveSpecification"] = {"AttributeName": table.description.ttl_attribute, "Enabled": True}
    return found


def _global_properties(table: StackTable, regions: Sequence[str]) -> dict[str, Any]:
    """The properties of a global table, which has recovery and protection in each replica."""
    found = _properties(table)
    if len(regions) > 1:
        if table.description.stream not in (None, "NEW_AND_OLD_IMAGES"):
            raise UsageError(
                problem=f"the stream of {table.description.name!r} carries {table.description.stream}, and replicas "
                "need NEW_AND_OLD_IMAGES",
                remedy='declare stream="NEW_AND_OLD_IMAGES"',
            )
        found["StreamSpecification"] = {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    replicas: list[Any] = [*regions] or [{"Ref": "AWS::Region"}]
    found["Replicas"] = [
        {
            "Region": region,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "DeletionProtectionEnabled": True,
        }
        for region in replicas
    ]
    return found


def stages(
    table: TableDescription, live: Mapping[str, Any], *, table_names: TableNames = None
) -> tuple[dict[str, Any], ...]:
    """The templates that lead from a live table to the declared one, with one change of a global index in each.

    The last one is the template of the declaration, so indexes that are not declared are deleted. Deploy each when the
    one before it is complete.

    Args:
        table: its description.
        live: the answer of DescribeTable.
        table_names: physical names, as for ``Session``.

    Raises:
        UsageError: ``live`` is no such answer.

    Examples:
        >>> live = {**describe(app).create_table(), "GlobalSecondaryIndexes": []}
        >>> len(stages(describe(app), {"Table": live}))
        1
    """
    check_description(table)
    check_kind(
        "live={}", live, Mapping, "an answer of DescribeTable", remedy="give the answer of DescribeTable"
    )
    (one,) = stack_of(table, table_names)
    steps = table_steps(differences(table, live, name=one.name), delete=True)
    found = live.get("Table", live)
    types = {
        key["AttributeName"]: key
        for key in (*found["AttributeDefinitions"], *one.definition["AttributeDefinitions"])
    }
    indexes = {
        index["IndexName"]: {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
        for index in found.get("GlobalSecondaryIndexes") or ()
    }
    templates = []
    for step in steps:
        for change in step.request.get("GlobalSecondaryIndexUpdates", ()):
            ((verb, index),) = change.items()
            indexes.pop(index["IndexName"], None)
            if verb == "Create":
                indexes[index["IndexName"]] = {
                    name: index[name] for name in ("IndexName", "KeySchema", "Projection")
                }
            template = cloudformation(table, table_names=table_names)
            _with_indexes(template["Resources"][one.logical_id]["Properties"], [*indexes.values()], types)
            templates.append(template)
    return (*templates[:-1], cloudformation(table, table_names=table_names))


def _with_indexes(
    properties: dict[str, Any], indexes: list[dict[str, Any]], types: Mapping[str, Mapping[str, str]]
) -> None:
    """Give a table other global indexes, and the definitions of the attributes that its keys then have."""
    properties["GlobalSecondaryIndexes"] = indexes
    if not indexes:
        del properties["GlobalSecondaryIndexes"]
    schemas = [properties, *indexes, *properties.get("LocalSecondaryIndexes", ())]
    names = dict.fromkeys(key["AttributeName"] for schema in schemas for key in schema["KeySchema"])
    properties["AttributeDefinitions"] = [dict(types[name]) for name in names]


def _managed_policy(stack: tuple[StackTable, ...], policy: Mapping[str, Any]) -> dict[str, Any]:
    ids = {one.name: one.logical_id for one in stack}

    def refer(name: str, rest: str) -> dict[str, Any]:
        if name in ids:
            return {"Fn::Sub": f"${{{ids[name]}.Arn}}{rest}"}
        prefix = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/"
        return {"Fn::Sub": f"{prefix}{name}{rest}"}

    statements = [*references(policy, refer)]
    document = {"Version": policy["Version"], "Statement": statements}
    return {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
