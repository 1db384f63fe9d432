"""What a mapped class is: its fields, keys, indexes, constraints and totals, and the facts that follow from these.

Rule 1. A mapping is built once per class and never changes.
Rule 2. It holds what works with items and values, and does none of that work itself: ``encoder``, ``loader``,
        ``primary_key`` and ``errors`` know what they need of the class, and nothing of the mapping.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dynaorm.entity.expiry import Expiry
from dynaorm.entity.key_part import BOOKKEEPING, DELETED, VERSION, VERSION_AT, KeyPart, Versioning
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import ComputedValue, FieldMapping, KeyFields, key_fields_of, with_computed
from dynaorm.entity.mapping.index_places import (
    IndexMapping,
    IndexPlaces,
    StoredComputedField,
    UndeclaredKey,
    places_of,
)
from dynaorm.entity.mapping.item_encoder import ItemEncoder
from dynaorm.entity.mapping.loader import Loader
from dynaorm.entity.mapping.primary_key import PrimaryKey
from dynaorm.entity.mapping.secret import ClassErrors, Secrets, secrets_of
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.marker import complete
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.item.path import Path
from dynaorm.item.value import AttributeValue, Item
from dynaorm.late import late
from dynaorm.record import record

# Which values of the type attribute mean a class, and who says the type of a new entity.
#
# Rule 1. A value that a class declares means that class, whatever other classes of the table take.
# Rule 2. At most one class of a family takes values that no class declares. A class that is declared later may declare
#         one of them: items that have it are of that class from then on.


@record
class Discriminator:
    """What the type attribute says of the items of a class.

    Attributes:
        names: the values that mean the class: its name and its former ones, or those that its own field may have.
        field: the field that is the type attribute; empty where dynaorm writes the name of the class.
        accepts_unknown: every value that no class of the table declares means this class, too.
    """

    names: tuple[str, ...]
    field: str = ""
    accepts_unknown: bool = False


if TYPE_CHECKING:
    from dynaorm.entity.mapping import exact, validation_rules
    from dynaorm.entity.mapping import field as dependences
    from dynaorm.entity.mapping.exact import StrictEncoder
    from dynaorm.entity.mapping.field import Dependence
    from dynaorm.entity.mapping.validation_rules import ClassRules
else:
    late(
        globals(),
        validation_rules="dynaorm.entity.mapping.validation_rules",
        dependences="dynaorm.entity.mapping.field",
        exact="dynaorm.entity.mapping.exact",
    )

# The class attributes with its mapping, or with the error that refused it.
MAPPING: Final = "__dynaorm_mapping__"
FAILURE: Final = "__dynaorm_failure__"

_NOTHING: Final[Mapping[str, str]] = {}
_NO_NAMES: Final[frozenset[str]] = frozenset()


@record(eq=False)
class DerivedFields:
    """The stored fields of a class that decide what follows from an entity.

    Attributes:
        computed_key: those that the primary key depends on because it has computed or nested fields in it.
        indexes: those of the keys of each index.
        guards: those of the guard item of each constraint, which expires with its owner.
        totals: those of what each ``Aggregate`` counts and sums.
        versions: those that a new version is kept of; none if the class keeps no versions.
        conditions: those at which any ``when=`` looks.
        each: those of each key, index, guard, total, version and expiry.
    """

    computed_key: frozenset[str]
    indexes: Mapping[str, frozenset[str]]
    guards: Mapping[str, frozenset[str]]
    totals: Mapping[str, frozenset[str]]
    versions: frozenset[str]
    conditions: frozenset[str]
    each: tuple[frozenset[str], ...]


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
        undeclared: its fields that are keys of indexes in which it declares no place, by name.
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
    undeclared: Mapping[str, UndeclaredKey] = dataclasses.field(default_factory=dict)
    stored: Mapping[str, StoredComputedField] = dataclasses.field(default_factory=dict)
    formerly: tuple[str, ...] = ()
    type_names: Discriminator = Discriminator(())

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
        return validation_rules.rules_of(self.entity)

    @cached_property
    def dependence(self) -> Dependence:
        """What depends on what: the one answer for every write that asks what a change of a field may change."""
        return dependences.dependence_of(self.entity, self.computed, self.made_of.each)

    @cached_property
    def made_of(self) -> DerivedFields:
        """The stored fields that its keys, guards, versions and totals are made of."""
        names, versioning = self.key_fields, self.versioning
        computed_key = _NO_NAMES.union(
            *(self.computed[name].fields for name in names if name in self.computed)
        )
        key = computed_key.union(name for name in names if name not in self.computed)
        expiry = _NO_NAMES if self.expires is None else frozenset({self.expires.name})
        indexes = {name: one.depends_on for name, one in self.places.items()}
        guards = {name: one.depends_on | expiry for name, one in self.constraints.items()}
        totals = {name: one.depends_on for name, one in self.aggregates.items()}
        versions = _NO_NAMES
        if versioning is not None:
            versions = frozenset(versioning.fields or self.entity.model_fields)
        each = (key, *indexes.values(), *guards.values(), *totals.values(), versions, expiry)
        whens = [index.when for index in self.indexes.values()]
        whens += [constraint.when for constraint in self.constraints.values()]
        whens += [aggregate.when for aggregate in self.aggregates.values()]
        conditions = _NO_NAMES.union(*(when.fields for when in whens if when is not None))
        return DerivedFields(
            computed_key,
            indexes,
            guards,
            totals,
            versions,
            conditions,
            tuple(dict.fromkeys(filter(None, each))),
        )

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
            frozenset(one.attribute for one in self.kept.values()) | self.synthetic
            if self.kept
            else _NO_NAMES
        )

    @cached_property
    def places(self) -> Mapping[str, IndexPlaces]:
        """Its places by index; those that depend on the fields of their keys alone come first.

        An attribute that keeps a computed field is one, too: it follows from an entity as the key of an index does.
        """
        return places_of((*self.indexes.values(), *self.undeclared.values(), *self.stored.values()))

    @cached_property
    def synthetic(self) -> frozenset[str]:
        """The attributes that follow from its fields: the key attributes of its indexes, and stored computed fields."""
        return frozenset(name for index in self.places.values() for name in index.synthetic)

    @cached_property
    def synthetic_keys(self) -> frozenset[str]:
        """The key attributes of its indexes that are no field's own attribute."""
        return frozenset(name for index in self.indexes.values() for name in index.synthetic)

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
    def judged(self) -> frozenset[str]:
        """The fields whose values DynamoDB cannot compare: computed ones, and those stored in several spellings."""
        spelled = (name for name, one in self.fields.items() if one.codec.has_spellings)
        return frozenset((*self.computed, *spelled))

    @cached_property
    def secrets(self) -> Secrets:
        """Its secret fields, and the key attributes that have one in them."""
        stored = {name: one.attribute for name, one in self.stored.items()}
        claimed = {name: one.fields for name, one in self.constraints.items()}
        return secrets_of(self.entity, self.computed, tuple(self.key_parts()), claimed, stored=stored)

    @property
    def maintained(self) -> Mapping[str, str]:
        """The fields that hold totals: name to the ``Aggregate`` that maintains it, such as ``Membership.in_group``."""
        return self.table.rules.maintained.get(self.name, _NOTHING)

    @property
    def managed(self) -> frozenset[str]:
        """The fields that callers do not write: totals, and times that sessions keep."""
        return frozenset((*self.maintained, *self.kept))

    @cached_property
    def derived_fields(self) -> frozenset[str]:
        """The fields that keys, indexes, constraints, versions, expiry or totals are made of."""
        return _NO_NAMES.union(*self.made_of.each)

    @cached_property
    def static_defaults(self) -> Mapping[str, Any]:
        """The fields with a default that is a value, and not None."""
        found = ((name, info.default) for name, info in self.entity.model_fields.items())
        return {name: value for name, value in found if value is not None and value is not PydanticUndefined}

    @cached_property
    def revision_path(self) -> Path | None:
        """The path of field names by which conditions name the revision; None if it is no number, or a field has it."""
        revision = self.table.revision
        if revision is None or revision.kind == "S":
            return None
        return None if revision.attribute in self.fields else revision.path

    @cached_property
    def bookkeeping(self) -> tuple[str, ...]:
        """The attributes of an item that are no fields, keys or revision: the type, and what tells of its version."""
        kind = () if self.table.type_attribute is None else (self.table.type_attribute,)
        return kind if self.versioning is None else (*kind, VERSION, VERSION_AT, DELETED)

    @cached_property
    def known_attributes(self) -> frozenset[str]:
        """The attributes whose meaning it knows, besides those that every item of its table has."""
        fields = (name for field in self.fields.values() for name in field.attributes)
        return frozenset((*fields, *self.synthetic, *(BOOKKEEPING if self.versioning is not None else ())))

    @property
    def deletion_mark(self) -> str | None:
        """The attribute by which what a deletion leaves is told from an entity; None if it leaves nothing."""
        return None if self.versioning is None else DELETED

    def key_parts(self) -> Iterator[KeyPart]:
        """Every key part: the primary key's, then those of the indexes."""
        yield from self.primary_parts
        for index in self.indexes.values():
            yield from index.parts

    # -- what works with its values and items --------------------------------------------------------------------------

    @cached_property
    def errors(self) -> ClassErrors:
        return ClassErrors(self.entity, self.secrets, self.key_of)

    @cached_property
    def primary_key(self) -> PrimaryKey:
        return PrimaryKey(self.table, self.primary_parts, self.key_fields, self.computed, self.errors)

    @cached_property
    def encoder(self) -> ItemEncoder:
        return ItemEncoder(self.fields, self.errors, self._compiled_exact)

    def _compiled_exact(self) -> StrictEncoder | None:
        # A computed field may look into a container, which may change until its key is rendered.
        if not self.is_exact or self.computed:
            return None
        return exact.exact_encoder_of(self.fields, self.rules, self.entity.__pydantic_core_schema__)

    @cached_property
    def loader(self) -> Loader:
        return Loader(
            self.entity,
            self.fields,
            self._only_in_keys(),
            self.primary_key,
            self.versioning is not None,
            self.expires,
            self.expiry,
            self.encoder,
            self.errors,
        )

    def _only_in_keys(self) -> KeyFields:
        names = [name for name, field in self.fields.items() if field.in_key]
        # An item need not have the key of any other index.
        plain = (index.places[0] for index in self.places.values() if index.is_plain)
        return key_fields_of(names, self.primary_parts, (part for place in plain for part in place.parts))

    def with_computed(self, values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
        """Field values with those of the computed ones among some names. Raises KeyValueError."""
        if not self.computed:
            return values
        return with_computed(self.computed, values, names, self.secrets.fields)

    def subject(self, item: Item, known: Mapping[str, Any] | None = None) -> StoredValues:
        """The field values of an item; ``known`` are values that need not be decoded."""
        return StoredValues(self, item, known)

    # -- what an item says, without its fields -------------------------------------------------------------------------

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

    def is_expired(self, item: Item, now: float) -> bool:
        """Whether an item has expired. One whose expiry cannot be read has not: loading it raises DecodeError."""
        return self.expiry is not None and self.expiry.is_over(item, now)

    def is_tombstone(self, item: Item) -> bool:
        """Whether an item is the tombstone of a deleted versioned entity."""
        return self.versioning is not None and DELETED in item

    def undeleted(self, item: Item | None) -> Item | None:
        """The stored item of an entity; None where nothing is stored, or what a deletion left."""
        return None if item is None or self.is_tombstone(item) else item


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
        name = named.__name__ if isinstance(named, type) else shown(named)
        remedy = "use one: class User(Entity, table=...)"
        if named is type(None):
            remedy = "give an entity; session.get() returns None if nothing is stored, and get_one() raises"
        raise UsageError(problem=f"{name} is not an entity class", remedy=remedy)
    if issubclass(entity, type):
        raise UsageError(problem="a class was given in place of an object of it", remedy="give an object")
    if not entity.__pydantic_complete__:
        complete(entity)
        return mapping_of(entity)
    raise UsageError(
        problem=f"{entity.__name__} is not mapped to a table",
        remedy=f"declare class {entity.__name__}(Entity, table=..., pk=...), or use the class that has one",
    )
