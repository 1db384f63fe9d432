"""Tables in memory that plans write to, as DynamoDB would: for samples. There is no engine, no clock and no chance."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final

from dynaorm.entity.table import Ident, Table, ident_of
from dynaorm.errors import Contention, StoreError
from dynaorm.item.action import ConditionCheck, Delete, Put
from dynaorm.item.condition import holds
from dynaorm.item.update import apply_changes
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read, merge_intents
from dynaorm.plan.compiler import compile_plan, verdict
from dynaorm.plan.intent import Intent, Reads, UnitOfWork
from dynaorm.plan.plan import FAILED, FailedAction, NeedsReplan, Plan, Planned

NEW_YEAR_2024: Final = 1_704_067_200.0
"""2024-01-01T00:00:00Z in seconds since the Unix epoch: the time of the first write."""

_MINUTE: Final = 60
# A plan is compiled again with what its refusal told: a target that is there, or the owner of a guard.
_ATTEMPTS: Final = 5


class TablesInMemory:
    """The items of any number of tables. Each write is a minute after the one before it."""

    def __init__(self) -> None:
        self._items: dict[Ident, tuple[Table, Item]] = {}
        self._numbers = count(1)

    def items_of(self, table: Table) -> Iterator[Item]:
        """The items of a table, in the order in which their keys were first written."""
        return (item for home, item in self._items.values() if home is table)

    def write(self, *intents: Intent) -> Plan:
        """Do what intents ask for, all or nothing; the plan.

        Raises:
            UsageError: it cannot be planned.
            StoreError: DynamoDB would refuse it.
        """
        number = next(self._numbers)
        unit = UnitOfWork(NEW_YEAR_2024 + number * _MINUTE, f"{number:032x}", str)
        merged = merge_intents(intents, unit.now)
        places = ((one.table, key) for one, key in items_to_read(merged))
        reads = Reads({ident_of(table, key): self._item(table, key) for table, key in places})
        for _ in range(_ATTEMPTS):
            plan = compile_plan(merged, reads, unit)
            outcome = self._refusal(plan.actions, unit.now)
            if outcome is None:
                self._apply(plan)
                return plan
            unread = {one.ident: self._item(one.table, one.item_key) for one in outcome.unread}
            reads = reads.with_more({**outcome.items, **unread}, outcome.foreign)
        raise Contention(attempts=_ATTEMPTS, code=FAILED)

    def _item(self, table: Table, key: Item) -> Item | None:
        _, item = self._items.get(ident_of(table, key), (table, None))
        return item

    def _refusal(self, actions: Iterable[Planned], now: float) -> NeedsReplan | None:
        """What it means that conditions do not hold; None if all do. Raises the error of the refusal."""
        failed: list[FailedAction] = []
        for planned in actions:
            condition = planned.action.condition
            item = self._item(planned.table, planned.item_key)
            if condition is not None and not holds(condition, item or {}):
                failed.append(FailedAction(planned, FAILED, "", item))
        if not failed:
            return None
        outcome = verdict(failed, now)
        if isinstance(outcome, NeedsReplan):
            return outcome
        # No plan is sent twice, so none is found to be committed already.
        assert isinstance(outcome, StoreError)
        raise outcome

    def _apply(self, plan: Plan) -> None:
        for planned in plan.actions:
            action, ident = planned.action, planned.ident
            if isinstance(action, Put):
                self._items[ident] = planned.table, dict(action.item)
            elif isinstance(action, Delete):
                self._items.pop(ident, None)
            elif not isinstance(action, ConditionCheck):
                stored = self._item(planned.table, action.key) or action.key
                self._items[ident] = planned.table, apply_changes(stored, action.changes)
        for effect in plan.effects:
            effect.apply()
