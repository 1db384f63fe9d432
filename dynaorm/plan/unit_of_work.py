"""The circumstances of one unit of work: its time, its identifier, and how it is to be sent."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Final

from dynaorm.errors import UsageError
from dynaorm.failure import counted, shown
from dynaorm.record import record

# That of DynamoDB's ClientRequestToken (Amazon DynamoDB API Reference, TransactWriteItems).
_CLIENT_TOKEN_LIMIT: Final = 36
# The token is in the key of its token item, and a sort key has 1024 bytes.
_TOKEN_LIMIT: Final = 1000

EVER: Final = float("-inf")
"""A time at which no entity has expired: an expired one can be deleted, and has an item."""


@record(quick=True)
class UnitOfWork:
    """The circumstances of one unit of work.

    Attributes:
        now: the time, in seconds since the epoch; read once.
        write_id: the identifier of this unit of work; its items get it as their revision.
        table_name: gives the physical name of a declared table.
        token: the caller's own client request token.
        exactly_once: send even a single action as a transaction with a token.
        remember: for how many seconds a token item remembers the caller's token; None: there is none.
    """

    now: float
    write_id: str
    table_name: Callable[[str], str]
    token: str | None = None
    exactly_once: bool = False
    remember: float | None = None


def check_token(token: object, remember: object = None) -> None:
    """Raises UsageError for a token that names no block, and for a duration that cannot be remembered."""
    if token is not None and not isinstance(token, str):
        raise UsageError(problem=f"the token {shown(token)} is no text", remedy="give a str")
    if token is not None:
        _check_text(token)
    if remember is None:
        return
    if token is None:
        raise UsageError(
            problem=f"remember={shown(remember)} without a token remembers nothing",
            remedy='name the block: transaction(token="order-17", remember=...)',
        )
    if not isinstance(remember, timedelta) or remember <= timedelta(0):
        raise UsageError(
            problem=f"remember={shown(remember)} is not a positive duration",
            remedy="give a datetime.timedelta, such as timedelta(days=1)",
        )


def _check_text(token: str) -> None:
    try:
        size = len(token.encode())
    except UnicodeEncodeError:
        raise UsageError(
            problem=f"the token {shown(token)} has half a surrogate pair, which DynamoDB cannot store",
            remedy="give a text of whole characters",
        ) from None
    if not 1 <= size <= _TOKEN_LIMIT:
        raise UsageError(
            problem=f"the token {shown(token)} has {counted(size, 'byte')}",
            remedy=f"use 1 to {_TOKEN_LIMIT} bytes",
        )


def client_token(token: str) -> str:
    """What DynamoDB gets as the token: one that is too long for it becomes a hash, the same in every process."""
    if len(token) <= _CLIENT_TOKEN_LIMIT:
        return token
    return sha256(token.encode()).hexdigest()[:_CLIENT_TOKEN_LIMIT]
