"""The mapping of one class: turns entities into items, and items into entities.

Rule 1. Index keys and guards are computed from the stored values of an item, not from the values that validators turn
        them into, so that they always agree with the item.
Rule 2. A mapping is built once per class and never changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dynaorm.entity.annotation import complete
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.class_errors import ClassErrors
from dynaorm.entity.mapping.computed import ComputedValue
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.key_fields import KeyFields, key_fields_of
from dynaorm.entity.mapping.key_writer import KeyWriter, key_writer_of, write_no_key
from dynaorm.entity.mapping.made_of import MadeOf, made_of
from dynaorm.entity.mapping.place import IndexMapping, IndexPlaces, StoredPlace, places_of
from dynaorm.entity.mapping.secret import Secrets, secrets_of
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.mapping.type_names import TypeNames
from dynaorm.entity.state import LOADING, Defaults, Loaded, set_state
from dynaorm.entity.table import Table
from dynaorm.entity.template.key_part import KeyPart, differs
from dynaorm.entity.template.template import KeyValueError
from dynaorm.entity.template.version import (
    BOOKKEEPING,
    DELETED,
    VERSION,
    VERSION_AT,
    Versioning,
    version_number,
)
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.failure import shown
from dynaorm.item.path import Path
from dynaorm.item.prefix import Prefix
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.entity.mapping import dependence as dependences
    from dynaorm.entity.mapping import encoder as encoders
    from dynaorm.entity.mapping import exact
    from dynaorm.entity.mapping import rules as class_rules
    from dynaorm.entity.mapping.dependence import Dependence
    from dynaorm.entity.mapping.encoder import Encoder
    from dynaorm.entity.mapping.exact import ExactEncoder
    from dynaorm.entity.mapping.rules import ClassRules
else:
    late(
        globals(),
        class_rules="dynaorm.entity.mapping.rules",
        dependences="dynaorm.entity.mapping.dependence",
        encoders="dynaorm.entity.mapping.encoder",
        exact="dynaorm.entity.mapping.exact",
    )

# The class attributes with its mapping, or with the error that refused it.
MAPPING: Final = "__dynaorm_mapping__"
FAILURE: Final = "__dynaorm_failure__"

_NOTHING: Final[Mapping[str, str]] = {}
_NO_NAMES: Final[frozenset[str]] = frozenset()


@record(eq=False)
class EntityMapping:
    """A mapped class.

    Attributes:
        entity: the class.
        name: its stable name, which is the value of the type attribute unless ``type_names`` says otherwise.
        table: the table that stores it.
        root: the class that declared the keys; its subclasses share them.
        fields: its fields by name, in declaration order.
        partition: its partition key.
        sort: its sort key; None if the table has none.
        indexes: its places in the table's indexes, by the attribute name of the class.
        constraints: its unique constraints, by name.
        versioning: its version keys and versioned fields, if it keeps versions.
        expires: the field with its expiry time, if there is one.
        expiry: how that is stored.
        aggregates: the totals over this class, by the attribute name of the class.
        created: the fields with the time of its creation.
        updated: the fields with the time of its last change.
        computed: its computed fields, and the nested fields in its keys, constraints and totals, by their names there.
        stored: the computed fields that are kept as attributes, too.
        formerly: its earlier names, which items may still have. The next save that changes an item renames it.
        type_names: the values of the type attribute that mean it.
    """

    entity: type[BaseModel]
    name: str
    table: Table
    root: type[BaseModel]
    fields: Mapping[str, FieldMapping]
    partition: KeyPart
    sort: KeyPart | None
    indexes: Mapping[str, IndexMapping]
    constraints: Mapping[str, Constraint]
    versioning: Versioning | None
    expires: FieldMapping | None
    aggregates: Mapping[str, AggregateMapping]
    expiry: Expiry | None = None
    created: tuple[FieldMapping, ...] = ()
    updated: tuple[FieldMapping, ...] = ()
    computed: Mapping[str, ComputedValue] = dataclasses.field(default_factory=dict)
    stored: Mapping[str, StoredPlace] = dataclasses.field(default_factory=dict)
    formerly: tuple[str, ...] = ()
    type_names: TypeNames = TypeNames(())

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process that has the same class may resume a plan of unknown outcome.
        return mapping_of, (self.entity,)

    @cached_property
    def type_value(self) -> AttributeValue | None:
        """The type that dynaorm gives to an item; None where the table has none, or a field of the class says it."""
        is_given = self.table.type_attribute is not None and not self.type_names.field
        return {"S": self.name} if is_given else None

    @cached_property
    def rules(self) -> ClassRules:
        return class_rules.rules_of(self.entity)

    @cached_property
    def dependence(self) -> Dependence:
        """What depends on what: the one answer for every write that asks what a change of a field may change."""
        return dependences.dependence_of(self.entity, self.computed, self.made_of)

    @cached_property
    def made_of(self) -> MadeOf:
        """The stored fields that its keys, guards, versions and totals are made of."""
        return made_of(self)

    @cached_property
    def is_exact(self) -> bool:
        """Whether an entity's values and the values loaded after its save give the same index keys and guards."""
        return all(one.exact for group in (self.fields, self.constraints) for one in group.values())

    @cached_property
    def alike(self) -> Mapping[str, type | None]:
        """``ClassRules.alike``, and the fields that are not stored exactly."""
        return {**self.rules.alike, **{name: None for name, one in self.fields.items() if not one.exact}}

    @cached_property
    def primary_parts(self) -> tuple[KeyPart, ...]:
        """The partition key, then the sort key if there is one."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @cached_property
    def key_fields(self) -> tuple[str, ...]:
        """The fields of the primary key."""
        return tuple(dict.fromkeys(field for part in self.primary_parts for field in part.fields))

    @cached_property
    def key_field_set(self) -> frozenset[str]:
        """The same, in no order."""
        return frozenset(self.key_fields)

    @cached_property
    def kept(self) -> Mapping[str, FieldMapping]:
        """The fields with times that sessions keep."""
        return {one.name: one for one in (*self.created, *self.updated)}

    @cached_property
    def timed(self) -> frozenset[str]:
        """The attributes that may depend on the time of a write: those times, and what may be made of them."""
        return (
            frozenset(one.attribute for one in self.kept.values()) | self.made_up if self.kept else _NO_NAMES
        )

    @cached_property
    def places(self) -> Mapping[str, IndexPlaces]:
        """Its places by index; those that depend on the fields of their keys alone come first.

        An attribute that keeps a computed field is one, too: it follows from an entity as the key of an index does.
        """
        return places_of((*self.indexes.values(), *self.stored.values()))

    @cached_property
    def prefixes(self) -> tuple[Prefix, ...]:
        """What the attributes begin with that are members of one of its fields."""
        return tuple(one.attribute for one in self.fields.values() if isinstance(one.attribute, Prefix))

    @cached_property
    def made_up(self) -> frozenset[str]:
        """The attributes that follow from its fields: the key attributes of its indexes, and stored computed fields."""
        return frozenset(name for index in self.places.values() for name in index.made_up)

    @cached_property
    def made_up_keys(self) -> frozenset[str]:
        """The key attributes of its indexes that are no field's own attribute."""
        return frozenset(name for index in self.indexes.values() for name in index.made_up)

    @cached_property
    def plain_texts(self) -> frozenset[str]:
        """The fields whose stored text is their value, whatever else is stored."""
        if not self.rules.is_separate:
            return frozenset()
        rules = self.rules.fields
        return frozenset(
            name for name, one in self.fields.items() if one.codec.is_text and rules[name].is_plain
        )

    @cached_property
    def secrets(self) -> Secrets:
        """Its secret fields, and the key attributes that have one in them."""
        stored = {name: one.attribute for name, one in self.stored.items()}
        return secrets_of(
            self.entity, self.computed, tuple(self.key_parts()), self.constraints, stored=stored
        )

    @cached_property
    def errors(self) -> ClassErrors:
        return ClassErrors(self.entity, self.secrets, self.key_of)

    @property
    def maintained(self) -> Mapping[str, str]:
        """The fields that hold totals: name to the ``Aggregate`` that maintains it, such as ``Membership.in_group``."""
        return self.table.rules.maintained.get(self.name, _NOTHING)

    @property
    def managed(self) -> frozenset[str]:
        """The fields that callers do not write: totals, and times that sessions keep."""
        return frozenset((*self.maintained, *self.kept))

    @property
    def derived_fields(self) -> frozenset[str]:
        """The fields that keys, indexes, constraints, versions, expiry or totals are made of."""
        return self.made_of.fields

    def encode(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The attributes of all fields, without keys and index keys. Raises InvalidValue."""
        item: Any
        try:
            item = self._encoder(values)
        except (KeyError, ValueError, RecursionError):
            # Encode again, one by one, to find the field.
            item = {
                field.attribute: self.encode_field(field, values)
                for field in self.fields.values()
                if not field.in_key
            }
        return self._without_absent(item) if self._has_absent else item

    def encode_exact(self, values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        """The same of values that are valid as they are, by their types alone; None if these do not tell."""
        encode = self._exact_encoder
        if encode is None:
            return None
        try:
            item: Any = encode(values)
        except (KeyError, ValueError, RecursionError):
            return None
        return self._without_absent(item) if self._has_absent else item

    def _without_absent(self, item: dict[str, AttributeValue | None]) -> dict[str, AttributeValue]:
        return {name: value for name, value in item.items() if value is not None}

    @cached_property
    def _has_absent(self) -> bool:
        return any(field.can_be_absent for field in self.fields.values())

    @cached_property
    def _exact_encoder(self) -> ExactEncoder | None:
        # A computed field may look into a container, which may change until its key is rendered.
        if not self.is_exact or self.computed:
            return None
        return exact.exact_encoder_of(self.fields, self.rules, self.entity.__pydantic_core_schema__)

    @cached_property
    def _encoder(self) -> Encoder:
        return encoders.encoder_of(field for field in self.fields.values() if not field.in_key)

    def encode_field(self, field: FieldMapping, values: Mapping[str, Any]) -> AttributeValue | None:
        """The attribute value of one field; None for an absent one. Raises InvalidValue."""
        try:
            return field.encode(values[field.name])
        except KeyError:
            raise self.errors.invalid(field.name, None, "has no value", "give it one") from None
        except (ValueError, RecursionError) as problem:
            invalid = self.errors.invalid(field.name, values[field.name], problem)
            raise invalid from self.errors.cause_of(field.name, problem)

    def primary_key(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The primary key of an entity with these field values. Raises InvalidValue as ``rendered_key`` does."""
        if not self.computed:
            return self.rendered_key(values)
        return self.rendered_key(self.key_computed(values, self.key_fields))

    @cached_property
    def static_defaults(self) -> Mapping[str, Any]:
        """The fields with a default that is a value, and not None."""
        found = ((name, info.default) for name, info in self.entity.model_fields.items())
        return {name: value for name, value in found if value is not None and value is not PydanticUndefined}

    def key_computed(self, values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
        """The same for parts of a key. Raises InvalidValue."""
        try:
            return self.with_computed(values, names)
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)

    def with_computed(self, values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
        """Field values with those of the computed ones among some names. Raises KeyValueError."""
        if not self.computed:
            return values
        hidden = bool(self.secrets.fields)
        wanted = [self.computed[one] for one in names if one in self.computed]
        return {**values, **{one.name: one.computed(values, is_hidden=hidden) for one in wanted}}

    def rendered_key(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The primary key with these parts. Raises InvalidValue if a part is None or cannot be part of a key."""
        return self._write_key(values) or self._templated_key(values)

    def _templated_key(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        key: dict[str, AttributeValue] = {}
        try:
            for part in self.primary_parts:
                value = part.value(values)
                if value is None:
                    missing = next(name for name in part.fields if values.get(name) is None)
                    remedy = (
                        "give it a value" if missing in self.fields else "set the fields that it is made of"
                    )
                    raise self.errors.invalid(
                        missing, None, f"is part of the primary key {part.text!r}", remedy
                    )
                # A bare value is not escaped, so it could be the key of a guard, a version or a token.
                if part.bare and part.attribute.kind == "S":
                    name, text = part.fields[0], str(value["S"])
                    if (reserved := self.table.rules.reserved_for(part.attribute, text)) is not None:
                        remedy = f"use a template with literal text, or {{{name}:raw}}"
                        raise self.errors.invalid(name, text, f"would be the key of {reserved}", remedy)
                key[part.attribute.name] = value
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)
        return self.secrets.hiding_key(key)

    @cached_property
    def _write_key(self) -> KeyWriter:
        return write_no_key if self.secrets.keys else key_writer_of(self.primary_parts, self.table)

    def hydrate(self, item: Item, *, read_only: bool = False) -> Any:
        """The entity of an item, fully validated, with the item as its snapshot. Raises DecodeError."""
        values = self.decode(item)
        if self.versioning is not None:
            # For its errors alone.
            self.version_of(item)
        try:
            entity = self.validate_loaded(values)
        except Exception as raised:  # noqa: BLE001 - a validator of the user's may raise anything
            place_of, cause = self.only_in_keys.place_of, self.errors.cause_of_refusal(raised, values)
            raise self.errors.unloadable(raised, item, values, place_of) from cause
        # Otherwise the next save of the unchanged entity would find that its key has changed.
        self.refuse_other_key(item, entity.__dict__)
        missing = [field for field in self.fields.values() if field.attribute not in item]
        absent = [field for field in missing if not field.in_key and field.stored_in(item) is None]
        set_state(entity, Loaded(item, self.defaults_of(absent, item, entity.__dict__), read_only))
        return entity

    def validate_loaded(self, values: Mapping[str, Any]) -> Any:
        """The entity of decoded field values. Raises ValidationError."""
        # Codecs give nested dataclasses as dicts, which a strict model would refuse.
        # By name: aliases belong to the JSON of the application.
        return self.entity.__pydantic_validator__.validate_python(
            values, strict=False, context=LOADING, by_alias=False, by_name=True
        )

    def decode(self, item: Item) -> dict[str, Any]:
        """The field values of an item, without those that take their default. Raises DecodeError."""
        values: dict[str, Any] = {}
        problems: list[str] = []
        cause: Exception | None = None
        for name, field in self.fields.items():
            if field.in_key:
                continue
            found = item.get(field.attribute) if not field.formerly else field.stored_in(item)
            if found is None:
                try:
                    values[name] = field.decode_absent()
                except KeyError:
                    continue
            else:
                try:
                    values[name] = field.codec.decode(found)
                except ValueError as problem:
                    problems.append(self.errors.misfit(name, found, problem))
                    cause = cause or self.errors.cause_of(name, problem)
        if self.only_in_keys.names:
            found_in_keys, strange = self.only_in_keys.values_in(item, self.secrets.keys)
            values |= found_in_keys
            problems += strange
        if problems:
            raise self.errors.unreadable(item, tuple(problems)) from cause
        return values

    @cached_property
    def only_in_keys(self) -> KeyFields:
        """The fields that are stored in keys alone."""
        names = [name for name, field in self.fields.items() if field.in_key]
        # An item need not have the key of any other index.
        plain = (index.places[0] for index in self.places.values() if index.is_plain)
        return key_fields_of(names, self.primary_parts, (part for place in plain for part in place.parts))

    def key_parts(self) -> Iterator[KeyPart]:
        """Every key part: the primary key's, then those of the indexes."""
        yield from self.primary_parts
        for index in self.indexes.values():
            yield from index.parts

    def defaults_of(self, absent: Sequence[FieldMapping], item: Item, values: Mapping[str, Any]) -> Defaults:
        """The encoded defaults of fields that are absent from a loaded item. Raises DecodeError."""
        try:
            return {field.attribute: self.encode_field(field, values) for field in absent}
        except InvalidValue as problem:
            text = f"{problem.field}: is absent, and its default {problem.value!r} {problem.problem}"
            raise self.errors.unreadable(item, (text,)) from problem

    def refuse_other_key(self, item: Item, values: Mapping[str, Any]) -> None:
        """Raise DecodeError if the key of an item differs from the key that its values render."""
        for part in self.primary_parts:
            stored = item.get(part.attribute.name)
            try:
                rendered = part.value(self.with_computed(values, part.fields))
            except KeyValueError as problem:
                wrong = self.errors.invalid_key(problem)
                value = f"is {shown(wrong.value)}, which " if wrong.has_value else ""
                text = f"{wrong.field}: {value}{wrong.problem}"
                raise self.errors.unreadable(item, (text,)) from wrong
            if not same(stored, rendered):
                raise self.errors.unreadable(item, (differs(part, stored, rendered, self.secrets.keys),))

    def key_of(self, item: Item) -> dict[str, AttributeValue]:
        """The primary key of a stored item."""
        key = {one.name: item[one.name] for one in self.table.keys if one.name in item}
        return self.secrets.hiding_key(key)

    def key_matches(self, item: Item) -> bool:
        """Whether the primary key of an item matches the templates of this class."""
        return all(part.matches(item) for part in self.primary_parts)

    def revision_of(self, item: Item) -> str | None:
        """The revision of an item, a text or a number."""
        return None if self.table.revision is None else self.table.revision.of(item)

    @cached_property
    def revision_path(self) -> Path | None:
        """The path of field names by which conditions name the revision; None if it is no number, or a field has it."""
        revision = self.table.revision
        if revision is None or revision.kind == "S":
            return None
        around = next((one for one in self.fields.values() if one.attribute == revision.attribute), None)
        path = revision.path if around is None else (around.name, *revision.path[1:])
        return None if around is None and path[0] in self.fields else path

    def version_of(self, item: Item) -> int | None:
        """The version number in a latest copy or version item. Raises DecodeError."""
        found = item.get(VERSION) if self.versioning is not None else None
        try:
            return version_number(found) if found is not None else None
        except ValueError as problem:
            raise self.errors.unreadable(item, (f"{VERSION}: {problem}",)) from problem

    def expiry_of(self, item: Item) -> int | None:
        """When an item expires, in its unit since the epoch; None for never. Raises DecodeError."""
        if self.expiry is None or self.expires is None:
            return None
        try:
            return self.expiry.time_in(item)
        except ValueError as problem:
            raise self.errors.unreadable(item, (f"{self.expires.name}: {problem}",)) from problem

    def is_expired(self, item: Item, now: float) -> bool:
        """Whether an item has expired. One whose expiry cannot be read has not: loading it raises DecodeError."""
        return self.expiry is not None and self.expiry.is_over(item, now)

    @cached_property
    def bookkeeping(self) -> tuple[str, ...]:
        """The attributes of an item that are no fields, keys or revision: the type, and what tells of its version."""
        kind = () if self.table.type_attribute is None else (self.table.type_attribute,)
        return kind if self.versioning is None else (*kind, VERSION, VERSION_AT, DELETED)

    @cached_property
    def known_attributes(self) -> frozenset[str]:
        """The attributes whose meaning it knows, besides those that every item of its table has."""
        fields = (name for one in self.fields.values() for name in one.attributes)
        return frozenset((*fields, *self.made_up, *(BOOKKEEPING if self.versioning is not None else ())))

    @property
    def deletion_mark(self) -> str | None:
        """The attribute by which what a deletion leaves is told from an entity; None if it leaves nothing."""
        return None if self.versioning is None else DELETED

    def is_tombstone(self, item: Item) -> bool:
        """Whether an item is the tombstone of a deleted versioned entity."""
        return self.versioning is not None and DELETED in item

    def undeleted(self, item: Item | None) -> Item | None:
        """The stored item of an entity; None where nothing is stored, or what a deletion left."""
        return None if item is None or self.is_tombstone(item) else item

    def subject(self, item: Item, known: Mapping[str, Any] | None = None) -> StoredValues:
        """The field values of an item; ``known`` are values that need not be decoded."""
        return StoredValues(self, item, known)


def mapping_of(entity: type[Any]) -> EntityMapping:
    """The mapping of a class.

    Raises:
        DeclarationError: the declaration of the class was refused; the same error for every use.
        UsageError: the class has no table, or is not an entity class.
    """
    own = getattr(entity, "__dict__", {})
    # Its own alone: a subclass inherits the attribute, and is mapped by itself.
    found = own.get(MAPPING)
    if isinstance(found, EntityMapping):
        return found
    if isinstance(failure := own.get(FAILURE), Exception):
        raise failure
    named: object = entity
    if not isinstance(named, type) or named is BaseModel or not issubclass(named, BaseModel | type):
        name = named.__name__ if isinstance(named, type) else repr(named)
        remedy = "use one: class User(Entity, table=...)"
        if named is type(None):
            remedy = "give an entity; session.get() returns None if nothing is stored, and get_one() raises"
        raise UsageError(problem=f"{name} is no entity class", remedy=remedy)
    if issubclass(entity, type):
        raise UsageError(problem="a class was given in place of an object of it", remedy="give an object")
    if not entity.__pydantic_complete__:
        complete(entity)
        return mapping_of(entity)
    raise UsageError(
        problem=f"{entity.__name__} is not mapped to a table",
        remedy=f"declare class {entity.__name__}(Entity, table=..., pk=...), or use the class that has one",
    )
