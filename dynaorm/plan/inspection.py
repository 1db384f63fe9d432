"""What dynaorm knows of an entity object."""

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.failure import Hiding
from dynaorm.plan.object_values import unsaved_changes
from dynaorm.record import record


@record
class Inspection:
    """The loaded state of an entity.

    Attributes:
        loaded: whether a session has loaded or saved it; False for a new one.
        key: the key it is stored under; None for a new one.
        revision: what changes with every write of its item, an ETag; None for a new one, or where items carry none.
        version: its version number; None for a class that keeps no versions.
        changes: the fields that differ from what is stored: name to (stored value, value now). The ``repr`` masks the
            values of secret fields.
    """

    loaded: bool
    key: Key[Any] | None
    revision: str | None
    version: int | None
    changes: Mapping[str, tuple[Any, Any]]


def inspect(entity: Any) -> Inspection:
    """Tell whether an entity is loaded, under which key and revision, and what changed since.

    A field whose value cannot be stored is among the changes.

    Args:
        entity: the entity.

    Raises:
        UsageError: its class is not mapped to a table.

    Examples:
        >>> liz = session.get_one(User, user_id="1")
        >>> liz.name = "Elizabeth"
        >>> inspect(liz).loaded, inspect(liz).changes
        (True, ...)
    """
    mapping = mapping_of(type(entity))
    state = state_of(entity)
    if state is None:
        return Inspection(False, None, None, None, {})
    before, now = vars(mapping.loader.hydrate(state.item)), vars(entity)
    changed = unsaved_changes(mapping, entity, state)
    return Inspection(
        loaded=True,
        key=stored_key(mapping, mapping.key_of(state.item)),
        revision=mapping.revision_of(state.item),
        version=mapping.loader.version_of(state.item),
        # Whatever the values are, an object can be looked at.
        changes=Hiding(
            {name: (before[name], now.get(name)) for name in mapping.fields if name in changed},
            mapping.secrets.fields,
        ),
    )
