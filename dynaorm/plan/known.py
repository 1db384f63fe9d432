"""What compiling a plan may rely on besides the entities themselves: what was read, and the setting of the call."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from dynaorm.entity.table import Table
from dynaorm.item.value import Item
from dynaorm.record import record, replace

Ident: TypeAlias = tuple[object, ...]


def ident_of(table: Table, key: Item) -> Ident:
    """The identity of an item: its table's declared name and the contents of its primary key, in the table's order.

    Numbers are compared as texts: those rendered and those stored are both canonical.
    """
    return table.name, *contents_of(table, key)


def contents_of(table: Table, key: Item) -> Ident:
    """The identity of an item within its table, which may be declared twice under different names."""
    names = table.key_names
    if len(names) == 1:
        return (*key[names[0]].values(),)
    partition, sort = names
    return (*key[partition].values(), *key[sort].values())


@record
class Known:
    """Items read consistently, or seen in a refusal; and guards found to belong to somebody else.

    ``items`` maps to None where nothing is stored.
    """

    items: Mapping[Ident, Item | None] = field(default_factory=dict)
    foreign: frozenset[Ident] = frozenset()

    def learned(self, items: Mapping[Ident, Item | None], foreign: frozenset[Ident]) -> "Known":
        return replace(self, items={**self.items, **items}, foreign=self.foreign | foreign)


NOTHING_KNOWN: Final = Known()


class Setting(NamedTuple):
    """The circumstances of one unit of work.

    Attributes:
        now: the time, in seconds since the epoch; taken once.
        write_id: an identifier of this unit of work, the revision its items get.
        table_name: the physical name of a declared table.
        token: the caller's own client request token.
        exactly_once: send even a single action as a transaction with a token.
    """

    now: float
    write_id: str
    table_name: Callable[[str], str]
    token: str | None = None
    exactly_once: bool = False
