"""What commands print: lines of text for people, escaped and wrapped to the width of a terminal. And how they end.

Rule 1. Stored text is escaped, because it may hold control characters.
Rule 2. What a command found is wrapped between words to the width of the terminal; in a file or a pipe, to 80 columns,
        or to ``COLUMNS``. The lines after the first are indented. Programs take ``--json``.
Rule 3. What goes to standard error is wrapped on a terminal alone: in a log, each message is one line.
Rule 4. What a command found goes to standard output; everything else to standard error.
"""

import sys
from collections.abc import Iterable
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import fill
from typing import Final, TextIO

from dynaorm.item.text import printable

CLEAN: Final = 0
"""It is done: something was found, nothing is wrong, or everything was repaired."""

FOUND: Final = 1
"""A finding or a difference still exists, or a change was only shown."""

NOTHING: Final = 1
"""Nothing was found of what a command was to read."""

FAILED: Final = 2
"""The command could not be carried out."""

STOPPED: Final = 3
"""The run ended because it wanted to make more repairs than ``--at-most`` allows."""

WIDTH: Final = 80
"""The columns of a file or a pipe."""


def write_line(text: str, *, err: bool = False) -> None:
    """Write a line at once, because the process may be killed before the next one.

    Characters that the stream's encoding does not have are escaped. Nothing is written to a stream that is closed.
    """
    stream = _stream(err=err)
    if stream is None:  # the process was started without it
        return
    encoding = stream.encoding or "utf-8"
    stream.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def write_sentences(text: str, *, err: bool = False) -> None:
    """Write lines as ``write_line``, wrapped to the width of a terminal."""
    if (width := width_of_lines(err=err)) is not None:
        text = "\n".join(wrapped(line, width) for line in text.split("\n"))
    write_line(text, err=err)


def write_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Write names with their values in two columns."""
    rows = list(rows)
    column = max((len(name) for name, _ in rows), default=0) + 4
    width = width_of_lines() or WIDTH
    for name, value in rows:
        write_line(wrapped(f"  {name:<{column - 2}}{printable(value)}", width, column))


def wrapped(line: str, width: int, indent: int | None = None) -> str:
    """A line within a width, except for words that are longer: keys can be copied as they are.

    ``indent``: that of the lines after the first; by default 4 more than the first has.
    """
    begin = line[: len(line) - len(line.lstrip(" "))]
    return fill(
        line.removeprefix(begin),
        width,
        initial_indent=begin,
        subsequent_indent=f"{begin}    " if indent is None else " " * indent,
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


def _stream(*, err: bool) -> TextIO | None:
    return sys.stderr if err else sys.stdout


def is_terminal(*, err: bool = False) -> bool:
    """Whether a person reads it now."""
    stream = _stream(err=err)
    return stream is not None and stream.isatty()


def width_of_lines(*, err: bool = False) -> int | None:
    """The width to which lines are wrapped; None for messages in a log."""
    return get_terminal_size((WIDTH, 0)).columns if not err or is_terminal(err=True) else None
