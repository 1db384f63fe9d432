"""A digest of what a class derives from its entities, so that no run continues under other declarations.

Rule 1. The digest is the same in every process that has the same source and the same version of Python.
Rule 2. A function is known by its name, its code and its plain constants. Functions that it calls are not looked at.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.when import When

# Constants whose text is the same in every process.
_PLAIN: Final = (str, bytes, bool, int, float, complex, type(None))


def declared_digest(mapping: EntityMapping) -> str:
    """The digest of a class's keys, attributes, constraints, indexes and totals."""
    constraints = [
        (name, one.fields, one.shared, _texts(one.parts), _function(one.normalize), _when(one.when))
        for name, one in mapping.constraints.items()
    ]
    indexes = [(name, one.name, _texts(one.parts), _when(one.when)) for name, one in mapping.indexes.items()]
    stored = [(name, one.attribute) for name, one in mapping.stored.items()]
    totals = [
        (name, one.target.__qualname__, dict(one.key), one.count, dict(one.sums), _when(one.when))
        for name, one in mapping.aggregates.items()
    ]
    defaults = {name: one.default for name, one in mapping.entity.model_fields.items()}
    fields = [
        (name, one.attribute, one.formerly, _plain([defaults.get(name)]))
        for name, one in mapping.fields.items()
    ]
    expires = None if mapping.expires is None else (mapping.expires.name, mapping.expiry)
    declared = (_texts(mapping.primary_parts), fields, expires, constraints, indexes, stored, totals)
    return hashlib.sha256(repr(declared).encode()).hexdigest()[:16]


def _texts(parts: Iterable[KeyPart]) -> list[tuple[str, str]]:
    return [(part.attribute.name, part.text) for part in parts]


def _when(when: When | None) -> str:
    if when is None:
        return ""
    return repr(when.condition) if when.condition is not None else _function(when.given)


def _function(function: Callable[..., Any] | Any | None) -> str:
    """The name of a function, and its code if it is written in Python."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} {code.co_code.hex()} {code.co_names} {_plain(code.co_consts)}"


def _plain(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if type(one) in _PLAIN]
