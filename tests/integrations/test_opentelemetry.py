"""What a session exports to OpenTelemetry: spans, events and metrics, and no value of anybody's."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dynaorm import AsyncSession, Entity, F, GlobalIndex, Index, Key, Retry, Session, Table, Unique, tools
from dynaorm.errors import DynaormError, Throttled, UsageError
from dynaorm.integrations.opentelemetry import instrument
from dynaorm.testing import FakeClock, FaultyTransport, ScriptedTransport, conflict, lost_answer, throttle
from dynaorm.transport import (
    AsyncDirectTransport,
    Call,
    DirectTransport,
    PynamoTransport,
    Reason,
    Refusal,
    Reply,
    Transport,
)
from dynaorm.transport.asynchronous import AsyncDefaultTransport, ThreadedTransport
from dynaorm.transport.default import DefaultTransport
from tests.transport.unruly import Unruly, answer, refusal, unruly_server

app = Table("observed", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    note: str = ""
    by_note = Index("GSI1", pk="NOTE#{note}", sk="{user_id}")


class Exported:
    """Everything that was exported, by OpenTelemetry's own exporters in memory."""

    def __init__(self) -> None:
        self._spans, self._metrics = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self._metrics])
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))

    def watching(self, session: Any) -> Any:
        return instrument(session, tracer_provider=self.tracers, meter_provider=self.meters)

    def scripted(self, *answers: Any, **settings: Any) -> Session:
        session: Session = self.watching(
            Session(transport=ScriptedTransport(*answers), clock=FakeClock(), **settings)
        )
        return session

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """The measurements of each metric: their attributes with the sum, or the count of a histogram."""
        data: Any = self._metrics.get_metrics_data()
        found = [
            metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics
        ]
        return {
            metric.name: [
                (dict(point.attributes), getattr(point, "value", None) or point.count)
                for point in metric.data.data_points
            ]
            for metric in found
        }

    def text(self) -> str:
        """All of it as text."""
        return "".join([*(span.to_json() for span in self.spans), repr(self.points())])


@pytest.fixture
def exported() -> Exported:
    return Exported()


def events(span: ReadableSpan) -> list[dict[str, Any]]:
    """The attributes of the events of a span, without times."""
    timed = {"dynaorm.attempt.duration", "dynaorm.attempt.pause", "dynaorm.attempt.request_size"}
    return [
        {name: value for name, value in (event.attributes or {}).items() if name not in timed}
        for event in span.events
    ]


CANCELLED = Refusal(
    "TransactionCanceledException",
    reasons=(None, Reason("TransactionConflict")),
    request_id="R1",
)


def test_a_call_is_a_span_and_each_attempt_an_event(exported: Exported) -> None:
    exported.scripted(CANCELLED, {}).save(User(user_id="1", email="a@x"))
    (span,) = exported.spans
    assert (span.name, span.kind, span.status.status_code) == (
        "save observed",
        SpanKind.CLIENT,
        StatusCode.UNSET,
    )
    assert span.attributes == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "save",
        "db.collection.name": "observed",
        "aws.dynamodb.table_names": ("observed",),
    }
    common = {
        "db.operation.name": "TransactWriteItems",
        "aws.dynamodb.table_names": ("observed",),
        "db.operation.batch.size": 2,
    }
    assert {event.name for event in span.events} == {"dynaorm.attempt"}
    assert events(span) == [
        common
        | {
            "dynaorm.attempt.number": 1,
            "dynaorm.attempt.outcome": "refused",
            "dynaorm.attempt.reasons": ("TransactionConflict",),
            "db.response.status_code": "TransactionCanceledException",
            "error.type": "TransactionCanceledException",
            "aws.request_id": "R1",
        },
        common | {"dynaorm.attempt.number": 2, "dynaorm.attempt.outcome": "ok"},
    ]


def test_a_query_tells_its_index_and_capacity(exported: Exported) -> None:
    page: Reply = {"Items": [], "ConsumedCapacity": {"TableName": "observed", "CapacityUnits": 1.5}}
    last = {"PK": {"S": "x"}, "SK": {"S": "x"}}
    session = exported.scripted(page, {**page, "LastEvaluatedKey": last}, page)
    assert session.query(User.by_note, note="").count() == 0
    assert list(session.scan(User)) == []
    query, scan = exported.spans
    assert (query.name, scan.name) == ("query observed", "scan observed")
    (event,) = events(query)
    assert event["aws.dynamodb.index_name"] == "GSI1"
    consumed = '{"TableName": "observed", "CapacityUnits": 1.5}'
    assert event["aws.dynamodb.consumed_capacity"] == (consumed,)
    points = exported.points()["dynaorm.consumed_capacity"]
    assert [(labels["db.operation.name"], units) for labels, units in points] == [
        ("Query", 1.5),
        ("Scan", 3.0),
    ]


