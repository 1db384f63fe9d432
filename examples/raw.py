"""Prints for the examples: the raw items of a table, as DynamoDB stores them, and the results of queries.

Everything fits into the width of the terminal. ``COLUMNS=150 python examples/people.py`` chooses another one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from dynaorm.testing import strict_moto

console = Console()

__all__ = ["console", "found", "listed", "show", "step", "strict_moto"]


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


def show(client: Any, table: str) -> None:
    """Print every item of a table, keys first: as a table if the terminal is wide enough for it, otherwise as lists."""
    keys, items = _scanned(client, table)
    names = keys + sorted({name for item in items for name in item} - set(keys))
    # Long values are folded, so that every item is shown whole.
    columns = [Column(name, overflow="fold") for name in names]
    grid = Grid(
        *columns, min_width=40, title=f"{table}: {len(items)} items", title_justify="left", title_style="bold"
    )
    for item in items:
        grid.add_row(*(escape(_text(item.get(name))) for name in names))
    if console.measure(grid, options=console.options.update(max_width=10_000)).maximum <= console.width:
        console.print(grid)
    else:
        _print_lists(table, keys, items)


def listed(client: Any, table: str) -> None:
    """Print every item of a table with its own attributes, keys first."""
    keys, items = _scanned(client, table)
    _print_lists(table, keys, items)


def _print_lists(table: str, keys: list[str], items: list[Mapping[str, Any]]) -> None:
    console.print(f"[bold]{escape(table)}: {len(items)} items")
    for item in items:
        names = keys + sorted(item.keys() - set(keys))
        text = "  ".join(f"{name}={_text(item[name])}" for name in names)
        _indented(text)


def _indented(text: str) -> None:
    """Print a text with line breaks where the terminal ends, the first line further left than the others."""
    for number, line in enumerate(Text(text).wrap(console, max(20, console.width - 4))):
        console.print(Text("    " if number else "  ") + line)


def _scanned(client: Any, table: str) -> tuple[list[str], list[Mapping[str, Any]]]:
    """The names of a table's keys, and its items sorted by them."""
    keys = [key["AttributeName"] for key in client.describe_table(TableName=table)["Table"]["KeySchema"]]
    found = client.scan(TableName=table)["Items"]
    return keys, sorted(found, key=lambda item: [str(item[key]) for key in keys])


def _text(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    ((kind, content),) = value.items()
    if kind == "L":
        return f"[{'; '.join(map(_text, content))}]"
    if kind == "M":
        return ", ".join(f"{name}={_text(part)}" for name, part in content.items())
    return str(content)
