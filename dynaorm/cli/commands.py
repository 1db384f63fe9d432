"""All commands together, and how each of them ends."""

from typing import Final

import click
from botocore.exceptions import BotoCoreError

from dynaorm.cli.apply import apply_command
from dynaorm.cli.diff import diff_command
from dynaorm.cli.export import export_command
from dynaorm.cli.integrity import backfill_command, repair_command, verify_command
from dynaorm.cli.item import show_command
from dynaorm.cli.lines import complain
from dynaorm.cli.planning import plan_command
from dynaorm.cli.questions import questions_command
from dynaorm.cli.reading import get_by_command, get_command, history_command, query_command
from dynaorm.cli.remedy import on_command_line
from dynaorm.cli.seeing import layout_command
from dynaorm.cli.status import CLEAN, FAILED, NOTHING
from dynaorm.cli.transfer import dump_command, load_command
from dynaorm.errors import DynaormError, EntityNotFound, TableNotFound

COMMANDS: Final = (
    layout_command,
    questions_command,
    get_command,
    get_by_command,
    query_command,
    history_command,
    show_command,
    plan_command,
    diff_command,
    apply_command,
    export_command,
    verify_command,
    repair_command,
    backfill_command,
    dump_command,
    load_command,
)


RESUMABLE: Final = (apply_command, verify_command, repair_command, backfill_command, load_command)
"""The commands that take a checkpoint."""

NAME: Final = "dynaorm"
ALIASES: Final = {"patterns": "questions"}


class _Group(click.Group):
    """A group whose commands have further names, which the help does not list."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


# click 8.1 would end with status 0 where it shows the help in place of a command.
@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="dynaorm")
@click.pass_context
def commands(context: click.Context) -> None:
    """See, read, change, verify and repair what dynaorm stores.

    Exit status: 0 done; 1 nothing was found, or verify or diff found something, or a repair or a change was only shown
    or left; 2 the command failed; 3 the run wanted more repairs than --at-most allows.

    Example: dynaorm get shop.models:User user_id=u1 --region eu-west-1
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)


for command in COMMANDS:
    commands.add_command(command)


def run(arguments: list[str]) -> int:
    """Run a command, and return its exit status."""
    try:
        # In its standalone mode, click itself would end the process, after an interruption with status 1, which means a
        # finding.
        status: object = commands.main(arguments, prog_name=NAME, standalone_mode=False)
    except SystemExit as ended:
        if not ended.code:  # it has completed a line for a shell
            return CLEAN
        # click's answer, with status 1, to an output that its reader has closed.
        complain(f"{NAME}: the reader of the output has closed it")
        return FAILED
    except (click.ClickException, click.Abort, DynaormError, BotoCoreError, OSError) as failure:
        is_long = any(one.name in arguments[:1] for one in RESUMABLE)
        complain(f"{NAME}: {_said(failure, is_resumable=is_long)}")
        return NOTHING if isinstance(failure, EntityNotFound) else FAILED
    return status if isinstance(status, int) else CLEAN


def _said(failure: Exception, *, is_resumable: bool) -> str:
    """Why a command has failed, in a line that ends with what to do."""
    if isinstance(failure, click.ClickException):
        context = failure.ctx if isinstance(failure, click.UsageError) else None
        command = NAME if context is None else context.command_path
        return f"{failure.format_message().rstrip('.')}; see {command} --help"
    if isinstance(failure, click.Abort):
        goes_on = ": with --checkpoint, it goes on where it was" if is_resumable else ""
        return f"interrupted; run the same command again{goes_on}"
    if isinstance(failure, TableNotFound):
        return (
            f"there is no table {failure.table!r} in this account, Region or endpoint; check --region, --profile, "
            "--endpoint and --table-name, or create it with dynaorm apply"
        )
    if isinstance(failure, DynaormError):
        return on_command_line(failure)
    return f"{failure}; correct that, and run the command again"
