"""Token items, which remember that a block was applied: one for each token, and the block itself holds it.

A block takes its token once and never gives it up. What it keeps of the block, and what a stored one says of a block
that runs again, is decided in ``plan/same_block.py``. Its key and the names of its attributes are in
``entity/internal_items.py``.
"""

from collections.abc import Iterable
from decimal import InvalidOperation
from math import ceil, isfinite
from typing import Final

from dynaorm.entity.internal_items import (
    BLOCK,
    REVISION,
    TOKEN_PREFIX,
    UNTIL,
    token_home,
    token_key,
    why_no_token_items,
)
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import ConditionFailed, UsageError
from dynaorm.item.action import Put
from dynaorm.item.condition import Attr, Compare, any_of_conditions, holds, missing
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import FailedAction, Judged, Kind, Operations, PartitionKey, Planned, Purpose

# A request can arrive, and a plan be resumed, within nine minutes: until then, the item must say what became of it.
_AT_LEAST: Final = 600.0


class TokenPurpose(Purpose):
    """Why the action on a token item is in a plan."""

    REMEMBER = "remember"


class TokenItems(Kind):
    """The token items of blocks."""

    is_memory = True

    def __reduce__(self) -> str:
        return "TOKEN_ITEMS"

    def home(self, mapping: EntityMapping) -> Table:
        return token_home(mapping.table)

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        home = self.home(mapping)
        return [] if why_no_token_items(home) else [(home, frozenset({"PutItem", "GetItem"}))]

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        home = self.home(mapping)
        return [] if why_no_token_items(home) else [(mapping, home, TOKEN_PREFIX)]

    def remember(self, holder: tuple[EntityMapping, Item], fingerprints: str, unit: UnitOfWork) -> Planned:
        """Put the token item of a block, if none is stored or the stored one has expired.

        ``holder``: the class and the key of the block's first entity. Raises UsageError if its table cannot hold one.
        """
        (mapping, key), token = holder, unit.token
        assert token is not None
        home = self.home(mapping)
        if problem := why_no_token_items(home):
            raise UsageError(
                problem=f"the table cannot remember the token {token!r}: {problem}",
                remedy="give the table guard_table=, another table with string keys",
            )
        until = {"N": str(ceil(unit.now + max(unit.remember, _AT_LEAST)))}
        item = {
            **token_key(home, token),
            BLOCK: {"S": fingerprints},
            REVISION: {"S": unit.write_id},
            UNTIL: until,
        }
        if home.ttl_attribute is not None:
            item[home.ttl_attribute] = until
        free = any_of_conditions(missing(home.pk.name), _over(unit.now))
        put = Put(unit.table_name(home.name), item, free)
        return Planned(put, self, TokenPurpose.REMEMBER, mapping, key, after=item, label=token)

    def judged(self, failed: FailedAction, now: float) -> Judged:
        # Whoever sends the plan compares the two blocks first.
        return ConditionFailed(key=failed.planned.subject)

    def reason(self, planned: Planned) -> str:
        return f"remember the token {planned.label!r}, if it is not remembered yet"


def _over(now: float) -> Compare:
    """The condition that the time of a token item is over. That is our own time: however old, it stays over."""
    return Compare(Attr((UNTIL,)), "<=", {"N": str(int(now))})


def is_over(item: Item, now: float) -> bool:
    """Whether the condition under which another block takes the place of a token item holds for it."""
    try:
        return isfinite(now) and holds(_over(now), item)
    except InvalidOperation:
        return False  # DynamoDB stores no such number


TOKEN_ITEMS: Final = TokenItems()
