"""``plan_of`` says what a block then sends: any verbs of a transaction, over random classes and states."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from dynaorm import F, Key, Plan, Session, Table, Transaction, inspect
from dynaorm.errors import DynaormError
from dynaorm.transport import Transport
from tests.laws.test_plans import WRITES, World, chosen
from tests.laws.test_writes import assigned, change_for, new_entity
from tests.laws.written_classes import INDEXES, SPECS, Spec

Part: TypeAlias = Callable[[Transaction], object]
"""One call in a block."""


# -- verbs: each gives a call of a transaction, and the object that it is about ----------------------------------------


def saves(world: World, draw: Any) -> tuple[Part, Any]:
    entity = chosen(world, draw) if draw(st.booleans()) else new_entity(world, draw)
    vars(entity).update([assigned(world, draw) for _ in range(draw(st.integers(0, 2)))])
    condition = F.name.exists() if draw(st.booleans()) else None
    overwrite = condition is None and draw(st.booleans())
    return lambda tx: tx.save(entity, condition=condition, overwrite=overwrite), entity


def updates(world: World, draw: Any) -> tuple[Part, Any]:
    entity = chosen(world, draw)
    change, by_key = change_for(world, entity, draw)[0], draw(st.booleans())
    target = Key(world.kind, name=draw(st.sampled_from([entity.name, "new"]))) if by_key else entity
    return lambda tx: tx.update(target, change), entity


def upserts(world: World, draw: Any) -> tuple[Part, Any]:
    entity = chosen(world, draw)
    change, field, _ = change_for(world, entity, draw)
    key = Key(world.kind, name=draw(st.sampled_from([entity.name, "new"])))
    changes = [change] if field == "text" else [F.text.set("upserted"), change]
    return lambda tx: tx.upsert(key, *changes), entity


def deletes(world: World, draw: Any) -> tuple[Part, Any]:
    entity, by_key = chosen(world, draw), draw(st.booleans())
    target = Key(world.kind, name=draw(st.sampled_from([entity.name, "new"]))) if by_key else entity
    condition = F.number < 4 if draw(st.booleans()) else None
    return lambda tx: tx.delete(target, condition=condition), entity


def moves(world: World, draw: Any) -> tuple[Part, Any]:
    entity = chosen(world, draw)
    entity.name = draw(st.sampled_from(["a", "b", "moved", "Moved"]))
    return lambda tx: tx.move(entity), entity


def checks(world: World, draw: Any) -> tuple[Part, Any]:
    entity, by_key = chosen(world, draw), draw(st.booleans())
    target = Key(world.kind, name=entity.name) if by_key else entity
    condition = F.number < 4 if by_key else None
    return lambda tx: tx.check(target, condition), entity


VERBS = (saves, saves, updates, updates, upserts, deletes, moves, checks)


# -- the law -----------------------------------------------------------------------------------------------------------


def told(world: World, block: Part) -> Plan | DynaormError:
    session, wire = world.session()
    try:
        return session.plan_of(block)
    except DynaormError as error:
        return error
    finally:
        assert not [call for call in wire.calls if call.operation in WRITES], "it sends nothing but reads"


def attempted(world: World, block: Part) -> tuple[list[Any], DynaormError | None]:
    session, wire = world.session()
    error = None
    try:
        session.run(block, attempts=1)
    except DynaormError as raised:
        error = raised
    return [call for call in wire.calls if call.operation in WRITES], error


def check(world: World, parts: list[tuple[Part, Any]]) -> None:
    def block(tx: Transaction) -> None:
        for part, _ in parts:
            part(tx)

    stored, held = world.raw(), [shape(entity) for _, entity in parts]
    plan = told(world, block)
    assert world.raw() == stored, "it writes nothing"
    assert [shape(entity) for _, entity in parts] == held, "it changes no object"
    sent, error = attempted(world, block)
    if isinstance(plan, DynaormError):
        event(type(plan).__name__)
        assert ([], type(plan), str(plan)) == (sent, type(error), str(error))
    elif not plan.actions:
        event("nothing to send")
        assert (sent, error) == ([], None)
    else:
        event(plan.operation)
        assert (sent[0].operation, sent[0].request) == (plan.operation, plan.to_request())


def shape(entity: Any) -> Any:
    return copy.deepcopy(vars(entity)), inspect(entity)


@pytest.fixture(scope="module")
def engine_with_table(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Table("written", indexes=INDEXES))
    return engine


@given(spec=SPECS, data=st.data())
def test_the_plan_of_a_block_is_what_the_block_then_sends(
    spec: Spec, data: st.DataObject, engine_with_table: Transport
) -> None:
    world = World(spec, engine_with_table)
    for name, text in (("a", "Bobby"), ("b", "other")):
        world.session()[0].save(world.kind(name=name, text=text))
        world.go_on()
    for _ in range(data.draw(st.integers(1, 4))):
        if not world.live:
            return
        parts = [
            data.draw(st.sampled_from(VERBS))(world, data.draw) for _ in range(data.draw(st.integers(1, 3)))
        ]
        check(world, parts)
        world.go_on()
