"""The commands ``verify``, ``repair`` and ``backfill``, and their options."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from botocore.exceptions import BotoCoreError

from dynaorm.cli.output import Output, complain
from dynaorm.cli.status import CLEAN, FAILED, FOUND, STOPPED
from dynaorm.cli.target import importable, keep_totals, load_target, table_names, tables_in
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Finding, Mended
from dynaorm.integrity.run import RunOptions, backfill, repair, table_locations, verify
from dynaorm.session.session import Session

Work = Callable[..., Iterable[Finding | Mended]]

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_OPTIONS: Final[Sequence[Callable[[Any], Any]]] = (
    click.argument("targets", nargs=-1, required=True, metavar="MODULE:TABLE_OR_CLASS..."),
    click.option(
        "--import", "modules", multiple=True, metavar="MODULE", help="Import a module that declares classes."
    ),
    click.option("--endpoint", help="Another DynamoDB endpoint, such as http://127.0.0.1:8000."),
    click.option("--region", help="The AWS region."),
    click.option("--profile", help="A profile of the AWS configuration files."),
    click.option(
        "--table-name", "tables", multiple=True, metavar="DECLARED=PHYSICAL", help="A table's physical name."
    ),
    click.option(
        "--segments",
        type=int,
        default=1,
        show_default=True,
        help="Into how many segments each table is divided.",
    ),
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
    click.option(
        "--foreign-attribute",
        "foreign_attributes",
        multiple=True,
        metavar="NAME",
        help="An attribute that other programs write. Entities with other unknown attributes are not repaired.",
    ),
    click.option("--json", "as_lines", is_flag=True, help="One JSON object per line."),
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


def _with(*options: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        # As decorators are written: the first of them is the outermost, and is shown first in the help.
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


# click 8.1 would end with status 0 where it shows the help in place of a command.
@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="dynaorm")
@click.pass_context
def _commands(context: click.Context) -> None:
    """Verify and repair what dynaorm stores.

    Exit status: 0 nothing is wrong, or everything was repaired; 1 something is wrong, or a repair was only shown; 2 the
    command failed; 3 the run wanted more repairs than --at-most allows.

    Example: dynaorm verify shop.models:app --region eu-west-1
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)


@_commands.command("verify", short_help="Find items that do not fit together.")
@_with(*_OPTIONS)
def _verify(**given: Any) -> None:
    """Find guards, versions, index keys and totals that do not fit, and unknown or unreadable items."""
    _work("verify", verify, given)


@_commands.command("repair", short_help="Repair what verify finds.")
@_with(*_OPTIONS, *_WRITING)
def _repair(**given: Any) -> None:
    """Repair what verify finds, as far as that needs no choice. Writers may run meanwhile."""
    _work("repair", repair, given)


@_commands.command("backfill", short_help="Complete entities that are older than a declaration.")
@_with(*_OPTIONS, *_WRITING)
def _backfill(**given: Any) -> None:
    """Complete entities that were stored before their class declared a constraint, an index, versions or totals.

    Deploy the new class to every writer first.
    """
    _work("backfill", backfill, given)


def _work(verb: str, work: Work, given: dict[str, Any]) -> None:
    writes = bool(given.get("yes"))
    if writes and given["dry_run"]:
        raise click.UsageError("--yes and --dry-run contradict each other; give one of them")
    importable()
    targets = [load_target(text) for text in given["targets"]]
    declared = tables_in([*given["modules"], *(text.partition(":")[0] for text in given["targets"])])
    output = Output(verb, as_lines=given["as_lines"])
    options = RunOptions(
        segments=given["segments"],
        segment=given["segment"],
        rate=given["rate"],
        progress=output.progress,
        checkpoint=given["checkpoint"],
        duplicates=given["duplicates"],
        dry_run=verb != "verify" and not writes,
        at_most=given.get("at_most"),
        foreign_attributes=given["foreign_attributes"],
    )
    if options.segment is not None and keep_totals(targets):
        complain(f"{verb}: totals need all segments, and are left out of one")
    names = table_names(given["tables"], [*targets, *declared])
    with (
        Session(
            region=given["region"], endpoint=given["endpoint"], profile=given["profile"], table_names=names
        ) as session,
        output,
    ):
        locations = table_locations(session, *targets, writes=verb != "verify", options=options)
        output.announce(locations, given["endpoint"], writes=writes)
        for found in work(session, *targets, options=options):
            output.report(found)
    status = STOPPED if output.is_stopped else CLEAN if output.is_clean else FOUND
    click.get_current_context().exit(status)


def run(arguments: list[str]) -> int:
    """Run a command, and return its exit status."""
    try:
        # In its standalone mode, click itself would end the process, after an interruption with status 1, which means a
        # finding.
        status: object = _commands.main(arguments, prog_name="dynaorm", standalone_mode=False)
    except click.ClickException as mistake:
        usage = mistake.ctx.get_usage() if isinstance(mistake, click.UsageError) and mistake.ctx else ""
        complain(f"{usage}\nError: {mistake.format_message()}".strip())
        return FAILED
    except click.Abort:
        complain("dynaorm: interrupted; with --checkpoint, the same command continues")
        return FAILED
    except SystemExit:
        # click's answer, with status 1, to an output that its reader has closed.
        complain("dynaorm: the reader of the output has closed it")
        return FAILED
    except (DynaormError, BotoCoreError, OSError) as failure:
        complain(f"dynaorm: {failure}")
        return FAILED
    return status if isinstance(status, int) else CLEAN
