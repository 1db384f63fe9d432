"""Every public callable with arguments that it takes: what the laws of arguments vary, one argument at a time.

A new public callable has to be entered here: ``test_bad_arguments`` finds it by inspection.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

from fastapi import FastAPI
from pydantic import BaseModel, Field

import dynaorm
import dynaorm.description
import dynaorm.export
import dynaorm.iam
import dynaorm.integrations.fastapi
import dynaorm.integrations.opentelemetry
import dynaorm.integrity.run
import dynaorm.integrity.tasks
import dynaorm.integrity.verify_export
import dynaorm.layout
import dynaorm.streams
import dynaorm.testing
import dynaorm.transport
from dynaorm import (
    Aggregate,
    AsyncSession,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Retry,
    Session,
    Table,
    Transaction,
    Unique,
    Vector,
    VectorIndex,
    entity_of,
    item_of,
    tools,
)
from dynaorm.description import describe, differences, samples
from dynaorm.streams import Deleted, handler
from dynaorm.testing import FakeClock, Store

shop = Table(
    "arguments-shop", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")], stream="NEW_AND_OLD_IMAGES"
)
papers = Table("arguments-papers", indexes=[VectorIndex("near", dimensions=2)])


class Owner(Entity, table=shop, pk="OWNER#{owner_id}", sk="O"):
    owner_id: str
    pets: int = 0


class Pet(Entity, table=shop, pk="PET#{name}", sk="P#{number:04d}", versioned=True):
    name: str
    number: int = 1
    tag: Annotated[str | None, Unique()] = None
    owner_id: str | None = None
    weight: int = 0
    of_owner = Aggregate(Owner, key={"owner_id": "owner_id"}, count="pets")
    by_owner = Index("GSI1", pk="OWNER#{owner_id}", sk="{name}#{number:04d}")


class Note(Entity, table=shop, pk="NOTE#{note_id}", sk="N#{page:03d}#{line}"):
    note_id: str
    page: int = 1
    line: str = "a"
    text: str = ""
    count: int = 0
    at: datetime | None = None
    likes: set[str] = Field(default=set())


class Paper(Entity, table=papers, pk="PAPER#{paper_id}", sk="P"):
    paper_id: str
    tenant: str
    meaning: Annotated[list[float] | None, Vector("near")] = None
    near = Index("near", pk="T#{tenant}")


SHOP: Final = f"{__name__}:shop"
"""The name of the table for other processes."""


class Plain(BaseModel):
    name: str = "plain"


def loaded(entity: Any) -> Any:
    """The entity as if it had been read."""
    item = {**item_of(entity), "_rev": {"S": "r1"}}
    return entity_of(item, type(entity))


class World:
    """What one call is made with, new for each: a session, and arguments that nobody else has."""

    def __init__(self, transport: Any, async_transport: Any, folder: Path) -> None:
        clock = FakeClock()
        self.transport, self.folder = transport, folder
        self.session = Session(transport=transport, clock=clock, retry=Retry(attempts=1))
        self.async_session = AsyncSession(transport=async_transport, clock=clock, retry=Retry(attempts=1))
        self.pet_key = Key(Pet, name="Rex", number=1)
        self.note_key = Key(Note, note_id="n", page=1, line="a")

    @property
    def note(self) -> Note:
        note: Note = loaded(Note(note_id="n", text="old"))
        return note

    @property
    def pet(self) -> Pet:
        pet: Pet = loaded(Pet(name="Rex", owner_id="o"))
        return pet

    def sessions(self, name: str) -> Any:
        return self.async_session if name.startswith("Async") else self.session


Arguments = dict[str, Any]
"""By parameter; those of ``*names`` as a tuple, those of ``**fields`` as a dict."""
Ready = tuple[Callable[..., Any], Arguments]
Make = Callable[[World], Ready]

AT: Final = datetime(2024, 5, 1, tzinfo=UTC)


def _methods(
    owner: str, of: Callable[[World], Any], calls: dict[str, Callable[[World], Arguments]]
) -> dict[str, Make]:
    def make(method: str, arguments: Callable[[World], Arguments]) -> Make:
        return lambda world: (getattr(of(world), method), arguments(world))

    return {f"{owner}.{method}": make(method, arguments) for method, arguments in calls.items()}


def _functions(module: ModuleType, calls: dict[str, Callable[[World], Arguments]]) -> dict[str, Make]:
    def make(name: str, arguments: Callable[[World], Arguments]) -> Make:
        return lambda world: (getattr(module, name), arguments(world))

    return {f"{module.__name__}.{name}": make(name, arguments) for name, arguments in calls.items()}


def _tools(prefix: str, of: Callable[[World], Any]) -> dict[str, Make]:
    def make(name: str, arguments: Callable[[World], Arguments]) -> Make:
        return lambda world: (getattr(tools, name), {"session": of(world), **arguments(world)})

    return {f"{prefix}dynaorm.tools.{name}": make(name, arguments) for name, arguments in TOOLS.items()}


NOTHING: Callable[[World], Arguments] = lambda _: {}  # noqa: E731

SESSION: dict[str, Callable[[World], Arguments]] = {
    "close": NOTHING,
    "create_table": lambda _: {"table": shop},
    "delete_table": lambda _: {"table": shop, "name": "arguments-shop"},
    "get": lambda w: {"target": w.pet_key, "fields": {"version": 1}},
    "get_one": lambda _: {"target": Pet, "fields": {"name": "Rex", "number": 1}},
    "get_by": lambda _: {"entity": Pet, "fields": {"tag": "t"}},
    "exists": lambda _: {"target": Pet, "fields": {"name": "Rex", "number": 1}},
    "refresh": lambda w: {"entity": w.note},
    "query": lambda _: {"source": Note, "fields": {"note_id": "n"}},
    "search": lambda _: {"place": Paper.near, "vector": [1.0, 0.5], "fields": {"tenant": "a"}},
    "collection": lambda _: {"first": Pet.by_owner, "others": (), "fields": {"owner_id": "o"}},
    "scan": lambda _: {"source": Note},
    "get_many": lambda w: {"keys": [w.pet_key]},
    "snapshot": lambda w: {"keys": [w.pet_key]},
    "save": lambda _: {"entity": Note(note_id="new")},
    "update": lambda w: {"target": w.note, "changes": (F.text.set("new"),)},
    "upsert": lambda w: {"target": w.note_key, "changes": (F.text.set("new"),)},
    "touch": lambda w: {"entity": w.note},
    "next_number": lambda w: {"target": w.note_key, "field": "count"},
    "move": lambda w: {"entity": w.note},
    "delete": lambda w: {"target": w.note},
    "plan": lambda _: {"entity": Note(note_id="new")},
    "plan_of": lambda _: {"work": lambda tx: tx.save(Note(note_id="new"))},
    "transaction": NOTHING,
    "run": lambda _: {"work": lambda tx: tx.save(Note(note_id="new"))},
    "resume": lambda w: {"plan": w.session.plan(Note(note_id="new"))},
    "save_many": lambda _: {"entities": [Note(note_id="new")]},
    "delete_many": lambda w: {"targets": [w.note_key]},
    "bulk_load": lambda _: {"entities": [Note(note_id="new")]},
    "history": lambda w: {"target": w.pet_key},
    "diff": lambda w: {"target": w.pet_key, "first": 1, "second": 2},
    "restore": lambda w: {"target": w.pet_key, "version": 1},
}
TOOLS: dict[str, Callable[[World], Arguments]] = {
    "compare_table": lambda _: {"table": shop},
    "plan_apply": lambda _: {"table": shop},
    "apply": lambda _: {"table": shop},
    "prune": lambda w: {"target": w.pet_key, "keep": 1},
    "purge": lambda w: {"target": w.pet_key},
    "dump": lambda _: {"table": shop, "target": io.BytesIO()},
    "load": lambda _: {
        "table": shop,
        "source": io.BytesIO(b'{"Item": {"PK": {"S": "a"}, "SK": {"S": "b"}}}\n'),
    },
    "follow": lambda _: {"table": shop, "idle": 0},
    "verify": lambda _: {"named": (shop,)},
    "repair": lambda _: {"named": (shop,)},
    "backfill": lambda _: {"named": (shop,)},
}
TRANSACTION: dict[str, Callable[[World], Arguments]] = {
    "save": lambda _: {"entity": Note(note_id="new")},
    "update": lambda w: {"target": w.note, "changes": (F.text.set("new"),)},
    "upsert": lambda w: {"target": w.note_key, "changes": (F.text.set("new"),)},
    "touch": lambda w: {"entity": w.note},
    "move": lambda w: {"entity": w.note},
    "delete": lambda w: {"target": w.note},
    "check": lambda w: {"target": w.note},
    "on_commit": lambda _: {"hook": print},
}
QUERY: dict[str, Callable[[World], Arguments]] = {
    **dict.fromkeys(
        ("all", "first", "one", "count", "keys", "descending", "consistent", "expired", "explain"), NOTHING
    ),
    "eq": lambda _: {"field": {"page": 1}},
    "lt": lambda _: {"field": {"page": 1}},
    "le": lambda _: {"field": {"page": 1}},
    "gt": lambda _: {"field": {"page": 1}},
    "ge": lambda _: {"field": {"page": 1}},
    "between": lambda _: {"field": {"page": (1, 2)}},
    "begins_with": lambda _: {"field": {"page": "00"}},
    "limit": lambda _: {"most": 1},
    "filter": lambda _: {"conditions": (F.text == "x",)},
    "page": lambda _: {"size": 2},
    "values": lambda _: {"names": ("text",)},
}
COLLECTION: dict[str, Callable[[World], Arguments]] = {
    **QUERY,
    "split": NOTHING,
    "values": lambda _: {"names": ("note_id",)},
}
SEARCH: dict[str, Callable[[World], Arguments]] = {
    **dict.fromkeys(("all", "first", "keys", "explain"), NOTHING),
    "filter": lambda _: {"conditions": ()},
}
_SETTINGS: Callable[[World], Arguments] = lambda _: {"endpoint": "http://127.0.0.1:1"}  # noqa: E731
OPENING = {
    "Session": lambda w: {"transport": w.transport},
    "AsyncSession": lambda w: {"transport": w.async_session._transport},
}
TRANSPORT: dict[str, Callable[[World], Arguments]] = {
    "DirectTransport": _SETTINGS,
    "AsyncDirectTransport": _SETTINGS,
    "PynamoTransport": _SETTINGS,
    "AsyncPynamoTransport": _SETTINGS,
    "Call": lambda _: {"operation": "GetItem", "request": {}},
    "NoAnswer": lambda _: {"reason": "none"},
    "Reason": lambda _: {"code": "None"},
    "Refusal": lambda _: {"code": "ValidationException"},
}
STREAMS: dict[str, Callable[[World], Arguments]] = {
    "changes": lambda _: {"event": {"Records": []}, "tables": (shop,)},
    "handler": lambda _: {"tables": (shop,)},
}
IAM: dict[str, Callable[[World], Arguments]] = {
    "iam_policy": lambda _: {"entities": (Note,), "account": "123456789012", "region": "eu-west-1"},
}
TOP: dict[str, Callable[[World], Arguments]] = {
    **OPENING,
    "Aggregate": lambda _: {"target": Owner, "count": "pets"},
    "Attribute": lambda _: {"name": "text"},
    "BinaryKey": lambda _: {"name": "PK"},
    "Computed": lambda _: {"of": "text"},
    "CreatedAt": NOTHING,
    "ExpiresAt": NOTHING,
    "GlobalIndex": lambda _: {"name": "GSI1"},
    "InKey": NOTHING,
    "Index": lambda _: {"name": "GSI1", "pk": "TEXT#{text}"},
    "Key": lambda _: {"entity": Pet, "fields": {"name": "Rex", "number": 1}},
    "Ksuid": lambda _: {"datetime": AT},
    "KsuidMs": lambda _: {"datetime": AT},
    "LocalIndex": lambda _: {"name": "LSI1"},
    "NumberKey": lambda _: {"name": "PK"},
    "NumberRevision": lambda _: {"name": "version"},
    "OneOf": lambda _: {"values": [1, 2]},
    "Retry": NOTHING,
    "Stored": NOTHING,
    "Table": lambda _: {"name": "arguments-new"},
    "Transaction": NOTHING,
    "Unique": NOTHING,
    "UpdatedAt": NOTHING,
    "Vector": lambda _: {"index": "near"},
    "VectorIndex": lambda _: {"name": "near", "dimensions": 2},
    "Versioned": NOTHING,
    "any_of": lambda _: {"values": ("a", "b")},
    "detached": lambda w: {"entity": w.note, "changes": {"text": "x"}},
    "entity_of": lambda _: {"item": item_of(Note(note_id="n")), "source": shop},
    "inspect": lambda w: {"entity": w.note},
    "item_of": lambda w: {"entity": w.note},
    "ksuid_range": lambda _: {"start": AT, "end": AT + timedelta(1)},
    "new_ksuid": NOTHING,
}


@cache
def _entry() -> Any:
    return samples(shop)[0]


@cache
def _question() -> Any:
    return next(one for one in describe(shop).questions if one.kind == "query")


DESCRIBE: dict[str, Callable[[World], Arguments]] = {
    "answer_of": lambda _: {"question": _question(), "entry": _entry(), "entries": [_entry()]},
    "call_of": lambda _: {"question": _question(), "entry": _entry()},
    "classify": lambda _: {"item": item_of(Note(note_id="n")), "table": shop},
    "describe": lambda _: {"table": shop},
    "differences": lambda _: {"description": describe(shop), "live": None},
    "samples": lambda _: {"table": shop},
    "table_steps": lambda _: {"differences": differences(describe(shop), None)},
    "values_of": lambda _: {"question": _question(), "entry": _entry()},
}
LAYOUT: dict[str, Callable[[World], Arguments]] = {
    "to_json": lambda _: {"description": describe(shop), "entries": [_entry()]},
    "render_markdown": lambda _: {"description": describe(shop)},
    "render_mermaid": lambda _: {"description": describe(shop)},
    "render_html": lambda _: {"table": shop, "entries": [_entry()]},
    "render_svg": lambda _: {"view": dynaorm.layout.view_of(describe(shop), [_entry()])},
    "render_text": lambda _: {"view": dynaorm.layout.view_of(describe(shop), [_entry()])},
    "view_of": lambda _: {"description": describe(shop), "entries": [_entry()]},
    "ItemSource": lambda _: {"table": "app", "account": None, "region": None, "at": AT},
}
EXPORT: dict[str, Callable[[World], Arguments]] = {
    **{name: lambda _: {"tables": describe(shop)} for name in ("cloudformation", "terraform")},
    "stages": lambda _: {"table": describe(shop), "live": {}},
}
FAULTS = ("conflict", "crash_after", "crash_before", "in_progress", "lost_answer", "lost_request", "throttle")
TESTING: dict[str, Callable[[World], Arguments]] = {
    **dict.fromkeys(FAULTS, NOTHING),
    "Factory": lambda _: {"entity": Note, "values": {}},
    "FakeClock": NOTHING,
    "FaultyTransport": lambda w: {"inner": w.transport, "faults": (dynaorm.testing.throttle(),)},
    "Ministack": NOTHING,
    "ScriptedTransport": lambda _: {"answers": ({},)},
    "Store": lambda w: {"engine": w.transport},
    "assert_consistent": lambda w: {"session": w.session, "tables": (shop,)},
    "assert_consistent_async": lambda w: {"session": w.async_session, "tables": (shop,)},
    "entities": lambda _: {"entity": Note, "values": {"text": "x"}},
    "factory": lambda _: {"entity": Note, "values": {"text": "x"}},
    "inconsistencies": lambda _: {"items": {shop: [item_of(Note(note_id="n"))]}, "now": 0.0},
    "load_seeds": lambda w: {"session": w.session, "path": seeds(w), "sources": (shop,)},
    "snapshot": lambda w: {"plan": w.session.plan(Note(note_id="new"))},
    "stream_events": lambda w: {"store": Store(w.transport), "sources": (shop,)},
    "strict_moto": NOTHING,
    "tables_of": lambda _: {"sources": (shop,)},
}


def seeds(w: World) -> Path:
    path = w.folder / "seeds.jsonl"
    path.write_text('{"Note": {"note_id": "s"}}\n')
    return path


RUN: dict[str, Callable[[World], Arguments]] = {
    "RunOptions": NOTHING,
    **{name: lambda w: {"session": w.session, "named": (shop,)} for name in ("verify", "repair", "backfill")},
}


def _opened() -> Session:
    return Session(transport=dynaorm.testing.ScriptedTransport())


TASKS: dict[str, Callable[[World], Arguments]] = {
    "segment_tasks": lambda _: {"verb": "verify", "targets": (SHOP,), "session": _opened, "segments": 1},
    "findings_in": lambda _: {"facts": []},
    "finish_tasks": lambda _: {
        "tasks": dynaorm.integrity.tasks.segment_tasks("verify", SHOP, session=_opened, segments=1),
        "facts": [],
    },
}
PROCESSES: dict[str, Callable[[World], Arguments]] = {
    "run_tasks": lambda _: {
        "tasks": dynaorm.integrity.tasks.segment_tasks("verify", SHOP, session=_opened, segments=1),
        "processes": 1,
    },
}
FASTAPI: dict[str, Callable[[World], Arguments]] = {
    "add_problem_handlers": lambda _: {"app": FastAPI()},
    "etag": lambda w: {"entity": w.note},
    "idempotency_key": lambda _: {"caller": lambda: "me"},
    "page_params": NOTHING,
    "problem_of": lambda _: {"error": dynaorm.errors.NotVersioned(entity="Note")},
    "problems": lambda _: {"statuses": (404,)},
    "session_lifespan": lambda _: {"openers": (_opened,)},
    "IfMatch": lambda _: {"tags": None},
    "IfNoneMatch": lambda _: {"tags": None},
}
TELEMETRY: dict[str, Callable[[World], Arguments]] = {"instrument": lambda w: {"session": w.session}}
VERIFY_EXPORT: dict[str, Callable[[World], Arguments]] = {
    "verify_export": lambda w: {"path": str(w.folder), "targets": (SHOP,)}
}

PATH: dict[str, Callable[[World], Arguments]] = {
    "__eq__": lambda _: {"other": 1},
    "__lt__": lambda _: {"other": 1},
    "between": lambda _: {"low": 1, "high": 2},
    "is_in": lambda _: {"values": (1, 2)},
    "__getitem__": lambda _: {"step": "a"},
    "begins_with": lambda _: {"prefix": "a"},
    "contains": lambda _: {"value": "a"},
    "exists": NOTHING,
    "missing": NOTHING,
    "size": NOTHING,
    "set": lambda _: {"value": 1},
    "set_if_missing": lambda _: {"value": 1},
    "add": lambda _: {"value": 1},
    "remove": NOTHING,
    "append": lambda _: {"values": (1,)},
    "prepend": lambda _: {"values": (1,)},
    "discard": lambda _: {"values": (1,)},
}
STREAM: dict[str, Callable[[World], Arguments]] = {
    "unreadable": lambda _: {"function": print},
    "dispatch": lambda _: {"change": Deleted(None, False, Key(Note, note_id="n", page=1, line="a"), "1", AT)},
    "dispatch_async": lambda _: {
        "change": Deleted(None, False, Key(Note, note_id="n", page=1, line="a"), "1", AT)
    },
    "handle": lambda _: {"event": {"Records": []}},
    "__call__": lambda _: {"event": {"Records": []}},
}


def _query(w: World, kind: str) -> Any:
    return w.sessions(kind).query(Note, note_id="n")


def _collection(w: World, kind: str) -> Any:
    return w.sessions(kind).collection(Note, note_id="n")


def _search(w: World, kind: str) -> Any:
    return w.sessions(kind).search(Paper.near, [1.0, 0.5], tenant="a")


def _decorating(name: str) -> Make:
    def decorate(entity: Any) -> None:
        getattr(handler(shop), name)(entity)(print)

    return lambda _: (decorate, {"entity": Note})


CALLS: dict[str, Make] = {
    **_functions(dynaorm, TOP),
    **_functions(dynaorm.transport, TRANSPORT),
    **_functions(dynaorm.streams, STREAMS),
    **_functions(dynaorm.iam, IAM),
    **_functions(sys.modules["dynaorm.description"], DESCRIBE),
    **_functions(dynaorm.layout, LAYOUT),
    **_functions(dynaorm.export, EXPORT),
    **_functions(dynaorm.testing, TESTING),
    **_functions(dynaorm.integrity.run, RUN),
    **_functions(dynaorm.integrity.tasks, TASKS),
    **_functions(dynaorm.integrity.tasks, PROCESSES),
    **_functions(dynaorm.integrations.fastapi, FASTAPI),
    **_functions(dynaorm.integrations.opentelemetry, TELEMETRY),
    **_functions(dynaorm.integrity.verify_export, VERIFY_EXPORT),
    **_tools("", lambda w: w.session),
    **_tools("Async ", lambda w: w.async_session),
    **_methods("Session", lambda w: w.session, SESSION),
    **_methods("AsyncSession", lambda w: w.async_session, SESSION),
    **_methods("Transaction", lambda _: Transaction(), TRANSACTION),
    **_methods("Query", lambda w: _query(w, "Query"), QUERY),
    **_methods("AsyncQuery", lambda w: _query(w, "AsyncQuery"), QUERY),
    **_methods("Collection", lambda w: _collection(w, "Collection"), COLLECTION),
    **_methods("AsyncCollection", lambda w: _collection(w, "AsyncCollection"), COLLECTION),
    **_methods("Search", lambda w: _search(w, "Search"), SEARCH),
    **_methods("AsyncSearch", lambda w: _search(w, "AsyncSearch"), SEARCH),
    **_methods("F", lambda _: F.count, PATH),
    **_methods("StreamHandler", lambda _: handler(shop), STREAM),
    "AccessPattern.call": lambda _: (_question().call, {"values": {"owner_id": "o"}}),
    "AccessPattern.call_with": lambda _: (_question().call_with, {"values": {"owner_id": "o"}}),
    "Factory()": lambda _: (dynaorm.testing.factory(Note), {"values": {"text": "x"}}),
    "Store.session": lambda w: (Store(w.transport).session, {"settings": {}}),
    "Store.name": lambda w: (Store(w.transport).name, {"declared": "x"}),
    "Store.create": lambda w: (Store(w.transport, clock=FakeClock()).create, {"tables": (shop,)}),
    "FakeClock.advance": lambda _: (FakeClock().advance, {"seconds": 1}),
    "FaultyTransport.inject": lambda w: (
        dynaorm.testing.FaultyTransport(w.transport).inject,
        {"faults": (dynaorm.testing.throttle(),)},
    ),
    **{f"StreamHandler.{name}": _decorating(name) for name in ("inserted", "changed", "deleted", "any")},
    "KsuidMs.from_base62": lambda _: (dynaorm.KsuidMs.from_base62, {"data": dynaorm.new_ksuid()}),
    "KsuidMs.from_bytes": lambda _: (dynaorm.KsuidMs.from_bytes, {"value": b"x" * 20}),
    "Ksuid.from_base62": lambda _: (dynaorm.Ksuid.from_base62, {"data": dynaorm.new_ksuid()}),
    "Ksuid.from_bytes": lambda _: (dynaorm.Ksuid.from_bytes, {"value": b"x" * 20}),
}
