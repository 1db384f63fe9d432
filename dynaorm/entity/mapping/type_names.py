"""Which values of the type attribute mean a class, and who says the type of a new entity.

Rule 1. A value that a class declares means that class, whatever other classes of the table take.
Rule 2. At most one class of a family takes values that no class declares. A class that is declared later may declare
        one of them: items that have it are of that class from then on.
"""

from __future__ import annotations

from typing import Final

from dynaorm.record import record

ANY: Final = "*"
"""The name of a class that takes the types that nobody declared."""


@record
class TypeNames:
    """What the type attribute says of the items of a class.

    Attributes:
        names: the values that mean the class: its name and its former ones, or those that its own field may have.
        field: the field that is the type attribute; empty where dynaorm writes the name of the class.
        takes_others: every value that no class of the table declares means this class, too.
    """

    names: tuple[str, ...]
    field: str = ""
    takes_others: bool = False
