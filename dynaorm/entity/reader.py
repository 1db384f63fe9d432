"""The seam of the optional JSON reader: the only module that imports ``json_reader``.

If ``reader_of`` returned None for every class, the codecs would read every reply, with the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dynaorm.entity.core_schema import BUILDS_AS_GIVEN
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.state import ParsedReply
from dynaorm.entity.table import Table


class ReplyReader(Protocol):
    """Reads the replies to one kind of request."""

    def read(self, reply: Mapping[str, Any], now: float | None) -> ParsedReply | None:
        """The entities of a reply; None where the codecs must read it.

        Args:
            now: the time, in epoch seconds, to leave out expired entities; None to include them.
        """


def reader_of(
    table: Table, wanted: tuple[type, ...], operation: str, names: tuple[str, ...] | None = None
) -> ReplyReader | None:
    """The reader of replies about these classes and their subclasses; None where only the codecs can read them.

    Args:
        table: the table that is read.
        wanted: the classes.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
        names: give the heads of all items, with these attributes besides their keys.
    """
    return json_reader_of(table, wanted, operation, names) if BUILDS_AS_GIVEN else None
