"""What the tests of plans share: they compile intents without a session, and apply what a commit would do."""

from typing import Any, TypeVar

from dynaorm import Entity
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table, ident_of
from dynaorm.item.action import Update
from dynaorm.item.condition import Condition, HasType, Or, missing
from dynaorm.item.update import AddTo
from dynaorm.item.value import Item
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Intent, Reads, Save, UnitOfWork
from dynaorm.plan.plan import Plan, Purpose
from dynaorm.plan.totals import TotalPurpose

E = TypeVar("E", bound=Entity)
NOW = 1_700_000_000.0
OWN_REVISION: Condition = Or((missing("_rev"), HasType(("_rev",), "S")))
"""What a write by key demands of the revision: none is there, or one that dynaorm can have written."""


def plan_of(
    *intents: Intent, reads: Reads = NOTHING_READ, write_id: str = "w2", now: float = NOW, **unit: Any
) -> Plan:
    return compile_plan(merge_intents(intents, now), reads, UnitOfWork(now, write_id, str, **unit))


def committed(plan: Plan) -> None:
    for effect in plan.effects:
        effect.apply()


def saved(entity: E, write_id: str = "w1") -> E:
    """The entity as a session would leave it after saving it."""
    committed(plan_of(Save(entity), write_id=write_id))
    return entity


def stored(entity: Entity, **others: Any) -> dict[str, Any]:
    """The item of a new entity, with other attributes: an integer is a number, None is left out."""
    item = plan_of(Save(entity), write_id="w1").actions[0].after or {}
    given = {name: {"N": str(one)} if isinstance(one, int) else one for name, one in others.items()}
    return {name: value for name, value in {**item, **given}.items() if value is not None}


def loaded(entity: E, **others: Any) -> E:
    """The entity as read after it was saved, with other attributes."""
    found: E = mapping_of(type(entity)).loader.hydrate(stored(entity, **others))
    return found


def reads_of(table: Table, *items: Item) -> Reads:
    """What was read once these items were."""
    return Reads({ident_of(table, item): item for item in items})


def actions_of(plan: Plan) -> list[tuple[Purpose, object]]:
    return [(planned.purpose, planned.action) for planned in plan.actions]


def added(plan: Plan) -> dict[str, dict[str, str]]:
    """What is added to each target that is not written itself: partition key -> attribute -> number."""
    return {
        str(planned.item_key["PK"]["S"]): {
            str(change.path[0]): change.value["N"]
            for change in planned.action.changes
            if isinstance(change, AddTo)
        }
        for planned in plan.actions
        if planned.purpose is TotalPurpose.ADD and isinstance(planned.action, Update)
    }
