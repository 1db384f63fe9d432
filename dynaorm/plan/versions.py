"""The bookkeeping attributes of a new image: its revision, its version number and time, and the version item."""

from dynaorm.entity.codec.value import restore
from dynaorm.entity.declare.catalog import are_several
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.template.version import PREVIOUS_DELETION, VERSION_TYPE, Versioning
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.item_change import ItemChange, ItemDelete, ItemInsert, ItemUpdate, StoredItem
from dynaorm.plan.unit_of_work import UnitOfWork


def assign_version(
    change: ItemChange, unit: UnitOfWork
) -> tuple[dict[str, AttributeValue] | None, int | None]:
    """The item as it will be stored, with its version and revision, and the number of the version if one is due.

    A revision that is a text is the same for the whole unit of work. The item is None if none is left, or if it is not
    known.
    """
    mapping, number = change.mapping, None
    versioning, revision = mapping.versioning, mapping.table.revision
    if isinstance(change, (ItemInsert, ItemUpdate)):
        image = {**change.image}
        if versioning is not None and _is_due(change, versioning):
            number = _number_of(mapping, change.before) + 1
            image |= _stamp(number, unit)
    elif isinstance(change, ItemDelete) and versioning is not None:
        tombstone = _stamp(_number_of(mapping, change.before), unit)
        image = {**change.key, **tombstone, **_class_of(mapping), DELETED: {"BOOL": True}}
    else:
        return None, None
    if revision is not None:
        before = None if change.before is None else change.before.item
        image[revision.attribute] = revision.after(before, unit.write_id)
    return image, number


def _stamp(number: int, unit: UnitOfWork) -> dict[str, AttributeValue]:
    return {VERSION: {"N": str(number)}, VERSION_AT: {"S": datetime_text(unit.now)}}


def _number_of(mapping: EntityMapping, before: StoredItem | None) -> int:
    return 0 if before is None else mapping.version_of(before.item) or 0


def _is_due(change: ItemInsert | ItemUpdate, versioning: Versioning) -> bool:
    if isinstance(change, ItemInsert) or VERSION not in change.before.item:
        return True
    before, fields = change.before.item, change.mapping.fields
    # A renamed attribute is no new content.
    return any(
        not same(fields[name].stored_in(before), change.image.get(fields[name].attribute))
        for name in versioning.fields or fields
    )


def version_item(
    mapping: EntityMapping, key: Item, image: Item, number: int, *, replaced: Item | None = None
) -> dict[str, AttributeValue]:
    """The item that keeps a version: the main one without type and index keys, or key and versioned fields alone.

    If other classes share the keys, it names its class, in an attribute that reads do not look at. ``replaced``: the
    item that the main one replaces. If that is a tombstone, the version keeps the time of the deletion.
    """
    partial = mapping.versioning.fields if mapping.versioning is not None else None
    if partial is None:
        dropped = {*mapping.made_up_keys, mapping.table.type_attribute}
        item = {name: value for name, value in image.items() if name not in dropped}
    else:
        wanted = {*key, VERSION, VERSION_AT, *(mapping.fields[name].attribute for name in partial)}
        item = {name: value for name, value in image.items() if name in wanted}
    if replaced is not None and mapping.is_tombstone(replaced) and VERSION_AT in replaced:
        item[PREVIOUS_DELETION] = replaced[VERSION_AT]
    return {**item, **_class_of(mapping), **version_key(mapping, key, number)}


def _class_of(mapping: EntityMapping) -> dict[str, AttributeValue]:
    return {VERSION_TYPE: {"S": mapping.name}} if are_several(mapping) else {}


def over_version(mapping: EntityMapping, image: Item, version: Item) -> dict[str, AttributeValue]:
    """The item of a restored entity: what no class knows, and the spelling of its values, as in the version."""
    known = {VERSION, VERSION_AT, VERSION_TYPE, PREVIOUS_DELETION, mapping.table.revision_attribute}
    for field in mapping.fields.values():
        known |= {field.attribute, *field.formerly}
    found = {name: value for name, value in version.items() if name not in known} | dict(image)
    for field in mapping.fields.values():
        stored, now = field.stored_in(version), image.get(field.attribute)
        if not field.in_key and stored is not None and now is not None:
            found[field.attribute] = restore(field.codec, stored, now)
    return found


def version_key(mapping: EntityMapping, key: Item, number: int) -> dict[str, AttributeValue]:
    """The primary key of a version, from that of the latest copy."""
    assert mapping.versioning is not None and mapping.sort is not None
    sort = mapping.sort.attribute
    rewrapped = mapping.versioning.template.rewrap(key[sort.name][sort.kind], number)
    return {**key, sort.name: {sort.kind: rewrapped}}
