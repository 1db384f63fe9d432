"""The command ``export``: tables for other tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import click

from dynaorm.cli.frame import FILE, Modules, Option, Targets, command
from dynaorm.cli.target import load_target, tables_reached
from dynaorm.cli.terminal import write_line
from dynaorm.description.description import TableDescription
from dynaorm.description.tables import describe
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.export.cloud_formation import cloudformation
from dynaorm.export.terraform_json import terraform
from dynaorm.iam import Purpose, iam_policy
from dynaorm.record import record


@record
class _Exported:
    """What is exported: what the tables are, their physical names, and the policy that goes with them, if any."""

    descriptions: tuple[TableDescription, ...]
    names: Mapping[str, str]
    policy: dict[str, Any] | None


_FORMATS: Final[Mapping[str, Callable[[_Exported], Any]]] = {
    "cloudformation": lambda one: cloudformation(one.descriptions, table_names=one.names, policy=one.policy),
    "global-table": lambda one: cloudformation(
        one.descriptions, table_names=one.names, policy=one.policy, global_tables=True
    ),
    "terraform": lambda one: terraform(one.descriptions, table_names=one.names, policy=one.policy),
    "create-table": lambda one: _alone(
        [
            {**each.create_table(), "TableName": one.names.get(each.name, each.name)}
            for each in one.descriptions
        ]
    ),
    "description": lambda one: _alone([each.to_json() for each in one.descriptions]),
}
_WITH_POLICY: Final = ("cloudformation", "global-table", "terraform")


@command
def export(
    *,
    targets: Targets,
    format: Annotated[
        str, Option(f"For which tool: {', '.join(_FORMATS)}.", "FORMAT", type=click.Choice([*_FORMATS]))
    ] = "cloudformation",
    output: Annotated[
        Path | None,
        Option("A file to write to, instead of standard output.", names=("-o", "--output"), type=FILE),
    ] = None,
    policy: Annotated[
        tuple[Purpose, ...],
        Option(
            f"Add an IAM policy for this purpose: {', '.join(get_args(Purpose))}. It can be given several times.",
            "PURPOSE",
            type=click.Choice(get_args(Purpose)),
        ),
    ] = (),
    modules: Modules,
) -> None:
    """Write tables, and those of their guards and totals, for another tool. Nothing is sent.

    Example: dynaorm export shop.models:app --format terraform --policy read --policy write -o tables.tf.json
    """
    if policy and format not in _WITH_POLICY:
        raise UsageError(
            problem=f"--policy has no place in {format}", remedy=f"give --format {' or '.join(_WITH_POLICY)}"
        )
    modules.load()
    loaded = [load_target(text) for text in targets]
    names = modules.names(targets, loaded)
    tables = tables_reached(loaded)
    descriptions = tuple(map(describe, tables))
    found = _FORMATS[format](_Exported(descriptions, names, _policy(tables, policy, names)))
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if output is None:
        write_line(text)
    else:
        output.write_text(f"{text}\n", encoding="utf-8")


def _alone(found: list[dict[str, Any]]) -> Any:
    """A list, or its only member: AWS's command line takes the arguments of one table."""
    return found[0] if len(found) == 1 else found


def _policy(
    tables: Sequence[Table], purposes: Sequence[Purpose], names: Mapping[str, str]
) -> dict[str, Any] | None:
    if not purposes:
        return None
    classes = [one.entity for table in tables for one in catalog_of(table).mappings.values()]
    if not classes:
        raise UsageError(
            problem="these tables have no class that a policy could be for", remedy="leave --policy out"
        )
    # Templates refer to the tables, so the account and the Region are theirs.
    return iam_policy(*classes, account="*", region="*", actions=purposes, table_names=names)
