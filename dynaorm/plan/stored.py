"""What is stored before a write: items, entities that are known, and what may be written."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, final

from dynaorm.entity.declare.catalog import class_of_type, stored_class, type_in
from dynaorm.entity.foreign_item import UnexpectedItem, foreign_item
from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.index_places import IndexPlaces
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.state import Loaded
from dynaorm.errors import (
    AlreadyExists,
    DecodeError,
    InvalidValue,
    KeyChanged,
    StaleEntity,
    StoreError,
    UsageError,
)
from dynaorm.failure import shown
from dynaorm.item.condition import Condition, PartialItem, UnknownAttribute
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item, same
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
        why_read: of an update by key, why it was read.
    """

    mapping: EntityMapping
    item: Item
    from_read: bool = False
    as_loaded: bool = False
    why_read: str = ""


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


def writable_state(mapping: EntityMapping, state: Loaded | None, now: float) -> Loaded:
    """The snapshot of a loaded entity that may be written.

    Raises:
        UsageError: it is new, or was read at a version.
        StaleEntity: it has expired since it was loaded.
    """
    name = mapping.entity.__name__
    if state is None:
        raise UsageError(
            problem=f"this {name} is not stored: no session has loaded or saved it, or it was deleted",
            remedy=f"save it first, or name what is stored with Key({name}, ...)",
        )
    if state.read_only:
        raise UsageError(
            problem=f"this {name} was read at a version, and history is not rewritten",
            remedy=f"use session.restore(Key({name}, ...), version=...), or get the latest copy and change that",
        )
    if mapping.is_expired(state.item, now):
        key = stored_key(mapping, mapping.key_of(state.item))
        raise StaleEntity(
            key=key,
            expected=mapping.revision_of(state.item),
            found=None,
            problem=f"{key!r} has expired since it was loaded",
            remedy="insert it anew: session.save(detached(entity, ...)) with another expiry",
        )
    return state


def loaded_key(mapping: EntityMapping, values: Mapping[str, Any], state: Loaded) -> dict[str, AttributeValue]:
    """The primary key that an entity was loaded under. Raises KeyChanged if its fields render another one."""
    stored = mapping.key_of(state.item)
    rendered = mapping.primary_key.of(values)
    # The same number may be stored in another spelling: 1.0 is the key 1.
    if rendered != stored and not all(same(rendered[name], stored.get(name)) for name in rendered):
        old, now = mapping.subject(state.item), mapping.with_computed(values, mapping.key_fields)
        raise KeyChanged(
            entity=mapping.entity.__name__,
            before=stored_key(mapping, stored),
            after=stored_key(mapping, rendered),
            fields=tuple(name for name in mapping.key_fields if now[name] != old[name]),
        )
    return stored


def other_revision(mapping: EntityMapping, item: Item) -> str:
    """Why the revision of a stored item is not one that the table declares; empty if it is, or if there is none."""
    revision = mapping.table.revision
    if revision is None or not revision.is_foreign(item):
        return ""
    ((tag, content),) = item[revision.attribute].items()
    return f"{revision.attribute}: is stored as {tag} {shown(content)}, and {_REVISIONS[revision.kind]}"


def refuse_other_revision(mapping: EntityMapping, item: Item) -> None:
    """Raises DecodeError if the revision of a stored item is of another type than the table declares."""
    revision = mapping.table.revision
    if revision is not None and (problem := other_revision(mapping, item)):
        raise DecodeError(
            entity=mapping.entity.__name__,
            key=mapping.key_of(item),
            problems=(problem,),
            problem=f"Cannot write {mapping.entity.__name__}",
            remedy=_OTHER_REVISION[revision.kind],
        )


_REVISIONS: Final = {"S": "dynaorm's revisions are text", "N": "the table declares a whole number there"}


_OTHER_REVISION: Final = {
    "S": "If another library keeps a number there, write revision_attribute=NumberRevision(name), or use another name",
    "N": "Give the table another revision_attribute=",
}


_LOSSY = "choose another value of {fields}, or get the stored entity by its key and change it"


