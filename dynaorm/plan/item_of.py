"""The item that a save of an entity would store, without sending it."""

from typing import Any

from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.item.prefix import scattered
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import item_change_of
from dynaorm.plan.intent import Save
from dynaorm.plan.item_change import ItemInsert, ItemUpdate
from dynaorm.plan.merge_intents import merge_intents
from dynaorm.plan.reads import NOTHING_READ
from dynaorm.plan.unit_of_work import EVER, UnitOfWork


def item_of(entity: Any, /) -> dict[str, AttributeValue]:
    """The item of an entity in DynamoDB JSON, as a save of the entity would store it. Nothing is sent or changed.

    The item of a new entity has no revision, no version number and no time of ``CreatedAt()`` or ``UpdatedAt()``,
    because the write gives these. The item of a loaded entity is the stored one with your changes: unknown attributes,
    revision, version and these times are those that were loaded.
    Binary values are bytes. The item is yours: changing it does not change the entity. ``entity_of`` is the reverse.

    Args:
        entity: the entity.

    Raises:
        InvalidValue: a value is not valid, or cannot be stored or be part of a key.
        KeyChanged: the primary key of a loaded entity has changed.
        UsageError: the class is not mapped to a table, or the entity was read at a version.

    Examples:
        >>> from dynaorm import Entity, Table, item_of
        >>> class Song(Entity, table=Table("app"), pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> item_of(Song(song_id="1"))
        {'PK': {'S': 'SONG#1'}, 'SK': {'S': 'SONG'}, '_type': {'S': 'Song'}, 'song_id': {'S': '1'}}
    """
    return {name: _copied(value) for name, value in scattered(image_of(entity)).items()}


def _copied(value: Any) -> Any:
    """A copy of an attribute value, or of what else another program's item holds."""
    if isinstance(value, dict):
        return {name: _copied(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_copied(member) for member in value]
    return set(value) if isinstance(value, set) else value


def image_of(entity: Any) -> Item:
    """The same item as its class sees it, with maps in place of attributes of a prefix. It is not to be changed."""
    mapping_of(type(entity))
    (intents,) = merge_intents([Save(entity)], EVER)
    change = item_change_of(intents, NOTHING_READ, UnitOfWork(EVER, "", str))
    if isinstance(change, ItemInsert | ItemUpdate):
        return change.image
    state = state_of(entity)
    assert state is not None  # a new entity is inserted
    return state.item
