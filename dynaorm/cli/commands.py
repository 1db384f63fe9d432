"""All commands together, each imported when it is used, and how each of them ends."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click
from botocore.exceptions import BotoCoreError

from dynaorm.cli.terminal import CLEAN, FAILED, NOTHING, complain
from dynaorm.errors import DynaormError, EntityNotFound, TableNotFound

NAME: Final = "dynaorm"
GROUPS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Begin": {
        "demo": ("demo", "Show in three scenes what writes do to the items of a table."),
        "guide": ("demo", "Print all declarations and methods on a few pages."),
    },
    "Read": {
        "get": ("query", "Show the entity with a key, or with a unique value."),
        "query": ("query", "Show entities by the key of a table or an index."),
        "history": ("query", "Show the versions of an entity."),
        "show": ("query", "Show a stored item: what it is, and what is wrong with it."),
        "plan": ("plan", "Show what a write would send, and send nothing."),
    },
    "See the design": {
        "layout": ("layout", "Draw a table: its items, keys and questions."),
        "questions": ("layout", "Show what can be asked of a table without a scan."),
    },
    "Check and repair": {
        "verify": ("verify", "Find items that do not fit together."),
        "repair": ("verify", "Repair what verify finds."),
        "backfill": ("verify", "Complete entities that are older than a declaration."),
    },
    "Create and change tables": {
        "diff": ("tables", "Compare declared tables with the live ones."),
        "apply": ("tables", "Bring live tables to their declarations."),
        "export": ("tables", "Write tables for CloudFormation, Terraform and others."),
    },
    "Move data": {
        "dump": ("dump", "Write every item of a table to a file."),
        "load": ("dump", "Load files of items into a table."),
    },
}
"""The commands, in the order of the help: their names, the modules that have them, and what they do."""

COMMANDS: Final = {name: place for group in GROUPS.values() for name, place in group.items()}
ALIASES: Final = {"patterns": "questions"}


class Group(click.Group):
    """Commands that are imported when they are used, and listed in groups."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"dynaorm.cli.{COMMANDS[name][0]}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, (_, text) in group.items()])


# click 8.1 would end with status 0 where it shows the help in place of a command.
@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name=NAME)
@click.pass_context
def commands(context: click.Context) -> None:
    """See, read, change, verify and repair what dynaorm stores.

    Exit status: 0 done; 1 nothing was found, or something is wrong, differs or is left; 2 the command failed; 3 a run
    wanted more repairs than --at-most allows.

    Example: dynaorm get shop.models:User user_id=u1 --region eu-west-1
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)


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
        complain(f"{NAME}: {_message_of(failure, arguments[:1])}")
        return NOTHING if isinstance(failure, EntityNotFound) else FAILED
    return status if isinstance(status, int) else CLEAN


def _message_of(failure: Exception, command: list[str]) -> str:
    """Why a command has failed, in a line that ends with what to do."""
    if isinstance(failure, click.ClickException):
        context = failure.ctx if isinstance(failure, click.UsageError) else None
        path = NAME if context is None else context.command_path
        return f"{failure.format_message().rstrip('.')}; see {path} --help"
    if isinstance(failure, click.Abort):
        is_resumable = command in (["verify"], ["repair"], ["backfill"], ["apply"])
        goes_on = ": with --checkpoint, it goes on where it was" if is_resumable else ""
        return f"interrupted; run the same command again{goes_on}"
    if isinstance(failure, TableNotFound):
        return (
            f"there is no table {failure.table!r} in this account, Region or endpoint; check --region, --profile, "
            "--endpoint and --table-name, or create it with dynaorm apply"
        )
    if isinstance(failure, DynaormError):
        return str(failure)
    return f"{failure}; correct that, and run the command again"
