"""The commands ``dump`` and ``load``: whole tables to files and back.

Rule 1. No item is shown on a terminal: it may hold anything.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from dynaorm.cli.lines import complain, write_line, write_sentences
from dynaorm.cli.options import AS_JSON, TableAccess, connected, options
from dynaorm.cli.run_output import Meter, place_of, place_text
from dynaorm.cli.run_summary import RunSummary
from dynaorm.cli.status import CLEAN, FOUND
from dynaorm.cli.target import load_table, tell_of_empty
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.failure import counted
from dynaorm.flow.bulk.windows import CONCURRENCY
from dynaorm.flow.integrity.verify import describe
from dynaorm.flow.table_location import TableLocation, location_of
from dynaorm.integrity.report import as_json as finding_json
from dynaorm.integrity.run import verify
from dynaorm.item.printable import printable
from dynaorm.record import replace
from dynaorm.session.session import Session

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_SUMMARY: Final = click.option("--summary", type=_FILE, help="A file for the result of the run, as JSON.")


@click.command("dump", short_help="Write every item of a table to a file.")
@click.argument("target", metavar="MODULE:TABLE_OR_CLASS")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@options(
    click.option(
        "--entities",
        is_flag=True,
        help="Entities as the application shows them, for people; load does not take them.",
    ),
    click.option(
        "--segments",
        type=int,
        default=1,
        show_default=True,
        help="Into how many segments the table is divided, to be read in parallel.",
    ),
    click.option(
        "--segment", type=int, help="Read only this segment (from 0); other machines read the others."
    ),
    click.option("--rate", type=float, help="The most capacity units per second."),
    _SUMMARY,
    AS_JSON,
)
@connected
def dump_command(
    *,
    connection: TableAccess,
    target: str,
    file: Path,
    summary: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Write every item of a table to a new file, one line each, in the form of an export to S3.

    A name that ends with .gz is compressed; - is a pipe. The file holds all values, secrets too. Writers may run, so it
    is no state of the table at one moment.

    Example: dynaorm dump shop.models:app app.json.gz --segments 8
    """
    table, meter, unreadable = load_table(target), Meter(), _Unreadable()
    if given["entities"]:
        tell_of_empty([table])
    with (
        connection.session([target], [table], on_attempt=meter, on_decode_error=unreadable) as session,
        RunSummary(summary, "dump", session._context.clock, meter) as written,
    ):
        place = _announced("dump", session, table, connection)
        written.add(tables=[place_of(place, connection.endpoint)])
        with _counting("dump", place.items) as progress:
            result = session.dump(table, _written(file), progress=progress, **given)
        status = FOUND if unreadable.count else CLEAN
        said = {"lines": result.lines, "left_out": result.left_out}
        written.add(status=status, **said)
    _finish("dump", said, as_json=as_json, err=str(file) == "-")
    click.get_current_context().exit(status)


