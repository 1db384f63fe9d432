"""What a class declares besides its fields: places in indexes, unique constraints, totals; and ``when=`` of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from dynaorm.entity.codec.value import NONE, Codec
from dynaorm.entity.failing import REMEDY, FunctionFailed
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.secret import masked
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.marker import Declaration, GivenWhen
from dynaorm.entity.table import Table
from dynaorm.entity.template import KeyValueError
from dynaorm.entity.text.scalar import Scalar
from dynaorm.errors import DynaormError, InvalidValue, UsageError
from dynaorm.item.value import AttributeValue, Item
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


# A unique constraint, and the key of the guard item that holds one of its values.
#
# A constraint may have key templates of its own, which another library renders too. For any other constraint,
# partition key and sort key are the same text, ``name#value``. A single value is not escaped: a name contains no
# ``#``, so the first one ends it. The parts of a composite value are joined by ``#``, with ``#`` and ``%`` inside them
# escaped. If the text is longer than 1024 bytes (the limit of a sort key), or the value begins with ``sha256:``, it is
# ``name#sha256:<hex>``.

_LIMIT: Final = 1024
_HASHED: Final = "sha256:"


class GuardKey(NamedTuple):
    """The partition key and the sort key of a guard item. Tables without a sort key use the first alone."""

    partition: str
    sort: str

    def in_table(self, home: Table) -> dict[str, AttributeValue]:
        """The primary key of the guard item in its table."""
        partition: AttributeValue = {"S": self.partition}
        if home.sk is None:
            return {home.pk.name: partition}
        return {home.pk.name: partition, home.sk.name: {"S": self.sort}}


@record
class Constraint:
    """A tuple of fields whose values are unique among live entities.

    Attributes:
        name: the part of the guard's key before ``#``.
        fields: the fields, computed and nested ones too, of the value; those of its scope come first.
        scalars: their types, in the same order.
        normalize: applied to the value of the last field before comparing.
        when: an entity for which it does not hold claims nothing.
        shared: other classes of the table may claim values of the same constraint.
        secret: the fields whose values messages do not show.
        parts: the guard's own partition and sort key; empty for the key that begins with the name.
        stored: the stored fields that the value is made of.
    """

    name: str
    fields: tuple[str, ...]
    scalars: tuple[Scalar, ...]
    normalize: Callable[[Any], Any] | None = None
    when: When | None = None
    shared: bool = False
    secret: frozenset[str] = frozenset()
    parts: tuple[KeyPart, ...] = ()
    stored: frozenset[str] = frozenset()

    @property
    def depends_on(self) -> frozenset[str]:
        """The fields that decide which value is claimed, if any."""
        return self.stored if self.when is None else self.stored | self.when.fields

    @property
    def exact(self) -> bool:
        """Whether ``normalize`` gives the same result after a save and a load, which turns times into UTC."""
        return self.normalize is None or self.scalars[-1].python is str

    def value_of(self, values: Mapping[str, Any]) -> Any:
        """The value for messages: that of one field, or a tuple of all. Secrets are masked."""
        if len(self.fields) == 1:
            found = values[self.fields[0]]
            return masked(found) if self.secret else found
        return tuple(masked(values[name]) if name in self.secret else values[name] for name in self.fields)

    def matches(self, key: Item) -> bool:
        """Whether a primary key could be that of a guard item with key templates of its own."""
        return bool(self.parts) and all(part.matches(key) for part in self.parts)

    def guard_key(self, values: Mapping[str, Any]) -> GuardKey | None:
        """The guard item's key for these field values; None if any of them is None.

        Raises:
            ValueError: a value is not of its field's type, or ``normalize`` fails.
            KeyValueError: it cannot be part of the guard's own key.
        """
        value = values[self.fields[-1]]
        if value is not None and self.normalize is not None:
            try:
                value = self.normalize(value)
            except ValueError:
                raise
            except Exception as raised:
                raise FunctionFailed.of("normalize=", raised) from raised
        if self.parts:
            return self._own_key(values, value)
        text = self._text(values, value)
        return None if text is None else GuardKey(text, text)

    def _own_key(self, values: Mapping[str, Any], last: Any) -> GuardKey | None:
        """The key that the constraint's templates make. ``last``: the value of the last field, normalised."""
        values = {**{name: values[name] for name in self.fields}, self.fields[-1]: last}
        found = [part.value(values) for part in self.parts]
        texts = [str(one["S"]) for one in found if one is not None]
        return GuardKey(texts[0], texts[-1]) if len(texts) == len(found) else None

    def _text(self, values: Mapping[str, Any], value: Any) -> str | None:
        """The text of both keys of the guard item. ``value``: that of the last field, normalised."""
        scope = self._scope(values) if len(self.fields) > 1 else ""
        if value is None or scope is None:
            return None
        text = self.scalars[-1].to_text(value)
        if scope:
            text = scope + _escape(text)
        key = f"{self.name}#{text}"
        # A character is at most four bytes.
        # A value that begins like a hash is hashed, too: otherwise it could be the key of another value.
        if (len(key) > _LIMIT // 4 and len(key.encode()) > _LIMIT) or text.startswith(_HASHED):
            return f"{self.name}#{_HASHED}{sha256(text.encode()).hexdigest()}"
        return key

    def _scope(self, values: Mapping[str, Any]) -> str | None:
        """The text before that of the last field; None if any of these fields is None."""
        texts: list[str] = []
        for name, scalar in zip(self.fields[:-1], self.scalars, strict=False):
            if values[name] is None:
                return None
            texts.append(_escape(scalar.to_text(values[name])) + "#")
        return "".join(texts)


def _escape(text: str) -> str:
    # % first, or the %23 of a # would be escaped again.
    return text.replace("%", "%25").replace("#", "%23")


# Counts and sums over the entities of one class, stored in entities of another.
#
# A write that adds, changes or removes a counted entity updates the totals in the same transaction.


class Aggregate(Declaration):
    """Totals over the entities of this class, stored in fields of a target entity.

    ``in_group = Aggregate(Group, count="members", sum={"hours": "hours"})`` in ``class Membership`` stores in the field
    ``members`` of a ``Group`` the number of memberships with its ``group_id``, and in ``hours`` the sum of their hours.
    Insert, update, overwrite, delete, move and restore update the totals in the same transaction. Nothing else may
    write these fields, which are numbers with the default 0. A write that would break a bound
    of theirs (``ge``, ``gt``, ``le``, ``lt``) raises ``InvalidValue``.

    If any of the key fields is None, the entity is not counted. A None in a summed field adds 0. If every target field
    outside the key has a default, the first entity that refers to a missing target creates it; otherwise such a write
    raises ``EntityNotFound``. Deleting a target deletes its totals; a target created again begins at 0.

    Args:
        target: the entity class that has the totals.
        count: the target's field that holds the number of entities.
        sum: number fields of this class, computed and nested ones too, to the target's fields that hold their sums:
            ``{"hours": "hours"}``.
        key: fields of the target's primary key to the fields of this class with their values, computed and nested ones
            too; default the same names.
        when: a condition (``F.status == "active"``), or a pure function of the stored fields. An entity for which it
            does not hold is not counted.
        restrict: a target whose totals are not 0 can be neither deleted nor moved: ``StillCounted``.

    Examples:
        >>> class Group(Entity, table=app, pk="GROUP#{group_id}", sk="GROUP"):
        ...     group_id: str
        ...     members: int = 0
        >>> class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="MEMBER#{user_id}"):
        ...     group_id: str
        ...     user_id: str
        ...     in_group = Aggregate(Group, count="members")
        >>> saved = session.save_many([Membership(group_id="g", user_id=one) for one in "ab"])
        >>> session.get_one(Group, group_id="g").members
        2
    """

    def __init__(
        self,
        target: type[Any],
        *,
        count: str | None = None,
        sum: Mapping[str, str] | None = None,
        key: Mapping[str, str] | None = None,
        when: GivenWhen | None = None,
        restrict: bool = False,
    ) -> None:
        super().__init__()
        self.target = target
        self.count = count
        self.sums = sum if sum is not None else {}
        self.key = key if key is not None else {}
        self.when = when
        self.restrict = restrict

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self

    def __repr__(self) -> str:
        keywords: dict[str, object] = {
            "count": self.count,
            "sum": self.sums or None,
            "key": self.key or None,
            "when": self.when,
            "restrict": self.restrict or None,
        }
        given = (f"{name}={value!r}" for name, value in keywords.items() if value is not None)
        return f"Aggregate({', '.join([getattr(self.target, '__name__', repr(self.target)), *given])})"


@record
class AggregateMapping:
    """The totals over one class (the source) in entities of another (the target).

    Attributes:
        name: the attribute name of the declaration.
        target: the class with the totals.
        key: every field of the target's primary key, with the field of the source that holds its value, or from which
            it is computed.
        count: the target's field that holds the count, if there is one.
        sums: fields of the source, or computed ones, each with the target's field that holds its sum.
        fields: the stored fields of the source that the key and the sums are made of.
        named: those of them that the declaration names. A computed field without ``Computed(of=...)`` names none.
        when: an entity for which it does not hold is not counted.
        restrict: a target can be deleted only while these totals are 0.
    """

    name: str
    target: type[Any]
    key: Mapping[str, str]
    count: str | None
    sums: Mapping[str, str]
    fields: frozenset[str]
    named: frozenset[str]
    when: When | None
    restrict: bool = False

    @cached_property
    def maintained(self) -> tuple[str, ...]:
        """The fields of the target that hold the totals."""
        return tuple(([self.count] if self.count is not None else []) + list(self.sums.values()))

    @property
    def named_fields(self) -> frozenset[str]:
        """The fields that the declaration names, those in ``when`` among them."""
        return self.named if self.when is None else self.named | self.when.named

    @cached_property
    def depends_on(self) -> frozenset[str]:
        """The fields that the totals depend on."""
        return self.fields if self.when is None else self.fields | self.when.fields
