"""The refusals of the engine, with DynamoDB's codes and messages."""

from __future__ import annotations

from dynaorm.flow.call import Refusal

INVALID = "One or more parameter values were invalid: "


class InvalidAction(Exception):
    """What is invalid in one action: a ValidationException, or in a transaction the reason of this action."""


def invalid(message: str) -> Refusal:
    """The refusal of a request that is not valid."""
    return Refusal("ValidationException", message)


def invalid_parameter(message: str) -> Refusal:
    """The refusal of a parameter that is not valid."""
    return invalid(INVALID + message)


def not_in_engine(what: str) -> Refusal:
    """The refusal of what DynamoDB has, and the engine has not."""
    return invalid(
        f"dynaorm's embedded DynamoDB does not have {what}: use ministack, another emulator or AWS"
    )


def not_found(message: str = "Requested resource not found") -> Refusal:
    """The refusal of a table, index or stream that does not exist."""
    return Refusal("ResourceNotFoundException", message)
