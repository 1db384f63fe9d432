"""dynaorm: declarative entities for single-table design on Amazon DynamoDB.

Table = where. Entity = what. Plan = what a save will do. Session = do it.
"""

from typing import TYPE_CHECKING, Any

from dynaorm.entity.aggregate import Aggregate
from dynaorm.entity.base import Entity, detached
from dynaorm.entity.index import Index
from dynaorm.entity.key import Key
from dynaorm.entity.ksuid import Ksuid, KsuidMs, ksuid_range, new_ksuid
from dynaorm.entity.marker import Attribute, ExpiresAt, InKey, Unique, Versioned
from dynaorm.entity.state import LOADING
from dynaorm.entity.table import BinaryKey, GlobalIndex, LocalIndex, NumberKey, Table
from dynaorm.entity.version import Version
from dynaorm.flow.retry import Retry
from dynaorm.item.field import F
from dynaorm.plan.inspection import inspect
from dynaorm.plan.plan import Plan
from dynaorm.query.question import any_of
from dynaorm.query.results import Page, Results
from dynaorm.session.query import Collection, Query
from dynaorm.session.sync import Session
from dynaorm.session.transaction import Transaction

if TYPE_CHECKING:
    from dynaorm.session.aio import AsyncSession

__all__ = [
    "LOADING",
    "Aggregate",
    "AsyncSession",
    "Attribute",
    "BinaryKey",
    "Collection",
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
    "inspect",
    "ksuid_range",
    "new_ksuid",
]


def __getattr__(name: str) -> Any:
    # asyncio takes a while to import, and a synchronous program does without it.
    if name == "AsyncSession":
        from dynaorm.session.aio import AsyncSession  # noqa: PLC0415 - see above

        return AsyncSession
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
