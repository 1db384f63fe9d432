"""Lines of text for people: escaped, and wrapped to the width of a terminal.

Rule 1. Stored text is escaped, because it may hold control characters.
Rule 2. On a terminal, lines are wrapped between words, and the lines after the first are indented. In a file or a pipe,
        each of them is one line.
Rule 3. What a command found goes to standard output; everything else to standard error.
"""

import sys
from collections.abc import Iterable
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

from dynaorm.item.printable import printable


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
    if (width := terminal_width(err=err)) is not None:
        text = "\n".join(wrapped(line, width) for line in text.split("\n"))
    write_line(text, err=err)


def write_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Write names with their values in two columns."""
    rows = list(rows)
    column = max((len(name) for name, _ in rows), default=0) + 4
    width = terminal_width()
    for name, value in rows:
        line = f"  {name:<{column - 2}}{printable(value)}"
        write_line(line if width is None else wrapped(line, width, column))


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


def terminal_width(*, err: bool = False) -> int | None:
    """The width of the terminal; None for a file or a pipe."""
    stream = _stream(err=err)
    return get_terminal_size().columns if stream is not None and stream.isatty() else None
