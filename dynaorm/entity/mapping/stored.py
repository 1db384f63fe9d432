"""The field values of a stored item, each decoded when it is first read."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.secret import Secrets
from dynaorm.errors import DecodeError
from dynaorm.item.value import Item


class Decoder(Protocol):
    """The part of a mapping that ``StoredValues`` needs."""

    @property
    def fields(self) -> Mapping[str, FieldMapping]: ...

    def decode(self, item: Item, /) -> dict[str, Any]: ...

    def unreadable(self, item: Item, problems: tuple[str, ...], /) -> DecodeError: ...

    @property
    def secrets(self) -> Secrets: ...


class StoredValues(Mapping[str, Any]):
    """The field values of a stored item, each decoded when it is first read."""

    __slots__ = ("_cache", "_item", "_mapping")

    def __init__(self, mapping: Decoder, item: Item) -> None:
        self._mapping = mapping
        self._item = item
        self._cache: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._cache:
            field = self._mapping.fields[name]
            try:
                if field.in_key:
                    self._cache.update(self._mapping.decode(self._item))
                else:
                    self._cache[name] = field.value_in(self._item)
            except ValueError as problem:
                if isinstance(problem, DecodeError):
                    raise
                text = self._mapping.secrets.misfit(name, field.stored_in(self._item), problem)
                raise self._mapping.unreadable(self._item, (text,)) from self._mapping.secrets.cause(
                    name, problem
                )
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping.fields)

    def __len__(self) -> int:
        return len(self._mapping.fields)
