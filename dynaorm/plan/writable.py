"""Whether what is stored may be written: the state of an object, its key, and the revision of its item."""

from collections.abc import Mapping
from typing import Any, Final

from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import Loaded
from dynaorm.errors import DecodeError, KeyChanged, StaleEntity, UsageError
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue, Item, same


def writable_state(mapping: EntityMapping, state: Loaded | None, now: float) -> Loaded:
    """The snapshot of a loaded entity that may be written.

    Raises:
        UsageError: it is new, or was read at a version.
        StaleEntity: it has expired since it was loaded.
    """
    name = mapping.entity.__name__
    if state is None:
        raise UsageError(
            problem=f"this {name} is new: no session has loaded or saved it",
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
    stored = revision.stored_in(item)
    if stored is None:
        (tag,) = item[revision.attribute]
        return f"{revision.name}: {revision.attribute} is stored as {tag}, not as a map"
    ((tag, content),) = stored.items()
    return f"{revision.name}: is stored as {tag} {shown(content)}, and {_REVISIONS[revision.kind]}"


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
