"""What an item of a table is: an entity, or one of the items that dynaorm keeps for entities.

Rule 1. Any item has an entry. What cannot be found out about it is left out, and no value of it is an error.
Rule 2. ``Entry.item`` has all values, secrets too. ``visible`` masks them, in keys and guards as well. Of an item whose
        class is not known, it masks all that no declaration explains: any of it may be a secret of that class.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import all_of, check_kind
from dynaorm.entity.classify import NotAnEntity, checked_item, class_of, key_beginnings, version_number_in
from dynaorm.entity.declare.catalog import catalog_of, class_named, constraint_at, type_in, version_class
from dynaorm.entity.internal_items import OWNER, key_in, owner_in
from dynaorm.entity.key_part import DELETED, PREVIOUS_DELETION, VERSION, VERSION_AT, VERSION_TYPE, KeyPart
from dynaorm.entity.mapping.derive import placed_in
from dynaorm.entity.mapping.index_places import IndexMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table, check_table
from dynaorm.errors import DynaormError
from dynaorm.failure import MASK
from dynaorm.item.value import Item
from dynaorm.record import record, replace

EntryKind: TypeAlias = Literal["entity", "guard", "version", "tombstone", "token", "unknown"]

VERSION_ATTRIBUTES: Final = frozenset((VERSION, VERSION_AT, VERSION_TYPE, PREVIOUS_DELETION, DELETED))
"""What versions, latest copies and tombstones have besides their fields."""

_NOTHING: Final[frozenset[str]] = frozenset()


@record
class Entry:
    """An item, and what it is.

    Attributes:
        item: the item in DynamoDB JSON, with its secrets; ``visible`` is for showing.
        kind: what it is.
        cls: its class; for a guard, version or tombstone the class of its owner. None where that is not known.
        places: for an entity, the place in each index that it is in: ``{"GSI1": "by_status"}``.
        owner: for a guard, version or tombstone, the primary key of the entity that it is kept for, in DynamoDB JSON,
            with its secrets; ``visible_owner`` is for showing. None where that is not known.
        constraint: for a guard, the name of the unique constraint; None for other kinds.
        number: for a version or tombstone, its number; None for other kinds.
        secret: the attributes whose values are not for showing.
        owner_secret: the attributes of ``owner`` whose values are not for showing.

    Examples:
        >>> entry = classify(item_of(User(user_id="9", email="ada@x.com")), app)
        >>> entry.kind, entry.cls
        (...)
    """

    item: Item
    kind: EntryKind
    cls: type[Any] | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    owner: Item | None = None
    constraint: str | None = None
    number: int | None = None
    secret: frozenset[str] = _NOTHING
    owner_secret: frozenset[str] = _NOTHING

    @property
    def visible(self) -> Item:
        """The item for showing: ``{"S": "**********"}`` stands for every secret, in its keys and in a guard's owner."""
        shown = _masked(self.item, self.secret)
        if self.kind == "guard" and "M" in self.item.get(OWNER, ()) and OWNER not in self.secret:
            shown[OWNER] = {"M": _masked(self.item[OWNER]["M"], self.owner_secret)}
        return shown

    @property
    def visible_owner(self) -> Item | None:
        """``owner`` for showing."""
        return None if self.owner is None else _masked(self.owner, self.owner_secret)

    @property
    def revealed(self) -> "Entry":
        """The same entry, whose ``visible`` has the secrets."""
        return replace(self, secret=_NOTHING, owner_secret=_NOTHING)

    def __repr__(self) -> str:
        named = "" if self.cls is None else f" of {self.cls.__name__}"
        return f"<Entry: {self.kind}{named}, {self.visible!r}>"


def _masked(item: Item, secret: frozenset[str]) -> dict[str, Any]:
    return {name: {"S": MASK} if name in secret else value for name, value in item.items()}


def entity_in(entry: Entry) -> Any:
    """The entity of an entry that is one. Raises DecodeError."""
    assert entry.cls is not None
    return mapping_of(entry.cls).loader.hydrate(entry.item)


