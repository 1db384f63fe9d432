"""Turns paths of field names into paths of attribute names, and Python values into attribute values of the field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeGuard

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import NULL, TEXT, Member, StoredField, encode_at, optional, scalar_codec
from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import validated_field, values_in
from dynaorm.entity.text.scalar import SCALARS
from dynaorm.errors import UnknownField, UsageError
from dynaorm.item.condition import Condition, LocalCondition, paths_of, with_more
from dynaorm.item.path import Path, PathSource, Role, dotted, value_at
from dynaorm.item.resolve import resolve
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import replace


def resolve_condition(
    mapping: EntityMapping, condition: Condition, *, computed: bool = False, revision: bool = True
) -> Condition:
    """A condition in attribute names and attribute values. ``computed``, ``revision``: as in ``FieldResolver``.

    It is judged on loaded values if it names a computed field, or one that is stored in several spellings.
    """
    found = resolve(condition, FieldResolver(mapping, computed=computed, revision=revision))
    if not mapping.judged:
        return found
    paths = paths_of(condition) - {mapping.revision_path}
    names = sorted({str(path[0]) for path in paths} & mapping.judged)
    if not names:
        return found
    fields = [mapping.fields.get(name) or mapping.computed[name].as_field for name in names]
    attributes = frozenset(name for one in fields for name in one.attributes)
    return LocalCondition(found, attributes, lambda item: _with_loaded(mapping, fields, item))


def _with_loaded(mapping: EntityMapping, fields: Iterable[FieldMapping], item: Item) -> Item:
    """An item with the values of some fields, computed ones too, as dynaorm stores what loads. Raises DecodeError."""
    there = [one for one in fields if one.name in mapping.computed or one.stored_in(item) is not None]
    values = values_in(mapping, item, [one.name for one in there])
    encoded = {one.attribute: one.encode(value) for one, value in zip(there, values, strict=True)}
    return with_more(item, {name: value for name, value in encoded.items() if value is not None})


_REVISION: Final = FieldMapping(
    "", "", optional(scalar_codec(SCALARS[int])), required=False, defaults_to_none=True
)
"""The number that every write raises, as a field. An item that no library has written yet has none."""
_ROUNDING: Final = Decimal("1E-12")  # of functions that compute with floats


class FieldResolver:
    """Resolves the paths and values of ``F`` expressions against one class.

    Args:
        mapping: the class.
        computed: computed fields are allowed, because the condition is evaluated in memory.
        revision: the number that every write raises is allowed, as a field that may be absent: the paths are those of a
            condition, and nothing follows from it but whether something is written or found.

    Raises:
        UnknownField: a step of a path is not a field.
        InvalidValue: a value is not of its field's type.
        UsageError: a field has no attribute to compare or change.
    """

    __slots__ = ("_computed", "_mapping", "_revision")

    def __init__(self, mapping: EntityMapping, *, computed: bool = False, revision: bool = False) -> None:
        self._mapping = mapping
        self._computed = computed
        self._revision = revision

    def attribute(self, path: Path) -> Path:
        return self._walk(path)[0]

    def sources(self, path: Path) -> tuple[PathSource, ...]:
        """Where the value of a path comes from: the attribute, one under a former name, or what absence stands for."""
        self._walk(path)
        field, rest = self.field(path), self._rest(path)
        names = self._places(field)
        found = [PathSource(stored=name, missing=names[:place]) for place, name in enumerate(names)]
        codec, is_stored = field.codec, field.is_always_stored and not field.formerly
        if (value := self._absent_value(field)) is not None:
            found.append(PathSource(value=value, missing=names))
        for step in rest:
            attribute, inner = self._step(codec, step, path)
            member = _member(codec, step)
            places = (attribute, *(member.formerly if member else ()))
            absent = _absent(codec, step)
            found = [
                part
                for source in found
                for part in _inside(source, places, absent, is_stored=is_stored, not_null=codec.nullable)
            ]
            codec, is_stored = inner, False
        return tuple(found)

    def start(self, path: Path) -> AttributeValue | None:
        """The value that a change of an absent attribute starts from; None for an empty one, or zero."""
        value = self.absent_value(path)
        return None if value in (None, NULL, {"N": "0"}, {"L": []}) else value

    def absent_value(self, path: Path) -> AttributeValue | None:
        """The attribute value that absence stands for at a path; None where that is no fixed value."""
        if len(path) == 1:
            return self._absent_value(self.field(path))
        return _absent(self.codec(path[:-1]), path[-1])

    def encode(self, path: Path, value: object, *, role: Role = "value") -> AttributeValue:
        encoded = self._encoded(path, value, role)
        if role == "addend" and not _adds_up(self.codec(path), value, encoded):
            raise UsageError(
                problem=f"{dotted(path)} is stored as a number that does not add up as its values do",
                remedy="load the entity, change the field and save it",
            )
        return encoded

    def _encoded(self, path: Path, value: object, role: Role) -> AttributeValue:
        codec = self._walk(path)[1]
        name = str(path[0])
        if codec.opaque and role not in ("value", "addend") and value is not None:
            raise UsageError(
                problem=f"{dotted(path)} is stored as {codec.form}, which DynamoDB cannot compare or search",
                remedy=f"ask F.{dotted(path)}.exists() or .missing(), and compare what was loaded",
            )
        pieces = role == "text" or (role == "element" and codec.element is None)
        if pieces and isinstance(value, bytes) and "B" in codec.tags:
            return {"B": value}
        is_text = pieces and isinstance(value, str) and "S" in codec.tags
        if role == "element" and "M" in codec.tags and "L" not in codec.tags and not is_text:
            raise self._mapping.errors.invalid(
                name,
                value,
                "is asked of a map, which contains keys, not members",
                f"ask F.{name}[key].exists()",
            )
        if role == "addend" and codec.is_set and value is not None and not isinstance(value, set | frozenset):
            value = self._alone(name, value)
        one_member = codec.is_set and value is not None and not isinstance(value, set | frozenset)
        own = codec.element if codec.element is not None and (role == "element" or one_member) else codec
        wanted = TEXT if is_text else own
        if value is None and not wanted.nullable:
            raise self._mapping.errors.invalid(
                name,
                value,
                "is None, which the field cannot be",
                f"ask for F.{name}.missing(), or give a value",
            )
        try:
            if role == "bound" and wanted.bound is not None and value is not None:
                return wanted.bound(value)
            # What a change stores is a part of the attribute; what a condition compares is a value of its own.
            is_part = role in ("value", "element", "addend")
            return encode_at(wanted, value, len(path) + (wanted is codec.element) if is_part else 1)
        except (ValueError, RecursionError) as problem:
            raise self._mapping.errors.invalid(name, value, problem) from self._mapping.errors.cause_of(
                name, problem
            )

    def _alone(self, name: str, value: object) -> object:
        """The set of one member."""
        try:
            return {value}
        except TypeError as problem:
            raise self._mapping.errors.invalid(name, value, "is not a member of a set") from problem

    def refuse_other_form(self, path: Path, other: Path) -> None:
        """Raises UsageError if two fields are stored in different forms: DynamoDB compares what is stored."""
        one, two = self.codec(path), self.codec(other)
        if one.form == two.form and not one.opaque:
            return
        forms = " and ".join(found.form or "dynaorm writes it" for found in (one, two))
        raise UsageError(
            problem=f"{dotted(path)} and {dotted(other)} cannot be compared: they are stored as {forms}",
            remedy="compare what was loaded, or store both in one form that sorts",
        )

    def codec(self, path: Path) -> Codec:
        """The codec of the value at a path."""
        return self._walk(path)[1]

    def member(self, path: Path) -> Member | None:
        """The field at a path; None for a part of a dict or list."""
        return self.field(path) if len(path) == 1 else _member(self.codec(path[:-1]), path[-1])

    def field(self, path: Path) -> FieldMapping:
        """The field a path begins with."""
        name = str(path[0])
        mapping, field = self._mapping, self._mapping.fields.get(name)
        if path == mapping.revision_path:
            return self._revision_field(path)
        if field is not None:
            return field
        if name not in mapping.entity.model_computed_fields:
            raise UnknownField(entity=mapping.entity.__name__, field=name, known=tuple(mapping.fields))
        if self._computed and name in mapping.computed:
            return mapping.computed[name].as_field
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{name} is computed and not stored, so DynamoDB cannot look at it",
            remedy="name the fields that it is computed from. A filter of a query takes a computed field whose value "
            "has one text, and when= a function",
        )

    def _walk(self, path: Path) -> tuple[Path, Codec]:
        field = self.field(path)
        if field.in_key:
            raise UsageError(
                problem=f"{self._mapping.entity.__name__}.{field.name} lives in the key alone",
                remedy="a condition or change can only name fields stored as attributes",
            )
        found: list[str | int] = [*self._places(field)[0]]
        codec = field.codec
        for step in self._rest(path):
            attribute, codec = self._step(codec, step, path)
            found.append(attribute)
        return tuple(found), codec

    def _revision_field(self, path: Path) -> FieldMapping:
        if self._revision:
            return _REVISION
        raise UsageError(
            problem=f"{dotted(path)} is the revision of {self._mapping.table}, which every write raises",
            remedy="name it in a condition of a call; inspect(entity).revision tells it",
        )

    def _places(self, field: FieldMapping) -> tuple[Path, ...]:
        """Where the value of a field may be in an item: under its present name, or a former one."""
        if field is _REVISION and self._mapping.table.revision is not None:
            return (self._mapping.table.revision.path,)
        return tuple((name,) for name in field.attributes)

    def _rest(self, path: Path) -> Path:
        """The steps that lead on from a field."""
        return () if path == self._mapping.revision_path else path[1:]

    def _absent_value(self, field: FieldMapping) -> AttributeValue | None:
        """The attribute value that the absence of a field stands for; None where that is no fixed value."""
        try:
            if field.default is None or field.empty_is_absent:
                value = field.absent_value
            else:
                value = field.codec.encode(self._loaded_default(field))
        except (ValueError, KeyError):
            return None  # an absent attribute does not load, or its value depends on other fields
        else:
            return value

    def _loaded_default(self, field: FieldMapping) -> object:
        if not validates_default(self._mapping.entity, field.name):
            return field.default
        return validated_field(self._mapping, field.name, {field.name: field.default})

    def _step(self, codec: Codec, step: Any, path: Path) -> tuple[str | int, Codec]:
        if isinstance(step, str) and codec.members is not None:
            if step in codec.members:
                return codec.members[step].attribute, codec.members[step].codec
            raise UnknownField(
                entity=f"{self._mapping.entity.__name__}.{path[0]}", field=step, known=tuple(codec.members)
            )
        if codec.element is not None and not codec.is_set:
            if _is_index(step) and (not codec.tags or "L" in codec.tags):
                return step, codec.element
            if (not codec.tags or "M" in codec.tags) and (name := _name_of(codec, step)) is not None:
                return name, codec.element
        raise UsageError(
            problem=f"{self._mapping.entity.__name__}.{path[0]} has no part {step!r}",
            remedy="name a field of a nested model, a key of a dict, or an index of a list from 0 up",
        )


def _is_index(step: Any) -> TypeGuard[int]:
    return isinstance(step, int) and step >= 0


def _name_of(codec: Codec, key: Any) -> str | None:
    """The name of a member of a map; None if it is no key of the dict."""
    if codec.key is None:
        return key if isinstance(key, str) else None
    try:
        return codec.key(key)
    except ValueError:
        return None


def _adds_up(codec: Codec, value: Any, encoded: AttributeValue) -> bool:
    """Whether DynamoDB's sum of encoded values is the encoded sum, as far as adding this value shows it."""
    if "N" not in encoded or (codec.tags - {"NULL"} and not isinstance(value, datetime)):
        return True
    try:
        none, both = codec.encode(value - value), codec.encode(value + value)
        wrong = abs(Decimal(both["N"]) - 2 * Decimal(encoded["N"])) + abs(Decimal(none["N"]))
        return wrong <= abs(Decimal(both["N"])) * _ROUNDING
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def _member(codec: Codec, step: str | int) -> Member | None:
    """The member of a value that a step leads to; None in a list, and in a dict without empty sets."""
    if codec.members is not None:
        return codec.members.get(step) if isinstance(step, str) else None
    if codec.element is None or "M" not in codec.tags:
        return None
    part = StoredField("", str(step), codec.element)
    return part if part.empty_is_absent else None


def _absent(codec: Codec, step: str | int) -> AttributeValue | None:
    """What the absence of a part of a value means. An absent key of a dict counts as None if its values may be None."""
    if (member := _member(codec, step)) is not None:
        return member.absent()
    return NULL if codec.element is not None and codec.element.nullable else None


def _inside(
    source: PathSource,
    names: tuple[str | int, ...],
    absent: AttributeValue | None,
    *,
    is_stored: bool,
    not_null: bool,
) -> Iterator[PathSource]:
    """The sources of a part of a value. ``is_stored``: an item that loads has the whole."""
    if source.stored is None:
        whole = {"whole": source.value or NULL}
        parts = (value_at(whole, ("whole", name)) for name in names)
        value = next((part for part in parts if part is not None), None)
        if value is None and source.value != NULL:
            value = absent
        if value is not None:
            yield replace(source, value=value)
        return
    parent = source.stored
    paths = tuple((*parent, name) for name in names)
    for place, path in enumerate(paths):
        yield PathSource(stored=path, missing=(*source.missing, *paths[:place]))
    if absent is not None:
        yield PathSource(
            value=absent,
            missing=(*source.missing, *paths),
            within=None if is_stored else parent,
            not_null=not_null,
        )