def test_a_failed_call_has_its_error_and_the_code_of_dynamodb(exported: Exported) -> None:
    throttled = Refusal("ThrottlingException", "VALUE")
    with pytest.raises(Throttled):
        exported.scripted(throttled, throttled, retry=Retry(attempts=2)).get(User, user_id="1")
    with pytest.raises(DynaormError):
        exported.scripted({}).get_one(User, user_id="1")
    refused, missing = exported.spans
    assert refused.status.status_code == missing.status.status_code == StatusCode.ERROR
    assert refused.status.description is missing.status.description is None
    assert dict(refused.attributes or {}).items() >= {
        ("error.type", "Throttled"), ("db.response.status_code", "ThrottlingException")
    }  # fmt: skip
    assert dict(missing.attributes or {})["error.type"] == "EntityNotFound"
    assert "db.response.status_code" not in dict(missing.attributes or {})


def test_what_is_counted(exported: Exported) -> None:
    few = Retry(attempts=2)
    exported.scripted(CANCELLED, {}, retry=few).save(User(user_id="1", email="a@x"))
    exported.scripted(Refusal("ThrottlingException"), {}, retry=few).get(User, user_id="1")
    points = exported.points()
    counted = {
        name: [(labels["db.operation.name"], value) for labels, value in found]
        for name, found in points.items()
    }
    assert counted == {
        "db.client.operation.duration": [("save", 1), ("get", 1)],
        "dynaorm.retries": [("TransactWriteItems", 1), ("GetItem", 1)],
        "dynaorm.conflicts": [("TransactWriteItems", 1)],
        "dynaorm.throttles": [("GetItem", 1)],
    }


# -- every transport ---------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Unruly]:
    with unruly_server() as server:
        yield server


SYNCHRONOUS: dict[str, Any] = {
    "default": DefaultTransport,
    "direct": DirectTransport,
    "pynamodb": PynamoTransport,
    "threaded": PynamoTransport,
}
ASYNCHRONOUS: dict[str, Any] = {"async default": AsyncDefaultTransport, "async direct": AsyncDirectTransport}


@pytest.mark.parametrize("kind", [*SYNCHRONOUS, *ASYNCHRONOUS])
def test_every_transport_says_its_server(kind: str, server: Unruly, exported: Exported) -> None:
    server.will(refusal("ThrottlingException"), answer({}), answer({}))
    given: dict[str, Any] = {"region": "eu-west-1", "endpoint": server.endpoint}

    async def twice(transport: Any) -> None:
        session = exported.watching(AsyncSession(transport=transport, clock=FakeClock()))
        for _ in range(2):
            await session.get(User, user_id="1")
        if isinstance(transport, AsyncDirectTransport):
            await transport.close()

    if kind in ASYNCHRONOUS:
        asyncio.run(twice(ASYNCHRONOUS[kind](**given)))
    else:
        with closing(SYNCHRONOUS[kind](**given)) as inner:
            if kind == "threaded":
                asyncio.run(twice(ThreadedTransport(inner)))
            else:
                session = exported.watching(Session(transport=inner, clock=FakeClock()))
                for _ in range(2):
                    session.get(User, user_id="1")
    port = int(server.endpoint.rpartition(":")[2])
    for span in exported.spans:
        assert dict(span.attributes or {}).items() >= {("server.address", "127.0.0.1"), ("server.port", port)}
    assert [[event["dynaorm.attempt.number"] for event in events(span)] for span in exported.spans] == [
        [1, 2],
        [1],
    ]


def test_the_span_is_the_current_one_while_its_requests_are_made(exported: Exported) -> None:
    tracer = exported.tracers.get_tracer("tests")

    def inside(call: Call) -> Reply:
        with tracer.start_as_current_span("request"):
            return {"Responses": {"observed": []}} if call.operation == "BatchGetItem" else {}

    keys = [Key(User, user_id=str(number)) for number in range(150)]
    with tracer.start_as_current_span("request of a user") as outer:
        exported.scripted(inside, inside).get_many(keys)
        threaded = ThreadedTransport(ScriptedTransport(inside, inside))
        asyncio.run(exported.watching(AsyncSession(transport=threaded)).get_many(keys))
        assert trace.get_current_span() is outer
    named = {span.context.span_id: span for span in exported.spans if span.context}
    parents = [
        (span.name, named[span.parent.span_id].name) for span in exported.spans if span.parent is not None
    ]
    inner = [("request", "get_many observed")] * 2 + [("get_many observed", "request of a user")]
    assert sorted(parents) == sorted(inner * 2)


# -- no value leaves ---------------------------------------------------------------------------------------------------

SECRET = "xyzzy"


