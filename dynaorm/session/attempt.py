"""``Attempt``: what is known of one attempt of a request, without any key, value or expression."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pydantic_core import SchemaValidator, core_schema

from dynaorm.flow.call import (
    CONFLICTS,
    THROTTLES,
    WRITES,
    Call,
    Flow,
    NoAnswer,
    Parallel,
    Pause,
    ReadCost,
    Refusal,
    Reply,
    Step,
    codes_of,
)
from dynaorm.flow.read import tables_in
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.size import item_size, write_units
from dynaorm.record import record, replace

AttemptOutcome: TypeAlias = Literal["ok", "refused", "no answer", "not sent", "ended"]


@record
class Attempt:
    """One attempt of a request. It has no key, no value, no expression and no message of DynamoDB.

    Attributes:
        method: the method of the session, such as ``save``; ``query`` for all endings of a query.
        operation: the operation of DynamoDB, such as ``TransactWriteItems``.
        tables: the physical names of the tables in the request.
        index: the name of the index that is read; None for a table.
        actions: the number of items that the request names, at least 1.
        number: 1 for the first attempt, 2 if the same request is sent again after a failure, and so on.
        pause: the seconds that the session waited before this attempt.
        seconds: how long the attempt took.
        outcome: ``ok``; ``refused``: DynamoDB answered with an error; ``no answer``: the request may have been carried
            out; ``not sent``: it certainly was not; ``ended``: an error of the program, such as missing credentials,
            or an interruption.
        error: the code of a refusal, otherwise the name of the exception; "" for ``ok``.
        reasons: the codes of the actions that failed in a cancelled transaction.
        capacity: the capacity units that DynamoDB reported. Only queries, scans and their batch reads ask for them.
        least_capacity: the write units that a write consumes at least, by the size of the items in it; 0 for a read.
        unprocessed: the number of items that DynamoDB left out of a batch, which it does to throttle.
        request_bytes: the size of the request's body.
        reply_bytes: the size of the reply's body; None without a reply, or if the transport does not say.
        request_id: DynamoDB's identifier of the request; "" if none was received.

    Examples:
        >>> attempts = []
        >>> Session(region="eu-west-1", on_attempt=attempts.append).exists(User, user_id="1")
        True
        >>> attempts[0].method, attempts[0].operation, attempts[0].outcome
        ('exists', 'GetItem', 'ok')
    """

    method: str
    operation: str
    tables: tuple[str, ...]
    index: str | None
    actions: int
    number: int
    pause: float
    seconds: float
    outcome: AttemptOutcome
    error: str
    reasons: tuple[str, ...]
    capacity: float | None
    least_capacity: float
    unprocessed: int
    request_bytes: int
    reply_bytes: int | None
    request_id: str

    @property
    def is_conflict(self) -> bool:
        """Whether it was refused because of another write of the same item at the same time."""
        return not CONFLICTS.isdisjoint((self.error, *self.reasons))

    @property
    def is_throttled(self) -> bool:
        """Whether DynamoDB refused it, or left items out of it, because of too many requests."""
        return self.unprocessed > 0 or not THROTTLES.isdisjoint((self.error, *self.reasons))


def attempt_of(
    call: Call, outcome: Reply | BaseException, *, method: str, number: int, pause: float, seconds: float
) -> Attempt:
    """What is known of an attempt. ``outcome``: the reply, or what was raised in its place."""
    request = call.request
    kind, error, reasons = _ending(outcome)
    reply = _summary(outcome)
    is_write = call.operation in WRITES
    return Attempt(
        method,
        call.operation,
        tuple(tables_in(request)),
        request.get("IndexName"),
        max(1, len(_writes(request)) or sum(len(get.get("Keys", ())) for get in _gets(request))),
        number,
        pause,
        seconds,
        kind,
        error,
        reasons,
        _capacity(reply),
        _least_capacity(call) if is_write else 0.0,
        _unprocessed(reply),
        len(encode_body(request)),
        len(outcome.raw) if isinstance(outcome, Body) else None,
        getattr(outcome, "request_id", ""),
    )


def _ending(outcome: Reply | BaseException) -> tuple[AttemptOutcome, str, tuple[str, ...]]:
    """The kind of the outcome, the error, and the codes of a transaction's actions."""
    if isinstance(outcome, Refusal):
        codes = codes_of(outcome)
        # Only a cancelled transaction has codes of its actions: for any other refusal, ``codes_of`` gives the error's
        # own.
        return "refused", outcome.code, () if codes == [outcome.code] else tuple(codes)
    if isinstance(outcome, NoAnswer):
        return "no answer" if outcome.sent else "not sent", type(outcome).__name__, ()
    if isinstance(outcome, BaseException):
        return "ended", type(outcome).__name__, ()
    return "ok", "", ()


# -- the request -------------------------------------------------------------------------------------------------------


