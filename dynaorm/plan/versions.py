"""Version items: one for each number of a versioned entity, which its latest copy or its tombstone had.

Nobody else can hold a version item, because its key is made of its holder's, and none is given up, because history
stays. So only the number needs a rule: it follows from the item before, and is given where the revision is. From then
on the item says its version itself.
"""

from collections.abc import Iterable
from typing import Final

from dynaorm.entity.declare.catalog import are_several
from dynaorm.entity.key_part import DELETED, PREVIOUS_DELETION, VERSION, VERSION_AT, VERSION_TYPE, Versioning
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table, ident_of
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.errors import AlreadyExists, StoreError, UnexpectedRefusal
from dynaorm.item.action import Put
from dynaorm.item.condition import missing
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.derived import DerivedKind, EntitySide, Holding
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import FAILED, FailedAction, Planned, Purpose
from dynaorm.plan.stored import ItemChange, ItemDelete, ItemInsert, ItemUpdate


def tombstone_of(key: Item, number: int, kind: Item, unit: UnitOfWork) -> dict[str, AttributeValue]:
    """What a deletion leaves of an entity, but for the revision. ``kind``: names its class, where that is needed."""
    return {**key, **stamp(number, unit), **kind, DELETED: {"BOOL": True}}


def stamp(number: int, unit: UnitOfWork) -> dict[str, AttributeValue]:
    """The number and the time of a version."""
    return {VERSION: {"N": str(number)}, VERSION_AT: {"S": datetime_text(unit.now)}}


def _is_due(change: ItemInsert | ItemUpdate, versioning: Versioning) -> bool:
    if type(change) is ItemInsert or VERSION not in change.before.item:
        return True
    before, fields = change.before.item, change.mapping.fields
    # A renamed attribute is no new content.
    return any(
        not same(fields[name].stored_in(before), fields[name].stored_in(change.image))
        for name in versioning.fields or fields
    )


class VersionPurpose(Purpose):
    """Why an action on a version item is in a plan."""

    KEEP = "version"
    PURGE = "purge"


class Versions(DerivedKind[int]):
    """The version items of versioned entities; a label is the number."""

    is_evidence = True
    is_permanent = True
    noun = "versions"

    def __reduce__(self) -> str:
        return "VERSIONS"

    def follows_from(self, mapping: EntityMapping) -> bool:
        return mapping.versioning is not None

    def made_of(self, mapping: EntityMapping) -> Iterable[frozenset[str]]:
        return (mapping.made_of.versions,)

    def held_by(self, image: EntitySide) -> Iterable[Holding[int]]:
        if (number := _number_in(image)) is None:
            return []
        mapping = image.mapping
        return [Holding(ident_of(mapping.table, version_key(mapping, image.key, number)), image, number)]

    def place(self, held: Holding[int]) -> tuple[Table, Item]:
        mapping = held.image.mapping
        return mapping.table, version_key(mapping, held.image.key, held.label)

    def reason_to_read(self, mapping: EntityMapping, writer: str) -> str:
        return f"is versioned, and {writer} writes no versions" if self.follows_from(mapping) else ""

    def claim_if_unchanged(
        self, image: EntitySide, label: int, stored: Item | None, unit: UnitOfWork
    ) -> Planned:
        return put_version(image, label, unit)

    def judged(self, failed: FailedAction, now: float) -> StoreError:
        """The version is stored already, though the latest copy is as expected.

        Another program has deleted the latest copy or the tombstone, or written an older one in its place.
        """
        planned = failed.planned
        mapping, number = planned.mapping, planned.label
        name = mapping.entity.__name__
        told = f"verify of {name} says what is wrong with its versions, and repair"
        if number == 1:
            return AlreadyExists(
                key=planned.subject,
                violations=(),
                problem=f"version 1 of {planned.subject!r} is stored, without a latest copy that counts it",
                remedy=f"{told} mends it; then save it again, or restore a version",
            )
        is_whole = mapping.versioning is not None and mapping.versioning.fields is None
        return UnexpectedRefusal(
            code=FAILED,
            message=f"version {number} is already stored, though the latest copy says it is yet to come",
            request_id="",
            reasons=(),
            action=self.reason(planned),
            remedy=f"{told} lets the tombstone of a deleted {name} count it. Of a {name} that is not deleted, only you "
            "know whether the latest copy or that version is right: delete it, repair it, and "
            f"{'restore the right version' if is_whole else 'save it anew'}",
        )

    def reason(self, planned: Planned) -> str:
        if planned.purpose is VersionPurpose.PURGE:
            return f"remove version {planned.label} of {planned.name} for good"
        return f"keep version {planned.label} of {planned.name}, a number never used before"


