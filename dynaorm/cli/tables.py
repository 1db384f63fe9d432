"""The commands ``diff``, ``apply`` and ``export``: declared tables beside live ones, and as templates."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import click

from dynaorm import tools
from dynaorm.cli.frame import FILE, AsJson, ConnectionOptions, Modules, Option, Targets, Yes, command
from dynaorm.cli.target import load_target, table_of, tables_reached
from dynaorm.cli.terminal import CLEAN, FOUND, complain, write_line, write_sentences
from dynaorm.cli.verify import AtMost, Checkpoint, FindingsRun, Rate, Segments
from dynaorm.description.access_patterns import describe
from dynaorm.description.description import TableDescription
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.export.templates import cloudformation, stages, terraform
from dynaorm.failure import counted
from dynaorm.flow.application import WAIT, ApplyPlan, ApplyProgress
from dynaorm.flow.read import describe_table
from dynaorm.flow.table_definition import Difference, table_steps
from dynaorm.iam import Purpose, iam_policy
from dynaorm.integrity.run import RunOptions
from dynaorm.integrity.run import backfill as run_backfill
from dynaorm.item.text import printable
from dynaorm.record import record
from dynaorm.session.session import Session

# The commands ``diff`` and ``apply``: what differs between declared and live tables, and how they become equal.

# -- diff --------------------------------------------------------------------------------------------------------------


@command
def diff(
    *,
    targets: Targets,
    format: Annotated[
        Literal["text", "update-table", "cloudformation"],
        Option("The differences; or the requests, or the templates, that make the live tables as declared."),
    ] = "text",
    delete: Annotated[
        bool, Option("With update-table: also what deletes or switches something off.")
    ] = False,
    ignore_harmless: Annotated[bool, Option("Leave out what dynaorm works with nevertheless.")] = False,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Compare the declarations of tables, and of their guard tables and totals, with the live tables.

    Nothing is changed. Exit status: 0 nothing differs, 1 something does.

    Example: dynaorm diff shop.models:app --region eu-west-1
    """
    loaded = [load_target(text) for text in targets]
    tables = tables_reached(loaded)
    with connection.session(targets, loaded) as session:
        found = [one for one in _differences(session, tables) if not (ignore_harmless and one.is_harmless)]
        if format == "cloudformation":
            write_line(json.dumps([*_templates(session, tables, found)], indent=2))
    if format == "update-table":
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
    elif format == "text":
        _show(found, as_json=as_json)
    return FOUND if found else CLEAN


def _differences(session: Session, tables: Iterable[Table]) -> list[Difference]:
    found: list[Difference] = []
    for table in tables:
        # A guard table is compared with each table that it belongs to.
        found += [one for one in tools.compare_table(session, table) if one not in found]
    return found


def _is_made(one: Difference, *, delete: bool) -> bool:
    return bool(one.steps) and (delete or not one.removes)


def _show(found: Sequence[Difference], *, as_json: bool) -> None:
    for one in found:
        if as_json:
            write_line(json.dumps(_difference_json(one), default=dict))
        else:
            write_sentences("\n".join(map(printable, _lines(one))))
    if not found:
        complain("the live tables are as declared")


def _lines(one: Difference) -> Iterator[str]:
    mark = " (harmless)" if one.is_harmless else ""
    yield f"{one.table}: {one.problem}{mark}"
    yield f"    {one.remedy}"
    for step in one.steps:
        yield f"    {step.operation}: {step.text}"


def _difference_json(one: Difference) -> dict[str, Any]:
    """A difference as plain data."""
    return {
        "kind": "difference",
        "table": one.table,
        "what": one.kind,
        "index": one.index,
        "declared": one.declared,
        "live": one.live,
        "problem": one.problem,
        "remedy": one.remedy,
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


# -- apply -------------------------------------------------------------------------------------------------------------


@command
def apply(
    *,
    targets: Targets,
    yes: Yes = False,
    backfill: Annotated[
        bool,
        Option(
            "Where an index or a guard table is added: complete the entities that lack something.",
            names=("--backfill/--no-backfill",),
        ),
    ] = True,
    at_most: AtMost = None,
    segments: Segments = 1,
    rate: Rate = None,
    checkpoint: Checkpoint = None,
    wait: Annotated[
        float, Option("How long to wait for one change, such as a new index of a large table.", "SECONDS")
    ] = WAIT,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Create what is declared and missing: tables, global indexes, TTL, streams. Then complete older entities.

    Shows its plan and asks. A table that is as declared is not read. What would need something to be deleted is left,
    with the reason. After an interrupted run, call it again, then backfill. Deploy new classes to every writer before
    their entities are completed.

    Example: dynaorm apply shop.models:app --region eu-west-1 --no-backfill
    """
    loaded = [load_target(text) for text in targets]
    tables = _without_guards(tables_reached(loaded))
    shown = FindingsRun("apply", connection, as_json=as_json)
    with connection.session(targets, loaded, on_attempt=shown.meter) as session, shown:
        plans = [tools.plan_apply(session, one, backfill=backfill) for one in tables]
        for plan in plans:
            _show_plan(plan, shown)
        if all(one.does_nothing for one in plans):
            return FOUND if any(one.left for one in plans) else CLEAN
        if not shown.is_agreed(yes=yes):
            return FOUND
        progress = partial(_show_step, shown)
        applied = [tools.apply(session, one, backfill=False, wait=wait, progress=progress) for one in tables]
        left = sum(len(one.left) for one in applied)
        if completed := [table for table, plan in zip(tables, plans, strict=True) if plan.backfills]:
            options = RunOptions(
                segments=segments, rate=rate, checkpoint=checkpoint, at_most=at_most, progress=shown.progress
            )
            shown.report(run_backfill(session, *completed, options=options))
            shown.end()
    if left:
        complain(f"apply: {counted(left, 'difference is', 'differences are')} left; the plan says why")
    return max(FOUND if left else CLEAN, shown.status)


def _without_guards(tables: Sequence[Table]) -> list[Table]:
    """The tables without guard tables of others of them, with which they are applied."""
    guards = [table.guard_table for table in tables]
    return [table for table in tables if table not in guards]


def _show_plan(plan: ApplyPlan, shown: FindingsRun) -> None:
    """Print where the tables are, what is done with each, and what it costs."""
    shown.announce(plan.tables, writes=False, scans=False)
    if not shown.as_json:
        shown.say("\n".join(map(printable, plan.explain().split("\n"))))
        return
    for one in plan.changes:
        change = {**_difference_json(one.difference), "applied": bool(one.steps), "reason": one.reason}
        change.pop("kind")
        shown.line("change", **change)
    shown.line(
        "application",
        waits=plan.waits,
        backfills=[backfill.name for backfill in plan.backfills],
        index_write_units=plan.index_units,
        scan_read_units=plan.scan_units,
    )


def _show_step(shown: FindingsRun, told: ApplyProgress) -> None:
    if shown.as_json:
        shown.line("step", table=told.table, text=told.text, state=told.state, detail=told.detail)
    else:
        shown.say(printable(str(told)))


# The command ``export``: tables for other tools.


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
    classes = [mapping.entity for table in tables for mapping in catalog_of(table).mappings.values()]
    if not classes:
        raise UsageError(
            problem="these tables have no class that a policy could be for", remedy="leave --policy out"
        )
    # Templates refer to the tables, so the account and the Region are theirs.
    return iam_policy(*classes, account="*", region="*", actions=purposes, table_names=names)
