"""dynaorm: declarative entities for single-table design on Amazon DynamoDB.

A ``Table`` says where items are stored, an ``Entity`` what they hold, a ``Plan`` what a save will send. A ``Session``
sends it.

Each name is imported on first use: a module that declares entities does not load sessions, and a synchronous program
does not load asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.entity.base import Entity, detached
    from dynaorm.entity.codec.json import AnyValue
    from dynaorm.entity.key import Key
    from dynaorm.entity.mapping.aggregate import Aggregate
    from dynaorm.entity.marker import (
        Attribute,
        Computed,
        CreatedAt,
        ExpiresAt,
        InKey,
        OneOf,
        Stored,
        Unique,
        UpdatedAt,
        Vector,
        Versioned,
    )
    from dynaorm.entity.revision import NumberRevision
    from dynaorm.entity.state import LOADING
    from dynaorm.entity.stored_entity import entity_of
    from dynaorm.entity.table import BinaryKey, GlobalIndex, Index, LocalIndex, NumberKey, Table, VectorIndex
    from dynaorm.entity.text.ksuid import Ksuid, KsuidMs, ksuid_range, new_ksuid
    from dynaorm.entity.version import Version
    from dynaorm.flow.call import (
        AsyncTransport,
        Call,
        Clock,
        NoAnswer,
        Reason,
        Refusal,
        Reply,
        Retry,
        Transport,
    )
    from dynaorm.iam import iam_policy
    from dynaorm.item.field import F
    from dynaorm.plan.inspection import inspect, item_of
    from dynaorm.plan.plan import Plan
    from dynaorm.query.query_spec import any_of
    from dynaorm.query.results import Match, Page, Results, Row
    from dynaorm.session._async.query import AsyncCollection, AsyncQuery
    from dynaorm.session._async.search import AsyncSearch
    from dynaorm.session._async.session import AsyncSession
    from dynaorm.session.attempt import Attempt
    from dynaorm.session.handler import StreamHandler, handler
    from dynaorm.session.query import Collection, Query
    from dynaorm.session.search import Search
    from dynaorm.session.session import Session
    from dynaorm.session.transaction import Transaction
    from dynaorm.streams.change import Changed, Deleted, Inserted, Internal, Unreadable
    from dynaorm.streams.interpret import changes
    from dynaorm.transport.async_pynamodb import AsyncPynamoTransport
    from dynaorm.transport.direct.async_transport import AsyncDirectTransport
    from dynaorm.transport.direct.transport import DirectTransport
    from dynaorm.transport.pynamodb import PynamoTransport

__all__ = [
    "LOADING",
    "Aggregate",
    "AnyValue",
    "AsyncCollection",
    "AsyncDirectTransport",
    "AsyncPynamoTransport",
    "AsyncQuery",
    "AsyncSearch",
    "AsyncSession",
    "AsyncTransport",
    "Attempt",
    "Attribute",
    "BinaryKey",
    "Call",
    "Changed",
    "Clock",
    "Collection",
    "Computed",
    "CreatedAt",
    "Deleted",
    "DirectTransport",
    "Entity",
    "ExpiresAt",
    "F",
    "GlobalIndex",
    "InKey",
    "Index",
    "Inserted",
    "Internal",
    "Key",
    "Ksuid",
    "KsuidMs",
    "LocalIndex",
    "Match",
    "NoAnswer",
    "NumberKey",
    "NumberRevision",
    "OneOf",
    "Page",
    "Plan",
    "PynamoTransport",
    "Query",
    "Reason",
    "Refusal",
    "Reply",
    "Results",
    "Retry",
    "Row",
    "Search",
    "Session",
    "Stored",
    "StreamHandler",
    "Table",
    "Transaction",
    "Transport",
    "Unique",
    "Unreadable",
    "UpdatedAt",
    "Vector",
    "VectorIndex",
    "Version",
    "Versioned",
    "any_of",
    "changes",
    "detached",
    "entity_of",
    "handler",
    "iam_policy",
    "inspect",
    "item_of",
    "ksuid_range",
    "new_ksuid",
]

_HOMES: Final = {
    "dynaorm.entity.base": (
        "Entity",
        "detached",
    ),
    "dynaorm.entity.codec.json": ("AnyValue",),
    "dynaorm.entity.key": ("Key",),
    "dynaorm.entity.mapping.aggregate": ("Aggregate",),
    "dynaorm.entity.marker": (
        "Attribute",
        "Computed",
        "CreatedAt",
        "ExpiresAt",
        "InKey",
        "OneOf",
        "Stored",
        "Unique",
        "UpdatedAt",
        "Vector",
        "Versioned",
    ),
    "dynaorm.entity.revision": ("NumberRevision",),
    "dynaorm.entity.state": ("LOADING",),
    "dynaorm.entity.stored_entity": ("entity_of",),
    "dynaorm.entity.table": (
        "BinaryKey",
        "GlobalIndex",
        "Index",
        "LocalIndex",
        "NumberKey",
        "Table",
        "VectorIndex",
    ),
    "dynaorm.entity.text.ksuid": (
        "Ksuid",
        "KsuidMs",
        "ksuid_range",
        "new_ksuid",
    ),
    "dynaorm.entity.version": ("Version",),
    "dynaorm.flow.call": (
        "AsyncTransport",
        "Call",
        "Clock",
        "NoAnswer",
        "Reason",
        "Refusal",
        "Reply",
        "Retry",
        "Transport",
    ),
    "dynaorm.iam": ("iam_policy",),
    "dynaorm.item.field": ("F",),
    "dynaorm.plan.inspection": (
        "inspect",
        "item_of",
    ),
    "dynaorm.plan.plan": ("Plan",),
    "dynaorm.query.query_spec": ("any_of",),
    "dynaorm.query.results": (
        "Match",
        "Page",
        "Results",
        "Row",
    ),
    "dynaorm.session._async.query": (
        "AsyncCollection",
        "AsyncQuery",
    ),
    "dynaorm.session._async.search": ("AsyncSearch",),
    "dynaorm.session._async.session": ("AsyncSession",),
    "dynaorm.session.attempt": ("Attempt",),
    "dynaorm.session.handler": (
        "StreamHandler",
        "handler",
    ),
    "dynaorm.session.query": (
        "Collection",
        "Query",
    ),
    "dynaorm.session.search": ("Search",),
    "dynaorm.session.session": ("Session",),
    "dynaorm.session.transaction": ("Transaction",),
    "dynaorm.streams.change": (
        "Changed",
        "Deleted",
        "Inserted",
        "Internal",
        "Unreadable",
    ),
    "dynaorm.streams.interpret": ("changes",),
    "dynaorm.transport.async_pynamodb": ("AsyncPynamoTransport",),
    "dynaorm.transport.direct.async_transport": ("AsyncDirectTransport",),
    "dynaorm.transport.direct.transport": ("DirectTransport",),
    "dynaorm.transport.pynamodb": ("PynamoTransport",),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)
