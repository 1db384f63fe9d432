"""dynaorm: declarative entities for single-table design on Amazon DynamoDB.

Table = where. Entity = what. Plan = what a save will do. Session = do it.

A name is imported when it is first asked for: a module of entities does not wait for sessions, nor a synchronous
program for asyncio.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dynaorm.entity.base import Entity, detached
    from dynaorm.entity.index import Index
    from dynaorm.entity.key import Key
    from dynaorm.entity.mapping.aggregate import Aggregate
    from dynaorm.entity.marker import Attribute, ExpiresAt, InKey, Unique, Versioned
    from dynaorm.entity.state import LOADING
    from dynaorm.entity.table import BinaryKey, GlobalIndex, LocalIndex, NumberKey, Table
    from dynaorm.entity.text.ksuid import Ksuid, KsuidMs, ksuid_range, new_ksuid
    from dynaorm.entity.version import Version
    from dynaorm.flow.protocol.retry import Retry
    from dynaorm.iam import iam_policy
    from dynaorm.item.field import F
    from dynaorm.plan.inspection import inspect
    from dynaorm.plan.plan import Plan
    from dynaorm.query.query_spec import any_of
    from dynaorm.query.results import Page, Results
    from dynaorm.session.aio import AsyncSession
    from dynaorm.session.query import Collection, Query
    from dynaorm.session.sync import Session
    from dynaorm.session.transaction import Transaction
    from dynaorm.transport.direct.async_transport import AsyncDirectTransport
    from dynaorm.transport.direct.transport import DirectTransport

__all__ = [
    "LOADING",
    "Aggregate",
    "AsyncDirectTransport",
    "AsyncSession",
    "Attribute",
    "BinaryKey",
    "Collection",
    "DirectTransport",
    "Entity",
    "ExpiresAt",
    "F",
    "GlobalIndex",
    "InKey",
    "Index",
    "Key",
    "Ksuid",
    "KsuidMs",
    "LocalIndex",
    "NumberKey",
    "Page",
    "Plan",
    "Query",
    "Results",
    "Retry",
    "Session",
    "Table",
    "Transaction",
    "Unique",
    "Version",
    "Versioned",
    "any_of",
    "detached",
    "iam_policy",
    "inspect",
    "ksuid_range",
    "new_ksuid",
]

_HOMES: Final = {
    "dynaorm.entity.mapping.aggregate": ("Aggregate",),
    "dynaorm.entity.base": (
        "Entity",
        "detached",
    ),
    "dynaorm.entity.index": ("Index",),
    "dynaorm.entity.key": ("Key",),
    "dynaorm.entity.text.ksuid": (
        "Ksuid",
        "KsuidMs",
        "ksuid_range",
        "new_ksuid",
    ),
    "dynaorm.entity.marker": (
        "Attribute",
        "ExpiresAt",
        "InKey",
        "Unique",
        "Versioned",
    ),
    "dynaorm.entity.state": ("LOADING",),
    "dynaorm.entity.table": (
        "BinaryKey",
        "GlobalIndex",
        "LocalIndex",
        "NumberKey",
        "Table",
    ),
    "dynaorm.entity.version": ("Version",),
    "dynaorm.iam": ("iam_policy",),
    "dynaorm.flow.protocol.retry": ("Retry",),
    "dynaorm.item.field": ("F",),
    "dynaorm.plan.inspection": ("inspect",),
    "dynaorm.plan.plan": ("Plan",),
    "dynaorm.query.query_spec": ("any_of",),
    "dynaorm.query.results": (
        "Page",
        "Results",
    ),
    "dynaorm.session.aio": ("AsyncSession",),
    "dynaorm.session.query": (
        "Collection",
        "Query",
    ),
    "dynaorm.session.sync": ("Session",),
    "dynaorm.session.transaction": ("Transaction",),
    "dynaorm.transport.direct.transport": ("DirectTransport",),
    "dynaorm.transport.direct.async_transport": ("AsyncDirectTransport",),
}
_HOME: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
