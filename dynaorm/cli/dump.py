"""The commands ``dump`` and ``load``: whole tables to files and back.

Rule 1. No item is shown on a terminal: it may hold anything.
"""

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

from dynaorm import tools
from dynaorm.cli.frame import (
    FILE,
    FILE_OR_PIPE,
    Argument,
    AsJson,
    ConnectionOptions,
    Option,
    Target,
    Yes,
    command,
)
from dynaorm.cli.query import DecodeErrors
from dynaorm.cli.target import load_table, tell_of_empty
from dynaorm.cli.terminal import CLEAN, FOUND, is_terminal, printable_lines
from dynaorm.cli.verify import CommandRun, FindingsRun, Rate, Segments
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.verify import describe
from dynaorm.flow.tables import TableLocation, location_of
from dynaorm.flow.windows import CONCURRENCY
from dynaorm.integrity.run import verify
from dynaorm.session.session import Session


@command
def dump(
    *,
    target: Target,
    file: Annotated[Path, Argument("FILE", FILE_OR_PIPE)],
    entities: Annotated[bool, Option("Entities in readable JSON; what belongs to them is left out.")] = False,
    segments: Segments = 1,
    rate: Rate = None,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Write every item of a table to a new file, one line each, in the form of an export to S3.

    A name that ends with .gz is compressed; - is a pipe. The file holds all values, secrets too. Writers may run, so it
    is no state of the table at one moment.

    Example: dynaorm dump shop.models:app app.json.gz --segments 8
    """
    table, errors = load_table(target), DecodeErrors()
    run = CommandRun("dump", connection, as_json=as_json, is_piped=str(file) == "-")
    if entities:
        tell_of_empty([table])
    with connection.session([target], [table], on_attempt=run.meter, on_decode_error=errors) as session, run:
        place = _location(session, table)
        run.announce([place], writes=False)
        result = tools.dump(
            session,
            table,
            _written(file),
            entities=entities,
            segments=segments,
            rate=rate,
            progress=lambda done, _: run.progress(done, place.items),
        )
    words = [counted(result.lines, "line"), *_left_out(result.left_out)]
    run.finish(", ".join(words), lines=result.lines, left_out=result.left_out)
    return FOUND if errors.count else CLEAN


@command
def load(
    *,
    target: Target,
    files: Annotated[tuple[Path, ...], Argument("FILE...", FILE)],
    raw: Annotated[
        bool,
        Option("Put every item exactly as it is, over what is stored under its key; then verify the table."),
    ] = False,
    yes: Yes = False,
    concurrency: Annotated[int, Option("How many requests at a time.", "N")] = CONCURRENCY,
    as_json: AsJson = False,
    connection: ConnectionOptions,
) -> int:
    """Save each entity of some files anew, with guard items, version 1 and totals, in a table that exists.

    What is stored already as it is in its line is done, so the command can be repeated. Says where it writes, and asks.

    Give all files of an export to S3 at once: totals count what is in any of them.

    Example: dynaorm load shop.models:app app.json.gz
    """
    table = load_table(target)
    run = FindingsRun("load", connection, as_json=as_json)
    if not raw:
        tell_of_empty([table])
    with connection.session([target], [table], on_attempt=run.meter) as session, run:
        run.announce([_location(session, table)], writes=yes, scans=False)
        how = (
            "puts every item as it is, over what is stored under its key"
            if raw
            else "saves every entity anew"
        )
        run.note(f"{', '.join(map(str, files))}: {how}")
        if not run.is_agreed(yes=yes):
            return FOUND
        result = tools.load(
            session,
            table,
            [*files],
            raw=raw,
            concurrency=concurrency,
            progress=lambda done, _: run.progress(done),
        )
        for one in result.refused:
            if as_json:
                place = one.place
                where = {"file": place.file, "line": place.line, "item": place.item}
                run.line("refused", **where, error=one.error, reason=one.reason)
            else:
                run.say(printable_lines(str(one)))
        if raw:
            run.report(verify(session, table))
    words = [counted(result.items, "item"), f"{result.stored} stored"]
    words += [f"{result.present} stored before"] if result.present else []
    words += _left_out(result.left_out)
    words += [f"{len(result.refused)} refused"] if result.refused else []
    words += [counted(run.count, "finding of verify", "findings of verify")] if raw else []
    numbers = {name: getattr(result, name) for name in ("items", "stored", "present", "left_out")}
    run.finish(", ".join(words), **numbers, refused=len(result.refused), findings=run.count)
    return CLEAN if result.is_complete and not run.count else FOUND


def _location(session: Session, table: Table) -> TableLocation:
    """Where a table is. Raises TableNotFound."""
    (described,) = session._run("describe", describe([table], session._context))
    return location_of(table, session._context.table_name(table.name), described)


def _written(file: Path) -> Path | BinaryIO:
    """The file to write, or standard output. Raises UsageError for a terminal."""
    if str(file) != "-":
        return file
    if is_terminal():
        raise UsageError(
            problem="a dump is not shown on a terminal", remedy="name a file, or write to a pipe"
        )
    return sys.stdout.buffer


def _left_out(counts: dict[str, int]) -> list[str]:
    return [f"{counted(count, f'{kind} item')} left out" for kind, count in counts.items()]