def classify(item: Mapping[str, Any], table: Table, /) -> Entry:
    """What an item of a table is, by its type attribute and the shape of its key. No request is sent.

    Time plays no part: an expired entity is an entity.

    Args:
        item: the item in DynamoDB JSON, as ``entity_of`` takes it.
        table: the table that it is stored in; for a guard in a ``guard_table``, that table.

    Raises:
        UsageError: ``item`` is not DynamoDB JSON.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> app = Table("app")
        >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> classify({"PK": {"S": "SONG#1"}, "SK": {"S": "SONG"}, "song_id": {"S": "1"}}, app).kind
        'entity'
    """
    check_table("classify", table)
    return _entry(checked_item(item), table)


_OWN_ENTRIES: Final = "give entries of samples(table), or classify(item, table)"


def check_entry(written: str, entry: object) -> None:
    """Raise UsageError for anything but an entry."""
    check_kind(written, entry, Entry, "an Entry", remedy=_OWN_ENTRIES)


def check_entries(entries: object) -> list[Entry]:
    """The entries of a collection. Raise UsageError for anything else."""
    return all_of("entries={}", entries, Entry, "an Entry", remedy=_OWN_ENTRIES)


def _entry(stored: Item, table: Table) -> Entry:
    found = class_of(table, stored)
    if isinstance(found, EntityMapping):
        return _entity(stored, found)
    match found:
        case NotAnEntity.GUARD:
            return _guard(stored, table)
        case NotAnEntity.VERSION:
            return _version(stored, table)
        case NotAnEntity.TOMBSTONE:
            return _tombstone(stored, table)
        case NotAnEntity.TOKEN:
            return Entry(stored, "token")
        case NotAnEntity.UNKNOWN:
            # Its class may be one that is not loaded, and nobody knows which of its fields are secret.
            secret = secret_in_any(table, stored) | (stored.keys() - _explained(table))
            return Entry(stored, "unknown", secret=secret)


# -- entities ----------------------------------------------------------------------------------------------------------


def _entity(item: Item, mapping: EntityMapping) -> Entry:
    places = {place.name: place.attribute_name for place in _places(item, mapping)}
    return Entry(item, "entity", mapping.entity, places, secret=secret_attributes(mapping))


def _places(item: Item, mapping: EntityMapping) -> Iterator[IndexMapping]:
    """The places that an entity is in: those that it should be in, if it has their keys."""
    kinds = mapping.table.kinds
    for index in (place for place in mapping.places.values() if place.name in mapping.table.indexes):
        try:
            placed = placed_in(mapping, index, mapping.subject(item))
        except (DynaormError, ValueError):
            continue  # a read of the entity says what is wrong with it
        names = [] if placed is None else [part.attribute.name for part in placed[0].parts]
        if placed is not None and all(kinds[name] in item.get(name, ()) for name in names):
            yield placed[0]


def secret_attributes(mapping: EntityMapping) -> frozenset[str]:
    """The attributes of a class whose values are not for showing."""
    own = (mapping.fields[name] for name in mapping.secrets.fields if name in mapping.fields)
    return mapping.secrets.keys.union(*(one.attributes for one in own))


def _explained(table: Table) -> frozenset[str | None]:
    """The attributes of any item that the table itself declares."""
    return frozenset((*table.key_names, table.type_attribute, table.revision_attribute))