def standing(mapping: EntityMapping, item: Item | None) -> Any:
    """The entity that an item under a key of the class holds, of whatever class it is.

    None for no item, a tombstone, an item of no declared class, and one that does not fit its class.
    """
    item = mapping.undeleted(item)
    if item is None:
        return None
    tag = type_in(mapping.table, item)
    found = stored_class(mapping, item) or (tag and class_of_type(mapping, tag))
    try:
        return found.loader.hydrate(item) if found else None
    except DecodeError:
        return None


def already_exists(mapping: EntityMapping, key: Item, given: Item, stored: Item) -> AlreadyExists:
    """The error, which names another class, or the fields whose values differ though their key is the same."""
    found, there = stored_key(mapping, key), standing(mapping, stored)
    if (other := foreign_item(mapping, stored)) is not None:
        return AlreadyExists(
            key=found,
            violations=(),
            stored=there,
            problem=f"{other.said} is stored under {found!r}",
            remedy=_remedy(mapping, other),
        )
    differing = [
        name
        for name in mapping.key_fields
        if name not in found.fields and _differs(mapping, name, given, stored)
    ]
    if not differing:
        return AlreadyExists(key=found, violations=(), stored=there)
    fields = ", ".join(differing)
    return AlreadyExists(
        key=found,
        violations=(),
        stored=there,
        problem=f"{found!r} is already stored with another value of {fields}, which has the same key",
        remedy=_LOSSY.format(fields=fields),
    )


def _remedy(mapping: EntityMapping, other: UnexpectedItem) -> str:
    if other.is_related:
        return f"get it by {other.key!r}, or replace it with session.save(entity, overwrite=True)"
    instead = f"choose another value of {', '.join(mapping.key_fields)}, or " if mapping.key_fields else ""
    if other.key is None:
        return f"{instead}declare its class, import its module, and delete that item first"
    return f"{instead}delete that item first: session.delete({other.key!r})"


def _differs(mapping: EntityMapping, name: str, given: Item, stored: Item) -> bool:
    field = mapping.fields.get(name)  # a computed field is stored nowhere
    found = field.stored_in(stored) if field is not None else None
    return field is not None and found is not None and not same(given.get(field.attribute), found)


@record(quick=True)
class KnownEntity:
    """What is known of an entity that was not read.

    Attributes:
        item: its item, of which a part is known.
        values: field values that need not be decoded.
    """

    item: PartialItem
    values: Mapping[str, Any]


def known_by_key(mapping: EntityMapping, key: Item, like: Mapping[str, Any] | None = None) -> KnownEntity:
    """What the key of an entity says about it.

    ``like``: the values of one such entity. A field that the key does not give back exactly has its value there: that
    is enough to say whether a key is made of it, though not which.
    """
    found: dict[str, Any] = {}
    for part in mapping.primary_parts:
        matched = part.match(key[part.attribute.name][part.attribute.kind]) or {}
        found |= {
            name: value
            for name, value in matched.items()
            if name in mapping.fields and mapping.fields[name].exact
        }
    item: dict[str, AttributeValue] = dict(key)
    for name in found.keys() & mapping.made_of.conditions:  # nobody asks for the attributes of others
        field = mapping.fields[name]
        value = None if field.in_key or field.formerly else mapping.encoder.encode_field(field, found)
        if value is not None:
            item[field.attribute] = value
    if like is not None:
        found = {name: like[name] for name in mapping.key_fields if name in like} | found
    return KnownEntity(PartialItem(item), found)


def check_in_every(
    mapping: EntityMapping, known: KnownEntity, created: StoredValues, indexes: Iterable[IndexPlaces]
) -> None:
    """Check that every entity under a key is in those of some indexes which a created one would be in.

    Otherwise its keys there, which are stored where they are missing, would put an entity into an index in which it
    does not belong.

    Raises:
        InvalidValue: no entity under the key can have its place in an index.
        UnknownAttribute: it depends on what is stored.
    """
    every = mapping.subject(known.item, known.values)
    for index in indexes:
        try:
            placed_in(mapping, index, every)
        except UnknownAttribute:
            if _is_in(mapping, index, created):
                raise


def _is_in(mapping: EntityMapping, index: IndexPlaces, created: StoredValues) -> bool:
    """Whether an entity that is created would be in an index, or could not be created because of it."""
    try:
        return placed_in(mapping, index, created) is not None
    except InvalidValue:
        return True
