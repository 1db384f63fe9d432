"""Entities as commands show them: their names, their values as text and as JSON. Secret fields are masked."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic_core import SchemaSerializer, core_schema, to_jsonable_python

from dynaorm.entity.key import Key, key_texts
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.failure import MASK
from dynaorm.item.printable import printable
from dynaorm.item.value_text import field_text, name_text
from dynaorm.plan.inspection import inspect
from dynaorm.record import record

_PLAIN: Final = SchemaSerializer(core_schema.any_schema())


@record
class Shown:
    """How the entities of one command are shown.

    Attributes:
        secrets: show the values of secret fields.
    """

    secrets: bool = False

    def name(self, key: Key[Any]) -> str:
        """An entity by its key: ``User(user_id='u1')``."""
        named = "?" if key.entity is None else key.entity.__name__
        texts = key_texts(key, name_text)
        if self.secrets:
            texts |= {name: name_text(_revealed(value)) for name, value in key.fields.items()}
        return printable(f"{named}({', '.join(f'{name}={text}' for name, text in texts.items())})")

    def values(self, mapping: EntityMapping, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of fields as JSON has them."""
        return {name: self._value(mapping, name, value) for name, value in values.items()}

    def texts(self, mapping: EntityMapping, values: Mapping[str, Any]) -> dict[str, str]:
        """The values of fields as text."""
        plain = {name: self._plain(mapping, name, value) for name, value in values.items()}
        return {name: printable(field_text(value)) for name, value in plain.items()}

    def entity(self, entity: Any) -> dict[str, Any]:
        """An entity as a JSON object."""
        mapping, state = mapping_of(type(entity)), inspect(entity)
        assert state.key is not None  # it was loaded
        found: dict[str, Any] = {"kind": "entity", "class": mapping.name, "key": self.key(state.key)}
        if state.revision is not None:
            found["revision"] = state.revision
        if state.version is not None:
            found["version"] = state.version
        return found | {"values": self.values(mapping, fields_of(entity))}

    def key(self, key: Key[Any]) -> dict[str, Any]:
        """The primary key of an entity in DynamoDB JSON."""
        hidden = (
            frozenset[str]() if key.entity is None or self.secrets else mapping_of(key.entity).secrets.keys
        )
        return {
            name: MASK if name in hidden else to_jsonable_python(dict(value), bytes_mode="base64")
            for name, value in key.primary_key.items()
        }

    def line(self, entity: Any) -> str:
        """An entity in one line: its name, and the values of its other fields that have one."""
        state = inspect(entity)
        assert state.key is not None
        others = {
            name: value
            for name, value in fields_of(entity).items()
            if name not in state.key.fields and value is not None
        }
        return "  ".join([self.name(state.key), *assigned(self.texts(mapping_of(type(entity)), others))])

    def _value(self, mapping: EntityMapping, name: str, value: Any) -> Any:
        plain = self._plain(mapping, name, value)
        return to_jsonable_python(_ordered(plain), bytes_mode="base64", fallback=str)

    def _plain(self, mapping: EntityMapping, name: str, value: Any) -> Any:
        """A value made of Python's own types, with records as dicts; a mask for a secret."""
        if value is not None and mapping.secrets.include(name):
            if not self.secrets:
                return MASK
            value = _revealed(value)
        return _PLAIN.to_python(value)


def fields_of(entity: Any) -> dict[str, Any]:
    """The fields of an entity with their values."""
    held = vars(entity)
    return {name: held[name] for name in type(entity).model_fields if name in held}


def assigned(texts: Mapping[str, str]) -> list[str]:
    """Values as ``name=text``."""
    return [f"{name}={text}" for name, text in texts.items()]


def _ordered(value: Any) -> Any:
    """A value with its sets, which have no order, in the same order every time."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, dict):
        return {name: _ordered(one) for name, one in value.items()}
    return [*map(_ordered, value)] if isinstance(value, list | tuple) else value


def _revealed(value: Any) -> Any:
    """A value with its secrets in plain text."""
    if isinstance(value, Secret | SecretStr | SecretBytes):
        return _revealed(value.get_secret_value())
    if isinstance(value, BaseModel):
        return {name: _revealed(one) for name, one in vars(value).items()}
    if isinstance(value, Mapping):
        return {name: _revealed(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_revealed(one) for one in value]
    return value
