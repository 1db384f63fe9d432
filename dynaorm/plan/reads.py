"""What has been read before a plan is compiled: items, and which items belong to other entities."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from dynaorm.entity.ident import Ident
from dynaorm.item.value import Item
from dynaorm.record import record

UNREAD: Final[Any] = object()
"""In place of an item: it was not read, so nobody knows whether one is stored. None: nothing is stored."""


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
