"""``session.search`` on ministack: what is found, in which order, and what is never found."""

import asyncio
import math
import struct
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import (
    AsyncSession,
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    NumberKey,
    Session,
    Table,
    Unique,
    Vector,
    VectorIndex,
    any_of,
    item_of,
    tools,
)
from dynaorm.description import describe
from dynaorm.errors import DeclarationError, InvalidValue, ItemTooLarge, UnexpectedRefusal, UsageError
from dynaorm.export.templates import cloudformation
from dynaorm.iam import iam_policy
from dynaorm.testing import assert_consistent
from dynaorm.transport import Transport

FAR = datetime(2100, 1, 1, tzinfo=UTC)

papers = Table(
    "papers",
    indexes=[
        VectorIndex("semantic", dimensions=3, filters=["category", NumberKey("year")]),
        VectorIndex("by_length", dimensions=3, distance="euclidean", vector="semanticVector"),
        VectorIndex("by_product", dimensions=3, distance="dot_product", vector="semanticVector"),
    ],
)


class Paper(Entity, table=papers, pk="PAPER#{id}", sk="PAPER", versioned=True):
    id: str
    tenant: str
    title: Annotated[str, Unique()]
    category: str | None = None
    year: int = 2020
    meaning: Annotated[list[float] | None, Vector("semantic")] = None
    semantic = Index("semantic", pk="TENANT#{tenant}")
    by_length = Index("by_length", pk="TENANT#{tenant}")
    by_product = Index("by_product", pk="TENANT#{tenant}")


class Note(Entity, table=papers, pk="NOTE#{id}", sk="NOTE"):
    id: str
    tenant: str
    until: Annotated[datetime, ExpiresAt()] = FAR
    meaning: Annotated[list[float], Vector("semantic")]
    semantic = Index("semantic", pk="TENANT#{tenant}")


@pytest.fixture(scope="module")
def line(ministack_line: tuple[Transport, Any]) -> Iterator[tuple[Session, Any]]:
    transport, client = ministack_line
    with Session(transport=transport) as session:
        session.create_table(papers)
        yield session, client
        session.delete_table(papers, name="papers")


@pytest.fixture
def session(line: tuple[Session, Any]) -> Session:
    """A session on a table with vectors, empty."""
    found, client = line
    for item in client.scan(TableName="papers")["Items"]:
        client.delete_item(TableName="papers", Key={name: item[name] for name in ("PK", "SK")})
    return found


def paper(id: str, meaning: list[float] | None, tenant: str = "a", **values: Any) -> Paper:
    return Paper(id=id, tenant=tenant, title=f"title {id}", meaning=meaning, **values)


def ids(matches: Any) -> list[str]:
    return [match.entity.id for match in matches]


# -- what is found -----------------------------------------------------------------------------------------------------


def as_stored(number: float) -> float:
    found: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return found


def distance_of(name: str, one: list[float], other: list[float]) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    if name == "by_product":
        return -product
    if name == "by_length":
        return math.dist(one, other)
    return 1 - product / (math.hypot(*one) * math.hypot(*other))


# So far apart that rounding to 32 bits changes no order, and never zero, which has no cosine.
coordinates = st.integers(1, 40).map(lambda one: one / 4)
vectors = st.lists(coordinates, min_size=3, max_size=3)


@settings(max_examples=12)
@given(st.data())
@pytest.mark.parametrize("name", ["semantic", "by_length", "by_product"])
def test_the_matches_are_the_nearest_in_order_by_each_distance(
    line: tuple[Session, Any], name: str, data: st.DataObject
) -> None:
    session, _ = line
    tenant = uuid.uuid4().hex
    stored = data.draw(st.lists(vectors, min_size=1, max_size=12))
    session.save_many([paper(f"{tenant}-{place}", one, tenant) for place, one in enumerate(stored)])
    wanted, k = data.draw(vectors), data.draw(st.integers(1, 15))
    found = session.search(getattr(Paper, name), wanted, k=k, tenant=tenant).all()
    distances = [distance_of(name, wanted, match.entity.meaning or []) for match in found]
    nearest = sorted(distance_of(name, wanted, one) for one in stored)[:k]
    assert distances == pytest.approx(nearest, abs=1e-6)
    scores = [-match.score if name == "by_product" else match.score for match in found]
    assert scores == pytest.approx(distances, abs=1e-4)
    assert scores == sorted(scores)


