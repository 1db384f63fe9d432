"""Prints for the examples: the raw items of a table, as DynamoDB stores them, and the results of queries.

Everything fits into the width of the terminal. ``COLUMNS=150 python examples/people.py`` chooses another one.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from dynaorm import Table
from dynaorm.description import classify, describe
from dynaorm.layout import render_text, view_of
from dynaorm.testing import strict_moto

console = Console()

__all__ = ["console", "found", "show", "step", "strict_moto"]


def step(title: str) -> None:
    if len(title) + len(" ─") <= console.width:
        console.rule(f"[bold]{escape(title)}", align="left")
    else:  # a rule has one line
        console.print(f"[bold]{escape(title)}")


def found(entities: Iterable[object]) -> None:
    """Print the results of a query, and the number of requests if it is known."""
    for entity in entities:
        _indented(repr(entity))
    if (requests := getattr(entities, "requests", None)) is not None:
        console.print(f"  ({requests} request{'' if requests == 1 else 's'})", style="dim")


def show(client: Any, table: Table) -> None:
    """Print every item of a table with all of its attributes, as DynamoDB stores them."""
    items = client.scan(TableName=table.name)["Items"]
    view = view_of(describe(table), [classify(item, table) for item in items])
    is_coloured = console.is_terminal and not console.no_color
    # Not by rich, which would wrap lines that have the width of the terminal.
    console.file.write(render_text(view, width=console.width, colour=is_coloured, whole=True) + "\n")


def _indented(text: str) -> None:
    """Print a text with line breaks where the terminal ends, the first line further left than the others."""
    for number, line in enumerate(Text(text).wrap(console, max(20, console.width - 4))):
        console.print(Text("    " if number else "  ") + line)
