"""Hierarchies in a sort key: one declaration, and a query at every level that never returns items of a similar name."""

import pytest
from locations import Article, locations

from tests.story.engine import Engine


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
