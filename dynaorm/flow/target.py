"""The target of a call: a class, and the primary key of an item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.key import Key, no_class, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import UnknownField, UsageError
from dynaorm.failure import counted, shown
from dynaorm.item.value import Item
from dynaorm.record import record

OPTIONS = ("version", "as_of", "consistent")
"""The keywords that ``get`` takes beside a Key. Beside a class, its keywords are fields."""


@record
class Target:
    """A class and a rendered primary key.

    Attributes:
        mapping: the class.
        key: the primary key of the main item.
        state: the snapshot of the entity object that was given, if it is a loaded one.
    """

    mapping: EntityMapping
    key: Item
    state: Loaded | None = None

    @property
    def name(self) -> Key[Any]:
        """The key as users and errors know it."""
        return stored_key(self.mapping, self.key)


def target_of(named: Any) -> Target:
    """The target a ``Key`` or an entity object names. Raises UsageError for a key of no class."""
    if isinstance(named, Key):
        if named.entity is None:
            raise no_class(named)
        return Target(mapping_of(named.entity), named.primary_key)
    mapping, state = mapping_of(type(named)), state_of(named)
    key = mapping.primary_key.of(vars(named)) if state is None else mapping.key_of(state.item)
    return Target(mapping, key, state)


def key_and_options(
    named: Any, keywords: Mapping[str, Any], unnamed: tuple[Any, ...] = ()
) -> tuple[Key[Any], Mapping[str, Any]]:
    """``get(User, user_id=...)`` names a key by fields; ``get(Key(...), version=...)`` gives options.

    Raises:
        UsageError: neither a class nor a Key; or there are values without the name of a field.
        UnknownField, InvalidValue: as Key does. Of an option beside a class, the error says where it belongs.
    """
    if unnamed:
        raise UsageError(
            problem=f"get() was given {counted(len(unnamed), 'value')} without the name of a field",
            remedy=f"write get({_fields_of_key(named)})",
        )
    if isinstance(named, Key):
        return named, keywords
    if not isinstance(named, type):
        raise UsageError(
            problem=f"{shown(named)} is neither an entity class nor a Key",
            remedy="write get(User, user_id=...) or get(Key(User, user_id=...))",
        )
    try:
        return Key(named, **keywords), {}
    except UnknownField as unknown:
        if unknown.field not in OPTIONS:
            raise
        name, fields = unknown.entity, ", ".join(f"{one}=..." for one in unknown.known)
        remedy = f"it is an option of a Key: write get(Key({name}, {fields}), {unknown.field}=...)"
        raise UnknownField(entity=name, field=unknown.field, known=(), remedy=remedy) from None


def key_or_object(verb: str, named: Any, fields: Mapping[str, Any], *, by_fields: bool = False) -> Any:
    """What a write names: a Key or an object; with ``by_fields`` also a class beside the fields of its key.

    Raises:
        UsageError: a class, or keywords that are no options.
        UnknownField, InvalidValue: as Key does.
    """
    if isinstance(named, type):
        if by_fields:
            return Key(named, **fields)
        raise UsageError(
            problem=f"{verb}() was given the class {named.__name__}",
            remedy=f"write {verb}(Key({_fields_of_key(named)}), ...)",
        )
    if fields:
        raise UsageError(
            problem=f"{verb}() has no option {next(iter(fields))!r}",
            remedy=f"fields of the key go into the Key: {verb}(Key(User, user_id=...), ...)",
        )
    return named


def _fields_of_key(named: Any) -> str:
    """The arguments of a Key of a class, as they are written."""
    if not isinstance(named, type):
        return "User, user_id=..."
    return ", ".join([named.__name__, *(f"{name}=..." for name in mapping_of(named).key_fields)])
