"""What an item of a table is: an entity, or one of the items that dynaorm keeps for entities."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from dynaorm.item.value import Item
from dynaorm.record import record

EntryKind: TypeAlias = Literal["entity", "guard", "version", "tombstone", "token", "unknown"]


@record
class Entry:
    """An item, and what it is.

    Attributes:
        item: the item in DynamoDB JSON, with its secrets; ``visible`` is for showing.
        kind: what it is.
        cls: its class; for a guard, version or tombstone the class of its owner. None where that is not known.
        places: for an entity, the place in each index that it is in: ``{"GSI1": "by_status"}``.
        owner: for a guard, version or tombstone, the primary key of the entity that it is kept for, in DynamoDB JSON.
        constraint: for a guard, the name of the unique constraint; None for other kinds.
        number: for a version or tombstone, its number; None for other kinds.
        secret: the attributes whose values are not for showing.
    """

    item: Item
    kind: EntryKind
    cls: type[Any] | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    owner: Item | None = None
    constraint: str | None = None
    number: int | None = None
    secret: frozenset[str] = frozenset()
