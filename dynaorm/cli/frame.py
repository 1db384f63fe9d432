"""The frame of every command: a function whose parameters are the arguments and options.

Rule 1. An option is stated once: by the parameter ``name: Annotated[type, Option("What it does.")] = default``.
Rule 2. A parameter whose type is a record stands for several options: the fields of the record.
Rule 3. The function returns the exit status of the command; None for 0.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, getdoc, signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import click

from dynaorm.cli.target import load_module, table_names, tables_in
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.record import FIELDS, record
from dynaorm.session.session import Session


@record
class Option:
    """What the help says of an option, and how its text is read.

    Attributes:
        help: what it does.
        metavar: how the help names its value.
        names: how it is written; by default as its parameter.
        type: how the text is read; by default as the type of its parameter.
    """

    help: str
    metavar: str | None = None
    names: tuple[str, ...] = ()
    type: Any = None


@record
class Argument:
    """How the help names an argument, and how its text is read."""

    metavar: str
    type: Any = None


FILE: Final = click.Path(dir_okay=False, path_type=Path)
OLD_FILE: Final = click.Path(dir_okay=False, exists=True, path_type=Path)
FILE_OR_PIPE: Final = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

Target: TypeAlias = Annotated[str, Argument("MODULE:TABLE_OR_CLASS")]
Targets: TypeAlias = Annotated[tuple[str, ...], Argument("MODULE:TABLE_OR_CLASS...")]
Class: TypeAlias = Annotated[str, Argument("MODULE:CLASS")]
AsJson: TypeAlias = Annotated[bool, Option("One JSON object per line.", names=("--json",))]
ShowSecrets: TypeAlias = Annotated[
    bool, Option("Show the values of secret fields, which are masked otherwise.")
]
Yes: TypeAlias = Annotated[bool, Option("Write. Otherwise a person at a terminal is asked.")]
Classes: TypeAlias = Annotated[
    tuple[str, ...], Option("Only this class. It can be given several times.", "CLASS", ("--class",))
]


@record
class Modules:
    """The modules whose classes a command knows, besides those of its targets.

    Attributes:
        imports: their names.
        tables: the physical names of tables, as ``declared=physical``.
    """

    imports: Annotated[
        tuple[str, ...], Option("Import a module that declares classes.", "MODULE", ("--import",))
    ] = ()
    tables: Annotated[
        tuple[str, ...], Option("A table's physical name.", "DECLARED=PHYSICAL", ("--table-name",))
    ] = ()

    def load(self) -> None:
        """Import the modules. Raises UsageError."""
        for module in self.imports:
            load_module(module)

    def names(self, texts: Iterable[str], targets: Iterable[Table | type[Any]]) -> dict[str, str]:
        """The physical names of tables.

        Args:
            texts: the targets as they were given: ``module:Name``.
            targets: the tables and classes that they name.

        Raises:
            UsageError: a module cannot be imported; a table of that name is not declared.
        """
        declared = tables_in([*self.imports, *(text.partition(":")[0] for text in texts)])
        return table_names(self.tables, [*targets, *declared])


@record
class ConnectionOptions(Modules):
    """Where a command finds its tables.

    Attributes:
        endpoint: another DynamoDB endpoint, a URL or ``sqlite:FILE``; None for that of AWS.
        region: the AWS region; None for that of the environment.
        profile: a profile of the AWS configuration files; None for that of the environment.
        timeout: the seconds that one call may take; None for the session's own limits.
    """

    endpoint: Annotated[
        str | None, Option("Another endpoint: http://127.0.0.1:8000, sqlite:FILE.", "URL")
    ] = None
    region: Annotated[str | None, Option("The AWS region.")] = None
    profile: Annotated[str | None, Option("A profile of the AWS configuration files.")] = None
    timeout: Annotated[
        float | None,
        Option(
            "The longest that one request may take, with its repetitions.",
            "SECONDS",
            type=click.FloatRange(min=0, min_open=True),
        ),
    ] = None

    def session(self, texts: Iterable[str], targets: Iterable[Table | type[Any]], **settings: Any) -> Session:
        """A session for some targets. Arguments and errors are those of ``names``, and of a session."""
        return Session(
            region=self.region,
            endpoint=self.endpoint,
            profile=self.profile,
            timeout=self.timeout,
            table_names=self.names(texts, targets),
            **settings,
        )


def contradiction(first: str, second: str) -> UsageError:
    """The error of two options that cannot be given together."""
    return UsageError(problem=f"{first} and {second} contradict each other", remedy="give one of them")


class _Command(click.Command):
    """A command whose help has the options of its connection apart."""

    groups: dict[str, Any]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        apart = {
            name for group in self.groups.values() if issubclass(group, Modules) for name in _fields(group)
        }
        for title, is_apart in (("Options", False), ("Tables", True)):
            records = [
                said
                for one in self.get_params(ctx)
                if isinstance(one, click.Option)
                and (one.name in apart) is is_apart
                and (said := one.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def command(function: Callable[..., int | None]) -> click.Command:
    """The command of a function, which has its name and its docstring."""
    groups: dict[str, Any] = {}
    found = _Command(
        function.__name__, params=[*_params(function, groups)], help=getdoc(function), callback=None
    )

    def call(**given: Any) -> int | None:
        here = str(Path.cwd())
        if here not in sys.path:  # the modules there can be imported, as by ``python -m``
            sys.path.insert(0, here)
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in _fields(group)})
        return function(**given)

    found.groups, found.callback = groups, call
    return found


def _fields(group: Any) -> list[str]:
    return [*getattr(group, FIELDS)]


def _params(of: Callable[..., Any], groups: dict[str, Any]) -> Iterator[click.Parameter]:
    hints = get_type_hints(of, include_extras=True)
    for name, parameter in signature(of).parameters.items():
        hint = hints[name]
        if hasattr(hint, FIELDS):
            groups[name] = hint
            yield from _params(hint, groups)
        else:
            kind, said = get_args(hint)
            is_given = parameter.default is not Parameter.empty
            yield _param(name, kind, said, parameter.default if is_given else None)


def _param(name: str, kind: Any, said: Option | Argument, default: Any) -> click.Parameter:
    if kind is bool and isinstance(said, Option):
        return click.Option([*_names(name, said), name], is_flag=True, default=default, help=said.help)
    kind = (
        next((one for one in get_args(kind) if one is not NoneType), kind)
        if NoneType in get_args(kind)
        else kind
    )
    settings: dict[str, Any] = {"metavar": said.metavar}
    is_many = get_origin(kind) is tuple and get_args(kind)[1] is ...
    if get_origin(kind) is tuple:
        settings |= {} if is_many else {"nargs": len(get_args(kind))}
        kind = get_args(kind)[0]
    settings["type"] = said.type or (click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind)
    if isinstance(said, Argument):
        is_optional = said.metavar.startswith("[")
        return click.Argument([name], nargs=-1 if is_many else 1, required=not is_optional, **settings)
    shows = default not in (None, ())
    return click.Option(
        [*_names(name, said), name],
        multiple=is_many,
        default=default,
        show_default=shows,
        help=said.help,
        **settings,
    )


def _names(name: str, said: Option) -> tuple[str, ...]:
    return said.names or (f"--{name.replace('_', '-')}",)
