"""The names by which a description calls the classes of a table."""

from collections import Counter
from collections.abc import Mapping

from dynaorm.entity.declare.catalog import catalog_of, once_per_table
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table


def name_of(mapping: EntityMapping) -> str:
    """The name of a class: its Python name. Of two with one name, it is followed by the stored name in parentheses."""
    # A class that was declared again is no longer among those of its table.
    return once_per_table(mapping.table, _names).get(mapping.entity, mapping.entity.__name__)


def _names(table: Table) -> Mapping[type, str]:
    mappings = catalog_of(table).mappings.values()
    count = Counter(one.entity.__name__ for one in mappings)
    return {
        one.entity: one.entity.__name__
        if count[one.entity.__name__] == 1
        else f"{one.entity.__name__} ({one.name})"
        for one in mappings
    }
