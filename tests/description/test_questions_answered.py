"""What a description claims about its questions is so: asked about every item, they find what ``answer_of`` says."""

# ruff: noqa: PLC2401 - names of classes and fields may be in any language

import importlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Session, Table, Unique
from dynaorm.description import Entry, describe, samples, values_of
from dynaorm.errors import DynaormError
from dynaorm.testing import FakeClock, FaultyTransport, factory
from dynaorm.transport import Call, Transport
from tests.cast import documents, events, orders, others, people, tables, tickets
from tests.cast.documents import Page
from tests.description.asking import check_questions, classes_of
from tests.laws.classes import Schema, declare, entity_of, rows, schemas

# The classes of the cast are those of its tables once their modules are imported.
MODULES = (documents, events, orders, others, people, tickets)
EXAMPLES = Path(__file__).parents[2] / "examples"
CAST: list[Table] = [one for one in vars(tables).values() if isinstance(one, Table)]
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
                with suppress(DynaormError):  # its key or its unique value is taken
                    session.save(entity)
        for table in tables_of_example(name):
            asked += check_questions(session, wire, table).total()
    assert asked or not any(describe(table).classes for table in tables_of_example(name))


@pytest.mark.parametrize("table", CAST, ids=[one.name for one in CAST])
def test_the_questions_of_the_cast_find_what_they_claim(table: Table, moto: Transport) -> None:
    """Shards, projections, conditions, families, versions, other guard tables, keys of every type."""
    wire = FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock(BEFORE.timestamp())) as session:
        session.create_table(table)
        for entity in entities_of(table):
            with suppress(DynaormError):  # its key or its unique value is taken, or its total has no target
                session.save(entity)
        if table is tables.app:
            page = session.save(Page(name="p", text="1"))
            for text in ("2", "3"):
                page.text = text
                session.save(page)
            session.delete(session.save(Page(name="gone")))
        asked = check_questions(session, wire, table)
    assert asked.total() or not describe(table).classes
    assert (table is tables.app) <= {"get", "get_by", "query", "collection", "history"}.issubset(asked)


hostile = Table("hos.tile-1", pk="p.k {}", sk="#s\n\u2028", indexes=[GlobalIndex("I-1", pk="<a>", sk="'b\"")])


class Ärger(Entity, table=hostile, pk="Ä%#{été}", sk="</script>#{straße}", name="\x1b[31m"):
    """</script><script>alert(1)</script>"""

    été: str
    straße: Annotated[str, Attribute("**[attr].x")]
    call: Annotated[str, Unique("a b'c")]
    by_ß = Index("I-1", pk="{été}|{call:upper}", sk="`{straße}`", when=F["straße"] != "'\\\n")


class Second(Entity, table=hostile, pk="Ä%#{other}", sk="2#{été}"):
    """Its partition is that of the first, and a field of its sort key has the name of the first one's partition."""

    other: str
    été: str


_texts = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["'", "\\", "#", "%23", "\n", "\u2028", "{x}", "v0_"]
)


@given(st.lists(st.tuples(_texts, _texts, _texts), min_size=2, max_size=6))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_questions_find_what_they_claim_whatever_names_and_values_are(
    moto: Transport, values: list[tuple[str, str, str]]
) -> None:
    wire = FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock()) as session:
        session.create_table(hostile)
        for one, two, three in [*values, (values[0][0], values[1][1], values[0][2] + "x")]:
            with suppress(DynaormError):  # it is taken, or too long for a key
                session.save(Ärger(été=one, straße=two, call=three))
                session.save(Second(other=one, été=two))
        check_questions(session, wire, hostile)
        session.delete_table(hostile, name=hostile.name)


def test_a_collection_leaves_out_a_class_whose_field_is_something_else_in_another_one() -> None:
    (together,) = (one for one in describe(hostile).questions if one.kind == "collection")
    assert together.classes == ("Ärger", "Second")
    assert together.fields_by_class == {"Second": ("other",)}
    assert together.call() == "session.collection(Ärger, Second, other=...)"


@given(schemas())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_questions_about_the_samples_of_random_classes_find_what_they_claim(
    moto: Transport, schema: Schema
) -> None:
    table, wire = declare(schema).table, FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock(BEFORE.timestamp())) as session:
        check_answers(session, wire, table)


@pytest.mark.parametrize("name", [*declaring()])
def test_the_questions_about_the_samples_of_every_example_find_what_they_claim(
    name: str, moto: Transport
) -> None:
    wire = FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock()) as session:
        for table in tables_of_example(name):
            check_samples(session, wire, table)


def check_answers(session: Session, wire: FaultyTransport, table: Table) -> list[Entry]:
    """Store the samples of a table, and ask everything about them."""
    for home in {table, table.guards}:
        session.create_table(home)
    entries = samples(table)
    for one in entries:
        home = table.guards if one.kind == "guard" else table
        wire.call(Call("PutItem", {"TableName": home.name, "Item": one.item}))
    check_questions(session, wire, table)
    return entries


def check_samples(session: Session, wire: FaultyTransport, table: Table) -> None:
    """The samples answer all questions about them: each place has some, and not all of them."""
    entries = check_answers(session, wire, table)
    for question in describe(table).questions:
        for name, place in question.sources if question.kind == "query" else ():
            own = [one for one in entries if one.kind == "entity" and one.cls is classes_of(table)[name]]
            asking = [one for one in own if values_of(question, one) is not None]
            is_sparse = any(
                one.name == place and one.when
                for cls in describe(table).classes
                if cls.name == name
                for one in cls.places
            )
            assert asking, question
            assert not is_sparse or len(asking) < len(own), question


@given(st.data())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_questions_of_random_classes_find_what_they_claim(moto: Transport, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    declared, wire = declare(schema), FaultyTransport(moto)
    with Session(transport=wire, clock=FakeClock(BEFORE.timestamp())) as session:
        session.create_table(declared.table)
        for number, row in enumerate(data.draw(rows(schema, most=8, others=False))):
            with suppress(
                DynaormError
            ):  # another class has its key, or it would be in two places of an index
                session.save(entity_of(declared, row, number), overwrite=True)
        check_questions(session, wire, declared.table)
