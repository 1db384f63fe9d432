"""What else a write without a revision is conditional on, and what else an object is told."""

from typing import Annotated

import pytest

from dynaorm import Aggregate, Attribute, Entity, F, Key, Session, Table, inspect
from dynaorm.errors import DecodeError, OutcomeUnknown, StaleEntity
from dynaorm.testing.faults import lost_answer
from tests.faults.entities import ONE_TRY
from tests.faults.store import Store

bare = Table("Siblings", revision_attribute=None)


class Note(Entity, table=bare, pk="NOTE#{name}", sk="NOTE"):
    name: str
    title: Annotated[str, Attribute("title", formerly=("headline",))] = ""
    text: str = ""
    stars: int = 0
    owner: str | None = None


class Group(Entity, table=bare, pk="GROUP#{name}", sk="GROUP"):
    name: str
    note: str = ""


class Crew(Group):
    hands: int = 0


class Sailor(Entity, table=bare, pk="SAILOR#{name}", sk="SAILOR"):
    name: str
    crew: str
    in_crew = Aggregate(Crew, count="hands", key={"name": "crew"})


@pytest.fixture
def store(moto: Store) -> Store:
    return moto


@pytest.fixture
def session(store: Store) -> Session:
    return store.line().session


def test_an_update_that_renames_another_field_relies_on_it(store: Store, session: Session) -> None:
    """The loaded value is stored under the new name, and must not undo what the old program wrote."""
    item = {"PK": {"S": "NOTE#a"}, "SK": {"S": "NOTE"}, "_type": {"S": "Note"}, "name": {"S": "a"}}
    store.put(bare, **item, headline={"S": "one"})
    note = session.get_one(Note, name="a")
    store.put(bare, **item, headline={"S": "two"})
    note.stars = 1
    with pytest.raises(StaleEntity):
        session.save(note)
    assert store.items(bare) == [{**item, "headline": {"S": "two"}}]


@pytest.mark.parametrize("kind", [Group, Crew])
def test_a_counted_entity_of_another_class_replaces_the_stored(
    store: Store, session: Session, kind: type[Group]
) -> None:
    session.save(kind(name="1"))
    with session.transaction() as tx:
        crew = tx.save(Crew(name="1"), overwrite=True)
        tx.save(Sailor(name="1", crew="1"))
    assert session.get_one(Crew, name="1") == crew
    assert crew.hands == 1


def test_an_object_settled_by_reading_is_what_is_stored(store: Store) -> None:
    session, _ = store.line(lost_answer(operation="UpdateItem"), retry=ONE_TRY)
    note = session.save(Note(name="a"))
    store.line().session.update(Key(Note, name="a"), F.stars.set(7))
    note.text = "mine"
    with pytest.raises(OutcomeUnknown) as unknown:
        session.save(note)
    assert note.stars == 0
    assert session.resume(unknown.value.plan)
    assert note == session.get_one(Note, name="a")
    assert (note.text, note.stars, inspect(note).changes) == ("mine", 7, {})


def test_a_save_beside_a_spoiled_item_says_it_was_written(store: Store, session: Session) -> None:
    note = session.save(Note(name="a"))
    (item,) = store.items(bare)
    store.put(bare, **{**item, "stars": {"S": "many"}})
    note.text = "mine"
    with pytest.raises(DecodeError, match=r"^The item was written, but it does not load"):
        session.save(note)
    assert store.items(bare)[0]["text"] == {"S": "mine"}
    assert inspect(note).changes == {}
