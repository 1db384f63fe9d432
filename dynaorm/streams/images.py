"""What the item of a record was before the write and is after it: an entity, an internal item, or no item.

Rule 1. An item is an entity, a tombstone, internal (a guard, a version, a token), or of no class.
Rule 2. The view type of a stream may leave out an image. That image is one of an entity of the same class, unless it
        may be a tombstone. If the change depends on that, the record does not say enough, and nothing is guessed.
"""

from typing import NamedTuple, TypeAlias

from dynaorm.entity.classify import NotAnEntity, class_of
from dynaorm.entity.declare.catalog import catalog_of, version_class
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError
from dynaorm.streams.record import StreamRecord

ItemKind: TypeAlias = EntityMapping | NotAnEntity | None
"""The class of an entity, or the kind of another item; None where there is no item."""


class BeforeAndAfter(NamedTuple):
    """The item of a record before the write and after it."""

    before: ItemKind
    after: ItemKind


def before_and_after(one: StreamRecord, table: Table) -> BeforeAndAfter:
    """What the item was and is.

    Raises:
        DecodeError: the stream does not carry the image that would say whether an entity was deleted.
    """
    before, after = (None if image is None else class_of(table, image) for image in (one.old, one.new))
    # The kind says which images a write has. One that is missing was left out by the view type of the stream.
    hides_old = one.old is None and one.kind != "INSERT"
    hides_new = one.new is None and one.kind != "REMOVE"
    if not hides_old and not hides_new:
        return BeforeAndAfter(before, after)
    known = before or after or class_of(table, one.key)
    hidden = _class_in(known, one, table) or known
    if isinstance(hidden, EntityMapping) and hidden.versioning is not None and _depends(one, before):
        raise DecodeError(
            entity=hidden.entity.__name__,
            key=hidden.key_of(one.key),
            problems=("the stream has no image that says whether it was deleted",),
            remedy="Switch the stream to NEW_AND_OLD_IMAGES, or read the entity by its key",
        )
    return BeforeAndAfter(hidden if hides_old else before, hidden if hides_new else after)


def _depends(one: StreamRecord, before: ItemKind) -> bool:
    """Whether the change depends on a hidden image of a versioned class being a tombstone.

    An insert is never one of a tombstone, TTL never deletes one, and a tombstone is never replaced by another. If the
    old image alone is hidden, the change says that the old entity is not known.
    """
    if one.kind == "REMOVE":
        return not one.expired
    return one.kind == "MODIFY" and one.new is None and before is not NotAnEntity.TOMBSTONE


def _class_in(known: ItemKind, one: StreamRecord, table: Table) -> EntityMapping | None:
    """The class of an entity or a tombstone; None for other items."""
    if isinstance(known, EntityMapping):
        return known
    if known is not NotAnEntity.TOMBSTONE:
        return None
    # The form of the key tells the family; the class is named by the tombstone, if its image is there.
    family = next(found for found in catalog_of(table).mappings.values() if found.key_matches(one.key))
    return version_class(family, one.new or one.old or one.key) or family
