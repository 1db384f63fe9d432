"""The command ``apply``: bring live tables to their declarations, as far as nothing is removed."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from dynaorm.cli.diff import difference_json
from dynaorm.cli.lines import complain, write_line, write_sentences
from dynaorm.cli.options import AS_JSON, TableAccess, connected, options
from dynaorm.cli.run_output import Meter, Output, place_of, place_text
from dynaorm.cli.run_summary import RunSummary
from dynaorm.cli.status import CLEAN, FOUND
from dynaorm.cli.target import load_target, tables_reached
from dynaorm.entity.table import Table
from dynaorm.failure import counted
from dynaorm.flow.application import WAIT, ApplyPlan, ApplyProgress, PlannedChange
from dynaorm.integrity.run import RunOptions, backfill
from dynaorm.item.printable import printable
from dynaorm.record import replace
from dynaorm.session.session import Session

_VERB: Final = "apply"
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command(_VERB, short_help="Bring live tables to their declarations; nothing is removed.")
@click.argument("targets", nargs=-1, required=True, metavar="MODULE:TABLE_OR_CLASS...")
@options(
    click.option(
        "--yes", is_flag=True, help="Do it without asking. Without a terminal, the plan is only shown."
    ),
    click.option(
        "--backfill/--no-backfill",
        "backfills",
        default=True,
        show_default=True,
        help="Complete the entities that lack index keys, guard items, versions or totals.",
    ),
    click.option(
        "--at-most",
        type=int,
        metavar="N",
        help="The most entities to complete. A run that wants more ends with status 3.",
    ),
    click.option(
        "--segments",
        type=int,
        default=1,
        show_default=True,
        help="Into how many segments each table is divided to be read.",
    ),
    click.option("--rate", type=float, help="The most capacity units per second to complete entities with."),
    click.option(
        "--checkpoint", type=_FILE, help="A file that holds the position; an interrupted run resumes from it."
    ),
    click.option(
        "--wait",
        type=float,
        default=WAIT,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for one change, such as a new index of a large table.",
    ),
    click.option("--summary", type=_FILE, help="A file for the result of the run, as JSON."),
    AS_JSON,
)
@connected
def apply_command(
    *,
    connection: TableAccess,
    targets: tuple[str, ...],
    yes: bool,
    backfills: bool,
    as_json: bool,
    wait: float,
    checkpoint: Path | None,
    summary: Path | None,
    **limits: Any,
) -> None:
    """Create what is declared and missing: tables, global indexes, TTL, streams. Then complete older entities.

    Shows its plan and asks. What would need something to be deleted is left, with the reason. An interrupted run is
    continued by the same command. Deploy new classes to every writer before their entities are completed.

    Example: dynaorm apply shop.models:app --region eu-west-1 --no-backfill
    """
    loaded = [load_target(text) for text in targets]
    tables = _without_guards(tables_reached(loaded))
    meter = Meter()
    output = Output(_VERB, meter, as_lines=as_json)
    run = RunOptions(checkpoint=checkpoint, progress=output.progress, **limits)
    shown = _Shown(connection, as_json=as_json)
    with (
        connection.session(targets, loaded, on_attempt=meter) as session,
        RunSummary(summary, _VERB, session._context.clock, meter) as written,
    ):
        plans = [session.plan_apply(one, backfill=backfills) for one in tables]
        written.add(tables=shown.plans(plans), writes=False)
        if all(one.does_nothing for one in plans):
            status = FOUND if any(one.left for one in plans) else CLEAN
        elif not (yes or _agreed(as_json=as_json)):
            status = FOUND
        else:
            written.add(writes=True)
            left = _apply(session, tables, wait, shown)
            status = FOUND if left else CLEAN
            if completed := [table for table, plan in zip(tables, plans, strict=True) if plan.backfills]:
                status = max(status, _complete(session, completed, run, output))
                written.add(**output.finish(written.seconds, ()))
            _tell_left(left)
        written.add(status=status)
    click.get_current_context().exit(status)


def _without_guards(tables: Sequence[Table]) -> list[Table]:
    """The tables without guard tables of others of them, with which they are applied."""
    guards = [one.guard_table for one in tables]
    return [one for one in tables if one not in guards]


def _agreed(*, as_json: bool) -> bool:
    """Whether a person at the terminal wants it done."""
    can_ask = not as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    agreed = can_ask and click.confirm("apply: do this?", err=True)
    if not agreed:
        complain("apply: nothing was written; give --yes to write")
    return agreed


def _tell_left(count: int) -> None:
    if count:
        complain(f"apply: {counted(count, 'difference is', 'differences are')} left; the plan says why")


def _apply(session: Session, tables: Sequence[Table], wait: float, shown: "_Shown") -> int:
    """Change the tables. Returns how many differences are left."""
    applied = [session.apply(one, backfill=False, wait=wait, progress=shown.progress) for one in tables]
    return sum(len(one.left) for one in applied)


def _complete(session: Session, tables: Sequence[Table], run: RunOptions, output: Output) -> int:
    with output:
        for found in backfill(session, *tables, options=run):
            output.report(found)
    return output.status


class _Shown:
    """Prints plans and steps, as sentences or JSON lines."""

    def __init__(self, connection: TableAccess, *, as_json: bool) -> None:
        self._connection = connection
        self._as_json = as_json

    def plans(self, plans: Sequence[ApplyPlan]) -> list[dict[str, Any]]:
        """Print where the tables are, what is done with each, and what it costs. Returns the places."""
        for plan in plans:
            for table in plan.tables:
                # A table that does not exist has no ARN.
                place = replace(table, region=table.region or self._connection.region)
                write_sentences(f"apply: {printable(place_text(place, self._connection.endpoint))}", err=True)
            if self._as_json:
                for one in plan.changes:
                    write_line(json.dumps(_change_json(one), default=dict))
                line = {
                    "kind": "plan",
                    "tables": [place_of(one, self._connection.endpoint) for one in plan.tables],
                    "waits": plan.waits,
                    "backfills": [one.name for one in plan.backfills],
                    "index_write_units": plan.index_units,
                    "scan_read_units": plan.scan_units,
                }
                write_line(json.dumps(line))
            else:
                write_sentences("\n".join(map(printable, plan.explain().split("\n"))))
        return [place_of(one, self._connection.endpoint) for plan in plans for one in plan.tables]

    def progress(self, told: ApplyProgress) -> None:
        """Print what is done now."""
        if self._as_json:
            line = {
                "kind": "step",
                "table": told.table,
                "text": told.text,
                "state": told.state,
                "detail": told.detail,
            }
            write_line(json.dumps(line))
        else:
            write_sentences(printable(str(told)))


def _change_json(one: PlannedChange) -> dict[str, Any]:
    return {
        **difference_json(one.difference),
        "kind": "change",
        "applied": bool(one.steps),
        "reason": one.reason,
    }
