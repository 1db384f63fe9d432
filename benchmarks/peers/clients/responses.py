"""Shared by the clients of pydantic models: the JSON text of a response."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def _adapter(model: type[Any]) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[model])


def json_of(model: type[Any], found: Iterable[Any]) -> bytes:
    return _adapter(model).dump_json(list(found))
