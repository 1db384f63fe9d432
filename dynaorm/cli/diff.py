"""The command ``diff``: what differs between declared tables and live ones, and what makes them equal."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from dynaorm.cli.lines import complain, write_line, write_sentences
from dynaorm.cli.options import AS_JSON, TableAccess, connected, options
from dynaorm.cli.remedy import typed
from dynaorm.cli.status import CLEAN, FOUND
from dynaorm.cli.target import load_target, table_of, tables_reached
from dynaorm.description.tables import describe
from dynaorm.entity.table import Table
from dynaorm.export.cloud_formation import stages
from dynaorm.failure import counted
from dynaorm.flow.read import describe_table
from dynaorm.flow.table_differences import Difference, table_steps
from dynaorm.item.printable import printable
from dynaorm.session.session import Session


@click.command("diff", short_help="Compare declared tables with the live ones.")
@click.argument("targets", nargs=-1, required=True, metavar="MODULE:TABLE_OR_CLASS...")
@options(
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "update-table", "cloudformation"]),
        default="text",
        show_default=True,
        help="The differences; or the requests, or the templates, that make the live tables as declared.",
    ),
    click.option(
        "--delete", is_flag=True, help="With update-table: also what deletes or switches something off."
    ),
    click.option("--ignore-harmless", is_flag=True, help="Leave out what dynaorm works with nevertheless."),
    AS_JSON,
)
@connected
def diff_command(
    *,
    connection: TableAccess,
    targets: tuple[str, ...],
    form: str,
    delete: bool,
    ignore_harmless: bool,
    as_json: bool,
) -> None:
    """Compare the declarations of tables, and of their guard tables and totals, with the live tables.

    Nothing is changed. Exit status: 0 nothing differs, 1 something does.

    Example: dynaorm diff shop.models:app --region eu-west-1
    """
    loaded = [load_target(text) for text in targets]
    tables = tables_reached(loaded)
    with connection.session(targets, loaded) as session:
        found = [one for one in _differences(session, tables) if not (ignore_harmless and one.is_harmless)]
        if form == "cloudformation":
            write_line(json.dumps([*_templates(session, tables, found)], indent=2))
    if form == "update-table":
        for step in table_steps(found, delete=delete):
            line = {
                "text": step.text,
                "operation": step.operation,
                "request": step.request,
                "deletes": step.deletes,
            }
            write_line(json.dumps(line, default=dict))
        if left := len(found) - len([one for one in found if _is_made(one, delete=delete)]):
            are = "is" if left == 1 else "are"
            complain(
                f"{left} of {counted(len(found), 'difference')} {are} left; see dynaorm diff, and --delete"
            )
    elif form == "text":
        _show(found, as_json=as_json)
    click.get_current_context().exit(FOUND if found else CLEAN)


def _differences(session: Session, tables: Iterable[Table]) -> list[Difference]:
    found: list[Difference] = []
    for table in tables:
        # A guard table is compared with each table that it belongs to.
        found += [one for one in session.compare_table(table) if one not in found]
    return found


def _is_made(one: Difference, *, delete: bool) -> bool:
    return bool(one.steps) and (delete or not one.removes)


def _show(found: Sequence[Difference], *, as_json: bool) -> None:
    for one in found:
        if as_json:
            write_line(json.dumps(difference_json(one), default=dict))
        else:
            write_sentences("\n".join(map(printable, _lines(one))))
    if not found:
        complain("the live tables are as declared")


def _lines(one: Difference) -> Iterator[str]:
    mark = " (harmless)" if one.is_harmless else ""
    yield f"{one.table}: {one.problem}{mark}"
    yield f"    {typed(one.remedy)}"
    for step in one.steps:
        yield f"    {step.operation}: {step.text}"


def difference_json(one: Difference) -> dict[str, Any]:
    """A difference as plain data."""
    return {
        "kind": "difference",
        "table": one.table,
        "what": one.kind,
        "index": one.index,
        "declared": one.declared,
        "live": one.live,
        "problem": one.problem,
        "remedy": typed(one.remedy),
        "harmless": one.is_harmless,
        "steps": [
            {"operation": step.operation, "text": step.text, "request": step.request, "deletes": step.deletes}
            for step in one.steps
        ],
    }


def _templates(
    session: Session, tables: Iterable[Table], found: Sequence[Difference]
) -> Iterator[dict[str, Any]]:
    """The templates of the tables that differ, in the order in which they are deployed."""
    context = session._context
    for table in map(table_of, tables):
        name = context.table_name(table.name)
        kinds = {one.kind for one in found if one.table == name}
        if kinds and "no table" not in kinds:
            live = session._run("compare_table", describe_table(name, context))
            yield from stages(describe(table), live, table_names=context.table_name)
