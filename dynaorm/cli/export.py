"""The command ``export``: tables for other tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import click

from dynaorm.cli.lines import write_line
from dynaorm.cli.options import IMPORT, options
from dynaorm.cli.target import importable, load_module, load_target, table_names, tables_in, tables_reached
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
    """What is exported.

    Attributes:
        tables: the tables.
        descriptions: what they are.
        names: their physical names.
        policy: the policy document that goes with them; None for none.
    """

    tables: tuple[Table, ...]
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


@click.command("export", short_help="Write tables for CloudFormation, Terraform and other tools.")
@click.argument("targets", nargs=-1, required=True, metavar="MODULE:TABLE_OR_CLASS...")
@options(
    click.option(
        "--format",
        "form",
        type=click.Choice([*_FORMATS]),
        default="cloudformation",
        show_default=True,
        metavar="FORMAT",
        help=f"For which tool: {', '.join(_FORMATS)}.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file to write to, in place of standard output.",
    ),
    click.option(
        "--table-name", "tables", multiple=True, metavar="DECLARED=PHYSICAL", help="A table's physical name."
    ),
    click.option(
        "--policy",
        "purposes",
        multiple=True,
        type=click.Choice(get_args(Purpose)),
        metavar="PURPOSE",
        help=f"Add an IAM policy for this purpose: {', '.join(get_args(Purpose))}. It can be given several times.",
    ),
    IMPORT,
)
def export_command(
    *,
    targets: tuple[str, ...],
    form: str,
    output: Path | None,
    tables: tuple[str, ...],
    purposes: tuple[Purpose, ...],
    modules: tuple[str, ...],
) -> None:
    """Write tables, and those of their guards and totals, for another tool. Nothing is sent.

    Example: dynaorm export shop.models:app --format terraform --policy read --policy write -o tables.tf.json
    """
    if purposes and form not in _WITH_POLICY:
        raise UsageError(
            problem=f"--policy has no place in {form}", remedy=f"give --format {' or '.join(_WITH_POLICY)}"
        )
    importable()
    for module in modules:
        load_module(module)
    loaded = [load_target(text) for text in targets]
    declared = tables_in([*modules, *(text.partition(":")[0] for text in targets)])
    reached = tuple(tables_reached(loaded))
    exported = _Exported(
        reached,
        tuple(map(describe, reached)),
        table_names(tables, [*loaded, *declared]),
        _policy(reached, purposes, table_names(tables, [*loaded, *declared])),
    )
    text = json.dumps(_FORMATS[form](exported), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        write_line(text.removesuffix("\n"))
    else:
        output.write_text(text, encoding="utf-8")


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
