"""Bad input gets a clear error that ends with its remedy. Nothing is sent, and no object is changed.

Every public callable is found by inspection. Each of its parameters is given hostile values, one at a time, while the
others are sane (``public_calls``). A call either reaches the transport, which never answers, or returns, or is refused.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, redirect_stdout, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from io import StringIO
from itertools import islice
from math import inf, nan
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import dynaorm
import dynaorm.description
import dynaorm.export
import dynaorm.integrations.fastapi
import dynaorm.integrations.opentelemetry
import dynaorm.integrity.run
import dynaorm.integrity.tasks
import dynaorm.integrity.verify_export
import dynaorm.layout
import dynaorm.session
import dynaorm.streams
import dynaorm.testing
import dynaorm.tools
import dynaorm.transport
from dynaorm import Entity, F, Key, Table, Transaction
from dynaorm import inspect as state_of
from dynaorm.errors import DeclarationError, DynaormError, StoreError, UsageError
from dynaorm.session import AsyncQuery, AsyncSearch, Query, Search
from dynaorm.transport import Call, NoAnswer, Reply
from tests.laws.public_calls import CALLS, Note, Pet, Plain, World

FOREIGN = Table("arguments-foreign")


class Foreign(Entity, table=FOREIGN, pk="FOREIGN#{name}", sk="F"):
    name: str = "f"


class Unmapped(Entity):
    name: str = "u"


class TextOfOurs(str):
    """A subclass of ``str``."""

    __slots__ = ()


class NumberOfOurs(int):
    """A subclass of ``int``."""


class Colour(Enum):
    RED = "red"


class Mean:
    """It cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("it cannot be shown")

    def __str__(self) -> str:
        return "mean"


class Incomparable:
    """As an array of numbers: it is neither true nor equal to anything."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __eq__(self, _: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = object.__hash__


def stale(world: World) -> Note:
    note = world.note
    note.text = "changed"
    return note


def cyclic() -> list[object]:
    found: list[object] = []
    found.append(found)
    return found


async def waiting(*_: object) -> None: ...


HOSTILE: Final[Mapping[str, Callable[[World], object]]] = {
    "None": lambda _: None,
    "True": lambda _: True,
    "-1": lambda _: -1,
    "10**60": lambda _: 10**60,
    "nan": lambda _: nan,
    "inf": lambda _: inf,
    "50 digits": lambda _: Decimal("1." + "1" * 50),
    "empty text": lambda _: "",
    "half a pair": lambda _: "\ud800",
    "long text": lambda _: "x" * 5000,
    "braces": lambda _: "no {such} thing",
    "zero byte": lambda _: "a\0b",
    "bytes": lambda _: b"x",
    "object": lambda _: object(),
    "Entity": lambda _: Entity,
    "class without table": lambda _: Unmapped,
    "object without table": lambda _: Unmapped(),
    "model": lambda _: Plain(),
    "dict": lambda _: {"note_id": "n"},
    "dict of numbers": lambda _: {1: 2},
    "empty list": lambda _: [],
    "list of None": lambda _: [None],
    "set": lambda _: {1, "a"},
    "generator": lambda _: (one for one in (1, 2)),
    "str subclass": lambda _: TextOfOurs("x"),
    "int subclass": lambda _: NumberOfOurs(3),
    "enum": lambda _: Colour.RED,
    "of another table": lambda _: Foreign(),
    "new": lambda _: Note(note_id="z"),
    "stale": stale,
    "of another class": lambda world: world.pet,
    "key": lambda world: world.note_key,
    "foreign key": lambda _: Key(Foreign, name="x"),
    "class": lambda _: Note,
    "table": lambda _: FOREIGN,
    "place": lambda _: Pet.by_owner,
    "F": lambda _: F,
    "field": lambda _: F.unknown,
    "condition": lambda _: F.unknown == 1,
    "condition of a wrong type": lambda _: F.count == "x",
    "change": lambda _: F.unknown.add(1),
    "mean": lambda _: Mean(),
    "incomparable": lambda _: Incomparable(),
    "negative duration": lambda _: timedelta(-1),
    "time without zone": lambda _: datetime(2024, 1, 1),  # noqa: DTZ001 - that is what is wrong with it
    "lambda": lambda _: lambda: None,
    "asynchronous function": lambda _: waiting,
    "path": lambda _: Path("/nonexistent/x"),
    "cyclic": lambda _: cyclic(),
    "session": lambda world: world.session,
    "module": lambda _: dynaorm,
}


class Unanswered:
    """A transport that records what is sent, and never answers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def call(self, call: Call, /) -> Reply:
        self.calls.append(call)
        raise NoAnswer("nobody is there")


