"""Plans without a session, for laws about what a plan says: they compile intents, and apply what a commit would do."""

from typing import Any

from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Intent, Reads, UnitOfWork
from dynaorm.plan.plan import Plan

NOW = 1_700_000_000.0


def plan_of(
    *intents: Intent, reads: Reads = NOTHING_READ, write_id: str = "w2", now: float = NOW, **unit: Any
) -> Plan:
    return compile_plan(merge_intents(intents, now), reads, UnitOfWork(now, write_id, str, **unit))


def committed(plan: Plan) -> None:
    for effect in plan.effects:
        effect.apply()
