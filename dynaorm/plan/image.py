"""Images: the item an entity becomes, the item that follows from a stored one by some changes, and what differs."""

from collections.abc import Iterable, Mapping
from typing import Any

from dynaorm.entity.codec.value import restore
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.item.prefix import Prefix, has_maps
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.record import replace


def new_image(
    mapping: EntityMapping,
    key: Item,
    values: Mapping[str, Any],
    encoded: Mapping[str, AttributeValue] | None = None,
) -> dict[str, AttributeValue]:
    """The item of a new entity under this key: its type, fields, and what follows from these, from validated values.

    ``encoded``: the attributes of the values, if they are known.
    """
    image, kind = {**key}, mapping.type_value
    if kind is not None and mapping.table.type_attribute is not None:
        image[mapping.table.type_attribute] = kind
    image |= mapping.encoder.encode(values) if encoded is None else encoded
    if not mapping.places:
        return image
    return {**key, **index_keys(mapping, mapping.subject(image, values)), **image}


def advance(
    mapping: EntityMapping,
    before: Item,
    changes: Mapping[str, AttributeValue | None],
    values: Mapping[str, Any],
) -> dict[str, AttributeValue]:
    """The image that follows from a stored one by some changed fields, index keys included.

    ``values`` has those of the changed fields that are stored in keys alone: they have no attribute.

    Attributes that the class does not know are preserved. Former attribute names are renamed. Only the keys of indexes
    that depend on a changed field are written.

    Raises:
        InvalidValue: an index key cannot hold a value.
    """
    after, in_keys = under_present_names(mapping, before), dict[str, Any]()
    for name, value in changes.items():
        field = mapping.fields[name]
        if field.in_key:
            in_keys[name] = values[name]
        else:
            _put(after, field.attribute, value)
    touched = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(changes)]
    if touched:
        # All indexes that share a key attribute are among them: one that the entity leaves must not take it from the
        # others.
        wanted = index_keys(mapping, mapping.subject(after, in_keys), touched)
        for attribute in (attribute for index in touched for attribute in index.made_up):
            _put(after, attribute, wanted.get(attribute))
    return after


def _put(item: dict[str, AttributeValue], attribute: str, value: AttributeValue | None) -> None:
    if value is None:
        item.pop(attribute, None)
    else:
        item[attribute] = value


def under_present_names(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue]:
    """The item with every field under its present attribute name, and its class under its present name."""
    found = dict(item)
    kind = mapping.table.type_attribute
    if kind is not None and item.get(kind, {}).get("S") in mapping.formerly:
        found[kind] = {"S": mapping.name}
    for field in mapping.fields.values():
        if field.formerly:
            _put(found, field.attribute, field.stored_in(item))
            for former in field.formerly:
                found.pop(former, None)
    return found


def over_origin(mapping: EntityMapping, image: Item, origin: Item) -> dict[str, AttributeValue]:
    """The item of a new entity: what no class knows, and the spelling of its values, as in the item it comes from."""
    origin = origin if mapping.table.revision is None else mapping.table.revision.without(origin)
    unknown = {name: value for name, value in origin.items() if name not in mapping.known_attributes}
    found = {**unknown, **image}
    for field in mapping.fields.values():
        stored, now = field.stored_in(origin), image.get(field.attribute)
        if not field.in_key and stored is not None and now is not None:
            found[field.attribute] = restore(field.codec, stored, now)
    return found


def difference(before: Item, after: Item) -> tuple[Change, ...]:
    """The changes that lead from one image to another, attribute by attribute."""
    changes: list[Change] = [
        SetTo((name,), value)
        for name, value in after.items()
        # Most values are the same objects.
        if value is not (stored := before.get(name)) and value != stored and not same(value, stored)
    ]
    changes += [Remove((name,)) for name in before if name not in after]
    if has_maps(after, before):
        changes = [each for one in changes for each in _by_members(one, before)]
    return tuple(changes)


def _by_members(change: Change, before: Item) -> Iterable[Change]:
    """A change of an attribute; in place of one of a map of attributes, those of its members."""
    (name,) = change.path
    if not isinstance(name, Prefix):
        return [change]
    after = change.value["M"] if isinstance(change, SetTo) else {}
    found = difference(before[name]["M"] if name in before else {}, after)
    return [replace(one, path=(name, *one.path)) for one in found]
