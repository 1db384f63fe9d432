"""dynaorm: declarative entities for single-table design on Amazon DynamoDB.

Table = where. Entity = what. Plan = what a save will do. Session = do it.
"""

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
from dynaorm.session.sync import Session
from dynaorm.session.transaction import Transaction

__all__ = [
    "LOADING",
    "Attribute",
    "BinaryKey",
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
    "Plan",
    "Retry",
    "Session",
    "Table",
    "Transaction",
    "Unique",
    "Version",
    "Versioned",
    "detached",
    "inspect",
    "ksuid_range",
    "new_ksuid",
]
