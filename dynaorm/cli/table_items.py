"""Some stored items of each class of a table."""

from collections import Counter
from typing import Final

from dynaorm.describe.entry import Entry, classify
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import identity
from dynaorm.entity.table import Table
from dynaorm.integrity.item import table_items
from dynaorm.session.session import Session

_MOST_READ: Final = 10_000
"""A class without entities would otherwise cost a scan of the whole table."""


def items_of_table(session: Session, table: Table, most: int) -> list[Entry]:
    """Up to ``most`` entities of each class, and the items that are kept for them, as far as they are met.

    The table is scanned until there are enough, and for at most 10,000 items.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    classes = len(catalog_of(table).mappings)
    counted: Counter[type | None] = Counter()
    entities: dict[object, Entry] = {}
    others: list[Entry] = []
    for item in table_items(session, table, _MOST_READ):
        entry = classify(item, table)
        if entry.kind == "entity":
            if counted[entry.cls] < most:
                entities[identity({name: item[name] for name in table.key_names})] = entry
            counted[entry.cls] += 1
        elif entry.kind not in ("unknown", "token") or counted[None] < most:
            counted[None] += entry.kind in ("unknown", "token")
            others.append(entry)
        if sum(one >= most for kind, one in counted.items() if kind is not None) == classes:
            break
    kept = [
        one
        for one in others
        if one.owner is None or identity(one.owner) in entities or one.kind == "tombstone"
    ]
    return [*entities.values(), *kept]
