"""Writes one log line for each attempt, at DEBUG.

Rule 1. A line has the operation, the tables, the number of actions, the units, the outcome's codes and the time. It
        never has a key, a value, an expression or a message of DynamoDB's, unless ``log_values`` asks for them.
Rule 2. While DEBUG is off, sessions call their transport directly. It is off if nothing has imported ``logging``, which
        takes longer than most modules; so this module does not import it either.
"""

import sys
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from dynaorm.flow.protocol.call import WRITES, AsyncTransport, Call, NoAnswer, Refusal, Reply, Transport
from dynaorm.flow.protocol.retry import codes_of
from dynaorm.late import late

if TYPE_CHECKING:
    import logging

    from dynaorm.flow import read
    from dynaorm.flow.protocol import cost
    from dynaorm.item import size as sizes
else:
    late(
        globals(),
        cost="dynaorm.flow.protocol.cost",
        logging="logging",
        read="dynaorm.flow.read",
        sizes="dynaorm.item.size",
    )


def logged(transport: Transport, log_values: bool) -> Transport:
    """The transport itself; while the logger ``dynaorm`` is at DEBUG, one that writes a line for each attempt."""
    return _Logged(transport, log_values) if _is_debugging() else transport


def logged_async(transport: AsyncTransport, log_values: bool) -> AsyncTransport:
    """The same for an asynchronous session."""
    return _AsyncLogged(transport, log_values) if _is_debugging() else transport


def _is_debugging() -> bool:
    return "logging" in sys.modules and _logger().isEnabledFor(logging.DEBUG)


@cache
def _logger() -> "logging.Logger":
    return logging.getLogger("dynaorm")


class _Logged:
    def __init__(self, inner: Transport, log_values: bool) -> None:
        self._inner = inner
        self._log_values = log_values

    def call(self, call: Call, /) -> Reply:
        line = _Line(call, self._log_values)
        try:
            reply = self._inner.call(call)
        except BaseException as raised:
            line.failed(raised)
            raise
        return line.answered(reply)


class _AsyncLogged:
    def __init__(self, inner: AsyncTransport, log_values: bool) -> None:
        self._inner = inner
        self._log_values = log_values

    async def call(self, call: Call, /) -> Reply:
        line = _Line(call, self._log_values)
        try:
            reply = await self._inner.call(call)
        except BaseException as raised:
            line.failed(raised)
            raise
        return line.answered(reply)


class _Line:
    """The log line of one attempt."""

    def __init__(self, call: Call, log_values: bool) -> None:
        self._call = call
        self._log_values = log_values
        self._began = time.perf_counter()

    def answered(self, reply: Reply) -> Reply:
        self._write("ok", reply, reply)
        return reply

    def failed(self, raised: BaseException) -> None:
        if isinstance(raised, Refusal):
            codes = "" if codes_of(raised) == [raised.code] else f" ({', '.join(codes_of(raised))})"
            self._write(
                f"refused with {raised.code}{codes}", {}, [raised.message, raised.reasons, raised.item]
            )
        elif isinstance(raised, NoAnswer):
            self._write("no answer" if raised.sent else "not sent", {}, raised.reason)
        else:
            self._write(f"ended by {type(raised).__name__}", {}, raised)

    def _write(self, outcome: str, reply: Reply, values: object) -> None:
        call, took = self._call, (time.perf_counter() - self._began) * 1000
        line = (
            f"{call.operation} {', '.join(read.tables_in(call.request)) or '-'}: {_actions(call.request)} actions, "
            f"{_units(call, reply)} units, {outcome} in {took:.1f} ms"
        )
        if self._log_values:
            _logger().debug("%s; request %r; outcome %r", line, call.request, values)
        else:
            _logger().debug("%s", line)


def _actions(request: Mapping[str, Any]) -> int:
    """The number of items that the request names, at least one."""
    return max(1, len(_writes(request)) or sum(len(one.get("Keys", ())) for one in _gets(request)))


def _gets(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in request.get("RequestItems", {}).values() if isinstance(one, Mapping)]


def _writes(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The actions of a transaction or a batch."""
    batches = (one for one in request.get("RequestItems", {}).values() if not isinstance(one, Mapping))
    wrapped = [*request.get("TransactItems", ()), *(each for batch in batches for each in batch)]
    return [next(iter(one.values())) for one in wrapped]


def _units(call: Call, reply: Reply) -> str:
    """The units that DynamoDB reports; for a write, which does not ask for that, the least it can cost."""
    units = cost.ReadCost()
    units.add(reply)
    if units.read_units:
        return f"{units.read_units:g}"
    if call.operation not in WRITES:
        return "?"
    factor = 2 if call.operation == "TransactWriteItems" else 1
    written = (sizes.item_size(_item(one)) for one in _writes(call.request) or [call.request])
    return f">={sum(factor * sizes.write_units(size) for size in written)}"


def _item(write: Mapping[str, Any]) -> Mapping[str, Any]:
    return write.get("Item") or {}