@click.command("load", short_help="Load the lines of dump, or of an export to S3, into a table.")
@click.argument("target", metavar="MODULE:TABLE_OR_CLASS")
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@options(
    click.option(
        "--raw",
        is_flag=True,
        help="Put every item exactly as it is, over what is stored under its key; then verify the table.",
    ),
    click.option("--yes", is_flag=True, help="Write without asking."),
    click.option(
        "--refused",
        type=_FILE,
        help="A new file for the lines that are refused, with the reasons; it can be loaded itself.",
    ),
    click.option(
        "--checkpoint", type=_FILE, help="A file that holds the position; an interrupted run resumes from it."
    ),
    click.option(
        "--concurrency", type=int, default=CONCURRENCY, show_default=True, help="How many requests at a time."
    ),
    _SUMMARY,
    AS_JSON,
)
@connected
def load_command(
    *,
    connection: TableAccess,
    target: str,
    files: tuple[Path, ...],
    yes: bool,
    summary: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Save each entity of some files anew, with guard items, version 1 and totals, in a table that exists.

    What is stored already as it is in its line is done, so the command can be repeated. Says where it writes, and asks.

    Give all files of an export to S3 at once: totals count what is in any of them.

    Example: dynaorm load shop.models:app app.json.gz --refused refused.jsonl
    """
    table, meter = load_table(target), Meter()
    if not given["raw"]:
        tell_of_empty([table])
    with (
        connection.session([target], [table], on_attempt=meter) as session,
        RunSummary(summary, "load", session._context.clock, meter) as written,
    ):
        place = _announced("load", session, table, connection)
        written.add(tables=[place_of(place, connection.endpoint)], writes=False)
        _tell_what(files, raw=given["raw"])
        if not (yes or _agreed()):
            complain("load: nothing was written; give --yes to write")
            status = FOUND
        else:
            written.add(writes=True)
            said = _loaded(session, table, files, given)
            findings = _findings(session, table, as_json=as_json) if given["raw"] else 0
            said |= {"findings": findings} if given["raw"] else {}
            status = FOUND if said["refused"] or findings else CLEAN
            written.add(**said)
            _finish("load", said, as_json=as_json)
        written.add(status=status)
    click.get_current_context().exit(status)


def _loaded(
    session: Session, table: Table, files: tuple[Path, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
    with _counting("load", None) as progress:
        result = session.load(table, files, progress=progress, **given)
    names = ("lines", "stored", "present", "left_out", "refused")
    return {name: getattr(result, name) for name in names}


def _findings(session: Session, table: Table, *, as_json: bool) -> int:
    """Verify what was put without being checked. Returns the number of findings, which are printed."""
    count = 0
    for finding in verify(session, table):
        count += 1
        if as_json:
            write_line(finding_json(finding))
        else:
            write_sentences(printable(str(finding)))
    return count


def _tell_what(files: Sequence[Path], *, raw: bool) -> None:
    names = ", ".join(map(str, files))
    how = "puts every item as it is, over what is stored under its key" if raw else "saves every entity anew"
    write_sentences(f"load: {printable(names)}: {how}", err=True)


def _agreed() -> bool:
    """Whether a person at the terminal wants it done."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm("load: do this?", err=True)


def _announced(verb: str, session: Session, table: Table, connection: TableAccess) -> TableLocation:
    """Say where the table is. Raises TableNotFound."""
    (described,) = session._run(verb, describe([table], session._context))
    place = location_of(table, session._context.table_name(table.name), described)
    place = replace(place, region=place.region or connection.region)
    write_sentences(f"{verb}: {printable(place_text(place, connection.endpoint))}", err=True)
    return place


def _written(file: Path) -> Path | BinaryIO:
    """The file to write, or standard output. Raises UsageError for a terminal."""
    if str(file) != "-":
        return file
    if sys.stdout.isatty():
        raise UsageError(
            problem="a dump is not shown on a terminal", remedy="name a file, or write to a pipe"
        )
    return sys.stdout.buffer


@contextmanager
def _counting(verb: str, total: int | None) -> Iterator[Any]:
    """Shows on a terminal how many lines are done."""
    console = Console(stderr=True)
    about = "" if total is None else f" of about {total}"
    columns = (TextColumn(f"{verb}: line {{task.completed}}{about}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(verb, total=None)
        yield lambda done, _: shown.update(task, completed=done)


def _finish(verb: str, said: Mapping[str, Any], *, as_json: bool, err: bool = False) -> None:
    if as_json:
        write_line(json.dumps({"kind": verb, **said}), err=err)
        return
    words = [counted(said["lines"], "line")]
    words += [f"{said[name]} {text}" for name, text in _STORED.items() if name in said]
    words += [f"{counted(count, f'{kind} item')} left out" for kind, count in said["left_out"].items()]
    words += [f"{count} refused with {kind}" for kind, count in said.get("refused", {}).items()]
    if "findings" in said:
        words.append(counted(said["findings"], "finding of verify", "findings of verify"))
    write_sentences(f"{verb}: {', '.join(words)}", err=True)


_STORED: Final = {"stored": "stored", "present": "stored before"}


class _Unreadable:
    """Tells of items that are no entities, without their values."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, problem: DecodeError) -> None:
        self.count += 1
        complain(f"dump: left out: {problem}")
