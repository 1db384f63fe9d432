"""Places in one sort key, from the country to the neighborhood, queried at every level.

Run: python examples/locations.py
"""

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Entity, GlobalIndex, Index, Session, Table

# The fields of the place are in the key, so they are not stored again as attributes.
locations = Table(
    "Locations",
    indexes=[GlobalIndex("GSI1")],
    type_attribute=None,
    revision_attribute=None,
    key_fields="in_key",
)


class Article(Entity, table=locations, pk="ARTICLE#{name}", sk="{country}-{state}-{city}"):
    name: str
    country: str
    state: str
    city: str
    left: int


class Place(
    Entity,
    table=locations,
    pk="PLACES",
    sk="{country}#{region}#{state}#{county}#{city}#{neighborhood}",
):
    country: str
    region: str
    state: str
    county: str
    city: str
    neighborhood: str
    kind: str | None = None
    # The same hierarchy in an index, below the kind of place.
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{country}#{region}#{state}#{county}#{city}#{neighborhood}")


ARTICLES = [
    ("USA", "TX", "Houston", 7),
    ("USA", "TX", "Austin", 2),
    ("USA", "WA", "Seattle", 9),
    (
        "US",
        "TX",
        "Houston",
        1,
    ),  # another country: a query for "USA" must not find it, nor a query for "US" the others
]
PLACES = [
    ("USA", "South", "TX", "Harris", "Houston", "Montrose", "shop"),
    ("USA", "South", "TX", "Harris", "Houston", "Heights", "depot"),
    ("USA", "South", "TX", "Harris", "Pasadena", "Golden Acres", "shop"),
    ("USA", "South", "TX", "Travis", "Austin", "Hyde Park", "shop"),
    ("USA", "South", "GA", "Fulton", "Atlanta", "Midtown", "depot"),
    ("USA", "West", "WA", "King", "Seattle", "Fremont", "shop"),
    ("Mexico", "Norte", "Nuevo León", "Monterrey", "Monterrey", "Centro", "shop"),
]
LEVELS = ("country", "region", "state", "county", "city", "neighborhood")


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(locations)
        for country, state, city, left in ARTICLES:
            session.save(Article(name="lamp", country=country, state=state, city=city, left=left))
        for place in PLACES:
            session.save(Place(**dict(zip((*LEVELS, "kind"), place, strict=True))))

        step("USA, USA-TX, USA-TX-Houston: three levels, three queries, one declaration")
        lamps = session.query(Article, name="lamp")
        found(lamps.eq(country="USA").all())
        found(lamps.eq(country="USA", state="TX").all())
        found(lamps.eq(country="USA", state="TX", city="Houston").all())

        step("A query for US does not find USA: the country US has one lamp")
        found(lamps.eq(country="US").all())

        step(
            "[country]#[region]#[state]#[county]#[city]#[neighborhood]: the places of each level of one of them"
        )
        at = dict(zip(LEVELS, PLACES[0], strict=False))
        for depth, level in enumerate(LEVELS, start=1):
            places = session.query(Place, **{name: at[name] for name in LEVELS[:depth]}).all()
            console.print(f"{level} {at[level]}: {', '.join(place.neighborhood for place in places)}")

        step("A prefix of the next level: the cities of Harris that begin with Ho")
        harris = session.query(Place, country="USA", region="South", state="TX", county="Harris")
        found(harris.begins_with(city="Ho").all())

        step("The same hierarchy in an index: the shops of Texas")
        found(session.query(Place.by_kind, kind="shop", country="USA", region="South", state="TX").all())

        step("What is stored")
        show(client, locations)


if __name__ == "__main__":
    main()
