"""What a caller asked for, before anything is known of what is stored."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import timedelta
from enum import Enum
from typing import Any, Final, TypeAlias, final

from dynaorm.entity.key import Key
from dynaorm.entity.table import Ident
from dynaorm.errors import UsageError
from dynaorm.failure import counted, shown
from dynaorm.item.condition import Condition
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.record import record


@final
@record(quick=True)
class Save:
    """Insert a new entity, write the changed fields of a loaded one, or replace the stored item.

    ``overwrite``: replace what is stored, if ``replacing`` holds for it.
    ``origin``: the item that a new entity comes from, such as the version that a deleted one is restored from. What no
    class knows, the spelling of values and the time of creation are taken from it.
    """

    entity: Any
    condition: Condition | None = None
    overwrite: bool = False
    replacing: Condition | None = None
    origin: Item | None = None


@final
@record(quick=True)
class Edit:
    """Change some fields of the entity under a key.

    ``changes``: in field names and Python values, as ``check_changes`` allows and ``validate_changes`` gives them.
    ``read_first``: read the item, and change it only if it is as it was read.
    ``creates``: if there is no entity under the key, create it from the key, its defaults and the changes.
    ``touches``: write a new revision even if nothing changes.
    """

    target: Key[Any] | Any
    changes: tuple[Change, ...]
    condition: Condition | None = None
    read_first: bool = False
    creates: bool = False
    touches: bool = False


@final
@record(quick=True)
class Deletion:
    """Delete a loaded entity, or the one under a key.

    ``returning``: DynamoDB returns what was deleted. ``read_first``: read it, because a transaction returns nothing.
    """

    target: Key[Any] | Any
    condition: Condition | None = None
    returning: bool = False
    read_first: bool = False


@final
@record(quick=True)
class Move:
    """Store a loaded entity under the primary key that its fields render now, and delete the item under the old key."""

    entity: Any


@final
@record(quick=True)
class Check:
    """Fail the unit of work unless a condition holds; without one, unless the entity is unchanged since loaded."""

    target: Key[Any] | Any
    condition: Condition | None = None


Intent: TypeAlias = Save | Edit | Deletion | Move | Check


def target_of_intent(intent: Intent) -> Any:
    """The entity object or key that an intent names."""
    return intent.entity if type(intent) is Save or type(intent) is Move else intent.target


def condition_of(intent: Intent) -> Condition | None:
    """The caller's condition."""
    return None if type(intent) is Move else intent.condition


# The token is in the key of its token item, and a sort key has 1024 bytes.
_TOKEN_LIMIT: Final = 1000

A_DAY: Final = 86400.0
"""How long a token is remembered if the caller does not say it: longer than anybody resumes a plan."""

NEVER_EXPIRED: Final = float("-inf")
"""A time at which no entity has expired: an expired one can be deleted, and has an item."""


@record(quick=True)
class UnitOfWork:
    """The circumstances of one unit of work.

    Attributes:
        now: the time, in seconds since the epoch; read once.
        write_id: the identifier of this unit of work; its items get it as their revision.
        table_name: gives the physical name of a declared table.
        token: the caller's own token, which a token item remembers.
        exactly_once: send even a single action as a transaction with a token.
        remember: for how many seconds it does.
    """

    now: float
    write_id: str
    table_name: Callable[[str], str]
    token: str | None = None
    exactly_once: bool = False
    remember: float = A_DAY


def check_token(token: object, remember: object = None) -> None:
    """Raises UsageError for a token that names no block, and for a duration that cannot be remembered."""
    if token is not None and not isinstance(token, str):
        raise UsageError(problem=f"the token {shown(token)} is not text", remedy="give a str")
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


class NotRead(Enum):
    """In place of an item that was not read: nobody knows whether one is stored."""

    UNREAD = "was not read"


UNREAD: Final = NotRead.UNREAD

AsRead: TypeAlias = Item | NotRead | None
"""What a read tells of an item: its attributes; None if nothing is stored; ``UNREAD`` if there was no read."""


@record
class Reads:
    """Items that were read consistently or returned by a refusal, and ``foreign`` ones: those of other entities.

    ``items`` maps to None where nothing is stored.
    """

    items: Mapping[Ident, Item | None] = field(default_factory=dict)
    foreign: frozenset[Ident] = frozenset()

    def with_more(self, items: Mapping[Ident, Item | None], foreign: frozenset[Ident]) -> "Reads":
        return Reads({**self.items, **items}, self.foreign | foreign)


NOTHING_READ: Final = Reads()
