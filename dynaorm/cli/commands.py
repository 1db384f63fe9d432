"""All commands together, and how each of them ends."""

from typing import Final

import click
from botocore.exceptions import BotoCoreError

from dynaorm.cli.apply import apply_command
from dynaorm.cli.diff import diff_command
from dynaorm.cli.export import export_command
from dynaorm.cli.importing import import_command
from dynaorm.cli.integrity import backfill_command, repair_command, verify_command
from dynaorm.cli.item import show_command
from dynaorm.cli.lines import complain
from dynaorm.cli.planning import plan_command
from dynaorm.cli.questions import questions_command
from dynaorm.cli.reading import get_by_command, get_command, history_command, query_command
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
    import_command,
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
    except click.ClickException as mistake:
        usage = mistake.ctx.get_usage() if isinstance(mistake, click.UsageError) and mistake.ctx else ""
        complain(f"{usage}\nError: {mistake.format_message()}".strip())
        return FAILED
    except click.Abort:
        is_long = any(one.name in arguments[:1] for one in RESUMABLE)
        complain(
            "dynaorm: interrupted" + ("; with --checkpoint, the same command continues" if is_long else "")
        )
        return FAILED
    except SystemExit as ended:
        if not ended.code:  # it has completed a line for a shell
            return CLEAN
        # click's answer, with status 1, to an output that its reader has closed.
        complain("dynaorm: the reader of the output has closed it")
        return FAILED
    except EntityNotFound as absent:
        complain(f"dynaorm: {absent}")
        return NOTHING
    except TableNotFound as missing:
        complain(
            f"dynaorm: there is no table {missing.table!r} in this account, Region or endpoint; check --region, "
            "--profile, --endpoint and --table-name"
        )
        return FAILED
    except (DynaormError, BotoCoreError, OSError) as failure:
        complain(f"dynaorm: {failure}")
        return FAILED
    return status if isinstance(status, int) else CLEAN
