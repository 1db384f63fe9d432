"""One request while it is answered: the open transaction of the database, and what all operations need of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sqlite3 import Connection, Cursor
from typing import Any, Final, NamedTuple, TypeAlias

from dynaorm.embedded.database import Database
from dynaorm.embedded.refusal import invalid, not_found
from dynaorm.embedded.shape import Layout, Place, Shape
from dynaorm.flow.call import Reply
from dynaorm.item.json_body import decode_body
from dynaorm.item.size import KB
from dynaorm.item.value import Item

_READ_UNIT: Final = 4 * KB


class Work(NamedTuple):
    """What answers one request.

    Attributes:
        database: the database.
        connection: its open transaction.
        now: seconds since the Unix epoch.
        home: what the names of tables begin with: ``arn:aws:dynamodb:us-east-1:000000000000:``.
    """

    database: Database
    connection: Connection
    now: Callable[[], float]
    home: str

    def execute(self, sql: str, *parameters: object) -> Cursor:
        """Run a statement."""
        return self.connection.execute(sql, parameters)

    def layout(self, name: str) -> Layout:
        """The table with a name or ARN. Raises Refusal if there is none."""
        layout = self.database.layout(self.connection, name.rpartition(":table/")[2])
        if layout is None:
            raise not_found()
        return layout

    def row(self, shape: Shape, place: Place) -> tuple[bytes, int] | None:
        """The JSON and size of what lies at a place of a table."""
        row: tuple[bytes, int] | None = self.connection.execute(
            f"SELECT item, size FROM {shape.sql} WHERE h = ? AND r = ?",  # noqa: S608 - a name that was checked
            place,
        ).fetchone()
        return row


Operation: TypeAlias = Callable[[Work, Mapping[str, Any]], Reply]
"""Answers the requests of one operation."""


def item_of(text: bytes) -> Item:
    """An item from its JSON."""
    item: Item = decode_body(text)
    return item


def choice(request: Mapping[str, Any], parameter: str, *allowed: str) -> str:
    """A parameter that is one of some words, by default the first. Raises Refusal for another word."""
    given: str = request.get(parameter) or allowed[0]
    if given not in allowed:
        name = parameter[0].lower() + parameter[1:]
        raise invalid(
            f"1 validation error detected: Value '{given}' at '{name}' failed to satisfy constraint: "
            f"Member must satisfy enum value set: [{', '.join(allowed)}]"
        )
    return given


def out_of_bounds(parameter: str, least: int, most: int) -> Exception:
    """The refusal of a list or text that is too short or too long."""
    return invalid(
        f"1 validation error detected: Value at '{parameter}' failed to satisfy constraint: "
        f"Member must have length between {least} and {most}"
    )


def read_units(size: int, *, consistent: bool) -> float:
    """The read units of this many bytes."""
    return max(1, -(-size // _READ_UNIT)) * (1.0 if consistent else 0.5)


def consumed(
    request: Mapping[str, Any],
    table: str,
    units: float,
    indexes: Mapping[tuple[str, str], float] | None = None,
) -> dict[str, Any]:
    """``ConsumedCapacity`` of one table, if the request asks for it; ``units`` are those of the table itself."""
    if "ReturnConsumedCapacity" not in request:
        return {}
    wanted = choice(request, "ReturnConsumedCapacity", "NONE", "TOTAL", "INDEXES")
    if wanted == "NONE":
        return {}
    indexes = indexes or {}
    capacity: dict[str, Any] = {"TableName": table, "CapacityUnits": units + sum(indexes.values())}
    if wanted == "INDEXES":
        capacity["Table"] = {"CapacityUnits": units}
        for (kind, index), more in indexes.items():
            capacity.setdefault(kind, {})[index] = {"CapacityUnits": more}
    return {"ConsumedCapacity": capacity}
