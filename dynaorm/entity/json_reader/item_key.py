"""Keys in the JSON of items: reading fields from them, and comparing them with what an entity renders."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import KeyAttribute
from dynaorm.record import record

KeyContents: TypeAlias = Mapping[str, Any]
"""The content of each key attribute of an item, as in JSON: a binary key is base64."""

HasKey: TypeAlias = Callable[[Any, KeyContents], bool]
"""Whether an entity renders the key of an item."""


@record
class InKeyField:
    """A field that is stored in a key alone.

    Attributes:
        name: the field.
        part: the part of the key.
        is_primary: it is a part of the primary key, which every item has.
    """

    name: str
    part: KeyPart
    is_primary: bool

    @property
    def attribute(self) -> KeyAttribute:
        return self.part.attribute

    def value_in(self, content: Any) -> Any:
        """The value in the content of a key attribute. Raises ValueError for a key that is not of the class."""
        if content is None and not self.is_primary:
            return None
        found = self.part.match(b64decode(content, validate=True) if self.attribute.kind == "B" else content)
        if found is None or self.name not in found:
            raise ValueError("is in a key of another class")
        return found[self.name]


def key_comparison(mapping: EntityMapping, parts: Sequence[KeyPart]) -> HasKey:
    """The comparison of some parts of a class's key."""
    steps = [(part.attribute.name, part.constant, part.render) for part in parts]
    computed = [name for part in parts for name in part.fields if name in mapping.computed]

    def has_key(entity: Any, contents: KeyContents) -> bool:
        values: Mapping[str, Any] = entity.__dict__
        try:
            if computed:
                values = mapping.with_computed(values, computed)
            for name, constant, render in steps:
                key = constant or render(values)
                if type(key) is bytes:
                    key = b64encode(key).decode()
                if key is None or contents.get(name) != key:
                    return False
        except ValueError:  # no key at all
            return False
        return True

    return has_key
