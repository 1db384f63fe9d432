"""Hierarchies in a sort key: one declaration, and a query at every level that never returns items of a similar name."""

from typing import Any

import pytest
from locations import LEVELS, Article, Place, locations

from dynaorm.errors import UsageError
from tests.story.engine import Engine

PLACES = [
    ("USA", "South", "TX", "Harris", "Houston", "Montrose"),
    ("USA", "South", "TX", "Harris", "Houston", "Heights"),
    ("USA", "South", "TX", "Harris", "Pasadena", "Golden Acres"),
    ("USA", "South", "TX", "Travis", "Austin", "Hyde Park"),
    ("USA", "South", "GA", "Fulton", "Atlanta", "Midtown"),
    ("USA", "West", "WA", "King", "Seattle", "Fremont"),
    # Names that begin with one of those above, or lack its last letter.
    ("US", "South", "TX", "Harris", "Houston", "Montrose"),
    ("USA", "Southwest", "TX", "Harris", "Houston", "Montrose"),
    ("USA", "South", "TXX", "Harris", "Houston", "Montrose"),
    ("USA", "South", "TX", "Harrison", "Houston", "Montrose"),
    ("USA", "South", "TX", "Harris", "Houston Heights", "Montrose"),
    ("USA", "South", "TX", "Harris", "Houston", "Montrose West"),
    # A name that contains the separator.
    ("USA#South", "TX", "Harris", "Houston", "Montrose", "-"),
]


def place(names: tuple[str, ...], kind: str | None = None) -> Place:
    return Place(**dict(zip(LEVELS, names, strict=True)), kind=kind)


def names_of(found: Any) -> list[tuple[str, ...]]:
    return [tuple(getattr(one, level) for level in LEVELS) for one in found]


@pytest.fixture
def places(engine: Engine) -> Engine:
    engine.create(locations)
    with engine.session() as session:
        for names in PLACES:
            session.save(place(names))
    engine.forget()
    return engine


@pytest.fixture
def articles(engine: Engine) -> Engine:
    engine.create(locations)
    with engine.session() as session:
        for country, state, city in [
            ("USA", "TX", "Houston"),
            ("USA", "TX", "Austin"),
            ("USA", "WA", "Seattle"),
            ("US", "TX", "Houston"),
            ("USA-TX", "Houston", "-"),
        ]:
            session.save(Article(name="lamp", country=country, state=state, city=city, left=1))
    engine.forget()
    return engine


def test_the_keys_go_from_the_largest_place_to_the_smallest_and_hold_nothing_else(articles: Engine) -> None:
    sort_keys = ["US-TX-Houston", "USA%2DTX-Houston-%2D", "USA-TX-Austin", "USA-TX-Houston", "USA-WA-Seattle"]
    assert articles.raw(locations) == [
        {"PK": {"S": "ARTICLE#lamp"}, "SK": {"S": key}, "left": {"N": "1"}} for key in sort_keys
    ]


@pytest.mark.parametrize(
    ("fields", "prefix", "cities"),
    [
        ({"country": "USA"}, "USA-", ["Austin", "Houston", "Seattle"]),
        ({"country": "USA", "state": "TX"}, "USA-TX-", ["Austin", "Houston"]),
        ({"country": "US"}, "US-", ["Houston"]),
        ({"country": "USA-TX"}, "USA%2DTX-", ["-"]),
    ],
)
def test_usa_and_usa_tx_are_one_prefix_each(
    articles: Engine, fields: dict[str, str], prefix: str, cities: list[str]
) -> None:
    found = articles.session().query(Article, name="lamp", **fields).all()
    assert [one.city for one in found] == cities
    (call,) = articles.calls
    assert "begins_with" in call.request["KeyConditionExpression"]
    assert {"S": prefix} in call.request["ExpressionAttributeValues"].values()


def test_usa_tx_houston_is_the_whole_key_and_an_equality(articles: Engine) -> None:
    query = articles.session().query(Article, name="lamp", country="USA", state="TX", city="Houston")
    assert [(one.country, one.state, one.city) for one in query] == [("USA", "TX", "Houston")]
    (call,) = articles.calls
    assert "begins_with" not in call.request["KeyConditionExpression"]
    assert {"S": "USA-TX-Houston"} in call.request["ExpressionAttributeValues"].values()


@pytest.mark.parametrize("depth", range(1, 7))
def test_a_query_gives_one_place_at_its_level_and_no_place_whose_name_only_begins_alike(
    places: Engine, depth: int
) -> None:
    for names in PLACES:
        given = dict(zip(LEVELS[:depth], names, strict=False))
        found = places.session().query(Place, **given).all()
        expected = [one for one in PLACES if one[:depth] == names[:depth]]
        assert sorted(names_of(found)) == sorted(expected)
        assert found.requests == 1


def test_all_places_are_one_partition_in_the_order_of_their_levels(places: Engine) -> None:
    found = places.session().query(Place).all()
    assert len(found) == len(PLACES)
    assert sorted(item["SK"]["S"] for item in places.raw(locations)) == [
        "#".join(part.replace("#", "%23") for part in names) for names in names_of(found)
    ]


def test_the_next_level_may_be_given_in_part(places: Engine) -> None:
    harris = places.session().query(Place, country="USA", region="South", state="TX", county="Harris")
    assert names_of(harris.begins_with(city="Houston ")) == [
        ("USA", "South", "TX", "Harris", "Houston Heights", "Montrose")
    ]
    assert {one.city for one in harris.begins_with(city="Hou")} == {"Houston", "Houston Heights"}
    assert {one.city for one in harris.begins_with(city="P")} == {"Pasadena"}


def test_the_next_level_may_be_a_range(places: Engine) -> None:
    south = places.session().query(Place, country="USA", region="South")
    assert {one.state for one in south.lt(state="TX")} == {"GA"}
    assert {one.state for one in south.le(state="TX")} == {"GA", "TX"}
    assert {one.state for one in south.gt(state="TX")} == {"TXX"}
    assert {one.state for one in south.between(state=("GA", "TX"))} == {"GA", "TX"}


def test_a_level_cannot_be_left_out(places: Engine) -> None:
    with pytest.raises((UsageError, ValueError), match="region"):
        places.session().query(Place, country="USA", state="TX").all()
    assert places.calls == []


def test_the_same_hierarchy_in_an_index_is_asked_for_at_every_level(engine: Engine) -> None:
    engine.create(locations)
    with engine.session() as session:
        for names, kind in zip(PLACES[:6], ("shop", "depot", "shop", None, "depot", "shop"), strict=True):
            session.save(place(names, kind))
        assert engine.raw(locations)[0] == {
            "PK": {"S": "PLACES"},
            "SK": {"S": "USA#South#GA#Fulton#Atlanta#Midtown"},
            "GSI1PK": {"S": "KIND#depot"},
            "GSI1SK": {"S": "USA#South#GA#Fulton#Atlanta#Midtown"},
            "kind": {"S": "depot"},
        }
        shops = session.query(Place.by_kind, kind="shop")
        assert names_of(shops) == [PLACES[0], PLACES[2], PLACES[5]]
        assert names_of(shops.eq(country="USA", region="South", state="TX")) == [PLACES[0], PLACES[2]]
        assert names_of(shops.eq(country="USA", region="West")) == [PLACES[5]]
        assert names_of(shops.eq(country="USA").begins_with(region="W")) == [PLACES[5]]
