"""The places of a class in the indexes of its table, and ``when=``: under which condition it is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dynaorm.entity.codec.value import NONE, Codec
from dynaorm.entity.failing import REMEDY
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.marker import GivenWhen
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DynaormError, InvalidValue, UsageError
from dynaorm.item.value import AttributeValue
from dynaorm.late import late
from dynaorm.record import record

# ``when=``: under which condition an entity is in an index, claims a unique value, or is counted in a total.
#
# Rule 1. It is judged on the stored item, and an absent attribute means the default of the field.
# Rule 2. A condition of ``F`` names the fields that it depends on. A function may look at any field of the class.

if TYPE_CHECKING:
    from dynaorm.item import condition, field
    from dynaorm.item.condition import Condition
else:
    late(globals(), field="dynaorm.item.field", condition="dynaorm.item.condition")


@record
class When:
    """A condition as it was declared, and what it means for stored items.

    Attributes:
        owner: what is declared with it: ``Issue.open_issues``.
        given: the declared condition or function.
        fields: the fields that it depends on: those that the condition names; for a function, all of the class.
        condition: the condition on attribute names and attribute values; None for a function.
    """

    owner: str
    given: GivenWhen
    fields: frozenset[str]
    condition: Condition | None = None

    @property
    def named(self) -> frozenset[str]:
        """The fields that a condition names; none for a function, which says nothing about its fields."""
        return self.fields if self.condition is not None else frozenset()

    def holds(self, values: StoredValues) -> bool:
        """Whether it holds for a stored entity.

        Raises:
            DecodeError: the item cannot become an entity.
            InvalidValue: a function fails.
            UsageError: a function looks at a total, which changes without asking the function again.
        """
        if self.condition is not None:
            return condition.holds(self.condition, values.item)
        assert callable(self.given)  # a condition is translated, and is no function
        entity = values.entity
        try:
            return bool(self.given(entity))
        except DynaormError:
            raise
        except Exception as raised:  # noqa: BLE001 - a function of the user's may raise anything
            raise self._failed(values, raised) from values.errors.cause_of_function(raised)

    def _failed(self, values: StoredValues, raised: Exception) -> UsageError:
        keeper = values.keeper_of(raised.name) if isinstance(raised, AttributeError) else None
        if isinstance(raised, AttributeError) and keeper is not None:
            return UsageError(
                problem=f"when= of {self.owner} looks at {raised.name}, which {keeper} keeps without asking it again",
                remedy="let it look at fields that are saved",
            )
        # Only a ValueError says why it refuses a value.
        text = f": {raised}" if isinstance(raised, ValueError) and not values.errors.secrets.fields else ""
        problem = f"when= of {self.owner} raises {type(raised).__name__}{text}"
        entity = type(values.entity).__name__
        return InvalidValue(
            entity=entity, field="", value=None, has_value=False, problem=problem, remedy=REMEDY
        )

    def text(self, secret: frozenset[str] = frozenset()) -> str:
        """The condition in words: ``F.status == 'open'``; nothing for a function, which cannot be shown."""
        return "" if callable(self.given) else field.condition_text(self.given, secret)


def declared_when(owner: str, given: GivenWhen | None, known: frozenset[str]) -> When | None:
    """A condition that is not translated yet: it may depend on every field. None for none."""
    return None if given is None else When(owner, given, known)


# The places of a class in the indexes of its table: where its entities appear, and with which keys.
#
# Rule 1. An entity is in a place if the condition of the place holds and no field of its key is None.
# Rule 2. A class may have several places in one index. They share the key attributes, so an entity is in one at most.
# Rule 3. Two indexes may share a key attribute. An entity that leaves one of them keeps it for the other.


@record
class IndexMapping:
    """One place of a class in an index.

    Attributes:
        name: the name of the index.
        attribute_name: the name of the place, an attribute of the class.
        partition: the parts of the index's partition key.
        sort: the parts of its sort key.
        key_fields: the fields that the key is made of.
        is_computed: the key has a computed or nested field in it.
        when: the condition under which an entity is there; None for every entity.
        moving: the fields that are key attributes themselves, and never None: they decide about no other attribute.
    """

    name: str
    attribute_name: str
    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...]
    key_fields: frozenset[str]
    is_computed: bool = False
    when: When | None = None
    moving: frozenset[str] = frozenset()

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        return self.partition + self.sort

    @property
    def fields(self) -> frozenset[str]:
        """The fields that decide whether an entity is there, and under which key."""
        return self.key_fields if self.when is None else self.key_fields | self.when.fields

    @property
    def deciding(self) -> frozenset[str]:
        """The fields that decide about its made-up attributes."""
        found = self.key_fields - self.moving
        return found if self.when is None else found | self.when.fields

    @property
    def synthetic(self) -> tuple[str, ...]:
        """The attributes that exist only for this index."""
        return tuple(part.attribute.name for part in self.parts if part.synthetic)

    def keys(self, values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        """The made-up key attributes of field values; None if a part is None. The condition is not asked.

        Raises:
            KeyValueError: a value cannot be part of the key.
        """
        found: dict[str, AttributeValue] = {}
        is_in = True
        for part in self.parts:
            # DynamoDB checks a field's own attribute even if the entity is not in the index.
            value = part.value(values) if is_in or not part.synthetic else None
            if value is None:
                is_in = False
            elif part.synthetic:
                found[part.attribute.name] = value
        return found if is_in else None

    def keys_in(self, values: StoredValues) -> dict[str, AttributeValue] | None:
        """The made-up key attributes of an entity; None if it is not in this place. Raises KeyValueError."""
        if self.when is None or self.when.holds(values):
            return self.keys(values)
        for part in self.parts:
            if not part.synthetic:
                part.value(values)  # see keys
        return None


@record
class UndeclaredKey(IndexMapping):
    """A field that is a key of an index in which its class declares no place: only its length is checked."""

    def keys(self, values: Mapping[str, Any]) -> None:
        self.partition[0].value(values)


@record
class StoredComputedField(IndexMapping):
    """The attribute that keeps the value of a computed field: written as an index key is, and read by no query.

    Attributes:
        attribute: its name.
        codec: how the value is stored.
    """

    attribute: str = ""
    codec: Codec = NONE

    @property
    def synthetic(self) -> tuple[str, ...]:
        return (self.attribute,)

    def keys(self, values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        value = values[self.attribute_name]
        if value is None:
            return None
        try:
            return {self.attribute: self.codec.encode(value)}
        except ValueError as problem:
            raise KeyValueError.of(self.attribute_name, value, problem) from problem


@record
class IndexPlaces:
    """All places of a class in one index.

    Attributes:
        name: the name of the index.
        places: the places.
        depends_on: the fields of its keys, and of those of every index that shares a made-up attribute with it,
            directly or through a third. The keys of these indexes are rendered together.
        decided_by: those of them that decide about the made-up attributes.
    """

    name: str
    places: tuple[IndexMapping, ...]
    depends_on: frozenset[str] = frozenset()
    decided_by: frozenset[str] = frozenset()

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that decide about the index keys of an entity."""
        return frozenset(field for place in self.places for field in place.fields)

    @property
    def synthetic(self) -> tuple[str, ...]:
        """The attributes that exist only for this index."""
        return self.places[0].synthetic

    @property
    def is_plain(self) -> bool:
        """Whether the fields of the key alone decide."""
        first = self.places[0]
        return len(self.places) == 1 and first.when is None and not first.is_computed

    def holding(self, values: StoredValues) -> list[tuple[IndexMapping, dict[str, AttributeValue]]]:
        """The places that an entity is in, with its keys there. More than one is an error of the entity."""
        found = ((place, place.keys_in(values)) for place in self.places)
        return [(place, keys) for place, keys in found if keys is not None]


