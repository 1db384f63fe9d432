"""What happens to one item: one of five changes, from which guards, versions and actions are derived.

A change is a frozen value. Each phase of the compiler takes changes and returns new ones.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import Loaded
from dynaorm.errors import StoreError
from dynaorm.item.condition import Condition
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

_NO_FIELDS: frozenset[str] = frozenset()
_NO_VALUES: Mapping[str, Any] = {}


@record(quick=True)
class StoredItem:
    """An item that is believed to be stored: a live entity, or a tombstone.

    Attributes:
        mapping: its class, which may be another one of the family than the class that is written.
        item: its attributes.
        from_read: a read by the session found it; otherwise the caller's object was loaded from it.
        as_loaded: the caller asked that the whole item is as it was loaded.
    """

    mapping: EntityMapping
    item: Item
    from_read: bool = False
    as_loaded: bool = False


class Requirement:
    """What must hold of a stored item so that it may be deleted, by a rule of another entity."""

    def condition(self, mapping: EntityMapping) -> Condition | None:
        """The condition of the deletion."""
        raise NotImplementedError

    def refusal(self, key: Key[Any], mapping: EntityMapping, item: Item) -> StoreError | None:
        """The error of a deletion for which it does not hold; None if it does."""
        raise NotImplementedError

    def said(self) -> str:
        """The requirement in words, at the end of a sentence."""
        raise NotImplementedError


class LoadedEntity(NamedTuple):
    """An entity object of the caller's, and what it was loaded as."""

    entity: Any
    state: Loaded


@final
@record(quick=True)
class ItemInsert:
    """The whole item is put, where nothing is stored or in place of what is.

    Attributes:
        mapping: the class of the new item.
        key: its primary key.
        image: the new item.
        entity: the caller's object; None for an upsert.
        values: the field values that ``image`` was encoded from.
        altered: those of them that validation changed, for the caller's object.
        state: what the object was loaded as, if it is moved or overwrites.
        before: the stored item that is replaced; None: nothing is stored.
        found_nothing: a read by the session found nothing to replace.
        replaces: an entity of this class that is stored is replaced without being read.
        replacing: what must hold for it, resolved.
        deleted: the caller's object that was deleted under the same key.
        condition: the caller's condition, resolved.
        changed: the fields that others of the unit of work add to.
        refreshed: the fields that the caller's object takes over from ``image``.
    """

    mapping: EntityMapping
    key: Item
    image: dict[str, AttributeValue]
    entity: Any
    values: Mapping[str, Any]
    altered: Mapping[str, Any] = _NO_VALUES
    state: Loaded | None = None
    before: StoredItem | None = None
    found_nothing: bool = False
    replaces: bool = False
    replacing: Condition | None = None
    deleted: Any = None
    condition: Condition | None = None
    changed: frozenset[str] = _NO_FIELDS
    refreshed: frozenset[str] = _NO_FIELDS


@final
@record(quick=True)
class ItemUpdate:
    """A stored item is changed, and it is known what it becomes.

    Attributes:
        mapping: the class of the item.
        key: its primary key.
        before: the stored item.
        image: the item as it will be.
        changed: the fields that change.
        loaded: the caller's object; None if the item is named by its key.
        is_edit: the change is a partial update: the caller's object gets the changed fields.
        altered: of a save, the field values that validation changed, for the caller's object.
        condition: the caller's condition, resolved.
        refreshed: the fields that the caller's object takes over from ``image``, beside those of a partial update.
    """

    mapping: EntityMapping
    key: Item
    before: StoredItem
    image: dict[str, AttributeValue]
    changed: frozenset[str]
    loaded: LoadedEntity | None = None
    is_edit: bool = False
    altered: Mapping[str, Any] = _NO_VALUES
    condition: Condition | None = None
    refreshed: frozenset[str] = _NO_FIELDS


@final
@record(quick=True)
class ItemEdit:
    """An item is changed by key, without knowing what is stored.

    Attributes:
        mapping: the class of the item.
        key: its primary key.
        edits: the changes, in stored names and attribute values.
        bounds: the condition under which the outcome is valid.
        condition: the caller's condition, resolved.
        creates: if nothing is stored, the changes make the item.
    """

    mapping: EntityMapping
    key: Item
    edits: tuple[Change, ...]
    bounds: Condition | None = None
    condition: Condition | None = None
    creates: bool = False
    before: ClassVar[None] = None  # nothing is known of the stored item


@final
@record(quick=True)
class ItemDelete:
    """An item is deleted; a versioned one is replaced by a tombstone.

    Attributes:
        mapping: the class of the item.
        key: its primary key.
        before: the stored item; None if it is not known.
        entity: the caller's object; None if the item is named by its key, or moved.
        condition: the caller's condition, resolved.
        requires: what else must hold, so that it may be deleted.
    """

    mapping: EntityMapping
    key: Item
    before: StoredItem | None = None
    entity: Any = None
    condition: Condition | None = None
    requires: Requirement | None = None


@final
@record(quick=True)
class ItemCheck:
    """Nothing is written, but the unit of work fails unless the item is as expected.

    Attributes:
        mapping: the class of the item.
        key: its primary key.
        before: the stored item; None if it is not known.
        loaded: the caller's object that was saved or edited without a change.
        image: what a partial update without effect makes of the item.
        edited: the fields that this partial update names.
        altered: of a save, the field values that validation changed, for the caller's object.
        is_sent: False if nothing asks for the check: only the caller's object changes.
        condition: the caller's condition, resolved.
    """

    mapping: EntityMapping
    key: Item
    before: StoredItem | None = None
    loaded: LoadedEntity | None = None
    image: dict[str, AttributeValue] | None = None
    edited: frozenset[str] = _NO_FIELDS
    altered: Mapping[str, Any] = _NO_VALUES
    is_sent: bool = True
    condition: Condition | None = None


ItemChange: TypeAlias = ItemInsert | ItemUpdate | ItemEdit | ItemDelete | ItemCheck
