"""Some stored items of each class of a table."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from dynaorm.description.entry import Entry, classify
from dynaorm.entity.key import identity
from dynaorm.entity.table import Table
from dynaorm.integrity.item import table_pages
from dynaorm.record import record
from dynaorm.session.session import Session


@record
class ItemsRead:
    """Some items of a table.

    Attributes:
        entries: what they are.
        read: how many items were read to find them.
        is_all: whether the table has no more.
    """

    entries: list[Entry]
    read: int
    is_all: bool


def items_of_table(
    session: Session, table: Table, classes: Collection[type[Any]], most: int, *, read_at_most: int
) -> ItemsRead:
    """Up to ``most`` entities of each class, and the items that are kept for them, as far as they are met.

    The table is scanned until there are enough of ``classes``, and for at most ``read_at_most`` items.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    counted: Counter[type | None] = Counter()
    entities: dict[object, Entry] = {}
    others: list[Entry] = []
    read, is_all = 0, True
    for page in table_pages(session, table, read_at_most):
        read, is_all = read + len(page.items), page.after is None
        for item in page.items:
            entry = classify(item, table)
            if entry.kind == "entity":
                if counted[entry.cls] < most:
                    entities[identity({name: item[name] for name in table.key_names})] = entry
                counted[entry.cls] += 1
            elif entry.kind not in ("unknown", "token") or counted[None] < most:
                counted[None] += entry.kind in ("unknown", "token")
                others.append(entry)
        if all(counted[one] >= most for one in classes):
            break
    kept = [
        one
        for one in others
        if one.owner is None or identity(one.owner) in entities or one.kind == "tombstone"
    ]
    return ItemsRead([*entities.values(), *kept], read, is_all)