VERSIONS: Final = Versions()


def numbered(change: ItemChange, image: Item | None, unit: UnitOfWork) -> Item | None:
    """The item that a change leaves, with the number of its version.

    ``image``: the item without; None for a deletion, which leaves nothing or a tombstone.
    """
    mapping, before = change.mapping, change.before
    versioning = mapping.versioning
    if versioning is None:
        return image
    number = 0 if before is None else mapping.loader.version_of(before.item) or 0
    if type(change) is ItemDelete:
        return tombstone_of(change.key, number, class_of_version(mapping), unit)
    if image is not None and isinstance(change, (ItemInsert, ItemUpdate)) and _is_due(change, versioning):
        return {**image, **stamp(number + 1, unit)}
    return image


def kept_version(image: EntitySide, unit: UnitOfWork) -> list[Planned]:
    """The action that keeps the version of an entity, if it is the first to have the number."""
    number = _number_in(image)
    return [] if number is None else [put_version(image, number, unit)]


def _number_in(image: EntitySide) -> int | None:
    """The version that an entity is the first to have; None if it has none, or keeps that of the stored item."""
    mapping, item, replaced = image.mapping, image.item, image.replaced
    if mapping.versioning is None or VERSION not in item:
        return None
    if replaced is not None and replaced.get(VERSION) == item[VERSION]:
        return None
    return int(item[VERSION]["N"])


def put_version(image: EntitySide, number: int, unit: UnitOfWork) -> Planned:
    """Put the version item of an entity, whose number was never used before."""
    mapping = image.mapping
    item = version_item(mapping, image.key, image.item, number, replaced=image.replaced)
    put = Put(unit.table_name(mapping.table.name), item, missing(mapping.table.pk.name))
    return Planned(put, VERSIONS, VersionPurpose.KEEP, mapping, image.key, after=item, label=number)


def version_item(
    mapping: EntityMapping, key: Item, image: Item, number: int, *, replaced: Item | None = None
) -> dict[str, AttributeValue]:
    """The item that keeps a version: the main one without type and index keys, or key and versioned fields alone.

    If other classes share the keys, it names its class, in an attribute that reads do not look at. ``replaced``: the
    item that the main one replaces. If that is a tombstone, the version keeps the time of the deletion.
    """
    partial = mapping.versioning.fields if mapping.versioning is not None else None
    if partial is None:
        dropped = {*mapping.synthetic_keys, mapping.table.type_attribute}
        item = {name: value for name, value in image.items() if name not in dropped}
    else:
        wanted = {*key, VERSION, VERSION_AT, *(mapping.fields[name].attribute for name in partial)}
        item = {name: value for name, value in image.items() if name in wanted}
    if replaced is not None and mapping.is_tombstone(replaced) and VERSION_AT in replaced:
        item[PREVIOUS_DELETION] = replaced[VERSION_AT]
    return {**item, **class_of_version(mapping), **version_key(mapping, key, number)}


def differences(mapping: EntityMapping, item: Item, version: Item) -> list[str]:
    """The fields, number and time in which a version item differs from the one that keeps a latest copy."""
    assert mapping.versioning is not None
    names = mapping.versioning.fields or mapping.fields
    found = [
        name
        for name, field in mapping.fields.items()
        if name in names and name not in mapping.maintained and not field.in_key
        and not same(field.stored_in(item), field.stored_in(version))
    ]  # fmt: skip
    return found + [name for name in (VERSION, VERSION_AT) if not same(item.get(name), version.get(name))]


def class_of_version(mapping: EntityMapping) -> dict[str, AttributeValue]:
    return {VERSION_TYPE: {"S": mapping.name}} if are_several(mapping) else {}


def version_key(mapping: EntityMapping, key: Item, number: int) -> dict[str, AttributeValue]:
    """The primary key of a version, from that of the latest copy."""
    assert mapping.versioning is not None and mapping.sort is not None
    sort = mapping.sort.attribute
    rewrapped = mapping.versioning.template.rewrap(key[sort.name][sort.kind], number)
    return {**key, sort.name: {sort.kind: rewrapped}}
