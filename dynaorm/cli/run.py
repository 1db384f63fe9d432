"""What commands on whole tables have in common: they say where they work, ask, and show how far they are."""

import json
import sys
from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import Any, Self

import click

from dynaorm.cli.frame import ConnectionOptions
from dynaorm.cli.terminal import complain, is_terminal, write_line, write_sentences
from dynaorm.failure import counted
from dynaorm.flow.tables import TableLocation
from dynaorm.item.text import printable
from dynaorm.record import replace
from dynaorm.session.attempt import Attempt


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
