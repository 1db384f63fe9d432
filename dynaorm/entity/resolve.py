"""Turns paths of field names into paths of attribute names, and Python values into attribute values of the field."""

from typing import Literal

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import UnknownField, UsageError
from dynaorm.item.path import Path
from dynaorm.item.value import AttributeValue, Item


class FieldResolver:
    """Resolves the paths and values of ``F`` expressions against one class.

    Given a stored item, it uses the attribute names that the item has, including former ones.

    Raises:
        UnknownField: a step of a path is not a field.
        InvalidValue: a value is not of its field's type.
        UsageError: a field has no attribute to compare or change.
    """

    __slots__ = ("_item", "_mapping")

    def __init__(self, mapping: EntityMapping, item: Item | None = None) -> None:
        self._mapping = mapping
        self._item = item

    def attribute(self, path: Path) -> Path:
        return self._walk(path)[0]

    def encode(
        self, path: Path, value: object, *, role: Literal["value", "element", "text"] = "value"
    ) -> AttributeValue:
        codec = self._walk(path)[1]
        name = str(path[0])
        pieces = role == "text" or (role == "element" and codec.element is None)
        if pieces and isinstance(value, str) and "S" in codec.tags:
            return {"S": value}
        if pieces and isinstance(value, bytes) and "B" in codec.tags:
            return {"B": value}
        if role == "element" and "M" in codec.tags:
            raise self._mapping.invalid(
                name,
                value,
                "is asked of a map, which contains keys, not members",
                f"ask F.{name}[key].exists()",
            )
        one_member = codec.is_set and value is not None and not isinstance(value, set | frozenset)
        wanted = codec.element if codec.element is not None and (role == "element" or one_member) else codec
        if value is None and not wanted.nullable:
            raise self._mapping.invalid(
                name,
                value,
                "is None, which the field cannot be",
                f"ask for F.{name}.missing(), or give a value",
            )
        try:
            return wanted.encode(value)
        except ValueError as problem:
            raise self._mapping.invalid(name, value, str(problem)) from self._mapping.cause_of(name, problem)

    def codec(self, path: Path) -> Codec:
        """The codec of the value at a path."""
        return self._walk(path)[1]

    def field(self, path: Path) -> FieldMapping:
        """The field a path begins with."""
        name = str(path[0])
        field = self._mapping.fields.get(name)
        if field is None:
            raise UnknownField(
                entity=self._mapping.entity.__name__, field=name, known=tuple(self._mapping.fields)
            )
        return field

    def _walk(self, path: Path) -> tuple[Path, Codec]:
        field = self.field(path)
        if field.in_key:
            raise UsageError(
                problem=f"{self._mapping.entity.__name__}.{field.name} lives in the key alone",
                remedy="a condition or change can only name fields stored as attributes",
            )
        found: list[str | int] = [self._name_of(field)]
        codec = field.codec
        for step in path[1:]:
            attribute, codec = self._step(codec, step, path)
            found.append(attribute)
        return tuple(found), codec

    def _name_of(self, field: FieldMapping) -> str:
        if self._item is None or field.attribute in self._item:
            return field.attribute
        return next((former for former in field.formerly if former in self._item), field.attribute)

    def _step(self, codec: Codec, step: str | int, path: Path) -> tuple[str | int, Codec]:
        if isinstance(step, str) and codec.members is not None:
            if step in codec.members:
                return codec.members[step]
            raise UnknownField(
                entity=f"{self._mapping.entity.__name__}.{path[0]}", field=step, known=tuple(codec.members)
            )
        if codec.element is not None and not codec.is_set:
            return step, codec.element
        raise UsageError(
            problem=f"{self._mapping.entity.__name__}.{path[0]} has no part {step!r}",
            remedy="name a field of a nested model, a key of a dict, or an index of a list",
        )