def secret_in_any(table: Table, item: Item) -> frozenset[str]:
    """The attributes of an item of no class, or of one that is not known, that may hold a secret of any class.

    A key attribute may do so if it has the literal text that comes before the secret.
    """
    catalog = catalog_of(table)
    of_classes = _NOTHING.union(*map(secret_attributes, catalog.mappings.values()))
    parts = [
        *(part for mapping in catalog.mappings.values() for part in mapping.primary_parts if _is_secret(mapping, part)),
        *(part for one in catalog.guarded.values() for name in one.secrets.constraints
          for part in one.constraints[name].parts),
    ]  # fmt: skip
    names = [f"{name}#" for one in catalog.guarded.values() for name in one.secrets.constraints]
    texts = {name: item[name].get("S") for name in table.key_names if name in item}
    keys = {
        part.attribute.name
        for part in parts
        if (text := texts.get(part.attribute.name)) is None or _head(part) in text
    }
    keys |= {name for name, text in texts.items() if text is not None and any(one in text for one in names)}
    return (of_classes - {*table.key_names}) | keys


def _is_secret(mapping: EntityMapping, part: KeyPart) -> bool:
    return part.attribute.name in mapping.secrets.keys


def _head(part: KeyPart) -> str:
    """The literal text before the first field of a key; empty if there is none."""
    return part.template.pieces[0].before if part.template is not None and part.template.pieces else ""


# -- items kept for entities -------------------------------------------------------------------------------------------


def _guard(item: Item, table: Table) -> Entry:
    constraint = constraint_at(table, {name: item[name] for name in table.key_names})
    holders = [one for one in catalog_of(table).guarded.values() if constraint in one.constraints]
    keys = ((holder, key_in(owner_in(item), holder.table)) for holder in holders)
    owners = {one: key for one, key in keys if key is not None and one.key_matches(key)}
    is_secret = any(constraint in holder.secrets.constraints for holder in holders)
    return Entry(
        item,
        "guard",
        _common([*owners]),
        owner=next(iter(owners.values()), None),
        constraint=constraint,
        secret=frozenset(table.key_names) if is_secret else _NOTHING,
        owner_secret=_NOTHING.union(*(one.secrets.keys for one in owners or holders)),
    )


def _common(mappings: Iterable[EntityMapping]) -> type[Any] | None:
    """The class among some that all others derive from; None if there is none."""
    entities = [mapping.entity for mapping in mappings]
    return next((entity for entity in entities if all(issubclass(other, entity) for other in entities)), None)


def _version(item: Item, table: Table) -> Entry:
    for mapping in key_beginnings(table).candidates(item):
        number = version_number_in(mapping, item)
        if number is None:
            continue
        assert mapping.versioning is not None and mapping.sort is not None
        sort = mapping.sort.attribute
        latest = mapping.versioning.template.latest_of(item[sort.name][sort.kind])
        owner: Item | None = None
        if latest is not None:
            owner = {**mapping.key_of(item), sort.name: {sort.kind: latest}}
        return _kept(item, "version", mapping, owner=owner, number=number)
    return Entry(item, "version", secret=secret_in_any(table, item))


def _tombstone(item: Item, table: Table) -> Entry:
    tag = type_in(table, item)
    named = None if tag is None else class_named(table, tag.get("S", ""))
    matching = [one for one in key_beginnings(table).candidates(item) if one.key_matches(item)]
    mapping = named if named is not None else matching[0]
    try:
        number = mapping.loader.version_of(item)
    except DynaormError:
        number = None
    return _kept(item, "tombstone", mapping, owner=mapping.key_of(item), number=number)


def _kept(
    item: Item, kind: EntryKind, mapping: EntityMapping, *, owner: Item | None, number: int | None
) -> Entry:
    own = version_class(mapping, item) or mapping
    # The family shares its keys, and the class of the version may not be known.
    family = [one for one in catalog_of(mapping.table).mappings.values() if one.root is mapping.root]
    secret = _NOTHING.union(*map(secret_attributes, family))
    if VERSION_TYPE in item and version_class(mapping, item) is None:
        known = {name for one in family for of in one.fields.values() for name in of.attributes}
        secret |= item.keys() - known - VERSION_ATTRIBUTES - _explained(mapping.table)
    return Entry(
        item,
        kind,
        own.entity,
        owner=owner,
        number=number,
        secret=secret,
        owner_secret=own.secrets.keys,
    )