def places_of(indexes: Iterable[IndexMapping]) -> dict[str, IndexPlaces]:
    """The places of a class by index; those that depend on the fields of their keys alone come first."""
    by_name: dict[str, tuple[IndexMapping, ...]] = {}
    for one in indexes:
        by_name[one.name] = (*by_name.get(one.name, ()), one)
    alone = [IndexPlaces(name, places) for name, places in by_name.items()]
    found = [
        _with_fields(one, [place for other in _sharing(one, alone) for place in other.places])
        for one in alone
    ]
    # The condition of a place may look at a field that lives in the key of a plain one, which is rendered first.
    return {one.name: one for one in sorted(found, key=lambda one: not one.is_plain)}


def _with_fields(index: IndexPlaces, places: Iterable[IndexMapping]) -> IndexPlaces:
    """The places of an index with the fields of all these places."""
    places = [*places]
    depends_on = frozenset(field for place in places for field in place.fields)
    return IndexPlaces(
        index.name, index.places, depends_on, frozenset(field for place in places for field in place.deciding)
    )


def _sharing(index: IndexPlaces, indexes: Iterable[IndexPlaces]) -> list[IndexPlaces]:
    """An index and all that share a made-up attribute with it, directly or through a third."""
    names, found, others = {*index.synthetic}, [index], [one for one in indexes if one is not index]
    while sharing := [one for one in others if not names.isdisjoint(one.synthetic)]:
        others = [one for one in others if one not in sharing]
        names.update(name for one in sharing for name in one.synthetic)
        found += sharing
    return found
