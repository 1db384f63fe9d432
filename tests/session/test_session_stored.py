"""Writes depend on the stored item: former attribute names, lossy codecs, subclasses."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table
from dynaorm.errors import AlreadyExists, EntityNotFound, InvalidValue, UsageError
from dynaorm.flow.call import Transport
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from tests.cast import tables
from tests.cast.documents import Page
from tests.cast.orders import Bag
from tests.cast.others import Spot, Thing
from tests.cast.seen import items, put

app = Table("stored-app", indexes=[GlobalIndex("GSI1")])
own = Table("stored-own", indexes=[GlobalIndex("ByPlace", pk="country", sk="city")])


class Place(Entity, table=own, pk="PLACE#{name}", sk="P"):
    name: str
    country: str | None = None
    city: str | None = None
    by_place = Index("ByPlace", pk="{country}", sk="{city}")


def test_an_empty_index_key_is_refused_before_dynamodb_does(session: Session) -> None:
    with pytest.raises(InvalidValue, match="empty key"):
        session.save(Place(name="p", city=""))
    session.save(Place(name="p", country="CH", city="Bern"))
    with pytest.raises(InvalidValue, match="empty key"):
        session.update(Key(Place, name="p"), {"country": None, "city": ""})


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
        == "Key(Page, name='l') has no version 9; it was never written, or was pruned; look at its history"
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


def test_a_value_that_contains_itself_is_refused(session: Session) -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidValue, match=r"Bag.extra = .*: is nested too deeply: DynamoDB has 32 levels"):
        session.save(Bag(name="a", extra=loop))
    with pytest.raises(InvalidValue, match=r"Bag.extra = .*: is nested too deeply: DynamoDB has 32 levels"):
        session.update(Key(Bag, name="a"), F.extra.set(loop))
