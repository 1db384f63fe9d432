"""A table that other code filled is mapped as it is, and dynaorm adds nothing that was not declared."""

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Session, Table
from dynaorm.errors import DecodeError
from tests.story.engine import Engine

legacy = Table(
    "legacy.readings-v2",
    pk="Device-ID",
    sk="State#Date",
    indexes=[GlobalIndex("by.operator", pk="Operator Name", sk="State#Date")],
    type_attribute=None,
    revision_attribute=None,
)


class Entry(Entity, table=legacy, pk="d#{device}", sk="{state}#{date}"):
    device: Annotated[str, InKey()]
    state: Annotated[str, InKey()]
    date: Annotated[str, InKey()]
    operator: Annotated[str | None, Attribute("Operator Name")] = None
    celsius: Annotated[Decimal | None, Attribute("temp.°C")] = None
    tags: Annotated[set[str], Attribute("tags[]")] = Field(default_factory=set)
    by_operator = Index("by.operator")


FIRST: dict[str, Any] = {
    "Device-ID": {"S": "d#1"},
    "State#Date": {"S": "NORMAL#2020-04-24T14:40:00"},
    "Operator Name": {"S": "Liz"},
    "temp.°C": {"N": "21.5"},
    # No class declares these: they belong to other programs.
    "_seen": {"BOOL": True},
    "history": {"L": [{"NULL": True}, {"M": {"a#b": {"B": b"\x00"}}}]},
}
SECOND: dict[str, Any] = {
    "Device-ID": {"S": "d#1"},
    "State#Date": {"S": "WARNING#2020-04-24T14:45:00"},
    "tags[]": {"SS": ["x"]},
}
THIRD: dict[str, Any] = {
    "Device-ID": {"S": "d#1"},
    "State#Date": {"S": "WARNING#2020-04-24T14:50:00"},
    "Operator Name": {"S": "Sue"},
}
OTHER: dict[str, Any] = {
    "Device-ID": {"S": "SETTINGS"},
    "State#Date": {"S": "a#b%c"},
    "value": {"S": "1"},
}
ITEMS = [OTHER, FIRST, SECOND, THIRD]


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """The table as another program created and filled it, with AWS's client."""
    session = engine.session()
    engine.create(legacy)
    for item in ITEMS:
        engine.put(legacy, **item)
    session.close()
    return engine


@pytest.fixture
def session(filled: Engine) -> Session:
    return filled.session()


def first(session: Session) -> Entry:
    return session.get_one(Entry, device="1", state="NORMAL", date="2020-04-24T14:40:00")


def test_a_save_changes_the_declared_attribute_that_changed_and_adds_none(
    filled: Engine, session: Session
) -> None:
    entry = first(session)
    entry.celsius = Decimal("22.0")
    session.save(entry)
    assert filled.raw(legacy) == [OTHER, {**FIRST, "temp.°C": {"N": "22"}}, SECOND, THIRD]
    entry.operator = None
    session.save(entry)
    without = {name: value for name, value in FIRST.items() if name != "Operator Name"}
    assert filled.raw(legacy) == [OTHER, {**without, "temp.°C": {"N": "22"}}, SECOND, THIRD]


def test_a_stored_key_that_the_template_writes_differently_is_reported_with_its_remedy(
    engine: Engine,
) -> None:
    table = Table("Escapes", type_attribute="kind", revision_attribute=None)

    class Escaped(Entity, table=table, pk="NAME#{name}", sk="{rest}", name="escaped"):
        name: str
        rest: str

    engine.create(table)
    stored = {"PK": {"S": "NAME#a#b"}, "SK": {"S": "c"}, "kind": {"S": "escaped"}}
    engine.put(table, **stored, name={"S": "a#b"}, rest={"S": "c"})
    with engine.session() as session:
        assert session.query(Escaped, name="a#b").all() == []
        with pytest.raises(DecodeError, match=r"\{name:raw\}"):
            session.scan(Escaped).all()

    class Raw(Entity, table=Table("Escapes", revision_attribute=None), pk="NAME#{name:raw}", sk="{rest}"):
        name: str
        rest: str

    with engine.session() as session:
        assert session.query(Raw, name="a#b").one().rest == "c"
    assert engine.raw(table) == [{**stored, "name": {"S": "a#b"}, "rest": {"S": "c"}}]