class AsyncUnanswered:
    """The same for asynchronous sessions."""

    def __init__(self, inner: Unanswered) -> None:
        self.inner = inner

    async def call(self, call: Call, /) -> Reply:
        return self.inner.call(call)


# -- the calls ---------------------------------------------------------------------------------------------------------


def bound(function: Callable[..., object], arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by position and by name."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    parameters = inspect.signature(function).parameters.values()
    is_variadic = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    for one in parameters:
        if one.name not in arguments:
            continue
        given = arguments[one.name]
        if one.kind is one.VAR_POSITIONAL:
            positional += given
        elif one.kind is one.VAR_KEYWORD:
            named |= given
        elif one.kind is one.POSITIONAL_ONLY or (is_variadic and one.kind is one.POSITIONAL_OR_KEYWORD):
            positional.append(given)
        else:
            named[one.name] = given
    return positional, named


class Place(NamedTuple):
    """Where a value is given: a parameter, and of ``**fields`` the name of one."""

    parameter: inspect.Parameter
    field: str = ""

    def __str__(self) -> str:
        stars: dict[object, str] = {
            inspect.Parameter.VAR_POSITIONAL: "*",
            inspect.Parameter.VAR_KEYWORD: "**",
        }
        return f"{stars.get(self.parameter.kind, '')}{self.parameter.name}{self.field and f' {self.field}'}"

    def given(self, value: object, others: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments with this value, beside the others."""
        name, kind = self.parameter.name, self.parameter.kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return {**others, name: (*others.get(name, ()), value)}
        if kind is inspect.Parameter.VAR_KEYWORD:
            return {**others, name: {**others.get(name, {}), self.field: value}}
        return {**others, name: value}


def places(function: Callable[..., object], sane: Mapping[str, Any]) -> Iterator[Place]:
    for one in inspect.signature(function).parameters.values():
        if one.name.startswith("_"):
            continue
        if one.kind is one.VAR_KEYWORD:
            yield from (Place(one, field) for field in (*sane.get(one.name, {}), "unknown"))
        else:
            yield Place(one)


STARTS_PROCESSES: Final = {"_ran"}
"""Iterators that are not begun here."""


def finished(outcome: Any) -> None:
    """Take what a call returns: end queries, leave blocks, iterate."""
    if isinstance(outcome, Query | Search):
        outcome.explain()
        outcome.all()
    elif isinstance(outcome, AbstractContextManager) and type(outcome).__name__ == "_GeneratorContextManager":
        with outcome as entered:
            if isinstance(entered, Transaction):
                entered.save(Note(note_id="in the block"))
    elif inspect.isgenerator(outcome) and outcome.__name__ not in STARTS_PROCESSES:
        list(islice(outcome, 20))


async def finished_async(outcome: Any) -> None:
    if inspect.isawaitable(outcome):
        outcome = await outcome
    if isinstance(outcome, AsyncQuery | AsyncSearch):
        outcome.explain()
        await outcome.all()
    elif type(outcome).__name__ == "_AsyncGeneratorContextManager":
        async with outcome as entered:
            entered.save(Note(note_id="in the block"))
    elif inspect.isasyncgen(outcome):
        async for _ in outcome:
            break


def called(
    name: str, function: Callable[..., Any], arguments: Mapping[str, Any], runner: asyncio.Runner
) -> None:
    positional, named = bound(function, arguments)
    with redirect_stdout(StringIO()):
        if name.startswith("Async") or inspect.iscoroutinefunction(function):

            async def go() -> None:
                await finished_async(function(*positional, **named))

            runner.run(go())
        else:
            finished(function(*positional, **named))


# -- the verdict -------------------------------------------------------------------------------------------------------

AFTER_REQUESTS: Final = {
    ("dynaorm.tools.follow", "table"),  # only the live table says whether it has a stream
    ("Async dynaorm.tools.follow", "table"),
    ("dynaorm.testing.load_seeds", "session"),  # the error says which line could not be saved
    ("dynaorm.testing.load_seeds", "*sources"),
}
"""Where a refusal may come after requests."""


def is_of_python(error: TypeError) -> bool:
    """Whether Python itself refuses the arguments: no code of ours ran, or it only passed on what is not known."""
    trace = error.__traceback__
    while trace is not None:
        if "/dynaorm/" in trace.tb_frame.f_code.co_filename:
            return "unexpected keyword argument" in str(error)
        trace = trace.tb_next
    return True


def fault_of_refusal(error: DynaormError, sent: int) -> str | None:
    said = str(error)
    lines = error.problems if isinstance(error, DeclarationError) else ()
    if not all("; " in one for one in lines) or (not lines and error.remedy not in said) or not error.remedy:
        return f"no remedy: {said}"
    return f"{sent} requests were sent before: {said}" if sent and isinstance(error, UsageError) else None


def fault_of(error: BaseException | None, sent: int, *, is_value_type: bool) -> str | None:
    """What is wrong with the outcome of a call."""
    # An ImportError: a text names a module.
    if error is None or isinstance(error, StoreError | ImportError):
        return None
    if isinstance(error, DynaormError):
        return fault_of_refusal(error, sent)
    if isinstance(error, TypeError) and is_of_python(error):
        return None
    # Values that pydantic makes and operators of Python raise what Python expects of them, with a remedy.
    if (
        is_value_type
        and isinstance(error, ValueError | TypeError | IndexError)
        and (";" in str(error) or ":" in str(error))
    ):
        return None
    with suppress(Exception):
        return f"{type(error).__name__}: {error}"
    return type(error).__name__


def values_of(entity: Entity) -> object:
    found = state_of(entity)
    return copy.deepcopy(entity.__dict__), repr(found)


VALUE_TYPES: Final = ("dynaorm.Ksuid", "dynaorm.KsuidMs", "dynaorm.ksuid_range", "Ksuid.", "KsuidMs.", "F.__")


def faults(name: str, folder: Path, runner: asyncio.Runner) -> Iterator[str]:
    """What is wrong with how a public callable takes hostile values."""
    transport = Unanswered()

    def made() -> tuple[World, Callable[..., Any], Mapping[str, Any]]:
        world = World(transport, AsyncUnanswered(transport), folder)
        return world, *CALLS[name](world)

    _, function, sane = made()
    for place in places(function, sane):
        for label, value in HOSTILE.items():
            world, function, sane = made()
            arguments = place.given(value(world), sane)
            positional, named = bound(function, arguments)
            entities = [one for one in (*positional, *named.values()) if type(one) in (Note, Pet)]
            before = [values_of(one) for one in entities]
            transport.calls.clear()
            error: BaseException | None = None
            try:
                called(name, function, arguments, runner)
            except Exception as raised:  # noqa: BLE001 - any error is judged
                error = raised
            sent = 0 if (name, str(place)) in AFTER_REQUESTS else len(transport.calls)
            fault = fault_of(error, sent, is_value_type=name.startswith(VALUE_TYPES))
            if (
                fault is None
                and isinstance(error, UsageError)
                and [values_of(one) for one in entities] != before
            ):
                fault = "an object was changed"
            if fault is not None:
                yield f"{place} = {label}: {fault}"


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as found:
        yield found


@pytest.mark.parametrize("name", sorted(CALLS))
def test_bad_input_gets_a_clear_error_and_nothing_is_sent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: asyncio.Runner
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [*faults(name, tmp_path, runner)] == []


# -- every public callable is among them -------------------------------------------------------------------------------

MODULES: Final = (
    dynaorm,
    dynaorm.description,
    dynaorm.export,
    dynaorm.integrity.verify_export,
    dynaorm.integrations.fastapi,
    dynaorm.integrations.opentelemetry,
    dynaorm.integrity.tasks,
    dynaorm.integrity.run,
    dynaorm.integrity.tasks,
    dynaorm.layout,
    dynaorm.session,
    dynaorm.streams,
    dynaorm.testing,
    dynaorm.tools,
    dynaorm.transport,
)
MADE_BY_DYNAORM: Final = {
    *(
        "Attempt",
        "AsyncCollection",
        "AsyncQuery",
        "AsyncSearch",
        "Changed",
        "Collection",
        "Deleted",
        "Inserted",
    ),
    *(
        "Internal",
        "Match",
        "Page",
        "Plan",
        "Query",
        "Results",
        "Row",
        "Search",
        "StreamHandler",
        "Unreadable",
        "Version",
    ),
    *(
        "Difference",
        "Entry",
        "AccessPattern",
        "SegmentTask",
        "TableStep",
        "TableView",
        "LiteralPart",
        "FieldPart",
        "Fault",
    ),
    *("Inconsistency", "Broken", "IdempotencyKey", "PageParams"),
    *("Applied", "ApplyPlan", "ApplyProgress", "DumpResult", "Finding", "LoadResult", "RepairResult"),
}
"""Calls return their objects, and so do the classes whose names end with ``Description``. Users only read them."""
MADE_BY_OTHERS: Final = {"Entity", "PageOf", "Problem", "Clock", "Transport", "AsyncTransport", "Reply"}
"""Models, which pydantic validates, and protocols."""
CALLED_BY_DYNAORM: Final = {
    *("call", "reset_after_fork", "pause", "pauses", "id_for", "check", "counts", "strikes", "run"),
    *(
        "current_session",
        "current_async_session",
        "seed",
        "watching",
        "text",
        "async_session",
        "mark_of",
        "update_forward_refs",
    ),
}
"""Methods of transports, clocks and others that dynaorm, a framework or a fixture calls."""


def public_names() -> Iterator[str]:
    """The functions and classes that users call, and the methods with arguments of these classes."""
    for module in MODULES:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if (inspect.isfunction(value) or inspect.ismodule(value)) and name not in CALLED_BY_DYNAORM:
                yield f"{module.__name__}.{name}"
            elif inspect.isclass(value):
                is_answer = name in MADE_BY_DYNAORM or name.endswith("Description")
                if not is_answer and name not in MADE_BY_OTHERS:
                    yield f"{module.__name__}.{name}"
                yield from methods_of(name, value)
    yield from methods_of("F", type(F.count))


def methods_of(name: str, kind: type) -> Iterator[str]:
    for method in dir(kind):
        value = getattr(kind, method)
        if method.startswith("_") or method in CALLED_BY_DYNAORM or not inspect.isroutine(value):
            continue
        if getattr(value, "__module__", "").startswith("dynaorm.") and [
            *inspect.signature(value).parameters
        ] != ["self"]:
            yield f"{name}.{method}"


def test_every_public_callable_is_given_hostile_values() -> None:
    assert set(public_names()) <= CALLS.keys()


def test_a_name_that_is_left_out_is_public() -> None:
    names = {name for module in MODULES for name in getattr(module, "__all__", ())}
    assert names >= MADE_BY_DYNAORM | MADE_BY_OTHERS
