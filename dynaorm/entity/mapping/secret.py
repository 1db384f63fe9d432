"""What an error may say of a secret: that it is there, what is wrong with its type, and nothing of what it says."""

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
    """A value whose ``repr`` does not show it; None and what masks itself are what they are."""
    return value if value is None or isinstance(value, Secret | SecretBytes | SecretStr) else Secret(value)


def unsaid(problem: str, value: object) -> str:
    """The problem, unless it quotes a part of the value."""
    return _UNSAID if any(text in problem for text in _texts(value)) else problem


def problems_of(
    entity: type[BaseModel], error: ValidationError, values: Mapping[str, Any]
) -> tuple[tuple[str, ...], ValidationError | None]:
    """What is wrong with the values of an entity, one sentence each, and the cause that may be given for it."""
    secrets = [value for name, value in values.items() if is_secret(entity, name)]
    found = tuple(
        f"{'.'.join(map(str, one['loc'])) or 'the entity'}: {unsaid(one['msg'], secrets)}"
        for one in error.errors(include_url=False)
    )
    return found, None if secrets else error


def _texts(value: object) -> Iterator[str]:
    """What the parts of a value look like in a sentence."""
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
