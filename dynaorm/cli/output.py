"""The output of a command: findings on standard output, as sentences or JSON lines; the rest on standard error.

Rule 1. Stored text is escaped, because it may hold control characters.
Rule 2. On a terminal, sentences are wrapped between words, and the lines after the first are indented. In a file or a
        pipe, each finding is one line.
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import fill
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dynaorm.flow.integrity.finding import Finding, Mended, Outcome
from dynaorm.integrity.report import as_json
from dynaorm.integrity.run import TableLocation
from dynaorm.item.printable import printable


def write_line(text: str, *, err: bool = False) -> None:
    """Write a line at once, because the process may be killed before the next one.

    Characters that the stream's encoding does not have are escaped. Nothing is written to a stream that is closed.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # the process was started without it
        return
    encoding = stream.encoding or "utf-8"
    stream.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def write_sentences(text: str, *, err: bool = False) -> None:
    """Write lines as ``write_line``, wrapped to the width of a terminal."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None and stream.isatty():
        width = get_terminal_size().columns
        text = "\n".join(_wrapped(line, width) for line in text.split("\n"))
    write_line(text, err=err)


def _wrapped(line: str, width: int) -> str:
    """A line within a width, except for words that are longer: keys can be copied as they are."""
    begin = line[: len(line) - len(line.lstrip(" "))]
    text = line.removeprefix(begin)
    further = f"{begin}    "
    return fill(
        text,
        width,
        initial_indent=begin,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def printable_lines(text: str) -> str:
    """A text of several lines, each escaped."""
    return "\n".join(map(printable, text.split("\n")))


def complain(text: str) -> None:
    """Write what is wrong to stderr, escaped."""
    with suppress(OSError):  # nobody reads it
        write_sentences(printable_lines(text), err=True)


class Output:
    """Prints findings as they come, and counts them.

    Args:
        verb: the command.
        as_lines: print JSON lines instead of sentences.
    """

    def __init__(self, verb: str, *, as_lines: bool) -> None:
        self._verb = verb
        self._as_lines = as_lines
        self._counted: Counter[str] = Counter()
        self._examined = 0
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(verb),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._show_bar()
        self._task = self._bar.add_task(self._verb, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide_bar()
        if kind is not None:
            return
        if not self._as_lines:
            sums = ", ".join(f"{count} {name}" for name, count in sorted(self._counted.items()))
            self._note(f"{self._examined} items, {sums or 'nothing found'}")
        if self._counted[Outcome.PLANNED.value]:
            self._note("nothing was written; give --yes to write")

    @property
    def is_clean(self) -> bool:
        """Whether no finding is left."""
        mended = self._counted[Outcome.MENDED.value] + self._counted[Outcome.GONE.value]
        return self._counted.total() == mended

    @property
    def is_stopped(self) -> bool:
        """Whether the run ended before a repair that it was not allowed to make."""
        return self._counted[Outcome.STOPPED.value] > 0

    def announce(self, locations: Sequence[TableLocation], endpoint: str | None, *, writes: bool) -> None:
        """Print the tables that the command works on, where they are, and whether it writes to them."""
        for location in locations:
            if self._as_lines:
                line = {
                    "run": self._verb,
                    "table": location.declared,
                    "name": location.name,
                    "account": location.account,
                    "region": location.region,
                    "endpoint": endpoint,
                    "items": location.items,
                    "writes": writes,
                }
                self._tell(json.dumps(line))
            words = [
                f"table {location.name}"
                if location.name == location.declared
                else f"table {location.declared} = {location.name}",
                f"account {location.account or 'unknown'}",
                f"Region {location.region or 'unknown'}",
                *([] if endpoint is None else [f"endpoint {endpoint}"]),
                *([] if location.items is None else [f"about {location.items} items"]),
            ]
            self._note(", ".join(words))
        if self._verb != "verify":
            self._note(
                "writes to these tables" if writes else "shows what it would write, and writes nothing"
            )

    def progress(self, done: int, total: int | None) -> None:
        self._examined = done
        assert self._task is not None
        # DynamoDB updates its count of the items only every six hours.
        self._bar.update(self._task, completed=done, total=None if total is None else max(done, total))

    def report(self, found: Finding | Mended) -> None:
        self._counted[found.outcome.value if isinstance(found, Mended) else found.kind.value] += 1
        self._tell(as_json(found) if self._as_lines else _sentence(found))

    def _tell(self, text: str) -> None:
        # Print above the bar, if there is one.
        self._hide_bar()
        (write_line if self._as_lines else write_sentences)(text)
        self._show_bar()

    def _show_bar(self) -> None:
        if not self._bar.disable:
            self._bar.start()

    def _hide_bar(self) -> None:
        if not self._bar.disable:  # rich 13 prints an empty line without a terminal
            self._bar.stop()

    def _note(self, text: str) -> None:
        write_sentences(f"{self._verb}: {printable(text)}", err=True)


def _sentence(found: Finding | Mended) -> str:
    if isinstance(found, Finding):
        return str(found)
    reason = f" ({printable(found.reason)})" if found.reason else ""
    plan = "" if found.plan is None else printable_lines(str(found.plan)).replace("\n", "\n    ")
    return f"{found.outcome.value}: {found.finding}{reason}" + (f"\n    {plan}" if plan else "")
