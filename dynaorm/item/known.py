"""An item of which only a part is known, as a write by key knows it that has not read the item.

Rule 1. It is asked like any other item. An answer that depends on what is not known raises ``Unread``; whoever wants
        the answer then reads the item. So one algorithm decides about items that were read, and about others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from dynaorm.item.value import AttributeValue, Item


class Unread(Exception):
    """The answer depends on an attribute that is not known."""


class KnownPart(dict[str, AttributeValue]):
    """An item of which some attributes are known, and some are known to be absent."""

    __slots__ = ("_absent",)

    def __init__(self, present: Item, absent: Iterable[str] = ()) -> None:
        super().__init__(present)
        self._absent = frozenset(absent)

    def plus(self, more: Item, absent: Iterable[str] = ()) -> KnownPart:
        """The same with more attributes, and with some that are known to be absent."""
        found = KnownPart(more, self._absent.union(absent))
        for name, value in dict.items(self):
            found.setdefault(name, value)
        return found

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name):
            return True
        if name in self._absent:
            return False
        raise Unread(name)

    def __getitem__(self, name: str) -> AttributeValue:
        if name in self:
            return dict.__getitem__(self, name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        return dict.__getitem__(self, name) if name in self else default

    def _of_all(self, *_: object) -> NoReturn:
        raise Unread("every attribute")

    __iter__ = __len__ = __eq__ = __ne__ = __or__ = __ror__ = keys = values = items = copy = _of_all
    __hash__ = None  # as that of every dict


def is_known_in(item: Item, name: str) -> bool:
    """Whether an item is known to have an attribute."""
    return dict.__contains__(item, name) if isinstance(item, KnownPart) else name in item


def with_more(item: Item, more: Mapping[str, AttributeValue]) -> Item:
    """The item with more attributes; of one that is known in part, a part is known as before."""
    return item.plus(more) if isinstance(item, KnownPart) else {**item, **more}
