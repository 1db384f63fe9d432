"""The commands and their options."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from botocore.exceptions import BotoCoreError

from dynaorm.cli.output import Output
from dynaorm.cli.status import CLEAN, FAILED, FOUND
from dynaorm.cli.target import importable, keep_totals, load_target, table_names, tables_in
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Finding
from dynaorm.flow.integrity.mend import Mended
from dynaorm.integrity.run import RunOptions, backfill, repair, verify
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
        "--segments", type=int, default=1, show_default=True, help="Into how many parts tables are divided."
    ),
    click.option(
        "--segment", type=int, help="The one part to read here (from 0); the others are for other machines."
    ),
    click.option("--rate", type=float, help="Capacity units per second to keep to."),
    click.option(
        "--checkpoint", type=_FILE, help="A file that remembers how far it came; an interrupted run goes on."
    ),
    click.option(
        "--duplicates", type=_FILE, help="A file for values that several entities hold, as JSON lines."
    ),
    click.option("--json", "as_lines", is_flag=True, help="One JSON object per line."),
)
_DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Write nothing, and show the plans.")


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="dynaorm")
def _commands() -> None:
    """Look after what dynaorm stores. Exit status: 0 all is well, 1 something was found, 2 it could not be done."""


@_commands.command("verify", short_help="Find what does not fit together.")
@_with_options
def _verify(**given: Any) -> None:
    """Find what does not fit together: guards, versions, index keys, totals, unknown and unreadable items."""
    _work("verify", verify, given)


@_commands.command("repair", short_help="Mend what verify finds.")
@_with_options
@_DRY_RUN
def _repair(**given: Any) -> None:
    """Mend what verify finds, as far as that needs no choice. Writers may go on meanwhile."""
    _work("repair", repair, given)


@_commands.command("backfill", short_help="Complete what is older than its declaration.")
@_with_options
@_DRY_RUN
def _backfill(**given: Any) -> None:
    """Complete items from before a constraint, an index, versions or totals were declared. Deploy the class first."""
    _work("backfill", backfill, given)


def _work(verb: str, work: Work, given: dict[str, Any]) -> None:
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
        dry_run=given.get("dry_run", False),
    )
    if options.segment is not None and keep_totals(targets):
        click.echo(f"{verb}: totals need all segments, and are left out of one", err=True)
    names = table_names(given["tables"], [*targets, *declared])
    with (
        Session(
            region=given["region"], endpoint=given["endpoint"], profile=given["profile"], table_names=names
        ) as session,
        output,
    ):
        for found in work(session, *targets, options=options):
            output.tell(found)
    click.get_current_context().exit(CLEAN if output.is_clean else FOUND)


def run(arguments: list[str]) -> int:
    """Run a command; its exit status."""
    try:
        status: object = _commands.main(arguments, prog_name="dynaorm", standalone_mode=False)
    except click.ClickException as mistake:
        mistake.show()
        return FAILED
    except click.Abort:
        click.echo("dynaorm: interrupted", err=True)
        return FAILED
    except (DynaormError, BotoCoreError, OSError) as failure:
        click.echo(f"dynaorm: {failure}", err=True)
        return FAILED
    return status if isinstance(status, int) else CLEAN
