"""Templates of tables that are created together: CloudFormation, and Terraform's JSON syntax."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import all_of, check_flag, check_kind
from dynaorm.description.access_patterns import differences
from dynaorm.description.description import (
    IndexDescription,
    KeyAttributeDescription,
    TableDescription,
    check_description,
)
from dynaorm.entity.table import table_namer
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.table_definition import table_steps
from dynaorm.record import record

# Several tables that are created together: their physical names, their ids in a template, and the order of both.
#
# Rule 1. An id follows from the declared name, so that it stays when a physical name changes: a template that names a
#         resource anew replaces the table.
# Rule 2. Everything is exported from descriptions. Whoever has only ``TableDescription.to_json()`` loses nothing.

TableNames: TypeAlias = Mapping[str, str] | Callable[[str], str] | None
"""Physical names by declared names, as ``Session`` takes them."""

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_TABLE_ARN: Final = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/(?P<name>[^/]+)(?P<rest>/.*)?")


@record
class StackTable:
    """A table of a stack.

    Attributes:
        description: what it is.
        name: its physical name.
        words: the words of its declared name, from which every template makes its ids.
    """

    description: TableDescription
    name: str
    words: tuple[str, ...]

    @property
    def logical_id(self) -> str:
        """Its id in CloudFormation: ``MyAppTable``."""
        return "".join(word[:1].upper() + word[1:] for word in self.words) + "Table"

    @property
    def snake_id(self) -> str:
        """Its id in Terraform and Python: ``my_app``."""
        found = "_".join(word.lower() for word in self.words)
        return found if found[:1].isalpha() else f"table_{found}"

    @property
    def definition(self) -> dict[str, Any]:
        """The arguments of CreateTable, with the physical name."""
        return {**self.description.create_table(), "TableName": self.name}


def stack_of(
    tables: Iterable[TableDescription] | TableDescription, table_names: TableNames
) -> tuple[StackTable, ...]:
    """The tables of a stack.

    Raises:
        UsageError: there are none, one is given by its ARN, or two would have one id or one physical name.
    """
    named = table_namer(table_names)
    several = [tables] if isinstance(tables, TableDescription) else tables
    remedy = "give describe(table), or several of them"
    given = all_of("{}", several, TableDescription, "the description of a table", remedy=remedy)
    refuse_vectors(given)
    if not given:
        raise UsageError(problem="a stack of no table is empty", remedy="give describe(table)")
    stack = tuple(StackTable(one, named(one.name), _words(one.name)) for one in given)
    for what, texts in (
        ("id", [one.logical_id for one in stack]),
        ("physical name", [one.name for one in stack]),
    ):
        if repeated := [one for one in texts if texts.count(one) > 1]:
            names = ", ".join(
                repr(one.description.name) for one, text in zip(stack, texts, strict=True) if text in repeated
            )
            raise UsageError(
                problem=f"the tables {names} would have one {what}, {repeated[0]!r}",
                remedy="export them into different stacks, or name them differently",
            )
    return stack


def refuse_vectors(tables: Iterable[TableDescription]) -> None:
    """Raises UsageError for a vector index, which the formats of other tools do not have."""
    for table in tables:
        for index in table.indexes:
            if index.vector is not None:
                raise UsageError(
                    problem=f"{table.name!r} has the vector index {index.name!r}, which this format does not have",
                    remedy="use --format create-table, or create the table without the index and add it: dynaorm apply",
                )


def _words(name: str) -> tuple[str, ...]:
    if name.startswith("arn:"):
        raise UsageError(
            problem=f"the table {name!r} is named by its ARN, and a template creates tables by name",
            remedy="declare its name, or leave the table out",
        )
    return tuple(_WORD.findall(name))


def references(policy: Mapping[str, Any], refer: Callable[[str, str], Any]) -> Iterator[dict[str, Any]]:
    """The statements of a policy, with other resources.

    Args:
        policy: a policy document, as ``iam_policy`` makes it.
        refer: makes the resource of a table's physical name and the rest of the ARN: ``/index/GSI1`` or nothing.
    """
    given: object = policy
    if (
        not isinstance(given, Mapping)
        or "Version" not in given
        or not isinstance(given.get("Statement"), list)
    ):
        raise UsageError(
            problem=f"policy={shown(policy)} is not a policy document",
            remedy="give what iam_policy(...) returns",
        )
    for statement in policy["Statement"]:
        found = [_TABLE_ARN.fullmatch(one) for one in statement["Resource"]]
        resources = [
            one if match is None else refer(match["name"], match["rest"] or "")
            for one, match in zip(statement["Resource"], found, strict=True)
        ]
        yield {**statement, "Resource": resources}


# CloudFormation templates of tables. The CDK (``CfnInclude``) and SAM read them too.
#
# Rule 1. A template never deletes data: tables are retained and protected from deletion, and have point-in-time
#         recovery.
# Rule 2. One update of a stack may create or delete one global index of a table (AWS CloudFormation Template
#         Reference, AWS::DynamoDB::Table). ``stages`` are the templates that lead from a live table to a declared one.

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


# Terraform's JSON syntax for tables, for the provider hashicorp/aws.
#
# Rule 1. Strings in this syntax are templates, so ``${`` and ``%{`` in names are escaped.
# Rule 2. A plain index has ``hash_key`` and ``range_key``. Only a multi-attribute key needs ``key_schema`` blocks,
#         which older versions of the provider do not know.


def terraform(
    tables: Iterable[TableDescription] | TableDescription,
    *,
    table_names: TableNames = None,
    policy: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of a ``.tf.json`` file with some tables.

    Args:
        tables: their descriptions.
        table_names: physical names, as for ``Session``.
        policy: a policy document (``iam_policy``) for an ``aws_iam_policy``. Its ARNs of these tables become
            references.

    Raises:
        UsageError: two tables would have one id.

    Examples:
        >>> list(terraform(describe(app))["resource"])
        ['aws_dynamodb_table']
    """
    stack = stack_of(tables, table_names)
    resources: dict[str, Any] = {"aws_dynamodb_table": {one.snake_id: _escaped(_table(one)) for one in stack}}
    if policy is not None:
        resources["aws_iam_policy"] = {
            "access": {"name_prefix": "dynaorm-", "policy": _document(stack, policy)}
        }
    return {"//": "Written by dynaorm from the declarations of the tables", "resource": resources}


