"""What a caller asked for, before anything is known of what is stored."""

from typing import Any, TypeAlias, final

from dynaorm.entity.key import Key
from dynaorm.item.condition import Condition
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.record import record


@final
@record(quick=True)
class Save:
    """Insert a new entity, write the changed fields of a loaded one, or replace the stored item.

    ``overwrite``: replace what is stored, if ``replacing`` holds for it.
    ``origin``: the item that a new entity comes from, such as the version that a deleted one is restored from. What no
    class knows, the spelling of values and the time of creation are taken from it.
    """

    entity: Any
    condition: Condition | None = None
    overwrite: bool = False
    replacing: Condition | None = None
    origin: Item | None = None


@final
@record(quick=True)
class Edit:
    """Change some fields of the entity under a key.

    ``changes``: in field names and Python values, as ``check_changes`` allows and ``valid_changes`` gives them.
    ``read_first``: read the item, and change it only if it is as it was read.
    ``creates``: if there is no entity under the key, create it from the key, its defaults and the changes.
    ``touches``: write a new revision even if nothing changes.
    """

    target: Key[Any] | Any
    changes: tuple[Change, ...]
    condition: Condition | None = None
    read_first: bool = False
    creates: bool = False
    touches: bool = False


@final
@record(quick=True)
class Deletion:
    """Delete a loaded entity, or the one under a key.

    ``returning``: DynamoDB returns what was deleted. ``read_first``: read it, because a transaction returns nothing.
    """

    target: Key[Any] | Any
    condition: Condition | None = None
    returning: bool = False
    read_first: bool = False


@final
@record(quick=True)
class Move:
    """Store a loaded entity under the primary key that its fields render now, and delete the item under the old key."""

    entity: Any


@final
@record(quick=True)
class Check:
    """Fail the unit of work unless a condition holds; without one, unless the entity is unchanged since loaded."""

    target: Key[Any] | Any
    condition: Condition | None = None


Intent: TypeAlias = Save | Edit | Deletion | Move | Check


def target_of_intent(intent: Intent) -> Any:
    """The entity object or key that an intent names."""
    return intent.entity if type(intent) is Save or type(intent) is Move else intent.target


def condition_of(intent: Intent) -> Condition | None:
    """The caller's condition."""
    return None if type(intent) is Move else intent.condition
