"""The commands ``verify``, ``repair`` and ``backfill``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from dynaorm.cli.exports import EXPORT, verify_exports
from dynaorm.cli.options import AS_JSON, Option, TableAccess, connected, contradiction, options
from dynaorm.cli.processes import PROCESSES, check_processes, divided
from dynaorm.cli.run_output import Meter, Output, place_of
from dynaorm.cli.run_summary import RunSummary
from dynaorm.cli.target import keep_totals, load_target, tell_of_empty
from dynaorm.entity.table import Table
from dynaorm.flow.integrity.finding import Finding, Mended
from dynaorm.integrity.report import FindingsFile, read_findings
from dynaorm.integrity.run import RunOptions, backfill, reads_of_run, repair, table_locations, verify
from dynaorm.integrity.tasks import Verb

Work = Callable[..., Iterable[Finding | Mended]]

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_TARGETS: Final = click.argument("targets", nargs=-1, required=True, metavar="MODULE:TABLE_OR_CLASS...")
_OPTIONS: Final[Sequence[Option]] = (
    click.option(
        "--segments",
        type=int,
        default=1,
        show_default=True,
        help="Into how many segments each table is divided.",
    ),
    PROCESSES,
    click.option(
        "--segment", type=int, help="Read only this segment (from 0); other machines read the others."
    ),
    click.option("--rate", type=float, help="The most capacity units per second, reads and writes together."),
    click.option(
        "--checkpoint", type=_FILE, help="A file that holds the position; an interrupted run resumes from it."
    ),
    click.option(
        "--duplicates", type=_FILE, help="A file for the values that several entities hold, as JSON lines."
    ),
    click.option("--summary", type=_FILE, help="A file for the result of the run, as JSON."),
    click.option(
        "--foreign-attribute",
        "foreign_attributes",
        multiple=True,
        metavar="NAME",
        help="An attribute that other programs write. Entities with other unknown attributes are not repaired.",
    ),
    click.option(
        "--show-secrets", is_flag=True, help="Show keys with secret fields, which are masked otherwise."
    ),
    AS_JSON,
)
_WRITING: Final[Sequence[Callable[[Any], Any]]] = (
    click.option(
        "--yes", is_flag=True, help="Write. Without it, the plans are shown and nothing is written."
    ),
    click.option("--dry-run", is_flag=True, help="Write nothing and show the plans, which is the default."),
    click.option(
        "--at-most",
        type=int,
        metavar="N",
        help="The most repairs. A run that wants more ends with status 3.",
    ),
)


_FOUND: Final = click.option(
    "--findings", type=_FILE, help="A private file for the findings, as JSON lines, for repair --findings."
)
_TO_REPAIR: Final = click.option(
    "--findings",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Judge again and repair only what these findings name: a file of verify --findings.",
)


@click.command("verify", short_help="Find items that do not fit together.")
@_TARGETS
@options(*_OPTIONS, _FOUND, *EXPORT)
@connected
def verify_command(**given: Any) -> None:
    """Find guards, versions, index keys and totals that do not fit, and unknown or unreadable items.

    Example: dynaorm verify shop.models:app --segments 8
    """
    if given["exports"]:
        click.get_current_context().exit(verify_exports(given))
    _work("verify", verify, given)


@click.command("repair", short_help="Repair what verify finds.")
@_TARGETS
@options(*_OPTIONS, _TO_REPAIR, *_WRITING)
@connected
def repair_command(**given: Any) -> None:
    """Repair what verify finds, as far as that needs no choice. Writers may run meanwhile.

    Example: dynaorm repair shop.models:app --yes --checkpoint repair.sqlite
    """
    if given["findings"] is None:
        _work("repair", repair, given)
    else:
        _work("repair", partial(repair, findings=read_findings(given["findings"])), given)


@click.command("backfill", short_help="Complete entities that are older than a declaration.")
@_TARGETS
@options(*_OPTIONS, *_WRITING)
@connected
def backfill_command(**given: Any) -> None:
    """Complete entities that were stored before their class declared a constraint, an index, versions or totals.

    Deploy the new class to every writer first.

    Example: dynaorm backfill shop.models:User --yes --duplicates duplicates.jsonl
    """
    _work("backfill", backfill, given)


def _work(verb: Verb, work: Work, given: dict[str, Any]) -> None:
    connection: TableAccess = given["connection"]
    writes = bool(given.get("yes"))
    if writes and given["dry_run"]:
        raise contradiction("--yes", "--dry-run")
    check_processes(verb, given)
    targets = [load_target(text) for text in given["targets"]]
    tell_of_empty(one for one in targets if isinstance(one, Table))
    meter = Meter()
    output = Output(verb, meter, as_lines=given["as_json"], secrets=given["show_secrets"])
    options = _run_options(verb, given, output, writes=writes)
    with (
        connection.session(given["targets"], targets, on_attempt=meter) as session,
        RunSummary(given["summary"], verb, session._context.clock, meter) as summary,
        ExitStack() as opened,
    ):
        path = given["findings"] if verb == "verify" else None
        file = None if path is None else opened.enter_context(FindingsFile(path))
        with output:
            locations = table_locations(session, *targets, writes=verb != "verify", options=options)
            scans = verb != "repair" or given["findings"] is None
            reads = reads_of_run(session, *targets, locations=locations, options=options) if scans else None
            output.announce(locations, connection.endpoint, reads, rate=options.rate, writes=writes)
            summary.add(
                tables=[place_of(one, connection.endpoint) for one in locations],
                writes=writes,
                segments=options.segments,
                segment=options.segment,
            )
            for found in (
                work(session, *targets, options=options)
                if given["processes"] is None
                else divided(verb, given, options, meter)
            ):
                if file is not None and isinstance(found, Finding):
                    file.add(found)
                output.report(found)
        summary.add(status=output.status, **output.finish(summary.seconds, _unjudged(verb, targets, options)))
    click.get_current_context().exit(output.status)


def _run_options(verb: str, given: Mapping[str, Any], output: Output, *, writes: bool) -> RunOptions:
    return RunOptions(
        segments=max(given["segments"], given["processes"] or 1),
        segment=given["segment"],
        rate=given["rate"],
        progress=output.progress,
        checkpoint=given["checkpoint"],
        duplicates=given["duplicates"],
        dry_run=verb != "verify" and not writes,
        at_most=given.get("at_most"),
        foreign_attributes=given["foreign_attributes"],
    )


def _unjudged(verb: Verb, targets: Sequence[Table | type[Any]], options: RunOptions) -> list[str]:
    """What a run did not judge, by what it was asked to do."""
    found = []
    if options.segment is not None and keep_totals(targets):
        found.append("totals, which need all segments")
    classes = [one.__name__ for one in targets if not isinstance(one, Table)]
    # A backfill of a class was never meant to judge anything else.
    if classes and verb != "backfill":
        found.append(f"items that are no {' or '.join(classes)}; name the table to judge them all")
    return found
