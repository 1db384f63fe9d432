"""Options that several commands have, and the connection that they describe."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import click

from dynaorm.cli.target import importable, load_module, table_names, tables_in
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.record import record
from dynaorm.session.session import Session

Option = Callable[[Any], Any]
Command = Callable[..., None]

AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
SHOW_SECRETS: Final = click.option(
    "--show-secrets", is_flag=True, help="Show the values of secret fields, which are masked otherwise."
)
IMPORT: Final = click.option(
    "--import", "modules", multiple=True, metavar="MODULE", help="Import a module that declares classes."
)
CLASSES: Final = click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="CLASS",
    help="Only this class. It can be given several times.",
)
_CONNECTION: Final[Sequence[Option]] = (
    IMPORT,
    click.option("--endpoint", metavar="URL", help="Another DynamoDB endpoint: http://127.0.0.1:8000."),
    click.option("--region", help="The AWS region."),
    click.option("--profile", help="A profile of the AWS configuration files."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="The longest that one request may take, with its repetitions.",
    ),
    click.option(
        "--table-name", "tables", multiple=True, metavar="DECLARED=PHYSICAL", help="A table's physical name."
    ),
)


@record
class TableAccess:
    """Where a command finds its tables.

    Attributes:
        modules: modules to import, besides those of the targets.
        endpoint: the URL of another DynamoDB endpoint; None for that of AWS.
        region: the AWS region; None for that of the environment.
        profile: a profile of the AWS configuration files; None for that of the environment.
        tables: the physical names of tables, as ``declared=physical``.
        timeout: the seconds that one call may take; None for the session's own limits.
    """

    modules: tuple[str, ...]
    endpoint: str | None
    region: str | None
    profile: str | None
    tables: tuple[str, ...]
    timeout: float | None = None

    def load_modules(self) -> None:
        """Import the modules that the options name. Raises UsageError."""
        for module in self.modules:
            load_module(module)

    def session(self, texts: Iterable[str], targets: Iterable[Table | type[Any]], **settings: Any) -> Session:
        """A session for some targets.

        Args:
            texts: the targets as they were given: ``module:Name``.
            targets: the tables and classes that they name.
            **settings: further arguments of the session.

        Raises:
            UsageError: a module cannot be imported; a table of that name is not declared.
        """
        declared = tables_in([*self.modules, *(text.partition(":")[0] for text in texts)])
        return Session(
            region=self.region,
            endpoint=self.endpoint,
            profile=self.profile,
            timeout=self.timeout,
            table_names=table_names(self.tables, [*targets, *declared]),
            **settings,
        )


def contradiction(one: str, other: str) -> UsageError:
    """The error of two options that cannot be given together."""
    return UsageError(problem=f"{one} and {other} contradict each other", remedy="give one of them")


def options(*given: Option) -> Callable[[Command], Command]:
    """Add options to a command."""

    def decorated(command: Command) -> Command:
        # As decorators are written: the first of them is the outermost, and is shown first in the help.
        for option in reversed(given):
            command = option(command)
        return command

    return decorated


def connected(command: Command) -> Command:
    """Add the options of a connection to a command, which gets them as its ``connection``."""

    @functools.wraps(command)
    def with_connection(
        *,
        modules: tuple[str, ...],
        endpoint: str | None,
        region: str | None,
        profile: str | None,
        tables: tuple[str, ...],
        timeout: float | None,
        **given: Any,
    ) -> None:
        importable()
        command(connection=TableAccess(modules, endpoint, region, profile, tables, timeout), **given)

    return options(*_CONNECTION)(with_connection)
