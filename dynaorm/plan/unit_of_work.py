"""The circumstances of one unit of work: its time, its identifier, and how it is to be sent."""

from collections.abc import Callable
from typing import NamedTuple


class UnitOfWork(NamedTuple):
    """The circumstances of one unit of work.

    Attributes:
        now: the time, in seconds since the epoch; read once.
        write_id: the identifier of this unit of work; its items get it as their revision.
        table_name: gives the physical name of a declared table.
        token: the caller's own client request token.
        exactly_once: send even a single action as a transaction with a token.
    """

    now: float
    write_id: str
    table_name: Callable[[str], str]
    token: str | None = None
    exactly_once: bool = False
