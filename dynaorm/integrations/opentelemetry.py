"""``instrument``: a span of OpenTelemetry for each call of a session, an event for each attempt, and metrics.

Names follow OpenTelemetry's semantic conventions for database clients, which are stable, and for DynamoDB, which are
not yet. What they have no name for begins with ``dynaorm.``.

Rule 1. Nothing that is exported has a key, a value, an expression or a message of an error: messages quote values.
Rule 2. A session that is not instrumented knows nothing of this module.
Rule 3. An error of a span processor or an exporter does not change the outcome of an operation.
"""

import json
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dynaorm.argument import check_kind
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Flow, Reply
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.attempt import Attempt, observe
from dynaorm.session.deadline import FlowWatch, Listener
from dynaorm.session.session import Session
from dynaorm.transport.settings import Endpoint

try:
    from opentelemetry import context, metrics, trace
except ModuleNotFoundError as missing:
    raise ImportError(
        'dynaorm.integrations.opentelemetry needs opentelemetry-api; run: pip install "dynaorm[opentelemetry]"'
    ) from missing

if TYPE_CHECKING:
    from dynaorm.session._async.session import AsyncSession
    from dynaorm.session.session import Session

__all__ = ["instrument"]

S = TypeVar("S", bound="Session | AsyncSession")
T = TypeVar("T")

_SYSTEM: Final = {"db.system.name": "aws.dynamodb"}
_HTTPS: Final = 443
_BOUNDARIES: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""The buckets that the conventions advise for ``db.client.operation.duration``, in seconds."""


def instrument(
    session: S,
    /,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> S:
    """Export spans and metrics of a session, and return the session. Calling it again replaces the providers.

    Each method that sends requests becomes a span, as ``save users``; each page of an iteration is a span of its own.
    Each attempt is an event of the span. Nothing that is exported has a key, a value or an expression.

    Args:
        tracer_provider: gives the tracer; the global one by default.
        meter_provider: gives the meter; the global one by default.

    Raises:
        UsageError: it is no session.

    Examples:
        >>> from dynaorm.integrations.opentelemetry import instrument
        >>> traced = instrument(Session(region="eu-west-1"))
        >>> traced.exists(User, user_id="1")
        True
    """
    if not isinstance(session, Session | AsyncSession):
        raise UsageError(
            problem=f"instrument() got {type(session).__name__}, which is not a session",
            remedy="give a Session or an AsyncSession",
        )
    watch: Any = session._watch
    if tracer_provider is not None:
        check_kind("tracer_provider={}", tracer_provider, trace.TracerProvider, "a TracerProvider")
    if meter_provider is not None:
        check_kind("meter_provider={}", meter_provider, metrics.MeterProvider, "a MeterProvider")
    inner = watch.inner if isinstance(watch, _TracedCalls) else watch
    tracer = trace.get_tracer("dynaorm", tracer_provider=tracer_provider)
    meter = metrics.get_meter("dynaorm", meter_provider=meter_provider)
    session._watch = _TracedCalls(inner, session._transport, tracer, _Instruments(meter))
    return session


class _Instruments:
    """The metrics."""

    def __init__(self, meter: metrics.Meter) -> None:
        self.duration = meter.create_histogram(
            "db.client.operation.duration",
            unit="s",
            description="Duration of database client operations.",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self.capacity = meter.create_counter(
            "dynaorm.consumed_capacity",
            unit="{capacity_unit}",
            description="Capacity units that DynamoDB reported.",
        )
        self.retries = meter.create_counter(
            "dynaorm.retries", unit="{attempt}", description="Attempts that repeat a request after a failure."
        )
        self.conflicts = meter.create_counter(
            "dynaorm.conflicts", unit="{attempt}", description="Attempts refused because of another write."
        )
        self.throttles = meter.create_counter(
            "dynaorm.throttles", unit="{attempt}", description="Attempts that DynamoDB throttled."
        )

    def count(self, attempt: Attempt) -> None:
        """Count an attempt."""
        labels = {**_SYSTEM, "db.operation.name": attempt.operation, **_collection(set(attempt.tables))}
        if attempt.capacity:
            self.capacity.add(attempt.capacity, labels)
        if attempt.number > 1:
            self.retries.add(1, labels)
        if attempt.is_conflict:
            self.conflicts.add(1, labels)
        if attempt.is_throttled:
            self.throttles.add(1, labels)


class _TracedCalls:
    """Puts a span around each call of a session. It stands in the place of the session's own watch, its ``inner``."""

    def __init__(
        self, inner: FlowWatch, transport: object, tracer: trace.Tracer, instruments: _Instruments
    ) -> None:
        self.inner = inner
        self.tracer = tracer
        self.instruments = instruments
        self._transport = transport
        self._server: dict[str, Any] = {}
        # Rule 3.
        self.start = Listener("OpenTelemetry", _Span.start)
        self.tell = Listener("OpenTelemetry", _Span.tell)
        self.end = Listener("OpenTelemetry", _Span.end)

    def over(self, method: str, flow: Flow[T]) -> Flow[T]:
        """The flow in a span."""
        return _in_a_span(self, method, self.inner.over(method, flow))

    @property
    def server(self) -> dict[str, Any]:
        """Where requests go; empty before the first call, and over transports that do not say it."""
        server = None if self._server else getattr(self._transport, "server", None)
        # A transport of the application may mean something else by this name.
        if isinstance(server, Endpoint):
            port = {} if server.port == _HTTPS else {"server.port": server.port}
            self._server = {"server.address": server.host, **port}
        return self._server


