"""The output of ``verify``, ``repair`` and ``backfill``: findings, as sentences or JSON lines, and how far a run is."""

import json
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dynaorm.cli.lines import write_line, write_sentences
from dynaorm.cli.status import STOPPED, status_of_run
from dynaorm.failure import counted
from dynaorm.flow.integrity.expected_reads import ExpectedReads
from dynaorm.flow.integrity.finding import Finding, FindingKind, Mended, Outcome
from dynaorm.flow.table_location import TableLocation
from dynaorm.integrity.report import as_json
from dynaorm.item.printable import printable
from dynaorm.record import replace
from dynaorm.session.attempt import Attempt

_COMPLETING: Final = ("backfill", "apply")
"""The commands that complete entities, which had no fault."""


class Meter:
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
        written = f", {_units(self.write_units, 'write')}" if self.write_units else ""
        return f"{_units(self.read_units, 'read')}{written}"


class Output:
    """Prints findings as they come, and counts them.

    Args:
        verb: the command.
        meter: counts what the run consumes.
        as_lines: print JSON lines instead of sentences.
        secrets: show keys with secret fields, which are masked otherwise.
    """

    def __init__(self, verb: str, meter: Meter, *, as_lines: bool, secrets: bool = False) -> None:
        self._verb = verb
        self._meter = meter
        self._as_lines = as_lines
        self._secrets = secrets
        self._masked = 0
        self._counted: Counter[str] = Counter()
        self._unjudged: Counter[str] = Counter()
        self._examined = 0
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(verb),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[used]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide_bar()

    @property
    def status(self) -> int:
        """The status of the command."""
        return status_of_run(self._counted)

    def announce(
        self,
        locations: Sequence[TableLocation],
        endpoint: str | None,
        reads: ExpectedReads | None,
        *,
        rate: float | None,
        writes: bool,
    ) -> None:
        """Print the tables that the command works on, where they are, what a scan will cost, and whether it writes."""
        for location in locations:
            if self._as_lines:
                line = {"run": self._verb, **place_of(location, endpoint), "writes": writes}
                self._tell(json.dumps(line))
            self._note(place_text(location, endpoint))
        if reads is not None:
            self._note(_expected(reads, rate))
        if self._verb != "verify":
            self._note(
                "writes to these tables" if writes else "shows what it would write, and writes nothing"
            )

    def progress(self, done: int, total: int | None) -> None:
        self._examined = done
        if self._task is None:
            self._task = self._bar.add_task(self._verb, total=None, used="")
            self._show_bar()
        # DynamoDB updates its count of the items only every six hours.
        total = None if total is None else max(done, total)
        self._bar.update(self._task, completed=done, total=total, used=str(self._meter))

    def report(self, found: Finding | Mended) -> None:
        finding = found.finding if isinstance(found, Mended) else found
        self._counted[found.outcome.value if isinstance(found, Mended) else found.kind.value] += 1
        self._unjudged["not judged"] += finding.kind is FindingKind.NOT_JUDGED
        self._unjudged["doubtful"] += bool(finding.doubt)
        if self._is_only_counted(found):
            return
        if finding.hides_keys and self._secrets:
            found = (
                replace(found, finding=finding.revealed) if isinstance(found, Mended) else finding.revealed
            )
        elif finding.hides_keys:
            self._masked += 1
        self._tell(as_json(found) if self._as_lines else str(found))

    def _is_only_counted(self, found: Finding | Mended) -> bool:
        """Whether people want no line for it: a backfill completes most of a table, and that is no news."""
        is_done = isinstance(found, Mended) and found.outcome in (Outcome.MENDED, Outcome.GONE)
        return is_done and self._verb in _COMPLETING and not self._as_lines

    def finish(self, seconds: float, unjudged: Sequence[str]) -> dict[str, Any]:
        """Print the result of a run that came to its end. Returns it as plain data.

        Args:
            seconds: how long the run took.
            unjudged: what it did not judge, one sentence for each.
        """
        if self._masked:
            have = counted(self._masked, "finding has", "findings have")
            self._note(f"{have} a key with a secret field, which is masked; --show-secrets shows it")
        stopped = ["what comes after the last repair that --at-most allows; run it again"]
        left_out = [*unjudged, *(stopped if self.status == STOPPED else ()), *self._not_judged()]
        if not self._as_lines:
            sums = ", ".join(f"{count} {name}" for name, count in sorted(self._counted.items()))
            self._note(
                f"{counted(self._examined, 'item')}, {sums or 'nothing found'}; {self._meter}, {_time(seconds)}"
            )
            for one in left_out:
                self._note(f"not judged: {one}")
        if self._counted[Outcome.PLANNED.value]:
            self._note("nothing was written; give --yes to write")
        result = {"examined": self._examined, "found": dict(self._counted), "not_judged": left_out}
        if self._as_lines:
            self._tell(json.dumps({"result": self._verb, **result}))
        return result

    def _not_judged(self) -> list[str]:
        count, doubtful = self._unjudged["not judged"], self._unjudged["doubtful"]
        found = [f"{count} of the findings: see what they say"] if count else []
        if doubtful:
            are = counted(doubtful, "finding is doubtful: it depends", "findings are doubtful: they depend")
            found.append(f"{are} on what is not loaded")
        return found

    def _tell(self, text: str) -> None:
        # Print above the bar, if there is one.
        self._hide_bar()
        (write_line if self._as_lines else write_sentences)(text)
        self._show_bar()

    def _show_bar(self) -> None:
        if not self._bar.disable and self._task is not None:
            self._bar.start()

    def _hide_bar(self) -> None:
        if not self._bar.disable:  # rich 13 prints an empty line without a terminal
            self._bar.stop()

    def _note(self, text: str) -> None:
        write_sentences(f"{self._verb}: {printable(text)}", err=True)


def place_of(location: TableLocation, endpoint: str | None) -> dict[str, Any]:
    """A table of a run as plain data."""
    return {
        "table": location.declared,
        "name": location.name,
        "account": location.account,
        "region": location.region,
        "endpoint": endpoint,
        "items": location.items,
        "bytes": location.size,
    }


def place_text(location: TableLocation, endpoint: str | None) -> str:
    """A table of a run in words."""
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


def _expected(reads: ExpectedReads, rate: float | None) -> str:
    """What a run will consume, in words."""
    least, most = reads.least, reads.most
    words = f"will use {least} to {_units(most, 'read')}, by the sizes that DynamoDB updates every six hours"
    if rate is not None:
        words += f"; at --rate {rate:g}, up to {_time(most / rate)}"
    return f"{words}; what looks wrong is read again, which comes on top"


def _units(units: float, kind: str) -> str:
    return counted(units, f"{kind} unit")


def _time(seconds: float) -> str:
    """A duration in words: the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
