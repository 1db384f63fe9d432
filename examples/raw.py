"""What the examples print: the raw items of a table, as DynamoDB holds them."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column
from rich.table import Table as Grid

from dynaorm.testing.strict_moto import strict_moto

console = Console(width=150)

__all__ = ["console", "show", "step", "strict_moto"]


def step(title: str) -> None:
    console.rule(f"[bold]{escape(title)}", align="left")


def show(client: Any, table: str) -> None:
    """Print every item of a table, keys first."""
    keys = [key["AttributeName"] for key in client.describe_table(TableName=table)["Table"]["KeySchema"]]
    items = sorted(client.scan(TableName=table)["Items"], key=lambda item: [str(item[key]) for key in keys])
    names = keys + sorted({name for item in items for name in item} - set(keys))
    # Folded, not cut: an item is shown whole.
    columns = [Column(name, overflow="fold") for name in names]
    grid = Grid(
        *columns, min_width=40, title=f"{table}: {len(items)} items", title_justify="left", title_style="bold"
    )
    for item in items:
        grid.add_row(*(escape(_text(item.get(name))) for name in names))
    console.print(grid)


def _text(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    ((kind, content),) = value.items()
    if kind == "M":
        return ", ".join(f"{name}={_text(part)}" for name, part in content.items())
    return str(content)
