"""What dynaorm knows of an entity object."""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of, overlapping_classes
from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import ItemTooLarge, UsageError
from dynaorm.failure import RedactedDict
from dynaorm.item.action import Put
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import item_change_of, merge_intents
from dynaorm.plan.derived_kinds import reason_to_read
from dynaorm.plan.intent import NEVER_EXPIRED, NOTHING_READ, Save, UnitOfWork
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Effect, Plan, Planned
from dynaorm.plan.stored import ItemInsert, ItemUpdate
from dynaorm.plan.values import new_image, unsaved_changes, whole_values
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
        changes=RedactedDict(
            {name: (before[name], now.get(name)) for name in mapping.fields if name in changed},
            mapping.secrets.fields,
        ),
    )


def item_of(entity: Any, /) -> dict[str, AttributeValue]:
    """The item of an entity in DynamoDB JSON, as a save of the entity would store it. Nothing is sent or changed.

    The item of a new entity has no revision, no version number and no time of ``CreatedAt()`` or ``UpdatedAt()``,
    because the write gives these. The item of a loaded entity is the stored one with your changes: unknown attributes,
    revision, version and these times are those that were loaded.
    Binary values are bytes. The item is yours: changing it does not change the entity. ``entity_of`` is the reverse.

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
    return {name: _copied(value) for name, value in image_of(entity).items()}


def _copied(value: Any) -> Any:
    """A copy of an attribute value, or of what else another program's item holds."""
    if isinstance(value, dict):
        return {name: one if type(one) is str else _copied(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_copied(member) for member in value]
    return set(value) if isinstance(value, set) else value


def image_of(entity: Any) -> Item:
    """The same item, which is not to be changed."""
    mapping_of(type(entity))
    (intents,) = merge_intents([Save(entity)], NEVER_EXPIRED)
    change = item_change_of(intents, NOTHING_READ, UnitOfWork(NEVER_EXPIRED, "", str))
    if isinstance(change, ItemInsert | ItemUpdate):
        return change.image
    state = state_of(entity)
    assert state is not None  # a new entity is inserted
    return state.item


# The one write without a condition: an entity as a Put that replaces whatever is stored, for loading in bulk.
#
# Rule 1. Only a class without guards, versions and totals can be written like this: guards and versions of the
#         replaced item would be left behind, and totals would be wrong.
# Rule 2. A Put that got no answer is never sent again later, because another writer may have written since. The
#         item's revision says whether it was made.


@record(quick=True)
class Load:
    """One entity to be loaded.

    Attributes:
        entity: the caller's object.
        mapping: its class.
        key: its primary key.
        item: all of what will be stored.
        text: the JSON of it.
        altered: the field values that validation changed, for the caller's object.
    """

    entity: Any
    mapping: EntityMapping
    key: Item
    item: Item
    text: bytes
    altered: Mapping[str, Any]

    @property
    def effect(self) -> Effect:
        """What becomes of the entity once its item is stored."""
        return Effect(self.entity, Loaded(self.item), self.altered or None)


def plan_of(loads: Sequence[Load], table: str) -> Plan:
    """The plan of the Puts that were sent for one key, to be settled if no answer came. The last entity is stored.

    It is made with an age past every window, so it is never sent again.
    """
    last = loads[-1]
    planned = Planned(
        Put(table, last.item),
        OWN_ITEM,
        ItemPurpose.REPLACE,
        last.mapping,
        last.key,
        after=last.item,
        revision=last.mapping.revision_of(last.item),
    )
    effects = tuple(load.effect for load in loads)
    return Plan(actions=(planned,), token=None, effects=effects, made_at=float("-inf"))


def load_of(entity: Any, revision: str, now: float) -> Load:
    """What loading an entity stores.

    Raises:
        InvalidValue: a value is not valid, or cannot be stored or be part of a key.
        ItemTooLarge: the item is larger than 400 KB.
    """
    mapping = mapping_of(type(entity))
    valid = whole_values(mapping, entity, now)
    key = mapping.primary_key.of(valid.values)
    item = new_image(mapping, key, valid.values, valid.encoded)
    if mapping.table.revision is not None:
        item = mapping.table.revision.stamped(item, None, revision)
    text = encode_body(item)
    # A value of a form that DynamoDB does not have today counts with its text in Python, which may be longer.
    if len(text) > ITEM_LIMIT // 4 and (size := item_size(item)) > ITEM_LIMIT:
        raise ItemTooLarge(key=stored_key(mapping, key), bytes=size)
    return Load(entity, mapping, key, item, text, valid.altered)


def check_loadable(entity: type[Any]) -> None:
    """Raises UsageError for a class that has other items besides its own or a numbered revision, or is not mapped."""
    mapping = mapping_of(entity)
    revision = mapping.table.revision
    if revision is not None and revision.kind == "N":
        raise UsageError(
            problem=f"{mapping.table} keeps the number {revision.attribute!r}, by which other writers see that an item "
            "changed, and bulk_load would set it back to 1",
            remedy="use session.save_many(...), which raises it",
        )
    family = [one for one in catalog_of(mapping.table).mappings.values() if one.root is mapping.root]
    for one in (mapping, *family, *overlapping_classes(mapping)):
        _check_class(entity, one)


def _check_class(entity: type[Any], mapping: EntityMapping) -> None:
    """``mapping``: the class, or one that shares its keys, so that its items may be replaced."""
    if why := reason_to_read(mapping, "bulk_load"):
        name, other = entity.__name__, mapping.entity.__name__
        raise UsageError(
            problem=f"{name} {why}" if name == other else f"{name} shares its keys with {other}, which {why}",
            remedy="use session.save_many(...), which saves each with everything that belongs to it",
        )
