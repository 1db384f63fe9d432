"""What pydantic, or Python, says about a class statement, as the error of the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import create_model
from pydantic.errors import PydanticErrorMixin

from dynaorm.entity.declaration import Declaration
from dynaorm.entity.declare.names import misnamed_in
from dynaorm.entity.declare.options import KEYWORDS
from dynaorm.errors import DeclarationError
from dynaorm.failure import shown

# An error of another package, or of the user's own, says what its author wants it to say.
_TRANSLATED: Final = frozenset({"builtins", "pydantic", "pydantic_core"})


def is_translated(refusal: Exception) -> bool:
    """Whether an error is pydantic's or Python's own."""
    return type(refusal).__module__.partition(".")[0] in _TRANSLATED


def refused(
    entity: str, body: Mapping[str, Any], keywords: Mapping[str, Any], refusal: Exception
) -> DeclarationError:
    """The error of a class that could not be made."""
    annotations = body.get("__annotations__")
    written = annotations if isinstance(annotations, dict) else {}
    problems = [*misnamed_in(written), *_config_problems(body, keywords)]
    return DeclarationError(entity=entity, problems=tuple(problems or [_said(refusal)]))


def _config_problems(body: Mapping[str, Any], keywords: Mapping[str, Any]) -> Iterator[str]:
    given = body.get("model_config", {})
    if isinstance(given, Mapping):
        own = {name: value for name, value in keywords.items() if name not in KEYWORDS}
        for name, value in {**given, **own}.items():
            if not _is_configuration(name, value):
                yield f"{name}={shown(value)} is no value of pydantic's; write one that ConfigDict takes, or drop it"
    elif not isinstance(given, Declaration):
        yield f"model_config={shown(given)} is no configuration; write model_config = ConfigDict(...)"


def _is_configuration(name: object, value: object) -> bool:
    """Whether pydantic makes a class with this configuration alone."""
    given: Any = {name: value}
    try:
        create_model("Alone", __config__=given, text=(str, ""))
    except Exception:  # noqa: BLE001 - it may raise anything for a value of the wrong type
        return False
    return True


def _said(refusal: Exception) -> str:
    # The message of pydantic's own errors ends with a link, and has lines of advice.
    text = refusal.message if isinstance(refusal, PydanticErrorMixin) else str(refusal)
    lines = " ".join(text.split())
    return f"{type(refusal).__name__}: {lines}; correct what it names in the class statement"
