"""Terraform's JSON syntax for tables, for the provider hashicorp/aws.

Rule 1. Strings in this syntax are templates, so ``${`` and ``%{`` in names are escaped.
Rule 2. A plain index has ``hash_key`` and ``range_key``. Only a multi-attribute key needs ``key_schema`` blocks, which
        older versions of the provider do not know.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dynaorm.description.description import IndexDescription, KeyAttributeDescription, TableDescription
from dynaorm.export.stack import StackTable, TableNames, references, stack_of


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
        if indexes := [_index(one) for one in described.indexes if one.kind == kind]:
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
            **_escaped({name: value for name, value in one.items() if name != "Resource"}),
            "Resource": one["Resource"],
        }
        for one in references(policy, refer)
    ]
    return json.dumps({"Version": policy["Version"], "Statement": statements})


def _escaped(value: Any) -> Any:
    """A value in which no string is a template."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {name: _escaped(one) for name, one in value.items()}
    return [_escaped(one) for one in value] if isinstance(value, list) else value
