"""Whatever is stored under the key of an entity, a read returns a valid entity or None, or raises DecodeError."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, Key, Session, inspect
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, EntityNotFound, OwnerUnknown
from dynaorm.testing import FakeClock
from tests.fuzz.fixtures import NOON, SOUND, TABLES, Paper, key_names, key_of, spoiled
from tests.fuzz.shelf import Shelf

CASES = st.sampled_from(SOUND)


class Place:
    """The damaged items of one entity, and sessions that read them."""

    def __init__(self, entity: Entity, data: st.DataObject) -> None:
        self.shelf = Shelf(TABLES)
        self.told: list[DecodeError] = []
        clock = FakeClock(ids="id-", jitter=0)
        self.session = Session(transport=self.shelf, clock=clock)
        self.lenient = Session(transport=self.shelf, clock=clock, on_decode_error=self.told.append)
        self.shelf.fill(entity, self.session)
        self.loaded = self.session.get_one(key_of(entity))
        places = [(name, place) for name, items in self.shelf.items.items() for place in range(len(items))]
        for name, place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique=True)):
            items, keys = self.shelf.items[name], key_names(self.shelf.tables[name])
            items[place] = data.draw(spoiled(items[place], keys))


class Read(NamedTuple):
    """A way to read an entity. ``lists`` says that it skips unreadable items if there is a handler."""

    name: str
    make: Callable[[Session, Any], Any]
    lists: bool = False

    def __str__(self) -> str:
        return self.name


def query(session: Session, loaded: Any) -> Any:
    partition = mapping_of(type(loaded)).partition
    return session.query(type(loaded), **{name: getattr(loaded, name) for name in partition.fields})


def by_constraints(session: Session, loaded: Any) -> list[Any]:
    found = []
    for constraint in mapping_of(type(loaded)).constraints.values():
        try:
            found.append(
                session.get_by(type(loaded), **{name: getattr(loaded, name) for name in constraint.fields})
            )
        except OwnerUnknown:
            continue
    return found


def by_indexes(session: Session, loaded: Any) -> list[Any]:
    kind = type(loaded)
    found: list[Any] = []
    for name in mapping_of(kind).indexes:
        field = {"by_city": "city", "by_hall": "hall"}[name]
        if (value := getattr(loaded, field)) is not None:
            found += session.query(getattr(kind, name), **{field: value}).all()
            if name == "by_city":
                found += session.query(kind.by_city, city=value, number=loaded.number).descending().all()
    return found


def collection(session: Session, loaded: Any) -> Any:
    partition = mapping_of(type(loaded)).partition
    return session.collection(
        type(loaded), **{name: getattr(loaded, name) for name in partition.fields}
    ).all()


READS = (
    Read("get", lambda session, loaded: session.get(key_of(loaded))),
    Read("refresh", lambda session, loaded: session.refresh(loaded.model_copy())),
    Read("get_by", by_constraints),
    Read("get_many", lambda session, loaded: session.get_many([key_of(loaded)] * 2), lists=True),
    Read("query", lambda session, loaded: query(session, loaded).all(), lists=True),
    Read("first", lambda session, loaded: query(session, loaded).descending().first(), lists=True),
    Read("page", lambda session, loaded: query(session, loaded).page(1).entities, lists=True),
    Read("expired", lambda session, loaded: query(session, loaded).expired().all(), lists=True),
    Read("index", by_indexes, lists=True),
    Read("scan", lambda session, loaded: session.scan(type(loaded), segments=2).all(), lists=True),
    Read("collection", collection, lists=True),
)


def check_found(found: Any, loaded: Any) -> None:
    """Everything found is of the class that was read, and as valid as a constructed entity."""
    for one in found if isinstance(found, list) else [found]:
        if one is not None:
            assert isinstance(one, type(loaded))
            assert inspect(one).loaded
            assert inspect(one).changes == {}
            assert key_of(one).primary_key == key_of(loaded).primary_key
            type(one).model_validate(vars(one))


@pytest.mark.parametrize("read", READS, ids=str)
@given(entity=CASES, data=st.data())
def test_a_read_gives_a_valid_entity_none_or_an_error(
    read: Read, entity: Entity, data: st.DataObject
) -> None:
    place = Place(entity, data)
    with suppress(DecodeError, *([EntityNotFound] if read.name == "refresh" else [])):
        check_found(read.make(place.session, place.loaded), place.loaded)


@pytest.mark.parametrize("read", [read for read in READS if read.lists], ids=str)
@given(entity=CASES, data=st.data())
def test_a_list_goes_on_without_what_it_reports(read: Read, entity: Entity, data: st.DataObject) -> None:
    place = Place(entity, data)
    check_found(read.make(place.lenient, place.loaded), place.loaded)
    told = len(place.told)
    try:
        read.make(place.session, place.loaded)
    except DecodeError:
        assert told


@given(entity=st.sampled_from([one for one in SOUND if mapping_of(type(one)).versioning]), data=st.data())
def test_versions_are_read_or_said_to_be_unreadable(entity: Entity, data: st.DataObject) -> None:
    place = Place(entity, data)
    session, key = place.session, key_of(entity)
    works: list[Callable[[], Any]] = [
        *([lambda: session.get(key, version=1)] if isinstance(entity, Paper) else []),
        *([lambda: session.get(key, as_of=NOON)] if isinstance(entity, Paper) else []),
        lambda: session.diff(key, 1, 1),
        lambda: [one.entity for one in session.history(key)],
        lambda: [one.values for one in session.history(place.loaded)],
    ]
    for work in works:
        with suppress(DecodeError, EntityNotFound):
            work()


@given(entity=CASES, data=st.data())
def test_a_count_and_the_keys_of_a_query_agree(entity: Entity, data: st.DataObject) -> None:
    place = Place(entity, data)
    asked = query(place.session, place.loaded)
    keys = asked.keys().all()
    assert asked.count() == len(keys)
    assert all(isinstance(key, Key) for key in keys)
