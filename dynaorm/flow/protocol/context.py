"""The settings that all flows of a session share."""

from __future__ import annotations

from collections.abc import Callable

from dynaorm.errors import DecodeError
from dynaorm.flow.protocol.call import Clock
from dynaorm.flow.protocol.retry import Retry
from dynaorm.record import record


@record
class Context:
    """A session's settings.

    Attributes:
        table_name: the physical name of a declared table.
        retry: how often and how long to repeat a call.
        clock: time, randomness and identifiers.
        consistent: whether plain reads are strongly consistent; reads that a plan is computed from always are.
        on_decode_error: called with the error of each item in a list that does not fit its class; without a handler
            the list raises it.
        cursor_secret: signs and encrypts cursors.
        exactly_once: send every write as a transaction with a token, unless the call says otherwise.
        timeout: the seconds of one call of the session, attempts and pauses together; None for no limit.
    """

    table_name: Callable[[str], str]
    retry: Retry
    clock: Clock
    consistent: bool = False
    on_decode_error: Callable[[DecodeError], object] | None = None
    cursor_secret: bytes | None = None
    exactly_once: bool = False
    timeout: float | None = None
