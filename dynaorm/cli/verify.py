"""The commands ``verify``, ``repair`` and ``backfill``."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Annotated, Any, Self, TypeAlias

import click

from dynaorm.argument import check_count
from dynaorm.cli.frame import (
    FILE,
    OLD_FILE,
    AsJson,
    ConnectionOptions,
    Option,
    ShowSecrets,
    Targets,
    command,
)
from dynaorm.cli.target import load_target, tell_of_empty
from dynaorm.cli.terminal import CLEAN, FOUND, STOPPED, complain, is_terminal, write_line, write_sentences
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.finding import Finding, FindingKind, Outcome, RepairResult
from dynaorm.flow.tables import TableLocation
from dynaorm.integrity import run as runs
from dynaorm.integrity.run import RunOptions, table_locations
from dynaorm.integrity.serialize import FindingsFile, as_json, read_findings
from dynaorm.integrity.tasks import Verb, run_tasks, segment_tasks
from dynaorm.integrity.verify_export import open_export, verify_export
from dynaorm.item.text import printable
from dynaorm.record import record, replace
from dynaorm.session.attempt import Attempt
from dynaorm.session.session import Session

# What commands on whole tables have in common: they say where they work, ask, and show how far they are.


class CapacityMeter:
    """The capacity units that a session has used. Give it as ``on_attempt``."""

    def __init__(self) -> None:
        self.read_units = self.write_units = 0.0

    def __call__(self, attempt: Attempt) -> None:
        if attempt.outcome == "ok":
            self.read_units += attempt.capacity or 0.0
            self.write_units += attempt.least_capacity

    def add(self, read_units: float, write_units: float) -> None:
        """Count what another process has used."""
        self.read_units += read_units
        self.write_units += write_units

    def __str__(self) -> str:
        written = f", {counted(self.write_units, 'write unit')}" if self.write_units else ""
        return f"{counted(self.read_units, 'read unit')}{written}"


class CommandRun:
    """One run of a command.

    Args:
        name: the command.
        connection: where its tables are.
        as_json: print JSON lines instead of sentences.
        is_piped: standard output is the data of the command itself, so its JSON lines go to standard error.
    """

    def __init__(
        self, name: str, connection: ConnectionOptions, *, as_json: bool, is_piped: bool = False
    ) -> None:
        self.meter = CapacityMeter()
        self.as_json = as_json
        self.name = name
        self._connection = connection
        self._is_piped = is_piped
        self._begin = monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide_bar()

    def announce(self, locations: Iterable[TableLocation], *, writes: bool, scans: bool = True) -> None:
        """Print the tables that the command works on, where they are, and what a scan of them costs."""
        units = 0
        for location in locations:
            # A table that does not exist has no ARN.
            place = replace(location, region=location.region or self._connection.region)
            units += place.scan_units or 0
            if self.as_json:
                self.line("run", command=self.name, **self._place(place), writes=writes)
            self.note(self._place_text(place))
        if scans and units:
            self.note(f"a scan takes about {counted(units, 'read unit')}")

    def is_agreed(self, *, yes: bool) -> bool:
        """Whether it is to be done: ``--yes`` was given, or a person at the terminal agrees."""
        can_ask = not self.as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        agreed = yes or (can_ask and click.confirm(f"{self.name}: do this?", err=True))
        if not agreed:
            complain(f"{self.name}: nothing was written; give --yes to write")
        return agreed

    def progress(self, done: int, total: int | None = None) -> None:
        """Show how far the run is."""
        if not is_terminal(err=True):
            return
        if self._bar is None:
            self._bar = _progress_bar()
            self._task = self._bar.add_task(self.name, total=None, used="")
            self._bar.start()
        # DynamoDB updates its count of the items only every six hours.
        total = None if total is None else max(done, total)
        self._bar.update(self._task, completed=done, total=total, used=str(self.meter))

    def say(self, text: str) -> None:
        """Print a sentence, or a line of JSON, above the bar."""
        self._hide_bar()
        if self.as_json:
            write_line(text, err=self._is_piped)
        else:
            write_sentences(text)
        if self._bar is not None:
            self._bar.start()

    def line(self, kind: str, **members: Any) -> None:
        """Print a line of JSON."""
        self.say(json.dumps({"kind": kind, **members}, default=dict))

    def note(self, text: str) -> None:
        """Print something about the run itself."""
        self._hide_bar()
        write_sentences(f"{self.name}: {printable(text)}", err=True)

    def finish(self, text: str, **members: Any) -> None:
        """Print the result of a run that came to its end."""
        seconds = monotonic() - self._begin
        if self.as_json:
            used = {"read_units": self.meter.read_units, "write_units": self.meter.write_units}
            self.line("result", command=self.name, **members, **used, seconds=round(seconds, 3))
        else:
            self.note(f"{text}; {self.meter}, {_duration(seconds)}")

    def _hide_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _place(self, location: TableLocation) -> dict[str, Any]:
        return {
            "table": location.declared,
            "name": location.name,
            "account": location.account,
            "region": location.region,
            "endpoint": self._connection.endpoint,
            "items": location.items,
            "bytes": location.size,
        }

    def _place_text(self, location: TableLocation) -> str:
        endpoint = self._connection.endpoint
        words = [
            f"table {location.name}"
            if location.name == location.declared
            else f"table {location.declared} = {location.name}",
            f"account {location.account or 'unknown'}",
            f"Region {location.region or 'unknown'}",
            *([] if endpoint is None else [f"endpoint {endpoint}"]),
            *([] if location.items is None else [f"about {counted(location.items, 'item')}"]),
        ]
        return ", ".join(words)


def _progress_bar() -> Any:
    # Only a person sees it, so only then it is imported.
    from rich.console import Console  # noqa: PLC0415 - see above
    from rich.progress import (  # noqa: PLC0415 - see above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[used]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )


def _duration(seconds: float) -> str:
    """A duration in words: the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