def _in_a_span(calls: _TracedCalls, method: str, flow: Flow[T]) -> Flow[T]:
    span = _Span(calls, method)
    calls.start(span)
    # If the span could not be started, the caller's span stays the current one.
    is_started = span.span is not trace.INVALID_SPAN
    token = context.attach(trace.set_span_in_context(span.span)) if is_started else None

    def tell(attempt: Attempt, _call: Call, _outcome: Reply | BaseException) -> None:
        calls.tell(span, attempt)

    error = None
    try:
        return (yield from observe(flow, method, tell))
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        if token is not None:
            context.detach(token)
        calls.end(span, error)


class _Span:
    """The span of one call. Threads that make its requests may share it."""

    def __init__(self, calls: _TracedCalls, method: str) -> None:
        self._calls = calls
        self._method = method
        self._tables: set[str] = set()
        self._code = ""
        self._began = time.perf_counter()
        self.span: trace.Span = trace.INVALID_SPAN

    def start(self) -> None:
        """Start the span."""
        self.span = self._calls.tracer.start_span(
            self._method,
            kind=trace.SpanKind.CLIENT,
            attributes={**_SYSTEM, "db.operation.name": self._method, **self._calls.server},
        )

    def tell(self, attempt: Attempt) -> None:
        """Add an attempt."""
        self._tables.update(attempt.tables)
        self._code = attempt.error if attempt.outcome == "refused" else ""
        self._calls.instruments.count(attempt)
        if self.span.is_recording():
            self.span.add_event("dynaorm.attempt", _event(attempt))

    def end(self, error: str | None) -> None:
        """End the span; ``error``: the name of the exception that the call raises."""
        failure = {} if error is None else {"error.type": error}
        if error is not None and self._code:
            failure["db.response.status_code"] = self._code
        labels = {**self._calls.server, **_collection(self._tables), **failure}
        seconds = time.perf_counter() - self._began
        own = {**_SYSTEM, "db.operation.name": self._method}
        self._calls.instruments.duration.record(seconds, {**own, **labels})
        if self.span.is_recording():
            self.span.set_attributes({**labels, "aws.dynamodb.table_names": sorted(self._tables)})
            if len(self._tables) == 1:
                self.span.update_name(f"{self._method} {next(iter(self._tables))}")
            if error is not None:
                # Without a description: the message of the error may quote values.
                self.span.set_status(trace.StatusCode.ERROR)
        self.span.end()


def _collection(tables: set[str]) -> dict[str, str]:
    return {"db.collection.name": next(iter(tables))} if len(tables) == 1 else {}


def _event(attempt: Attempt) -> dict[str, Any]:
    """The attributes of an attempt."""
    attributes: dict[str, Any] = {
        "db.operation.name": attempt.operation,
        "aws.dynamodb.table_names": list(attempt.tables),
        "dynaorm.attempt.number": attempt.number,
        "dynaorm.attempt.pause": attempt.pause,
        "dynaorm.attempt.duration": attempt.seconds,
        "dynaorm.attempt.outcome": attempt.outcome,
        "dynaorm.attempt.request_size": attempt.request_bytes,
    }
    known = {
        "aws.dynamodb.index_name": attempt.index,
        "aws.request_id": attempt.request_id,
        "db.operation.batch.size": attempt.actions if attempt.actions > 1 else None,
        "db.response.status_code": attempt.error if attempt.outcome == "refused" else None,
        "dynaorm.attempt.reasons": list(attempt.reasons),
        "dynaorm.attempt.reply_size": attempt.reply_bytes,
        "dynaorm.attempt.unprocessed": attempt.unprocessed,
        "error.type": attempt.error,
    }
    attributes |= {name: value for name, value in known.items() if value}
    if attempt.capacity is not None:
        table = {"TableName": attempt.tables[0]} if len(attempt.tables) == 1 else {}
        consumed = {**table, "CapacityUnits": attempt.capacity}
        # The conventions want the members of ConsumedCapacity as JSON.
        attributes["aws.dynamodb.consumed_capacity"] = [json.dumps(consumed)]
    return attributes
