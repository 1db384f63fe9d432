"""Versions: the latest copy equals the newest, numbers are dense up to it, a tombstone keeps the count."""

from collections.abc import Iterator

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.dispatch import NotAnEntity
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, VERSION_TYPE, EntityMapping
from dynaorm.entity.table import Table
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.reads import Ident, ident_of
from dynaorm.testing.census import Broken, Census, Inconsistency, Stored, shown


def broken_versions(census: Census) -> Iterator[Inconsistency]:
    """What is wrong with version items, and with the latest copies they belong to."""
    versions: dict[Ident, dict[int, Stored]] = {}
    for one in census.of(NotAnEntity.VERSION):
        mapping, number, latest = _place(one)
        copy = census.by_ident.get(ident_of(one.table, latest)) if latest is not None else None
        if copy is None:
            where = "the key of a latest copy" if latest is None else shown(latest)
            yield one.breaks(Broken.STRAY_VERSION, f"nothing is stored under {where}")
            continue
        versions.setdefault(copy.ident, {})[number] = one
        yield from _shape(one, mapping, number)
    for one in census.stored:
        latest_of = _versioned(one)
        if latest_of is not None and one.ident not in census.unreadable:
            yield from _history(one, latest_of, versions.get(one.ident, {}))
    for one in census.of(NotAnEntity.TOMBSTONE):
        yield from _tombstone(one)


def _place(version: Stored) -> tuple[EntityMapping, int, Item | None]:
    """The class of a version (or one that shares its keys), its number, and the key of its latest copy.

    Another spelling of a number (``v01_``) has no latest copy.
    """
    table = version.table
    assert table.sk is not None
    sort = version.item[table.sk.name][table.sk.kind]
    for mapping in _versioned_classes(table):
        assert mapping.versioning is not None
        template = mapping.versioning.template
        number, latest = template.number_in(sort), template.latest_of(sort)
        if number is not None and _fits(mapping, version):
            sort_key: AttributeValue = {table.sk.kind: latest}
            return mapping, number, None if latest is None else {**version.key, table.sk.name: sort_key}
    raise AssertionError(f"{version.key} was taken for a version, and is none")


def _versioned_classes(table: Table) -> Iterator[EntityMapping]:
    return (one for one in catalog_of(table).mappings.values() if one.versioning is not None)


def _fits(mapping: EntityMapping, one: Stored) -> bool:
    attribute = mapping.partition.attribute
    stored = one.item[attribute.name].get(attribute.kind)
    return stored is not None and mapping.partition.match(stored) is not None


def _versioned(one: Stored) -> EntityMapping | None:
    """The class of a latest copy: a live one, or a tombstone; None for anything else."""
    if isinstance(one.kind, EntityMapping):
        return one.kind if one.kind.versioning is not None else None
    if one.kind is not NotAnEntity.TOMBSTONE:
        return None
    fitting = (each for each in _versioned_classes(one.table) if _fits(each, one) and _sorts(each, one))
    return next(fitting, None)


def _sorts(mapping: EntityMapping, one: Stored) -> bool:
    assert mapping.sort is not None
    attribute = mapping.sort.attribute
    return mapping.sort.match(one.item[attribute.name][attribute.kind]) is not None


def _shape(version: Stored, mapping: EntityMapping, number: int) -> Iterator[Inconsistency]:
    said = version.item.get(VERSION, {}).get("N")
    if said != str(number):
        yield version.breaks(
            Broken.VERSION_SHAPE, f"its {VERSION} is {said}, and its key is that of {number}"
        )
    if VERSION_AT not in version.item:
        yield version.breaks(Broken.VERSION_SHAPE, f"it has no {VERSION_AT}")
    made_up = {name for index in mapping.indexes.values() for name in index.made_up}
    if found := sorted(made_up & version.item.keys()):
        yield version.breaks(Broken.VERSION_SHAPE, f"it has the index keys {', '.join(found)}")


def _history(copy: Stored, mapping: EntityMapping, versions: dict[int, Stored]) -> Iterator[Inconsistency]:
    newest = int(copy.item.get(VERSION, {"N": "0"})["N"])
    numbers = sorted(versions)
    wanted = list(range(numbers[0], newest + 1)) if numbers and numbers[0] <= newest else [newest]
    if numbers != wanted and (numbers or newest):
        yield copy.breaks(
            Broken.VERSION_GAP, f"its number is {newest}, and the versions stored are {numbers or 'none'}"
        )
    if newest in versions and copy.kind is not NotAnEntity.TOMBSTONE:
        yield from _newest(copy, mapping, versions[newest])


def _newest(copy: Stored, mapping: EntityMapping, version: Stored) -> Iterator[Inconsistency]:
    assert mapping.versioning is not None
    differing = [
        name
        for name in sorted(mapping.versioning.fields or mapping.fields)
        if not (field := mapping.fields[name]).in_key
        and not same(field.stored_in(copy.item), field.stored_in(version.item))
    ]
    if not same(copy.item.get(VERSION_AT), version.item.get(VERSION_AT)):
        differing.append(VERSION_AT)
    if differing:
        yield copy.breaks(Broken.NOT_NEWEST, f"they differ in {', '.join(differing)}")


def _tombstone(one: Stored) -> Iterator[Inconsistency]:
    table = one.table
    allowed = {*table.key_names, VERSION, VERSION_AT, VERSION_TYPE, DELETED, table.revision_attribute}
    if others := sorted(one.item.keys() - allowed):
        yield one.breaks(Broken.TOMBSTONE, f"it has {', '.join(others)}")
    if missing := [name for name in (VERSION, VERSION_AT) if name not in one.item]:
        yield one.breaks(Broken.TOMBSTONE, f"it has no {', '.join(missing)}")
