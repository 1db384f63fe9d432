"""What has been read before a plan is compiled: items, and which items belong to other entities.

Which items must be read, and why, is decided in ``read_first.py``.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Final, TypeAlias

from dynaorm.entity.ident import Ident
from dynaorm.item.value import Item
from dynaorm.record import record


class NotRead(Enum):
    """In place of an item that was not read: nobody knows whether one is stored."""

    UNREAD = "was not read"


UNREAD: Final = NotRead.UNREAD

AsRead: TypeAlias = Item | NotRead | None
"""What a read tells of an item: its attributes; None if nothing is stored; ``UNREAD`` if there was no read."""


@record
class Reads:
    """Items that were read consistently or returned by a refusal, and ``foreign`` ones: those of other entities.

    ``items`` maps to None where nothing is stored.
    """

    items: Mapping[Ident, Item | None] = field(default_factory=dict)
    foreign: frozenset[Ident] = frozenset()

    def with_more(self, items: Mapping[Ident, Item | None], foreign: frozenset[Ident]) -> "Reads":
        return Reads({**self.items, **items}, self.foreign | foreign)


NOTHING_READ: Final = Reads()
