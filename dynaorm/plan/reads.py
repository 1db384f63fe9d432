"""What has been read before a plan is compiled: items, and guards that belong to other entities."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dynaorm.entity.ident import Ident
from dynaorm.item.value import Item
from dynaorm.record import record


@record
class Reads:
    """Items that were read consistently or returned by a refusal, and guards found to belong to other entities.

    ``items`` maps to None where nothing is stored.
    """

    items: Mapping[Ident, Item | None] = field(default_factory=dict)
    foreign_guards: frozenset[Ident] = frozenset()

    def with_more(self, items: Mapping[Ident, Item | None], foreign_guards: frozenset[Ident]) -> "Reads":
        return Reads({**self.items, **items}, self.foreign_guards | foreign_guards)


NOTHING_READ: Final = Reads()