_Work: TypeAlias = Callable[..., Iterable[Finding | RepairResult]]

Segments: TypeAlias = Annotated[int, Option("Into how many segments each table is divided.", "N")]
Rate: TypeAlias = Annotated[
    float | None, Option("The most capacity units per second, reads and writes together.")
]
Checkpoint: TypeAlias = Annotated[
    Path | None,
    Option("A file that holds the position; an interrupted run resumes from it.", type=FILE),
]
AtMost: TypeAlias = Annotated[
    int | None, Option("The most repairs. A run that wants more ends with status 3.", "N")
]
_Yes: TypeAlias = Annotated[bool, Option("Write. Without it, the plans are shown and nothing is written.")]


@record
class _Scan:
    """How tables are read, and how findings are shown."""

    segments: Segments = 1
    processes: Annotated[
        int | None,
        Option(
            "Divide the work among N processes of this machine, which share the rate. If one is killed, another goes "
            "on.",
            "N",
        ),
    ] = None
    rate: Rate = None
    checkpoint: Checkpoint = None
    foreign_attribute: Annotated[
        tuple[str, ...],
        Option(
            "An attribute that other programs write. Entities with other unknown attributes are not repaired.",
            "NAME",
        ),
    ] = ()
    show_secrets: ShowSecrets = False
    as_json: AsJson = False


@record
class _Export:
    """Where an export is, and where its verification keeps temporary files."""

    export: Annotated[
        tuple[str, ...],
        Option(
            "Judge an export instead of the table: the folder with its manifest-summary.json.", "[TABLE=]PATH"
        ),
    ] = ()
    temp: Annotated[
        str | None,
        Option(
            "For --export: the folder for temporary files.",
            type=click.Path(file_okay=False, exists=True),
        ),
    ] = None


@command
def verify(
    *,
    targets: Targets,
    scan: _Scan,
    findings: Annotated[
        Path | None,
        Option("A private file for the findings, as JSON lines, for repair --findings.", type=FILE),
    ] = None,
    exported: _Export,
    connection: ConnectionOptions,
) -> int:
    """Find guards, versions, index keys and totals that do not fit, and unknown or unreadable items.

    Example: dynaorm verify shop.models:app --segments 8
    """
    asked = _Invocation("verify", targets, scan, connection)
    with ExitStack() as opened:
        file = None if findings is None else opened.enter_context(FindingsFile(findings))
        return _verify_export(asked, exported, file) if exported.export else _run(asked, runs.verify, file)


@command
def repair(
    *,
    targets: Targets,
    scan: _Scan,
    findings: Annotated[
        Path | None,
        Option(
            "Judge again and repair only what these findings name: a file of verify --findings.",
            type=OLD_FILE,
        ),
    ] = None,
    yes: _Yes = False,
    at_most: AtMost = None,
    connection: ConnectionOptions,
) -> int:
    """Repair what verify finds, as far as that needs no choice. Writers may run meanwhile.

    Example: dynaorm repair shop.models:app --yes --checkpoint repair.sqlite
    """
    asked = _Invocation("repair", targets, scan, connection, yes, at_most, scans=findings is None)
    if findings is None:
        return _run(asked, runs.repair)
    return _run(asked, partial(runs.repair, findings=read_findings(findings)))


