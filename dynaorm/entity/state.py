"""The snapshot of an entity: the item it was loaded from or saved as.

Copies of an entity share its snapshot, which is immutable. A change replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel

from dynaorm.entity.table import Ident
from dynaorm.failure import counted
from dynaorm.item.json_body import decode_body, decode_item
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


Defaults: TypeAlias = Mapping[str, AttributeValue | None]

NO_DEFAULTS: Final[Defaults] = {}


@record(quick=True)
class Loaded:
    """A snapshot.

    Attributes:
        item: the main item as stored, including attributes unknown to the class. Never mutated.
        defaults: the encoded defaults of fields that were absent from the item. They count as changed only once they
            differ from these.
        read_only: the entity was read at a version and cannot be saved.
    """

    item: Item
    defaults: Defaults = NO_DEFAULTS
    read_only: bool = False

    def __repr__(self) -> str:
        return f"<Loaded item of {counted(len(self.item), 'attribute')}>"

    def followed_by(self, item: Item, defaults: Defaults = NO_DEFAULTS) -> Loaded:
        """The next snapshot. What is absent still has the default that it was loaded with, or one of ``defaults``."""
        if not self.defaults and not defaults:
            return Loaded(item)
        found = {**self.defaults, **defaults}
        return Loaded(item, {name: value for name, value in found.items() if name not in item})


class LazyItem(NamedTuple):
    """A snapshot whose item has not been parsed yet.

    Attributes:
        text: the JSON of the item, as ``decode_item`` takes it.
        defaults: those of the snapshot, or a function that finds them for the item.
    """

    text: bytes
    defaults: Defaults | Callable[[Item], Defaults] = NO_DEFAULTS

    def __repr__(self) -> str:
        return f"<LazyItem of {counted(len(self.text), 'byte')}>"

    @property
    def item(self) -> Item:
        return decode_item(self.text)

    def loaded(self) -> Loaded:
        """The snapshot, with its item parsed."""
        item = self.item
        return Loaded(item, self.defaults(item) if callable(self.defaults) else self.defaults)


class PendingEffect(Protocol):
    """What becomes of an entity once the outcome of a write is known."""

    @property
    def state(self) -> Loaded | None:
        """The entity's next snapshot; None: it is new again."""

    def for_object(self, entity: Any, values: Mapping[str, Any] | None = None, /) -> PendingEffect:
        """The same for another object, with other values if given."""

    def apply(self) -> None:
        """Give the object its next snapshot: the write is in effect."""

    def roll_back(self) -> None:
        """Give the object its former snapshot: the write is not in effect."""


@record
class PendingWrite:
    """A write was sent for the entity and its outcome is not known.

    Attributes:
        plan: the plan that was sent.
        effect: what becomes of the entity if the plan is in effect; copies of the entity share it.
        state: the snapshot before the write.
    """

    plan: object
    effect: PendingEffect
    state: Loaded | None


def state_of(entity: object) -> Loaded | None:
    """The entity's snapshot; None for a new one."""
    found = carried_by(entity)
    if found is None or type(found) is Loaded:  # as for most writes
        return found
    if isinstance(found, LazyItem):
        found = slot_of(entity)
    return found.state if isinstance(found, PendingWrite) else found


def defaults_in(entity: object, attributes: AbstractSet[str]) -> Defaults:
    """The defaults that a loaded entity has for those of some attributes that its item does not have."""
    loaded = state_of(entity)
    found = NO_DEFAULTS if loaded is None else loaded.defaults
    return {name: value for name, value in found.items() if name in attributes}


# Bypasses pydantic's __getattr__, which takes a microsecond for an empty slot.
_slot: Final = object.__getattribute__


def unsettled_of(entity: object) -> PendingWrite | None:
    """The write of unknown outcome that must be settled before the entity's next write; None if there is none."""
    found = carried_by(entity)
    return found if isinstance(found, PendingWrite) else None


def slot_of(entity: object) -> Loaded | PendingWrite | None:
    """The state of an entity, with its item parsed."""
    found = carried_by(entity)
    if isinstance(found, LazyItem):
        found = found.loaded()
        set_state(entity, found)
    return found


def read_state_of(entity: object) -> Loaded | LazyItem:
    """The snapshot of an entity that was just read, parsed or not."""
    found: Loaded | LazyItem = _slot(entity, SLOT)
    return found