def _gets(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in request.get("RequestItems", {}).values() if isinstance(one, Mapping)]


def _writes(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The actions of a transaction or a batch."""
    batches = (one for one in request.get("RequestItems", {}).values() if not isinstance(one, Mapping))
    wrapped = [*request.get("TransactItems", ()), *(each for batch in batches for each in batch)]
    return [next(iter(one.values())) for one in wrapped]


def _least_capacity(call: Call) -> float:
    # A TransactWriteItems costs two write units per KB. What an update or a delete writes is not in the request: such
    # an action counts as the smallest item.
    factor = 2 if call.operation == "TransactWriteItems" else 1
    items = (one.get("Item") or {} for one in _writes(call.request) or [call.request])
    return float(sum(factor * write_units(item_size(item)) for item in items))


# -- the reply ---------------------------------------------------------------------------------------------------------

_MEMBERS: Final = ("ConsumedCapacity", "UnprocessedKeys", "UnprocessedItems")


def _validator() -> SchemaValidator:
    anything = core_schema.typed_dict_field(core_schema.any_schema(), required=False)
    return SchemaValidator(core_schema.typed_dict_schema(dict.fromkeys(_MEMBERS, anything)))


# It reads past the items of a page without making objects of them.
_VALIDATOR: Final = _validator()


def _summary(outcome: Reply | BaseException) -> Mapping[str, Any]:
    """The members of a reply that are no items. If it cannot be read, there are none: the flow finds out, too."""
    if isinstance(outcome, Body):
        try:
            found: Mapping[str, Any] = _VALIDATOR.validate_json(outcome.raw)
        except ValueError:
            return {}
        return found
    return outcome if isinstance(outcome, Mapping) else {}


def _capacity(reply: Mapping[str, Any]) -> float | None:
    if not reply.get("ConsumedCapacity"):
        return None
    cost = ReadCost()
    try:
        cost.add(reply)
    except (AttributeError, TypeError, ValueError):  # not what DynamoDB sends
        return None
    return cost.read_units


def _unprocessed(reply: Mapping[str, Any]) -> int:
    keys, items = reply.get("UnprocessedKeys") or {}, reply.get("UnprocessedItems") or {}
    try:
        return sum(len(key["Keys"]) for key in keys.values()) + sum(map(len, items.values()))
    except (AttributeError, KeyError, TypeError):  # not what DynamoDB sends
        return 0


# ``observe``: runs a flow unchanged, and tells of each attempt of its requests.

T = TypeVar("T")

Tell: TypeAlias = Callable[[Attempt, Call, Reply | BaseException], object]
"""Called with each attempt, its request and its outcome. It must not raise an ``Exception``."""


def observe(flow: Flow[T], method: str, tell: Tell) -> Flow[T]:
    """The same flow; ``tell`` is called after each attempt, where the flow runs, for flows run together in threads.

    ``method``: the method of the session that runs the flow.
    """
    attempts = _Attempts(method, tell)
    try:
        step = next(flow)
        while True:
            step = attempts.before(step)
            outcome: Any
            try:
                outcome = yield step
            except BaseException as raised:  # noqa: BLE001 - an interrupted attempt is told, too
                attempts.after(step, raised)
                step = flow.throw(raised)
            else:
                attempts.after(step, outcome)
                step = flow.send(outcome)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


@record(frozen=False)
class _Attempts:
    """The attempts of one flow.

    Attributes:
        method: the method of the session.
        tell: called with each attempt.
        failed: the request of the last attempt, if it failed.
        number: how often that was sent.
        pause: the seconds waited since.
        began: when the attempt under way began.
    """

    method: str
    tell: Tell
    failed: Call | None = None
    number: int = 0
    pause: float = 0.0
    began: float = 0.0

    def before(self, step: Step) -> Step:
        """Note the next step. Flows that run together are observed, too."""
        if isinstance(step, Parallel):
            return replace(step, flows=tuple(observe(flow, self.method, self.tell) for flow in step.flows))
        if isinstance(step, Pause):
            self.pause += step.seconds
        else:
            # The time that an attempt has is no part of its request.
            is_again = self.failed is not None and replace(step, timeout=self.failed.timeout) == self.failed
            self.number = self.number + 1 if is_again else 1
            # Not the session's clock: a test may have stopped it, and no decision depends on how long an attempt took.
            self.began = time.perf_counter()
        return step

    def after(self, step: Step, outcome: Any) -> None:
        """Tell of an attempt. Only calls are attempts."""
        if not isinstance(step, Call):
            return
        seconds = time.perf_counter() - self.began
        attempt = attempt_of(
            step, outcome, method=self.method, number=self.number, pause=self.pause, seconds=seconds
        )
        self.failed = None if attempt.outcome == "ok" else step
        self.pause = 0.0
        self.tell(attempt, step, outcome)