@command
def backfill(
    *, targets: Targets, scan: _Scan, yes: _Yes = False, at_most: AtMost = None, connection: ConnectionOptions
) -> int:
    """Complete entities that were stored before their class declared a constraint, an index, versions or totals.

    Deploy the new class to every writer first.

    Example: dynaorm backfill shop.models:User --yes
    """
    return _run(_Invocation("backfill", targets, scan, connection, yes, at_most), runs.backfill)


@record
class _Invocation:
    """What one of the commands was asked to do.

    Attributes:
        verb: the command.
        texts: the targets as they were given.
        scan: how tables are read.
        connection: where they are.
        yes: write.
        at_most: the most repairs.
        scans: read whole tables, not the items of findings.
    """

    verb: Verb
    texts: tuple[str, ...]
    scan: _Scan
    connection: ConnectionOptions
    yes: bool = False
    at_most: int | None = None
    scans: bool = True

    def findings(self, file: FindingsFile | None) -> "FindingsRun":
        """Prints what is found."""
        scan = self.scan
        return FindingsRun(
            self.verb, self.connection, as_json=scan.as_json, secrets=scan.show_secrets, file=file
        )


def _run(asked: _Invocation, work: _Work, file: FindingsFile | None = None) -> int:
    _check_processes(asked)
    verb, scan, connection = asked.verb, asked.scan, asked.connection
    targets = [load_target(text) for text in asked.texts]
    tell_of_empty(target for target in targets if isinstance(target, Table))
    shown = asked.findings(file)
    options = RunOptions(
        segments=max(scan.segments, scan.processes or 1),
        rate=scan.rate,
        progress=shown.progress,
        checkpoint=scan.checkpoint,
        dry_run=verb != "verify" and not asked.yes,
        at_most=asked.at_most,
        foreign_attributes=scan.foreign_attribute,
    )
    with connection.session(asked.texts, targets, on_attempt=shown.meter) as session, shown:
        locations = table_locations(session, *targets, writes=verb != "verify", options=options)
        shown.announce(locations, writes=asked.yes, scans=asked.scans)
        if verb != "verify":
            shown.note(
                "writes to these tables" if asked.yes else "shows what it would write, and writes nothing"
            )
        shown.report(
            work(session, *targets, options=options)
            if scan.processes is None
            else _divided(asked, scan.processes, options, shown)
        )
    classes = [target.__name__ for target in targets if not isinstance(target, Table)]
    # A backfill of a class was never meant to judge anything else.
    is_partial = classes and verb != "backfill"
    others = f"items that are no {' or '.join(classes)}; name the table to judge them all"
    shown.end(others if is_partial else "")
    return shown.status