def carried_by(entity: object) -> Loaded | LazyItem | PendingWrite | None:
    """The state of an entity as it is, parsed or not."""
    try:
        found: Loaded | LazyItem | PendingWrite | None = _slot(entity, SLOT)
    except AttributeError:
        # A write asks several times, and an exception takes four times as long as an answer.
        if hasattr(type(entity), SLOT):  # what is no entity has no place for one
            object.__setattr__(entity, SLOT, None)
        return None
    return found


def set_state(entity: object, state: Loaded | LazyItem | PendingWrite | None) -> None:
    object.__setattr__(entity, SLOT, state)


def put_values(entity: BaseModel, values: Mapping[str, Any]) -> None:
    """Give an object, frozen or not, other values. What its cached properties made of the old ones is dropped."""
    if values:
        drop_cached(entity)
        vars(entity).update(values)


def drop_cached(entity: BaseModel) -> None:
    """Let the cached properties of an object be computed again."""
    held = vars(entity)
    for name in held.keys() - type(entity).model_fields.keys():
        del held[name]


# A reply that was read straight from its bytes: the entities found, and the text of each one's item.
#
# Rule 1. An entity keeps the text of its own item, not the page. The text is parsed when the item is needed.
# Rule 2. The texts are cut, not parsed: finding where items begin takes a twentieth of the time that reading them
#         takes. If a page could be cut in more than one way, ``item_texts`` gives nothing, and the page is parsed.


# The beginning of the first item of a reply. In a text, each of these quotes would have a backslash; and no attribute
# has a list without a type.
_BEGINNINGS: Final[Mapping[str, bytes]] = {
    "GetItem": rb'"Item":{(?=")',
    "Query": rb'"Items":\[{(?=")',
    "Scan": rb'"Items":\[{(?=")',
    "BatchGetItem": rb'"Responses":{"[^"]+":\[{(?=")',
}

# The end of one item and the beginning of another with its first attribute. It also matches between two maps in a list
# if the second one's first member has the name M, and between two keys of a batch that was not read whole.
_CUT: Final = rb'}},{(?="(?:[^"\\]|\\.)*+":{"(?:[SNB]":"|[SNB]S":\[|L":\[|M":{|BOOL":[tf]|NULL":t))'

# Compiled when they are used: the first get of a process needs one.
_compiled: Final = cache(re.compile)

BETWEEN: Final = b"}},{"
"""What separates the texts of two items."""

_ITEMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sequence[Item]]]] = {
    "GetItem": lambda reply: [reply["Item"]],
    "Query": lambda reply: reply["Items"],
    "Scan": lambda reply: reply["Items"],
    "BatchGetItem": lambda reply: [item for items in reply["Responses"].values() for item in items],
}


def item_texts(raw: bytes, operation: str, count: int) -> list[bytes] | None:
    """The texts of the items in a reply, as ``decode_item`` takes them; None where the items must be parsed.

    Args:
        raw: the body of the reply.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
        count: the number of items. Every item has an attribute.
    """
    if count == 0:
        return []
    if count == 1:
        beginning = _compiled(_BEGINNINGS[operation]).search(raw)
        return None if beginning is None else [raw[beginning.end() :]]
    _, texts = cut(raw, operation)
    return texts if len(texts) == count else None


def cut(raw: bytes, operation: str) -> tuple[bytes, list[bytes]]:
    """The beginning of a reply, and the texts of its items, which ``BETWEEN`` joins again.

    There are other texts than items if the reply could be cut in more than one way, and none if it is not compact.
    """
    beginning = _compiled(_BEGINNINGS[operation]).search(raw)
    if beginning is None:
        return raw, []
    return raw[: beginning.end()], _compiled(_CUT).split(raw[beginning.end() :])


def items_in(raw: bytes, operation: str) -> Sequence[Item]:
    """The items of a reply, parsed. Raises ValueError for a binary value that is not base64."""
    return _ITEMS[operation](decode_body(raw))


@record(quick=True)
class ParsedReply:
    """A reply that was read.

    Attributes:
        found: in order, entities, and items (dicts) that are left to the codecs. Expired entities are left out.
        heads: for each of these, its key and perhaps more of its item; empty where no reader needs them.
        rest: the reply without its items.
        idents: for each of these, the contents of its key, if the operation is BatchGetItem; empty for any other.
    """

    found: list[Any]
    heads: Sequence[Item]
    rest: Mapping[str, Any]
    idents: Sequence[Ident] = ()

    @property
    def is_of_entities(self) -> bool:
        """Whether nothing is left to the codecs."""
        return dict not in map(type, self.found)


def is_entity(found: Any) -> bool:
    """Whether a member of ``found`` is an entity, not an item."""
    return type(found) is not dict