def test_a_filter_is_applied_before_the_nearest_are_taken(session: Session) -> None:
    session.save_many(
        [
            paper(str(year), [1, 0, year / 1e6], year=year, category="odd" if year % 2 else None)
            for year in range(2000, 2012)
        ]
    )
    search = session.search(Paper.semantic, [1, 0, 0], k=2, tenant="a")
    assert ids(search) == ["2000", "2001"]
    assert ids(search.filter(F.category == "odd")) == ["2001", "2003"]
    assert ids(search.filter(F.category == "odd", F.year == 2009)) == ["2009"]
    assert ids(search.filter((F.category == "odd") & (F.year == 2008))) == []


def test_several_partitions_are_searched_together_and_merged_by_score(session: Session) -> None:
    session.save_many([paper("1", [0, 1, 0], "a"), paper("2", [1, 0, 0], "b"), paper("3", [1, 1, 0], "c")])
    for place, order in ((Paper.semantic, ["2", "1"]), (Paper.by_product, ["2", "1"])):
        assert ids(session.search(place, [1, 0, 0], tenant=any_of("a", "b"))) == order
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant=any_of())) == []


def test_internal_deleted_and_expired_items_are_never_found(session: Session) -> None:
    first = session.save(paper("1", [1, 0, 0]))
    for number in range(4):
        session.update(first, F.year.set(2021 + number))
    session.delete(session.save(paper("2", [1, 0, 0])))
    session.save(Note(id="kept", tenant="a", meaning=[0, 1, 0]))
    past = datetime.now(UTC) - timedelta(hours=1)
    session.save_many([Note(id=str(one), tenant="a", until=past, meaning=[0, 1, 0.001]) for one in range(9)])
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="a")) == ["1"]
    # The nine that have expired are nearer, so a larger answer is asked for.
    found = session.search(Note.semantic, [0, 1, 0.002], k=1, tenant="a").all()
    assert ids(found) == ["kept"]
    assert found.requests > 2


def test_an_entity_without_a_vector_is_not_found_until_it_has_one(session: Session) -> None:
    late = session.save(paper("1", None))
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="a")) == []
    session.update(late, F.meaning.set([1, 0, 0]))
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="a")) == ["1"]
    late.tenant = "b"
    session.save(late)
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="a")) == []
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="b")) == ["1"]
    session.update(late, F.meaning.remove())
    assert ids(session.search(Paper.semantic, [1, 0, 0], tenant="b")) == []


def test_matches_are_whole_entities_or_keys(session: Session) -> None:
    session.save(paper("1", [1, 0.1, 0]))
    found = session.search(Paper.semantic, [1, 0, 0], tenant="a").all()
    assert [match.entity for match in found] == [session.get(Paper, id="1")]
    assert found.requests == 2
    keys = session.search(Paper.semantic, [1, 0, 0], tenant="a").keys()
    assert [match.entity for match in keys] == [Key(Paper, id="1")]
    match = session.search(Paper.semantic, [1, 0, 0], tenant="a").first()
    assert match is not None
    match.entity.year = 1999
    assert session.save(match.entity).year == 1999
    assert_consistent(session, papers)


def test_an_asynchronous_session_finds_the_same(session: Session, ministack_endpoint: str) -> None:
    session.save_many([paper("1", [1, 0, 0]), paper("2", [0, 1, 0])])

    async def found() -> list[str]:
        async with AsyncSession(endpoint=ministack_endpoint, region="us-east-1") as other:
            search = other.search(Paper.semantic, [1, 0, 0], k=5, tenant="a")
            first = await search.first()
            assert first is not None
            assert first.entity.id == "1"
            return [match.entity.id async for match in search]

    assert asyncio.run(found()) == ["1", "2"]


def test_the_requests_of_a_search_are_explained(session: Session) -> None:
    search = session.search(Paper.semantic, [1, 0, 0], k=3, tenant="a").filter(F.year == 2020)
    assert search.explain().splitlines() == [
        "1 request",
        "1. SearchVectors papers index semantic: semanticPK = 'TENANT#a' AND year = '2020', the nearest 3",
        "The whole items are fetched by key: BatchGetItem papers.",
    ]
    assert repr(search) == "<Search Paper.semantic, tenant='a'>"
    with pytest.raises(TypeError, match="has not been sent"):
        bool(search)


