"""What all operations share: parameters, refusals with DynamoDB's codes, and consumed capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from dynaorm.flow.call import Refusal

INVALID: Final = "One or more parameter values were invalid: "

CAPACITY: Final = "ReturnConsumedCapacity"
NAMES: Final = f"ExpressionAttributeNames {CAPACITY}"
PLACEHOLDERS: Final = f"ExpressionAttributeValues {NAMES}"
"""Parameters that several operations take."""

Units: TypeAlias = dict[tuple[str, str, str], float]
"""Capacity units by table, and kind and name of an index; those of the table itself under two empty texts."""


class InvalidAction(Exception):
    """What is invalid in one action: a ValidationException, or in a transaction the reason of this action."""


def invalid(message: str) -> Refusal:
    """The refusal of a request that is not valid."""
    return Refusal("ValidationException", message)


def invalid_parameter(message: str) -> Refusal:
    """The refusal of a parameter that is not valid."""
    return invalid(INVALID + message)


def refuse_first(*rules: tuple[object, str]) -> None:
    """Raise the refusal of the first rule that is broken: whether it is, and how to say so."""
    for is_broken, message in rules:
        if is_broken:
            raise invalid_parameter(message)


def unmet(parameter: str, given: object, constraint: str) -> Refusal:
    """The refusal of a parameter with a value that breaks a constraint."""
    at = f"at '{parameter[0].lower()}{parameter[1:]}' failed to satisfy constraint"
    return invalid(f"1 validation error detected: Value '{given}' {at}: Member must {constraint}")


def not_in_engine(what: str) -> Refusal:
    """The refusal of what DynamoDB has, and the engine has not."""
    return invalid(
        f"dynaorm's embedded DynamoDB does not have {what}: use ministack, another emulator or AWS"
    )


def not_found(what: str = "") -> Refusal:
    """The refusal of a table, index or stream that does not exist."""
    return Refusal("ResourceNotFoundException", f"Requested resource not found{what}")


def choice(request: Mapping[str, Any], parameter: str, *allowed: str) -> str:
    """A parameter that is one of some words, by default the first. Raises Refusal for another word."""
    given: str = request.get(parameter) or allowed[0]
    if given not in allowed:
        raise unmet(parameter, given, f"satisfy enum value set: [{', '.join(allowed)}]")
    return given


def check_length(parameter: str, length: int, most: int, least: int = 1) -> None:
    """Raise Refusal for a list or text that is too short or too long."""
    if not least <= length <= most:
        raise unmet(parameter, f"of length {length}", f"have length between {least} and {most}")


def consumed(request: Mapping[str, Any], units: Units, *, listed: bool = False) -> dict[str, Any]:
    """``ConsumedCapacity``, if the request asks for it; ``listed``: as the list that several items have."""
    if CAPACITY not in request or choice(request, CAPACITY, "NONE", "TOTAL", "INDEXES") == "NONE":
        return {}
    tables: dict[str, dict[str, Any]] = {}
    for (table, kind, index), count in units.items():
        capacity = tables.setdefault(table, {"TableName": table, "CapacityUnits": 0.0})
        capacity["CapacityUnits"] += count
        if request[CAPACITY] == "INDEXES":
            part = {"CapacityUnits": count}
            capacity |= {kind: capacity.get(kind, {}) | {index: part}} if kind else {"Table": part}
    return {"ConsumedCapacity": [*tables.values()] if listed else tables.popitem()[1]}
