"""Writes depend on the stored item: former attribute names, lossy codecs, subclasses."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

import pytest

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Unique,
    inspect,
)
from dynaorm.errors import (
    AlreadyExists,
    EntityNotFound,
    InvalidValue,
    SameItemTwice,
    StaleEntity,
    UniqueViolation,
    UsageError,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from tests.cast import tables
from tests.cast.documents import Counter, Letter, Page
from tests.cast.orders import Bag
from tests.cast.others import Loose, Spot, Thing
from tests.cast.seen import items, put

app = Table("stored-app", indexes=[GlobalIndex("GSI1")])
own = Table("stored-own", indexes=[GlobalIndex("ByPlace", pk="country", sk="city")])


class Sign(Entity, table=app, pk="SIGN#{name:upper}", sk="S#{side}"):
    name: str
    side: str
    mail: Annotated[str | None, Unique("sign")] = None


def save_beside(session: Session) -> None:
    """In a transaction with another entity."""
    with session.transaction() as tx:
        tx.save(Sign(name="BO", side="l", mail="b"))
        tx.save(Counter(name="beside"))


class Base(Entity, table=app, pk="BASE#{name}", sk="B"):
    name: str
    title: str = ""


class Titled(Base, unique={"title": ("title",)}):
    pass


class Fleeting(Base):
    until: Annotated[datetime | None, ExpiresAt()] = None


class Place(Entity, table=own, pk="PLACE#{name}", sk="P"):
    name: str
    country: str | None = None
    city: str | None = None
    by_place = Index("ByPlace", pk="{country}", sk="{city}")


@pytest.fixture
def old(session: Session, moto: Transport) -> Item:
    """A counter stored before its attributes were renamed."""
    item = {
        "PK": {"S": "COUNTER#c"},
        "SK": {"S": "C"},
        "_type": {"S": "Counter"},
        "name": {"S": "c"},
        "Visits": {"N": "10"},
        "Nick": {"S": "n"},
    }
    put(moto, item)
    return item


def checked_update(session: Session, checked: Entity, change: Change, target: object) -> None:
    with session.transaction() as tx:
        tx.check(checked)
        tx.update(target, change)


def checked_save(session: Session, checked: object, entity: Entity) -> None:
    with session.transaction() as tx:
        tx.check(checked)
        tx.save(entity)


def test_an_update_by_key_goes_on_from_a_former_name(session: Session, moto: Transport, old: Item) -> None:
    assert session.update(Key(Counter, name="c"), F.visits.add(1)).visits == 11
    assert session.update(Key(Counter, name="c"), F.nick.remove()).nick is None
    (item,) = items(moto).values()
    assert item["visits"] == {"N": "11"}
    assert {"Visits", "Nick", "nick"}.isdisjoint(item)


def test_a_condition_holds_under_a_former_name(session: Session, moto: Transport, old: Item) -> None:
    key = Key(Counter, name="c")
    with session.transaction() as tx:
        tx.check(key, F.visits > 9)
        tx.save(Counter(name="other"))
    assert session.update(key, F.note.set("a"), condition=F.visits > 9).note == "a"
    counter = session.get_one(key)
    counter.note = "b"
    session.save(counter, condition=F.nick == "n")
    put(moto, old)
    session.delete(key, condition=F.visits > 9)
    assert session.get(key) is None


def test_a_checked_subclass_is_updated_by_its_own_rules_through_its_base_class(session: Session) -> None:
    first, second = (session.save(Titled(name=name, title=name)) for name in "ab")
    with pytest.raises(UniqueViolation):
        checked_update(session, second, F.title.set("a"), Key(Base, name="b"))
    checked_update(session, second, F.title.set("c"), Key(Base, name="b"))
    found = session.get_by(Titled, title="c")
    assert (found, session.get_by(Titled, title="b")) == (Titled(name="b", title="c"), None)
    with pytest.raises(StaleEntity):
        checked_update(session, second, F.title.set("e"), Key(Base, name="b"))
    assert session.get_by(Titled, title="a") == first


def test_what_expired_is_absent_through_its_base_class_too(session: Session, clock: FakeClock) -> None:
    session.save(Fleeting(name="f", until=datetime.fromtimestamp(clock.now() + 10, UTC)))
    clock.advance(10)
    with pytest.raises(EntityNotFound):
        session.update(Key(Base, name="f"), F.title.set("t"))


def test_a_key_cannot_be_inserted_and_checked_to_be_there(session: Session) -> None:
    with pytest.raises(SameItemTwice):
        checked_save(session, Key(Base, name="b"), Base(name="b"))


def test_an_empty_index_key_is_refused_before_dynamodb_does(session: Session) -> None:
    with pytest.raises(InvalidValue, match="empty key"):
        session.save(Place(name="p", city=""))
    session.save(Place(name="p", country="CH", city="Bern"))
    with pytest.raises(InvalidValue, match="empty key"):
        session.update(Key(Place, name="p"), {"country": None, "city": ""})


def test_without_revisions_a_checked_entity_is_unchanged_as_a_whole(session: Session) -> None:
    mine = session.save(Loose(name="l"))
    session.update(Key(Loose, name="l"), F.note.set("theirs"))
    with pytest.raises(StaleEntity):
        checked_update(session, mine, F.left.set(1), mine)
    mine.left = 2
    with pytest.raises(StaleEntity):
        checked_save(session, mine, mine)
    assert session.get(Loose, name="l") == Loose(name="l", note="theirs")


def test_a_renamed_attribute_makes_no_version(session: Session, moto: Transport) -> None:
    letter = session.save(Letter(name="l", text="t"))
    latest = items(moto)["LETTER#l r_0_L"]
    renamed = {name: value for name, value in latest.items() if name != "text"} | {"Text": latest["text"]}
    put(moto, renamed)
    session.refresh(letter)
    letter.note = "n"
    session.save(letter)
    assert [version.number for version in session.history(letter)] == [1]


def test_a_version_that_is_not_there_is_named_by_its_number(moto: Transport, clock: FakeClock) -> None:
    session = Session(transport=moto, clock=clock)
    session.create_table(tables.app)
    page = session.save(Page(name="l", text="one"))
    key = Key(Page, name="l")
    with pytest.raises(EntityNotFound) as restored:
        session.restore(page, version=9)
    with pytest.raises(EntityNotFound) as loaded:
        session.get_one(key, version=9)
    assert (
        str(restored.value)
        == str(loaded.value)
        == "Key(Page, name='l') has no version 9; it was never written, or was pruned; look at session.history(...)"
    )


def test_an_entity_read_at_a_version_is_restored_by_its_key(moto: Transport, clock: FakeClock) -> None:
    session = Session(transport=moto, clock=clock)
    session.create_table(tables.app)
    page = session.save(Page(name="l", text="one"))
    page.text = "two"
    session.save(page)
    old = session.get_one(Key(Page, name="l"), version=1)
    with pytest.raises(UsageError, match=r"was read at a version.*session\.restore\(Key\(Page"):
        session.restore(old, version=1)
    assert session.restore(Key(Page, name="l"), version=1).text == "one"


@pytest.mark.parametrize(
    ("stored", "change", "problem"),
    [
        ({"tags": {"L": [{"S": "a"}]}}, F.tags.add({"b"}), "tags has type L, not SS"),
        ({"steps": {"SS": ["a"]}}, F.steps.append(1), "steps has type SS, not L"),
    ],
)
def test_an_update_by_key_names_an_attribute_of_another_type(
    session: Session, moto: Transport, stored: Item, change: Change, problem: str
) -> None:
    item = {"PK": {"S": "BAG#a"}, "SK": {"S": "B"}, "_type": {"S": "Bag"}, "name": {"S": "a"}, **stored}
    put(moto, item)
    with pytest.raises(UsageError, match=problem):
        session.update(Key(Bag, name="a"), change)
    assert items(moto) == {"BAG#a B": item}


def test_an_item_of_another_class_is_not_overwritten_and_the_remedy_does_not_say_so(session: Session) -> None:
    session.save(Thing(thing="PLACE#a"))
    with pytest.raises(
        AlreadyExists,
        match=r"an item of Thing is stored under .*delete that item first: session\.delete\(Key\(Thing",
    ):
        session.save(Spot(name="a"), overwrite=True)


def test_a_key_that_several_values_have_is_taken_by_a_value_that_is_named(session: Session) -> None:
    session.save(Sign(name="Bo", side="l"))
    for save in (lambda: session.save(Sign(name="BO", side="l")), lambda: save_beside(session)):
        with pytest.raises(AlreadyExists, match="with another value of name, which has the same key; choose"):
            save()
    with pytest.raises(AlreadyExists, match="is already stored; get it and change it"):
        session.save(Sign(name="Bo", side="l"))


def test_what_is_absent_stays_absent_after_a_move(session: Session, moto: Transport) -> None:
    key = {"PK": {"S": "COUNTER#a"}, "SK": {"S": "C"}}
    item = {**key, "_type": {"S": "Counter"}, "name": {"S": "a"}}
    put(moto, item)
    counter = session.get_one(Counter, name="a")
    counter.name = "b"
    session.move(counter)
    assert inspect(counter).changes == {}
    counter.nick = "Bob"
    session.save(counter)
    assert items(moto)["COUNTER#b C"].keys() == {"PK", "SK", "_type", "_rev", "name", "nick", "changed"}


def test_a_value_that_contains_itself_is_refused(session: Session) -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidValue, match=r"Bag.extra = .*: is nested too deeply: DynamoDB has 32 levels"):
        session.save(Bag(name="a", extra=loop))
    with pytest.raises(InvalidValue, match=r"Bag.extra = .*: is nested too deeply: DynamoDB has 32 levels"):
        session.update(Key(Bag, name="a"), F.extra.set(loop))


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


class Visit(Entity, table=app, pk="VISIT#{name}", sk="V"):
    name: str
    day: Annotated[datetime, Unique(normalize=midnight)]
    code: Annotated[
        str, Unique(), Attribute("code", encode=lambda it: {"S": it.lower()}, decode=lambda it: it["S"])
    ]
    until: Annotated[datetime | None, ExpiresAt(), Unique("until")] = None
    by_code = Index("GSI1", pk="CODE#{code}", sk="{until}")


def test_guards_and_index_keys_follow_from_the_stored_values(
    session: Session, moto: Transport, clock: FakeClock
) -> None:
    until = datetime.fromtimestamp(int(clock.now()) + 100, UTC) + timedelta(microseconds=7)
    east = datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=10)))
    visit = session.save(Visit(name="v", day=east, code="ABC", until=until))
    main = items(moto, app)["VISIT#v V"]
    assert (main["GSI1PK"], main["GSI1SK"]["S"][-8:]) == ({"S": "CODE#abc"}, ".000000Z")
    updated = session.update(Key(Visit, name="v"), F.until.set(until), F.code.set("XYZ"))
    assert session.get_by(Visit, code="xyz") == updated
    main = items(moto, app)["VISIT#v V"]
    assert (main["GSI1PK"], main["GSI1SK"]["S"][-8:]) == ({"S": "CODE#xyz"}, ".000000Z")
    session.delete(session.refresh(visit))
    assert items(moto, app) == {}