def test_nothing_that_is_exported_has_a_value(moto: Transport, exported: Exported) -> None:
    faulty = FaultyTransport(moto)
    session = exported.watching(Session(transport=faulty, clock=FakeClock(), on_attempt=str))
    session.create_table(app)
    faulty.inject(
        conflict(operation="TransactWriteItems"),
        throttle(operation="GetItem"),
        lost_answer(operation="UpdateItem"),
    )

    def user(number: int) -> User:
        return User(user_id=f"{SECRET}{number}", email=f"{SECRET}@{number}", note=SECRET)

    def attempted(work: Any) -> None:
        with pytest.raises(DynaormError):
            work()

    key = Key(User, user_id=f"{SECRET}1")
    session.save(user(1))
    attempted(lambda: session.save(user(1)))
    attempted(lambda: session.save(User(user_id="2", email=f"{SECRET}@1")))
    attempted(lambda: session.update(key, F.note.set("n"), condition=F.note == f"{SECRET}!"))
    session.get(User, user_id=f"{SECRET}1")
    session.get_by(User, email=f"{SECRET}@1")
    assert session.query(User.by_note, note=SECRET).filter(F.email == f"{SECRET}@1").count() == 1
    attempted(lambda: session.get_one(User, user_id=f"{SECRET}9"))
    session.save_many([user(3), user(4)])
    with session.transaction(token=f"{SECRET}-token") as tx:
        tx.update(key, F.email.set(f"{SECRET}@5"))
    session.delete(key)
    list(tools.verify(session, app))
    text = exported.text()
    assert {"save observed", "verify observed", "delete observed"} <= {span.name for span in exported.spans}
    assert "UniqueViolation" in text
    assert SECRET not in text


def test_a_transport_of_ones_own_may_have_another_thing_called_server(exported: Exported) -> None:
    class Own(ScriptedTransport):
        server = "http://localhost:8000"

    session = exported.watching(Session(transport=Own({})))
    assert session.get(User, user_id="1") is None
    (span,) = exported.spans
    assert "server.address" not in (span.attributes or {})


# -- errors of OpenTelemetry, and of those who use it ------------------------------------------------------------------


class BrokenAtEnd(SpanProcessor):
    """A processor that fails at the end of each span."""

    def on_end(self, span: ReadableSpan) -> None:  # noqa: ARG002 - OpenTelemetry's signature
        raise ValueError("broken processor")


class BrokenAtStart(SpanProcessor):
    """A processor that fails at the start of each span."""

    def on_start(self, *_: object, **_named: object) -> None:
        raise ValueError("broken processor")


@pytest.mark.parametrize("broken", [BrokenAtStart, BrokenAtEnd])
def test_a_broken_processor_changes_nothing(
    broken: type[SpanProcessor], exported: Exported, caplog: pytest.LogCaptureFixture
) -> None:
    exported.tracers.add_span_processor(broken())
    session = exported.scripted({}, {})
    assert session.save(User(user_id="1")).user_id == "1"
    assert session.get(User, user_id="1") is None
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["broken processor"]


class BrokenTracers(trace.TracerProvider):
    """Gives tracers that cannot start a span."""

    def get_tracer(self, *_: object, **_named: object) -> trace.Tracer:
        class Broken(trace.NoOpTracer):
            def start_span(self, *_: object, **_named: object) -> trace.Span:
                raise ValueError("broken tracer")

        return Broken()


def test_without_a_span_of_its_own_a_request_belongs_to_the_span_of_the_caller(exported: Exported) -> None:
    current: list[trace.Span] = []
    session = Session(
        transport=ScriptedTransport({}), on_attempt=lambda _: current.append(trace.get_current_span())
    )
    instrument(session, tracer_provider=BrokenTracers(), meter_provider=exported.meters)
    with exported.tracers.get_tracer("caller").start_as_current_span("request") as span:
        session.get(User, user_id="1")
        assert trace.get_current_span() is span
    assert current == [span]


def test_a_session_can_be_instrumented_again_and_keeps_its_listener(exported: Exported) -> None:
    told: list[str] = []
    session = exported.scripted({}, on_attempt=lambda attempt: told.append(attempt.operation))
    assert exported.watching(session) is session
    session.get(User, user_id="1")
    assert told == ["GetItem"]
    assert len(exported.spans) == 1


def test_only_a_session_can_be_instrumented() -> None:
    with pytest.raises(UsageError, match="got ScriptedTransport, which is not a session; give a Session"):
        instrument(ScriptedTransport())  # type: ignore[type-var]  # that it is no session is the point


def test_without_the_package_the_error_says_what_to_install() -> None:
    program = (
        "import sys\nsys.modules['opentelemetry'] = None\n"
        "try:\n    import dynaorm.integrations.opentelemetry\n"
        "except ImportError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "dynaorm[opentelemetry]"' in run.stdout


def test_the_global_providers_are_the_default(caplog: pytest.LogCaptureFixture) -> None:
    session = instrument(Session(transport=ScriptedTransport({}, Refusal("a"))))
    assert session.save(User(user_id="1")).user_id == "1"
    with pytest.raises(DynaormError):
        session.get(User, user_id="1")
    assert not caplog.records
