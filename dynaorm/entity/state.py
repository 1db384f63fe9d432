"""What an entity remembers of the item it was loaded from or saved as.

The snapshot is immutable and shared by copies of the entity; replacing it is the only way to change it.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

SLOT: Final = "__dynaorm_state__"


class _Loading:
    def __repr__(self) -> str:
        return "LOADING"

    def __reduce__(self) -> str:
        return "LOADING"


LOADING: Final = _Loading()
"""The validation context while a stored item becomes an entity: ``info.context is LOADING``."""


_NO_DEFAULTS: Final[Mapping[str, AttributeValue | None]] = {}


class Loaded(NamedTuple):
    """A snapshot.

    Attributes:
        item: the main item as stored, attributes unknown to the class included. Never mutated.
        defaults: what fields absent from the item took at load, encoded: not a change until they differ from it.
        read_only: it was read at a version; only reads may use it.
    """

    item: Item
    defaults: Mapping[str, AttributeValue | None] = _NO_DEFAULTS
    read_only: bool = False


@record
class Unsettled:
    """A write was sent for the entity and its outcome is not known.

    Attributes:
        plan: what was sent.
        effect: what becomes of the entity if the plan is in effect; copies of the entity share it.
        state: what was known before.
    """

    plan: Any
    effect: Any
    state: Loaded | None


def state_of(entity: object) -> Loaded | None:
    """The entity's snapshot; None for a new one."""
    try:
        found: Loaded | Unsettled | None = _slot(entity, SLOT)
    except AttributeError:
        return None
    return found.state if isinstance(found, Unsettled) else found


# Past pydantic's own __getattr__, which takes a microsecond to say that the slot is empty.
_slot: Final = object.__getattribute__


def unsettled_of(entity: object) -> Unsettled | None:
    """The write whose outcome has to be settled before the entity's next one; None where everything is known."""
    try:
        found: Loaded | Unsettled | None = _slot(entity, SLOT)
    except AttributeError:
        return None
    return found if isinstance(found, Unsettled) else None


def set_state(entity: object, state: Loaded | Unsettled | None) -> None:
    object.__setattr__(entity, SLOT, state)