# -- what is stored ----------------------------------------------------------------------------------------------------


def test_a_vector_is_stored_as_numbers_of_nine_digits() -> None:
    item = item_of(paper("1", [1, -0.1234567891, 1e-60]))
    assert item["semanticVector"] == {"L": [{"N": "1"}, {"N": "-0.123456789"}, {"N": "0"}]}
    assert item["semanticPK"] == item["by_lengthPK"] == {"S": "TENANT#a"}
    assert "meaning" not in item


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_nine_digits_tell_any_two_32_bit_floats_apart(number: float) -> None:
    (stored, *_) = item_of(paper("1", [number, 0, 0]))["semanticVector"]["L"]
    assert as_stored(float(stored["N"])) == number


def test_a_plan_counts_a_vector_as_dynamodb_bills_it(line: tuple[Session, Any]) -> None:
    # Nine digits are six bytes of a number, and a 32-bit float has four: around 1 KB, six bytes decide.
    for size in range(430, 460):
        check_units(*line, Note(id="x" * size, tenant="a", meaning=[0.123456789] * 3))


def check_units(session: Session, client: Any, note: Note) -> None:
    plan = session.plan(note)
    item = plan.to_request()["Item"]
    billed = client.put_item(TableName="papers", Item=item, ReturnConsumedCapacity="TOTAL")
    client.delete_item(TableName="papers", Key={name: item[name] for name in ("PK", "SK")})
    assert plan.write_units == billed["ConsumedCapacity"]["CapacityUnits"]


def test_a_vector_counts_into_the_400_kb_of_an_item(session: Session) -> None:
    large = Table("large", indexes=[VectorIndex("semantic", dimensions=4096)])

    class Large(Entity, table=large, pk="LARGE#{id}", sk="L"):
        id: str
        text: str
        meaning: Annotated[list[float], Vector("semantic")]
        semantic = Index("semantic", pk="ALL")

    text = "x" * (400 * 1024 - 4096 * 5)
    with pytest.raises(ItemTooLarge):
        session.save(Large(id="1", text=text, meaning=[0.123456789] * 4096))


# -- what is refused ---------------------------------------------------------------------------------------------------

