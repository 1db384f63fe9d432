"""The field values of a stored item, each decoded when it is first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from dynaorm.entity.mapping.field import ComputedValue, FieldMapping
from dynaorm.entity.mapping.loader import Loader
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.errors import DecodeError
from dynaorm.item.condition import with_more
from dynaorm.item.value import AttributeValue, Item


class Decoder(Protocol):
    """The part of a mapping that ``StoredValues`` needs."""

    @property
    def fields(self) -> Mapping[str, FieldMapping]: ...

    @property
    def maintained(self) -> Mapping[str, str]: ...

    @property
    def loader(self) -> Loader: ...

    @property
    def errors(self) -> ClassErrors: ...

    @property
    def computed(self) -> Mapping[str, ComputedValue]: ...


class StoredValues(Mapping[str, Any]):
    """The field values of a stored item, each decoded when it is first read.

    ``known`` are values that need not be decoded.
    """

    __slots__ = ("_cache", "_entity", "_mapping", "item")

    def __init__(self, mapping: Decoder, item: Item, known: Mapping[str, Any] | None = None) -> None:
        self._mapping = mapping
        self._cache: dict[str, Any] = dict(known) if known else {}
        self._entity: Any = None
        self.item = item

    def with_attributes(self, more: Mapping[str, AttributeValue]) -> StoredValues:
        """The values of the item with more attributes."""
        return StoredValues(self._mapping, with_more(self.item, more), self._cache)

    @property
    def entity(self) -> Any:
        """The entity that functions of the declaration get. It has no totals: these change without another call.

        Raises:
            DecodeError: the item cannot become an entity.
        """
        if self._entity is None:
            self._entity = self._mapping.loader.hydrate(self.item)
            for name in self._mapping.maintained:
                del vars(self._entity)[name]
        return self._entity

    @property
    def errors(self) -> ClassErrors:
        """Makes the errors of its class."""
        return self._mapping.errors

    def keeper_of(self, name: str | None) -> str | None:
        """What keeps a total in a field of this name; None if nothing does."""
        return self._mapping.maintained.get(name or "")

    def __getitem__(self, name: str) -> Any:
        if name not in self._cache and name in self._mapping.computed:
            self._cache[name] = self._computed(self._mapping.computed[name])
        elif name not in self._cache:
            field = self._mapping.fields[name]
            try:
                if field.in_key:
                    self._cache = {**self._mapping.loader.decode(self.item), **self._cache}
                else:
                    self._cache[name] = field.value_in(self.item)
            except ValueError as problem:
                if isinstance(problem, DecodeError):
                    raise
                errors = self._mapping.errors
                text = errors.misfit(name, field.stored_in(self.item), problem)
                raise errors.unreadable(self.item, (text,)) from errors.cause_of(name, problem)
        return self._cache[name]

    def _computed(self, one: ComputedValue) -> Any:
        is_known = all(name in self._cache for name in one.fields)
        values = self._cache if is_known else vars(self.entity)
        kept_out = self._mapping.maintained
        given = {name: values[name] for name in one.fields if name in values and name not in kept_out}
        return one.computed(given, is_hidden=bool(self.errors.secrets.fields))

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping.fields)

    def __len__(self) -> int:
        return len(self._mapping.fields)
