"""Keeps secrets out of errors: a message may name the field and the problem, but never the value."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError

from dynaorm.entity.annotation import holds_secret

_UNSAID = "does not fit its field (the reason would show it)"


def is_secret(entity: type[BaseModel], field: str) -> bool:
    """Whether a field of a class, or one of several (``"a, b"``), holds a secret."""
    infos = entity.model_fields
    return any(holds_secret(infos[name].annotation) for name in field.split(", ") if name in infos)


def masked(value: Any) -> Any:
    """A value wrapped so that its ``repr`` does not show it; None and secrets are returned as they are."""
    return value if value is None or isinstance(value, Secret | SecretBytes | SecretStr) else Secret(value)


def unsaid(problem: str, value: object) -> str:
    """The problem, or a general sentence if it quotes a part of the value."""
    return _UNSAID if any(text in problem for text in _texts(value)) else problem


def problems_of(
    entity: type[BaseModel], error: ValidationError, values: Mapping[str, Any]
) -> tuple[tuple[str, ...], ValidationError | None]:
    """The problems of an entity's values, one sentence each, and the cause that the error may have."""
    secrets = [value for name, value in values.items() if is_secret(entity, name)]
    found = tuple(
        f"{'.'.join(map(str, one['loc'])) or 'the entity'}: {unsaid(one['msg'], secrets)}"
        for one in error.errors(include_url=False)
    )
    return found, None if secrets else error


def _texts(value: object) -> Iterator[str]:
    """The texts by which a message could quote a value or its parts."""
    if isinstance(value, Secret | SecretBytes | SecretStr):
        yield from _texts(value.get_secret_value())
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list | tuple | AbstractSet):
        yield from (text for part in value for text in _texts(part))
    elif isinstance(value, BaseModel):
        yield from _texts(vars(value))
    elif value is not None and (text := str(value)):
        yield text
        yield repr(value)[1:-1] or text
