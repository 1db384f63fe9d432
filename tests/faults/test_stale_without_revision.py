"""A stale object never deletes, moves or restores, whether its table keeps revisions or its item carries none."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.errors import StaleEntity
from dynaorm.testing import FakeClock
from dynaorm.transport import Transport
from tests.faults.store import Store
from tests.memory import MEMORY

bare = Table("Bare", revision_attribute=None)
normal = Table("Normal")


class Note(Entity, table=bare, pk="NOTE#{name}", sk="NOTE"):
    name: str
    text: str = ""
    stars: int | None = None


class Adopted(Entity, table=normal, pk="NOTE#{name}", sk="NOTE"):
    name: str
    text: str = ""
    stars: int | None = None


class Page(Entity, table=bare, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class AdoptedPage(Entity, table=normal, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


def adopted(store: Store, kind: type[Any], **values: Any) -> Any:
    """A stored entity whose items carry no revision, as if another program had written them."""
    store.line().session.save(kind(name="a", **values))
    table = bare if kind.__module__ and kind in (Note, Page) else normal
    for item in store.items(table):
        store.put(table, **{name: value for name, value in item.items() if name != "_rev"})
    return store.line().session.get_one(Key(kind, name="a"), consistent=True)


def written_since(store: Store, kind: type[Any]) -> None:
    """Another program changes one field. It knows of no revisions."""
    table = bare if kind in (Note, Page) else normal
    for item in store.items(table):
        if item["SK"]["S"] in ("NOTE", "v0_TEXT"):
            store.put(table, **{**item, "text": {"S": "theirs"}})


@pytest.mark.parametrize("kind", [Note, Adopted])
@pytest.mark.parametrize("write", ["delete", "move"])
def test_a_stale_object_without_revision_never_deletes(store: Store, kind: type[Any], write: str) -> None:
    session = store.line().session
    entity = adopted(store, kind, text="mine")
    written_since(store, kind)
    table = bare if kind is Note else normal
    items = store.items(table)
    with pytest.raises(StaleEntity):
        if write == "delete":
            session.delete(entity)
        else:
            entity.name = "b"
            session.move(entity)
    assert store.items(table) == items


@pytest.mark.parametrize("kind", [Page, AdoptedPage])
def test_a_stale_object_without_revision_restores_nothing(store: Store, kind: type[Any]) -> None:
    session = store.line().session
    page = adopted(store, kind, text="one")
    written_since(store, kind)
    table = bare if kind is Page else normal
    items = store.items(table)
    with pytest.raises(StaleEntity):
        session.restore(page, version=1)
    assert store.items(table) == items


def test_a_stale_object_does_not_restore_over_a_deletion(store: Store) -> None:
    session = store.line().session
    page = session.save(Page(name="a", text="one"))
    store.line().session.delete(Key(Page, name="a"))
    items = store.items(bare)
    with pytest.raises(StaleEntity):
        session.restore(page, version=1)
    assert store.items(bare) == items


@pytest.mark.parametrize(
    "work",
    [
        lambda session, page: session.save(page),
        lambda session, page: session.delete(page),
        lambda session, page: session.update(page, F.text.set("mine")),
    ],
    ids=["save", "delete", "update"],
)
def test_a_value_changed_and_changed_back_is_stale(
    store: Store, work: Callable[[Session, Any], object]
) -> None:
    """The fields are equal again, but two more versions are stored."""
    session = store.line().session
    session.save(Page(name="a", text="one"))
    page = store.line().session.get_one(Key(Page, name="a"), consistent=True)
    for text in ("two", "one"):
        session.update(Key(Page, name="a"), F.text.set(text))
    page.text = "mine"
    items = store.items(bare)
    with pytest.raises(StaleEntity):
        work(session, page)
    assert store.items(bare) == items


@settings(max_examples=settings().max_examples // 3)  # each makes many requests
@given(
    mine=st.tuples(st.sampled_from(["", "a", "b"]), st.none() | st.integers(0, 2)),
    theirs=st.tuples(st.sampled_from(["", "a", "b"]), st.none() | st.integers(0, 2)),
    kind=st.sampled_from([Note, Page]),
)
def test_an_object_without_revision_deletes_what_it_loaded(
    moto_transport: Transport,
    mine: tuple[str, int | None],
    theirs: tuple[str, int | None],
    kind: type[Any],
) -> None:
    def written(session: Session, values: tuple[str, int | None]) -> None:
        key = Key(kind, name="a")
        session.update(key, F.text.set(values[0]))
        if kind is Note:
            session.update(key, F.stars.set(values[1]))

    with MEMORY.empty():
        session = Session(transport=moto_transport, clock=FakeClock())
        session.create_table(bare)
        session.save(kind(name="a"))
        written(session, mine)
        entity = session.get_one(Key(kind, name="a"))
        before = vars(entity).copy()
        written(session, theirs)
        now = session.get_one(Key(kind, name="a"))
        if vars(now) == before and (kind is Note or theirs[0] == mine[0]):
            session.delete(entity)
            assert session.get(Key(kind, name="a")) is None
        else:
            with pytest.raises(StaleEntity):
                session.delete(entity)
            assert session.get(Key(kind, name="a")) == now
