"""The address of one entity: its class and the fields of its primary key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.failure import texts_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.entity.mapping import mapping as mappings
    from dynaorm.entity.mapping import validate
    from dynaorm.entity.mapping.mapping import EntityMapping
else:
    late(globals(), mappings="dynaorm.entity.mapping.mapping", validate="dynaorm.entity.mapping.validate")

E = TypeVar("E")


class Key(Generic[E]):
    """The primary key of an entity, as its class and fields: ``Key(User, user_id="u1")``.

    Attributes:
        entity: the class; None for the key of an item that no class of the table understands.
        fields: the fields of the key.
        primary_key: the rendered key, as attribute values.

    A computed part of the key can be left out if the fields that it looks at are given in its place, and a field with a
    static default too.

    Raises:
        UnknownField: a keyword is not a field of the class's primary key.
        InvalidValue: a value cannot be part of the key.
        UsageError: a field of the key is missing, or an object was given instead of a class.

    Examples:
        >>> Key(Ticket, project="p1", number=1).primary_key
        {'PK': {'S': 'PROJECT#p1'}, 'SK': {'S': 'TICKET#000001'}}
        >>> session.get(Key(Audit, equipment_id="e1"), version=1)
        Audit(equipment_id='e1', result='pass')
    """

    __slots__ = ("entity", "fields", "primary_key")

    entity: type[E] | None
    fields: Mapping[str, Any]
    primary_key: Item

    def __init__(self, entity: type[E], /, **fields: Any) -> None:
        if not isinstance(entity, type):
            raise UsageError(
                problem=f"Key() takes a class, and got an object of {type(entity).__name__}",
                remedy="write Key(User, ...) with the class itself, or give an object in place of its key",
            )
        mapping = mappings.mapping_of(entity)
        values = key_values(mapping, fields)
        try:
            self.primary_key = mapping.primary_key.rendered(values)
        except InvalidValue:
            self.primary_key, values = validate.fit(mapping, mapping.primary_key.rendered, values)
        self.entity = entity
        self.fields = MappingProxyType(mapping.secrets.hiding(values))

    def __repr__(self) -> str:
        named = [] if self.entity is None else [self.entity.__name__]
        return f"Key({', '.join([*named, *(f'{name}={text}' for name, text in key_texts(self).items())])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return self.entity is other.entity and self.primary_key == other.primary_key

    def __hash__(self) -> int:
        return hash((self.entity, identity(self.primary_key)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.entity, dict(self.fields), dict(self.primary_key))


def key_texts(key: Key[Any], text: Callable[[Any], str] = repr) -> dict[str, str]:
    """What tells a key apart, as messages show it. Secrets are masked. ``text``: how a value is written.

    These are the fields, and the key attributes with a field that cannot be read back from them, as they are stored.
    """
    stored = texts_of(key.primary_key, lambda value: repr(next(iter(value.values()))))
    if key.entity is None or not key.fields:
        return stored
    mapping = mappings.mapping_of(key.entity)
    unread = [part for part in mapping.primary_parts if not key.fields.keys() >= {*part.fields}]
    shown = {part.attribute.name: stored.get(part.attribute.name) for part in unread}
    fields = texts_of(mapping.secrets.hiding(key.fields), text)
    return fields | {name: text for name, text in shown.items() if text is not None}


def _restore(entity: type[E] | None, fields: Mapping[str, Any], primary_key: Item) -> Key[E]:
    key: Key[E] = Key.__new__(Key)
    key.entity = entity
    mapping = mappings.mapping_of(entity) if entity is not None else None
    key.fields = MappingProxyType(dict(fields) if mapping is None else mapping.secrets.hiding(dict(fields)))
    key.primary_key = primary_key if mapping is None else mapping.secrets.hiding_key({**primary_key})
    return key


def no_class(key: Key[Any]) -> UsageError:
    """The error of a key of no class."""
    return UsageError(
        problem=f"{key!r} is the key of no mapped class", remedy="name the class: Key(Class, ...)"
    )


def sought_key(entity: type[E], fields: Mapping[str, Any]) -> Key[E]:
    """A key without ``primary_key``, which names the class and fields in an error."""
    return _restore(entity, fields, {})


def key_values(mapping: EntityMapping, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of the fields of the primary key, with those that others decide, and static defaults.

    Raises:
        UnknownField: one of the fields is not needed for the key.
        UsageError: a field of the key is missing.
        InvalidValue: a field of the key cannot be computed.
    """
    if fields.keys() == mapping.key_field_set:
        return fields
    name, wanted = mapping.entity.__name__, mapping.key_fields
    asked = [mapping.computed[one] for one in wanted if one in mapping.computed and one not in fields]
    looked_at = frozenset[str]().union(*(one.fields for one in asked if one.is_told))
    for given in fields:
        if given not in wanted and given not in looked_at:
            if remedy := get_by_remedy(mapping, [given]):
                raise UnknownField(entity=name, field=given, known=(), remedy=remedy)
            raise UnknownField(entity=name, field=given, known=(*wanted, *sorted(looked_at - {*wanted})))
    # What functions are shown has been validated.
    seen = fields.keys() & looked_at & mapping.fields.keys()
    fields = {**fields, **{one: validate.validated_field(mapping, one, fields) for one in seen}}
    defaults = mapping.static_defaults
    known = {**{one: defaults[one] for one in (*wanted, *looked_at) if one in defaults}, **fields}
    ready = [one.name for one in asked if one.is_told and one.fields <= known.keys()]
    values = mapping.primary_key.with_computed(known, ready)
    known = {one: values[one] for one in wanted if one in values}
    if missing := [one for one in wanted if one not in known]:
        raise UsageError(
            problem=f"the primary key of {name} is made of {', '.join(wanted)}, and {', '.join(missing)} is missing",
            remedy=f"give {', '.join(missing)} a value",
        )
    return known


def get_by_remedy(mapping: EntityMapping, names: Iterable[str]) -> str | None:
    """What finds an entity by these fields if they make a unique value; None if they do not."""
    fields = [*names]
    if not any({*constraint.fields} == {*fields} for constraint in mapping.constraints.values()):
        return None
    return f"find the owner of a unique value with get_by({mapping.entity.__name__}, {'=..., '.join(fields)}=...)"


def stored_key(mapping: EntityMapping, primary_key: Mapping[str, AttributeValue]) -> Key[Any]:
    """The key of an item of this class, with the fields that its templates give back."""
    fields: dict[str, Any] = {}
    for part in mapping.primary_parts:
        stored = primary_key[part.attribute.name]
        fields.update(part.match(stored[part.attribute.kind]) or {})
    known = {name: fields[name] for name in mapping.key_fields if name in fields}
    return _restore(mapping.entity, known, dict(primary_key))


def found_key(mappings: Mapping[str, EntityMapping], primary_key: Item) -> Key[Any]:
    """The key of an item, with the first class whose templates it matches; with no class if none does."""
    found = next((mapping for mapping in mappings.values() if mapping.key_matches(primary_key)), None)
    return stored_key(found, primary_key) if found is not None else item_named(primary_key)


def item_named(primary_key: Item) -> Key[Any]:
    """The key of an item that is no entity."""
    return _restore(None, {}, primary_key)


def identity(primary_key: Item) -> tuple[tuple[str, str, object], ...]:
    """A hashable form of a primary key."""
    found = []
    for name, value in primary_key.items():
        ((kind, content),) = value.items()
        found.append((name, kind, content))
    return tuple(sorted(found))
