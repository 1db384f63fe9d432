"""What a description claims about its questions is so: asked about every item, they find what ``answer_of`` says."""

import importlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dynaorm import Session, Table, describe
from dynaorm.errors import DynaormError
from dynaorm.flow.protocol.call import Transport
from dynaorm.testing import FakeClock, FaultyTransport, factory
from tests.describe.asking import check_questions, classes_of
from tests.laws.classes import declare, entity_of, rows, schemas

EXAMPLES = Path(__file__).parents[2] / "examples"
POOL = ("x", "y#%")
# Nothing that the rows expire at is past: what belongs to an answer has nothing to do with the time.
BEFORE = datetime(1990, 1, 1, tzinfo=UTC)


def tables_of_example(name: str) -> list[Table]:
    return [one for one in vars(importlib.import_module(name)).values() if isinstance(one, Table)]


def declaring() -> Iterator[str]:
    for path in sorted(EXAMPLES.glob("*.py")):
        if "Table(" in path.read_text():
            yield path.stem


def entities_of(table: Table) -> Iterator[Any]:
    """Some entities of each class. Their keys have few texts, so that they share partitions."""
    for cls in classes_of(table).values():
        described = next(one for one in describe(table).classes if one.name == cls.__name__)
        texts = [one.name for one in described.fields if one.type == "str" and one.default is None]
        make = factory(cls)
        for number in range(4):
            shared = {name: POOL[number >> place & 1] for place, name in enumerate(texts)}
            for given_values in (shared, {}):
                try:
                    yield make(**given_values)
                    break
                except (DynaormError, ValidationError):
                    continue


@pytest.mark.parametrize("name", [*declaring()])
def test_the_questions_of_every_example_find_what_they_claim(name: str, moto: Transport) -> None:
    wire, asked = FaultyTransport(moto), 0
    with Session(transport=wire, clock=FakeClock()) as session:
        for table in tables_of_example(name):
            session.create_table(table)
            for entity in entities_of(table):
                try:
                    session.save(entity)
                except DynaormError:
                    continue  # its key or its unique value is taken
        for table in tables_of_example(name):
            asked += check_questions(session, wire, table).total()
    assert asked or not any(describe(table).classes for table in tables_of_example(name))


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_questions_of_random_classes_find_what_they_claim(moto: Transport, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    declared, wire = declare(schema), FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock(BEFORE.timestamp())) as session:
        session.create_table(declared.table)
        for number, row in enumerate(data.draw(rows(schema, most=8, others=False))):
            try:
                session.save(entity_of(declared, row, number), overwrite=True)
            except DynaormError:
                continue  # another class has its key, or it would be in two places of an index
        check_questions(session, wire, declared.table)
