"""The bookkeeping attributes of a new image: its revision, its version number and time, and the version item."""

from collections.abc import Sequence

from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.known import Setting
from dynaorm.plan.net import CHECK, DELETE, EDIT, PUT, Net


def stamp(nets: Sequence[Net], setting: Setting) -> None:
    """Give every net its version where one is due, and its revision: one for the whole unit of work."""
    for net in nets:
        if net.mapping.versioning is not None and net.write is not EDIT and net.write is not CHECK:
            _stamp_version(net, setting)
    for net in nets:
        _stamp_revision(net, setting.write_id)


def _stamp_revision(net: Net, written: str) -> None:
    revision = net.mapping.table.revision_attribute
    if revision is None or net.write is CHECK:
        return
    if net.write is DELETE and net.mapping.versioning is None:
        return
    net.revision = written
    if net.after is not None:
        net.after[revision] = {"S": net.revision}


def _stamp_version(net: Net, setting: Setting) -> None:
    number = (net.mapping.version_of(net.before) or 0) if net.before is not None else 0
    at: AttributeValue = {"S": datetime_text(setting.now)}
    if net.write is DELETE:
        net.after = {
            **net.key, VERSION: {"N": str(number)}, VERSION_AT: at, DELETED: {"BOOL": True}
        }  # fmt: skip
        return
    assert net.after is not None
    if _is_due(net):
        net.version = number + 1
        net.after[VERSION] = {"N": str(number + 1)}
        net.after[VERSION_AT] = at


def _is_due(net: Net) -> bool:
    versioning = net.mapping.versioning
    assert versioning is not None
    assert net.after is not None
    if net.write is PUT or net.before is None or VERSION not in net.before:
        return True
    fields = [net.mapping.fields[name] for name in versioning.fields or net.mapping.fields]
    # A renamed attribute is no new content.
    return any(not same(field.stored_in(net.before), net.after.get(field.attribute)) for field in fields)


def version_item(net: Net) -> dict[str, AttributeValue]:
    """The item that keeps a version: the main one without type and index keys, or key and versioned fields alone."""
    mapping, after = net.mapping, net.after
    assert mapping.versioning is not None and mapping.sort is not None and after is not None
    assert net.version is not None
    partial = mapping.versioning.fields
    if partial is None:
        dropped = {name for index in mapping.indexes.values() for name in index.made_up}
        dropped.add(mapping.table.type_attribute or "")
        item = {name: value for name, value in after.items() if name not in dropped}
    else:
        wanted = {*net.key, VERSION, VERSION_AT, *(mapping.fields[name].attribute for name in partial)}
        item = {name: value for name, value in after.items() if name in wanted}
    return {**item, **version_key(mapping, net.key, net.version)}


def version_key(mapping: EntityMapping, key: Item, number: int) -> dict[str, AttributeValue]:
    """The primary key of a version, from that of the latest copy."""
    assert mapping.versioning is not None and mapping.sort is not None
    sort = mapping.sort.attribute
    rewrapped = mapping.versioning.template.rewrap(key[sort.name][sort.kind], number)
    return {**key, sort.name: {sort.kind: rewrapped}}
