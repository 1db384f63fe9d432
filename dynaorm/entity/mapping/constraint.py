"""A unique constraint, and the key of the guard item that holds one of its values.

A constraint may have key templates of its own, which another library renders too. For any other constraint, partition
key and sort key are the same text, ``name#value``. A single value is not escaped: a name contains no ``#``, so the
first one ends it. The parts of a composite value are joined by ``#``, with ``#`` and ``%`` inside them escaped. If the
text is longer than 1024 bytes (the limit of a sort key), or the value begins with ``sha256:``, it is
``name#sha256:<hex>``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from dynaorm.entity.failing import FunctionFailed
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.index_places import When
from dynaorm.entity.mapping.secret import masked
from dynaorm.entity.table import Table
from dynaorm.entity.text.scalar import Scalar
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

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
