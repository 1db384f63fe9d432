"""A table that other code filled is mapped as it is, and dynaorm adds nothing that was not declared."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, InKey, Key, Session, Table, inspect
from dynaorm.errors import DecodeError, StaleEntity
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


class Preference(Entity, table=legacy, pk="SETTINGS", sk="{name:raw}"):
    name: Annotated[str, Attribute("State#Date")]
    value: str


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


def test_an_existing_table_with_odd_names_and_no_attributes_of_dynaorm_is_read(session: Session) -> None:
    entry = first(session)
    assert (entry.operator, entry.celsius, entry.tags) == ("Liz", Decimal("21.5"), set())
    assert inspect(entry).loaded
    assert inspect(entry).revision is None
    assert session.get_one(Preference, name="a#b%c").value == "1"


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


def test_a_move_takes_along_what_nobody_declared(filled: Engine, session: Session) -> None:
    entry = first(session)
    entry.state = "WARNING"
    session.move(entry)
    moved = {**FIRST, "State#Date": {"S": "WARNING#2020-04-24T14:40:00"}}
    assert filled.raw(legacy) == [OTHER, moved, SECOND, THIRD]


def test_what_the_other_program_changed_meanwhile_is_not_overwritten(
    filled: Engine, session: Session
) -> None:
    entry = first(session)
    filled.put(legacy, **{**FIRST, "temp.°C": {"N": "25"}})
    entry.celsius = Decimal(22)
    with pytest.raises(StaleEntity):
        session.save(entry)
    # A save of one field succeeds if only other attributes were changed.
    entry = first(session)
    filled.put(legacy, **{**FIRST, "temp.°C": {"N": "26"}, "_seen": {"BOOL": False}})
    entry.tags = {"z"}
    session.save(entry)
    assert {**FIRST, "temp.°C": {"N": "26"}, "_seen": {"BOOL": False}, "tags[]": {"SS": ["z"]}} in filled.raw(
        legacy
    )


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


# -- values in a form of their own -------------------------------------------------------------------------------------


def to_text(at: datetime) -> dict[str, str]:
    return {"S": f"{at:%Y-%m-%dT%H:%M:%S}"}


def from_text(stored: Any) -> datetime:
    return datetime.fromisoformat(stored["S"]).replace(tzinfo=UTC)


clocks = Table(
    "Clocks",
    pk="Place",
    sk="Date",
    indexes=[GlobalIndex("GSI1", pk="Operator", sk="Date")],
    type_attribute=None,
    revision_attribute=None,
)


class Reading(Entity, table=clocks):
    place: Annotated[str, Attribute("Place")]
    at: Annotated[datetime, Attribute("Date", encode=to_text, decode=from_text)]
    operator: Annotated[str | None, Attribute("Operator")] = None
    by_operator = Index("GSI1")


def test_times_stored_without_a_zone_are_datetimes_in_keys_and_index_keys_by_an_encoding_of_their_own(
    engine: Engine,
) -> None:
    engine.create(clocks)
    stored = [
        {"Place": {"S": "Oslo"}, "Date": {"S": f"2020-04-24T14:{minute}:00"}, "Operator": {"S": "Liz"}}
        for minute in (40, 45, 50)
    ]
    for item in stored[:2]:
        engine.put(clocks, **item)
    at = [datetime(2020, 4, 24, 14, minute, tzinfo=UTC) for minute in (40, 45, 50)]
    with engine.session() as session:
        session.save(Reading(place="Oslo", at=at[2], operator="Liz"))
        assert engine.raw(clocks) == stored
        assert session.get_one(Reading, place="Oslo", at=at[0]).operator == "Liz"
        assert [one.at for one in session.query(Reading, place="Oslo").gt(at=at[0])] == at[1:]
        by_liz = session.query(Reading.by_operator, operator="Liz")
        assert [one.at for one in by_liz.between(at=(at[0], at[1]))] == at[:2]
        assert [one.at for one in by_liz.begins_with(at="2020-04-24T14:5")] == at[2:]
        session.update(Key(Reading, place="Oslo", at=at[1]), F.operator.remove())
        session.delete(Key(Reading, place="Oslo", at=at[0]))
    assert engine.raw(clocks) == [
        {"Place": {"S": "Oslo"}, "Date": {"S": "2020-04-24T14:45:00"}},
        stored[2],
    ]
