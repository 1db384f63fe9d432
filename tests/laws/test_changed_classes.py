"""A class changes at random while two versions of its service write: ``apply`` and ``backfill`` complete every entity.

They are killed at any request, before it is sent or after it was answered, and run again. At the end, nothing that was
acknowledged is lost, ``verify`` finds nothing, and another run writes nothing. Values that two entities hold are told.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import F, tools
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.integrity.run import RunOptions, backfill, repair, verify
from dynaorm.tools import Finding
from dynaorm.transport import Transport
from tests.laws.changed_classes import KEYS_OF_INDEXES
from tests.laws.changed_world import NEW, OLD, UNIQUE, ChangedWorld, Killed
from tests.laws.mixed_classes import Pick

NAMES = {
    "plain": "text", "normalize": "nick", "scope": "slug", "when": "mail", "function": "mail", "template": "_u",
    "composite": "pair", "computed": "claim",
}  # fmt: skip
"""How the guard items of a constraint begin."""


def foreign(world: ChangedWorld) -> tuple[str, ...]:
    """The attributes of what is not declared any more. A tool has to be told of them."""
    was, now = world.was.spec, world.spec
    found = [name for one in was.indexes if one not in now.indexes for name in KEYS_OF_INDEXES.get(one, ())]
    found += ["theLabel"] if "stored" in was.computed and "stored" not in now.computed else []
    found += ["created", "changed", "created_ms", "changedAt"] if was.times and not now.times else []
    return tuple(found)


def found_by_verify(world: ChangedWorld) -> list[Finding]:
    """What is wrong, without what stays of a former constraint, index or total."""
    options = RunOptions(foreign_attributes=foreign(world))
    former = {NAMES[one] for one in world.was.spec.unique} - {NAMES[one] for one in world.spec.unique}
    if world.was.spec.guards != world.spec.guards:
        former |= {NAMES[one] for one in world.was.spec.unique}
    former |= {"TOTAL"} if world.was.spec.counted and not world.spec.counted else set()

    def is_former(one: Finding) -> bool:
        name = str(next(iter(one.item_key["PK"].values()))).partition("#")[0]
        is_left = one.kind is FindingKind.INDEX_KEYS and not one.repairable and bool(foreign(world))
        # An older class deletes no guard of a newer unique value. Whoever restores the entity needs it.
        is_left |= one.kind is FindingKind.ORPHAN_GUARD and bool(one.uncertain_because)
        return is_left or (one.kind is FindingKind.UNKNOWN_ITEM and name in former)

    found = verify(world.session, world.classes[NEW].table, options=options)
    return [one for one in found if not is_former(one)]


def complete(world: ChangedWorld, tool: str, checkpoint: Path | None = None) -> list[Any]:
    """Run a tool to its end, if it lives so long."""
    table = world.classes[NEW].table
    if tool == "apply":
        return list(tools.apply(world.tool, table, backfill=not foreign(world)).findings)
    rate = world.pick((None, 10))
    options = RunOptions(checkpoint=checkpoint, foreign_attributes=foreign(world), rate=rate)
    return list((backfill if tool == "backfill" else repair)(world.tool, table, options=options))


def run_killed(world: ChangedWorld, tool: str) -> None:
    """Let a tool be killed and run again, while the service writes, until it comes to its end."""
    pick = world.pick
    with TemporaryDirectory() as folder:
        checkpoint = Path(folder, "checkpoint") if pick((True, False)) else None
        world.line.moments = frozenset(pick(range(1, 24)) for _ in range(pick((0, 2, 5))))
        for _ in range(pick((0, 1, 3, 5))):
            world.line.live(pick(range(1, 12)), is_sent=pick((True, False)))
            try:
                complete(world, tool, checkpoint)
            except Killed:
                world.log.append(f"{tool} is killed")
        world.line.live()
        complete(world, tool, checkpoint)
    world.line.moments = frozenset()


def give_other_values(world: ChangedWorld, twice: list[str]) -> None:
    """Let all but one of those that hold a value give it up."""
    for claim in twice:
        for place in world.claims()[claim][1:]:
            world.session.update(world.key(place), *(F[name].set(None) for name in UNIQUE))
            kind, values = world.known[place]
            world.known[place] = kind, {**values, **dict.fromkeys(UNIQUE)}


def program(engine: Transport, pick: Pick) -> ChangedWorld:
    world = ChangedWorld(engine, pick)
    try:
        world.create()
        for _ in range(pick((4, 8))):
            world.write(OLD)
        if pick((True, False)) or world.was.spec.guards != world.spec.guards:
            tools.apply(world.tool, world.classes[NEW].table, backfill=False)
        for _ in range(pick((0, 4))):
            world.write(world.writer())
        run_killed(world, pick(("apply", "backfill", "backfill", "repair")))
        for tool in ("apply", "backfill", "repair"):
            complete(world, tool)
        check(world)
    except BaseException as error:
        error.add_note("\n".join(world.log[:2] + world.log[-12:]))
        raise
    finally:
        world.drop()
    return world


def check(world: ChangedWorld) -> None:
    twice = [claim for claim, holders in world.claims().items() if len(holders) > 1]
    found = found_by_verify(world)
    assert sorted(one.item_key["PK"]["S"] for one in found if one.kind is FindingKind.DUPLICATE) == sorted(
        twice
    )
    rest = [str(one) for one in found if one.kind is not FindingKind.DUPLICATE]
    assert rest == [], rest
    world.check_entities()
    before = world.raw()
    again = complete(world, "backfill")
    assert {(one.outcome, one.finding.kind) for one in again} <= {
        (Outcome.NEEDS_DECISION, FindingKind.DUPLICATE),
        (Outcome.NEEDS_DECISION, FindingKind.ORPHAN_GUARD),
    }
    assert world.raw() == before
    if twice:
        give_other_values(world, twice)
        for tool in ("backfill", "repair"):
            complete(world, tool)
    assert [str(one) for one in found_by_verify(world)] == []
    world.check_entities()
    world.check_items()


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "12")))
@given(data=st.data())
def test_what_older_classes_stored_is_completed(engine: Transport, data: st.DataObject) -> None:
    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    program(engine, pick)
