"""The writes of an item: the plans that a session would send, and which changes are one."""

import importlib
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, GlobalIndex, Index, Session, Table, Unique, detached, inspect
from dynaorm.description import Entry, samples
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.layout.writes import Write, Writes
from dynaorm.testing import FakeClock
from dynaorm.transport import Call
from tests.cast import tables

NOW = 1_800_000_000.0
CAST = ("documents", "events", "orders", "others", "people", "tickets")


class NoTransport:
    """Sends nothing, because nothing is to be sent."""

    def call(self, call: Call) -> Any:
        raise AssertionError(f"{call.operation} was sent")

    def close(self) -> None:
        """There is nothing to close."""


def entities_of(entries: list[Entry]) -> list[Any]:
    return [
        mapping_of(one.cls).loader.hydrate(one.item)
        for one in entries
        if one.kind == "entity" and one.cls is not None
    ]


def cast_tables() -> list[Table]:
    for name in CAST:
        importlib.import_module(f"tests.cast.{name}")
    return [one for one in vars(tables).values() if isinstance(one, Table)]


def told(write: Write) -> tuple[str, int, list[str]]:
    return write.operation, write.units, [one.reason for one in write.actions]


def test_an_insert_is_the_plan_of_a_session() -> None:
    compared = 0
    with Session(transport=NoTransport(), clock=FakeClock(NOW)) as session:
        for table in cast_tables():
            entries = samples(table)
            writes = Writes(entries, NOW)
            for entity in entities_of(entries):
                insert, *_ = writes.of(entity)
                begins = dict.fromkeys(mapping_of(type(entity)).maintained, 0)
                plan = session.plan(detached(entity, **begins))
                assert told(insert) == (
                    plan.operation,
                    plan.write_units,
                    [one.reason for one in plan.actions],
                )
                compared += 1
    assert compared > 50


def test_every_item_of_the_cast_has_an_insert_its_changes_and_a_deletion() -> None:
    for table in cast_tables():
        entries = samples(table)
        writes = Writes(entries, NOW)
        for entity in entities_of(entries):
            insert, *changes, delete = writes.of(entity)
            assert (insert.kind, delete.kind) == ("insert", "delete")
            assert all(one.kind == "change" and one.fields for one in changes)
            assert [one.problem for one in (insert, delete, *changes) if one.problem] == []
            assert inspect(entity).changes == {}, "planning changes no entity"


app = Table("app", indexes=[GlobalIndex("GSI1")])


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="A"):
    name: str
    email: Annotated[str, Unique()]
    phone: Annotated[str | None, Unique()] = None
    city: str = "Paris"
    street: str = "Rue"
    note: str = ""
    stars: Annotated[int, Field(ge=1, le=5)] = 5
    always: Annotated[str, Field(pattern="^x$")] = "x"
    by_city = Index("GSI1", pk="CITY#{city}", sk="{street}")


def account_writes() -> tuple[Write, ...]:
    entries = samples(app, seeds=['{"Account": {"name": "a", "email": "a@example.com", "phone": "1"}}'])
    (entity,) = entities_of(entries)
    return Writes(entries, NOW).of(entity)


def test_changes_are_one_write_if_they_send_the_same_actions() -> None:
    changes = [one.fields for one in account_writes() if one.kind == "change"]
    # What moves one key of the index is told apart from what moves the other.
    assert changes == [("email",), ("phone",), ("city",), ("street",), ("note", "stars")]


def test_a_field_that_can_have_no_other_value_has_no_change() -> None:
    assert not any("always" in one.fields for one in account_writes())


@pytest.mark.parametrize(
    ("fields", "operation", "verbs"),
    [
        pytest.param(("email",), "TransactWriteItems", ["Update", "Delete", "Put"], id="unique"),
        pytest.param(("city",), "UpdateItem", ["Update"], id="index"),
        pytest.param(("note", "stars"), "UpdateItem", ["Update"], id="neither"),
    ],
)
def test_a_change_sends_what_follows_from_the_field(
    fields: tuple[str, ...], operation: str, verbs: list[str]
) -> None:
    (write,) = [one for one in account_writes() if one.fields == fields]
    assert (write.operation, [one.verb for one in write.actions]) == (operation, verbs)


def test_an_action_names_the_entry_that_it_writes() -> None:
    *_, delete = account_writes()
    entries = samples(app, seeds=['{"Account": {"name": "a", "email": "a@example.com", "phone": "1"}}'])
    kinds = [entries[one.entry].kind for one in delete.actions if one.entry is not None]
    assert kinds == ["entity", "guard", "guard"]