ANY_CLASS: Any = Paper
NO_VECTOR: Any = "abc"
REFUSED: list[tuple[str, Callable[[Session], Any], type[Exception], str]] = [
    (
        "a query",
        lambda one: one.query(Paper.semantic, tenant="a"),
        UsageError,
        "session.search(Paper.semantic",
    ),
    ("a scan", lambda one: one.scan(Paper.semantic), UsageError, "session.search(Paper.semantic"),
    ("a class", lambda one: one.search(ANY_CLASS, [1, 0, 0]), UsageError, "names no place in a vector index"),
    ("a short vector", lambda one: one.search(Paper.semantic, [1, 0], tenant="a"), InvalidValue, "length 2"),
    ("no vector", lambda one: one.search(Paper.semantic, NO_VECTOR, tenant="a"), InvalidValue, "not a list"),
    ("no number", lambda one: one.search(Paper.semantic, [1, 0, math.nan], tenant="a"), InvalidValue, "nan"),
    (
        "too many",
        lambda one: one.search(Paper.semantic, [1, 0, 0], k=101, tenant="a"),
        UsageError,
        "1 to 100",
    ),
    (
        "no partition",
        lambda one: one.search(Paper.semantic, [1, 0, 0]).all(),
        UsageError,
        "tenant is not given",
    ),
    (
        "a filter that is no equality",
        lambda one: one.search(Paper.semantic, [1, 0, 0], tenant="a").filter(F.year > 3),
        UsageError,
        "filter by equality of category, year",
    ),
    (
        "a filter of another field",
        lambda one: one.search(Paper.semantic, [1, 0, 0], tenant="a").filter(F.title == "x"),
        UsageError,
        "filters=['title']",
    ),
    ("a large number", lambda one: one.save(paper("9", [1e39, 0, 0])), InvalidValue, "no 32-bit float"),
    ("an empty filter", lambda one: one.save(paper("9", [1, 0, 0], category="")), InvalidValue, "is empty"),
    (
        "an update of a part",
        lambda one: one.update(Key(Note, id="9"), F.meaning.append([1])),
        UsageError,
        "is stored as a vector",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "text"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_a_wrong_use_is_refused_and_nothing_is_sent(
    session: Session, call: Callable[[Session], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as refusal:
        call(session)
    assert text in str(refusal.value)
    assert session.scan(Paper).count() == 0


def declared(table: Table, **members: Any) -> str:
    annotations: dict[str, Any] = {"id": str, **members.pop("annotations")}
    with pytest.raises(DeclarationError) as refusal:
        type(
            "Wrong", (Entity,), {"__annotations__": annotations, **members}, table=table, pk="W#{id}", sk="W"
        )
    return str(refusal.value)


def test_a_vector_and_a_place_in_its_index_go_together() -> None:
    table = Table("wrong", indexes=[VectorIndex("semantic", dimensions=2), GlobalIndex("GSI1")])
    vector = Annotated[list[float], Vector("semantic")]
    place = Index("semantic", pk="ALL")
    assert "no place in VectorIndex('semantic')" in declared(table, annotations={"meaning": vector})
    assert "no vector for VectorIndex('semantic')" in declared(table, annotations={}, semantic=place)
    other = Annotated[list[float], Vector("GSI1")]
    assert "no vector index 'GSI1'" in declared(table, annotations={"meaning": other}, semantic=place)
    texts = Annotated[list[str], Vector("semantic")]
    assert "write list[float]" in declared(table, annotations={"meaning": texts}, semantic=place)
    named = Annotated[list[float], Vector("semantic"), Attribute("m")]
    assert "drop the other marker" in declared(table, annotations={"meaning": named}, semantic=place)
    sorted_ = Index("semantic", pk="ALL", sk="{id}")
    assert "drop sk=" in declared(table, annotations={"meaning": vector}, semantic=sorted_)


def test_a_wrong_vector_index_is_refused() -> None:
    with pytest.raises(DeclarationError) as refusal:
        Table(
            "wrong",
            indexes=[
                VectorIndex("aaa", dimensions=0),
                VectorIndex("bbb", dimensions=2, distance="near"),  # type: ignore[arg-type]  # the subject of the test
                VectorIndex("ccc", dimensions=2, vector="PK"),
                VectorIndex("ddd", dimensions=2, vector="v"),
                VectorIndex("eee", dimensions=3, vector="v"),
                VectorIndex("fff", dimensions=3),
            ],
        )
    for text in ("6 vector indexes", "dimensions=0", "distance='near'", "'PK' is a vector", "of two lengths"):
        assert text in str(refusal.value)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_definition_of_a_vector_index_is_that_of_createtable() -> None:
    definition = describe(papers).create_table()
    assert definition["VectorIndexes"][0] == {
        "IndexName": "semantic",
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "VectorAttribute": {"AttributeName": "semanticVector"},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
        "SearchSchema": [
            {"AttributeName": "semanticPK", "SearchSchemaElementType": "HASH"},
            {"AttributeName": "category", "SearchSchemaElementType": "INLINE_FILTER"},
            {"AttributeName": "year", "SearchSchemaElementType": "INLINE_FILTER"},
        ],
    }
    with pytest.raises(UsageError, match="dynaorm apply"):
        cloudformation(describe(papers))


def test_a_live_table_differs_in_nothing_or_in_what_is_told(session: Session) -> None:
    assert tools.compare_table(session, papers) == ()
    other = Table(
        "papers", indexes=[VectorIndex("semantic", dimensions=4), VectorIndex("new_one", dimensions=2)]
    )
    kinds = {(one.kind, one.index) for one in tools.compare_table(session, other)}
    assert kinds == {
        ("index keys", "semantic"),
        ("no index", "new_one"),
        ("other index", "by_length"),
        ("other index", "by_product"),
        ("ttl", None),
    }


def test_a_policy_for_reading_allows_to_search() -> None:
    policy = iam_policy(Paper, account="1" * 12, region="us-east-1", actions=["read"])
    allowed = {
        resource.rpartition("/")[2]: statement["Action"]
        for statement in policy["Statement"]
        for resource in statement["Resource"]
    }
    assert "dynamodb:SearchVectors" in allowed["semantic"]


def test_a_vector_index_in_memory_is_refused_and_ministack_named(moto: Transport) -> None:
    with Session(transport=moto) as session, pytest.raises(UnexpectedRefusal, match="test on ministack"):
        session.create_table(papers)