class FindingsRun(CommandRun):
    """Prints findings as they come, and counts them."""

    def __init__(
        self,
        name: str,
        connection: ConnectionOptions,
        *,
        as_json: bool,
        secrets: bool = False,
        file: FindingsFile | None = None,
    ) -> None:
        super().__init__(name, connection, as_json=as_json)
        self._file = file
        self._secrets = secrets
        self._masked = self._not_judged = self._uncertain = self._examined = 0
        self._counted: Counter[str] = Counter()

    @property
    def status(self) -> int:
        """The status of the command."""
        if self._counted[Outcome.LIMIT_REACHED.value]:
            return STOPPED
        done = self._counted[Outcome.REPAIRED.value] + self._counted[Outcome.RESOLVED.value]
        return CLEAN if self._counted.total() == done else FOUND

    @property
    def count(self) -> int:
        """How many findings there were."""
        return self._counted.total()

    def progress(self, done: int, total: int | None = None) -> None:
        self._examined = done
        super().progress(done, total)

    def report(self, found: Iterable[Finding | RepairResult]) -> None:
        """Print findings, and what became of them."""
        for one in found:
            self._report(one)

    def _report(self, found: Finding | RepairResult) -> None:
        finding, outcome = (
            (found.finding, found.outcome) if isinstance(found, RepairResult) else (found, None)
        )
        self._counted[finding.kind.value if outcome is None else outcome.value] += 1
        self._not_judged += finding.kind is FindingKind.NOT_JUDGED
        self._uncertain += bool(finding.uncertain_because)
        if self._file is not None:
            self._file.add(finding)
        # A backfill completes most of a table, and that is no news.
        is_done = outcome in (Outcome.REPAIRED, Outcome.RESOLVED)
        if is_done and self.name in ("backfill", "apply") and not self.as_json:
            return
        if finding.hides_keys and self._secrets:
            finding = finding.revealed
            found = replace(found, finding=finding) if isinstance(found, RepairResult) else finding
        elif finding.hides_keys:
            self._masked += 1
        self.say(as_json(found) if self.as_json else str(found))

    def end(self, not_asked: str = "") -> None:
        """Print the result of a run that came to its end.

        Args:
            not_asked: what the run was not to judge, as a sentence.
        """
        if self._masked:
            have = counted(self._masked, "finding has", "findings have")
            self.note(f"{have} a key with a secret field, which is masked; --show-secrets shows it")
        stopped = "what comes after the last repair that --at-most allows; run it again"
        named = "items that changed all the time; their findings say which"
        reasons = ((not_asked, not_asked), (self.status == STOPPED, stopped), (self._not_judged, named))
        left_out = [text for is_left, text in reasons if is_left]
        counts = dict(sorted(self._counted.items()))
        sums = ", ".join(f"{name}: {count}" for name, count in counts.items())
        self.finish(
            f"{counted(self._examined, 'item')}, {sums or 'nothing found'}",
            examined=self._examined,
            found=counts,
            uncertain=self._uncertain,
            not_judged=left_out,
        )
        for text in left_out if not self.as_json else ():
            self.note(f"not judged: {text}")
        if self._uncertain and not self.as_json:
            are = counted(self._uncertain, "finding is", "findings are")
            self.note(f"{are} uncertain, because it depends on what is not loaded")
        if self._counted[Outcome.PLANNED.value]:
            self.note("nothing was written; give --yes to write")


# -- several processes -------------------------------------------------------------------------------------------------


@record
class SessionOpener:
    """Opens the session of a command in another process.

    Attributes:
        connection: where the command finds its tables.
        targets: the targets as they were given.
    """

    connection: ConnectionOptions
    targets: tuple[str, ...]

    def __call__(self) -> Session:
        return self.connection.session(self.targets, map(load_target, self.targets))


def _check_processes(asked: _Invocation) -> None:
    """Raise UsageError for what cannot be divided among processes."""
    if asked.scan.processes is None:
        return
    check_count("--processes {}", asked.scan.processes)
    for option, is_given, reason in (
        ("--findings", not asked.scans, "it names the items that are judged, so there is no table to divide"),
        ("--at-most", asked.at_most is not None, "no process knows how much the others have repaired"),
    ):
        if is_given:
            raise UsageError(
                problem=f"{option} is for one process: {reason}", remedy=f"leave {option} or --processes out"
            )
    if asked.verb != "verify" and not asked.yes:
        # Two processes would plan to give one value to two entities. Only a write that is refused tells them.
        raise UsageError(
            problem="--processes shows no plans: what a process would write depends on what the others have written",
            remedy="give --yes, or leave --processes out; --segments reads as many segments at a time",
        )


def _divided(
    asked: _Invocation, processes: int, options: RunOptions, shown: FindingsRun
) -> Iterator[Finding | RepairResult]:
    """What processes find, and what becomes of it."""
    tasks = segment_tasks(
        asked.verb,
        *asked.texts,
        session=SessionOpener(asked.connection, asked.texts),
        segments=options.segments,
        at_once=processes,
        rate=options.rate,
        checkpoint=options.checkpoint,
        foreign_attributes=options.foreign_attributes,
    )
    yield from run_tasks(tasks, processes=processes, progress=options.progress, used=shown.meter.add)


# -- exports -----------------------------------------------------------------------------------------------------------


def _verify_export(asked: _Invocation, exported: _Export, file: FindingsFile | None) -> int:
    """Verify exports, without a request to DynamoDB."""
    scan, shown = asked.scan, asked.findings(file)
    for name in ("segments", "processes", "rate", "checkpoint"):
        if getattr(scan, name) not in (None, 1):
            raise UsageError(
                problem=f"--{name} is about requests, and --export makes none",
                remedy="leave one of them out",
            )
    asked.connection.load()
    paths = _paths(exported.export)
    items = sum(open_export(one).items for one in ([paths] if isinstance(paths, str) else paths.values()))
    with shown:
        shown.report(
            verify_export(
                paths,
                *asked.texts,
                temp_directory=exported.temp,
                foreign_attributes=scan.foreign_attribute,
            )
        )
        shown.progress(items, items)
    shown.end()
    return shown.status


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