def _table(table: StackTable) -> dict[str, Any]:
    described, definition = table.description, table.definition
    found: dict[str, Any] = {
        "name": table.name,
        "billing_mode": definition["BillingMode"],
        "deletion_protection_enabled": True,
        **_keys(described.partition, described.sort),
        "attribute": [
            {"name": one["AttributeName"], "type": one["AttributeType"]}
            for one in definition["AttributeDefinitions"]
        ],
        "point_in_time_recovery": {"enabled": True},
        "lifecycle": {"prevent_destroy": True},
    }
    for kind, block in (("global", "global_secondary_index"), ("local", "local_secondary_index")):
        if indexes := [_index(index) for index in described.indexes if index.kind == kind]:
            found[block] = indexes
    if described.ttl_attribute is not None:
        found["ttl"] = {"attribute_name": described.ttl_attribute, "enabled": True}
    if described.stream is not None:
        found |= {"stream_enabled": True, "stream_view_type": described.stream}
    return found


def _keys(
    partition: tuple[KeyAttributeDescription, ...], sort: tuple[KeyAttributeDescription, ...]
) -> dict[str, Any]:
    return {"hash_key": partition[0].name, **({"range_key": sort[0].name} if sort else {})}


def _index(index: IndexDescription) -> dict[str, Any]:
    found: dict[str, Any] = {"name": index.name}
    if isinstance(index.projection, str):
        found["projection_type"] = index.projection
    else:
        found |= {"projection_type": "INCLUDE", "non_key_attributes": list(index.projection)}
    if index.kind == "local":
        return {**found, "range_key": index.sort[0].name}
    if len(index.partition) == 1 and len(index.sort) <= 1:
        return {**found, **_keys(index.partition, index.sort)}
    sides = (("HASH", index.partition), ("RANGE", index.sort))
    schema = [{"attribute_name": key.name, "key_type": role} for role, side in sides for key in side]
    return {**found, "key_schema": schema}


def _document(stack: tuple[StackTable, ...], policy: Mapping[str, Any]) -> str:
    ids = {one.name: one.snake_id for one in stack}

    def refer(name: str, rest: str) -> str:
        if name in ids:
            return f"${{aws_dynamodb_table.{ids[name]}.arn}}{rest}"
        return f"arn:aws:dynamodb:*:*:table/{name}{rest}"

    statements = [
        {
            **_escaped({name: value for name, value in reference.items() if name != "Resource"}),
            "Resource": reference["Resource"],
        }
        for reference in references(policy, refer)
    ]
    return json.dumps({"Version": policy["Version"], "Statement": statements})


def _escaped(value: Any) -> Any:
    """A value in which no string is a template."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {name: _escaped(one) for name, one in value.items()}
    return [_escaped(one) for one in value] if isinstance(value, list) else value
