"""``verify --export``: verify an export of a table with DuckDB, without a request to DynamoDB."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

import click

from dynaorm.cli.options import Option, TableAccess
from dynaorm.cli.run_output import Meter, Output
from dynaorm.errors import UsageError
from dynaorm.integrity.exported import open_export
from dynaorm.integrity.report import FindingsFile

EXPORT: Final[Sequence[Option]] = (
    click.option(
        "--export",
        "exports",
        multiple=True,
        metavar="[TABLE=]PATH",
        help="Judge an export instead of the table: the folder with its manifest-summary.json.",
    ),
    click.option("--workers", type=int, help="For --export: how many processes judge items."),
    click.option(
        "--memory", default="1GB", show_default=True, help="For --export: the most memory that DuckDB uses."
    ),
    click.option(
        "--temp",
        type=click.Path(file_okay=False, exists=True),
        help="For --export: the folder for what does not fit into memory.",
    ),
)

# What concerns the requests of a run, each with the value that it has if it is not given.
_OF_A_TABLE: Final = {
    "segments": 1,
    "processes": None,
    "segment": None,
    "rate": None,
    "checkpoint": None,
    "duplicates": None,
    "summary": None,
}


def verify_exports(given: Mapping[str, Any]) -> int:
    """Verify the exports that the options name, and print what is found. Returns the status of the command."""
    for name, default in _OF_A_TABLE.items():
        if given[name] != default:
            raise UsageError(
                problem=f"--{name.replace('_', '-')} is about requests, and --export makes none",
                remedy="leave one of them out",
            )
    try:
        from dynaorm.integrations.duckdb import verify_export  # noqa: PLC0415 - it is an extra
    except ImportError as missing:
        raise UsageError(
            problem=f"--export needs DuckDB ({missing})", remedy='run: pip install "dynaorm[duckdb]"'
        ) from missing
    connection: TableAccess = given["connection"]
    connection.load_modules()
    begin, paths = monotonic(), _paths(given["exports"])
    output = Output("verify", Meter(), as_lines=given["as_json"], secrets=given["show_secrets"])
    items = sum(open_export(one).items for one in ([paths] if isinstance(paths, str) else paths.values()))
    with output, ExitStack() as opened:
        file = None if given["findings"] is None else opened.enter_context(FindingsFile(given["findings"]))
        found = verify_export(
            paths,
            *given["targets"],
            workers=given["workers"],
            memory_limit=given["memory"],
            temp_directory=given["temp"],
            foreign_attributes=given["foreign_attributes"],
        )
        for one in found:
            if file is not None:
                file.add(one)
            output.report(one)
        output.progress(items, items)
    output.finish(monotonic() - begin, [])
    return output.status


def _paths(exports: Sequence[str]) -> str | dict[str, str]:
    """The folders as they were given: one, or one for each table."""
    # A folder with = in its name is written ./a=b.
    named: dict[str, str] = {}
    for text in exports:
        name, is_named, path = text.partition("=")
        if not is_named or "/" in name:
            name, path = "", text
        named[name] = path
    return named[""] if named.keys() == {""} else named
