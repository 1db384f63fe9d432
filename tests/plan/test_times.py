"""The times that plans set."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from dynaorm import Attribute, CreatedAt, Entity, F, Table, UpdatedAt
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.update import SetTo
from dynaorm.plan.times import asked_for, stamped, times_of_changed, times_of_new, unstamped

NOW = 1_700_000_000.25


def to_seconds(value: Any) -> dict[str, Any]:
    return {"N": str(int(value.timestamp()))}


def from_seconds(stored: Any) -> datetime:
    return datetime.fromtimestamp(int(stored["N"]), UTC)


class Note(Entity, table=Table("plan-times"), pk="NOTE#{note}", sk="N"):
    note: str
    made: Annotated[
        datetime | None, CreatedAt(), Attribute("CreatedAt", encode=to_seconds, decode=from_seconds)
    ] = None
    seen: Annotated[datetime | None, UpdatedAt()] = None


class Plain(Entity, table=Table("plan-times"), pk="PLAIN#{name}", sk="P"):
    name: str


def test_a_time_is_what_will_load() -> None:
    now = datetime.fromtimestamp(NOW, UTC)
    assert times_of_new(mapping_of(Note), NOW) == {"made": now - timedelta(seconds=0.25), "seen": now}
    assert times_of_changed(mapping_of(Note), NOW) == {"seen": now}
    assert times_of_new(mapping_of(Plain), NOW) == {}


def test_there_is_no_time_where_nothing_is_written() -> None:
    assert times_of_new(mapping_of(Note), float("-inf")) == {"made": None, "seen": None}
    assert times_of_changed(mapping_of(Note), float("-inf")) == {}


def test_a_partial_update_gets_a_time_that_the_caller_did_not_ask_for() -> None:
    changes = (F.note.set("b"),)
    found = stamped(mapping_of(Note), changes, NOW)
    assert found == (*changes, SetTo(("seen",), datetime.fromtimestamp(NOW, UTC)))
    assert unstamped(mapping_of(Note), found) == changes
    assert stamped(mapping_of(Note), (), NOW) == ()
    assert stamped(mapping_of(Plain), changes, NOW) == unstamped(mapping_of(Plain), changes) == changes


def test_what_was_asked_for_has_no_times() -> None:
    image = {"PK": {"S": "NOTE#a"}, "CreatedAt": {"N": "1"}, "seen": {"S": "now"}}
    assert asked_for(mapping_of(Note), image) == {"PK": {"S": "NOTE#a"}}
    assert asked_for(mapping_of(Plain), image) == image
