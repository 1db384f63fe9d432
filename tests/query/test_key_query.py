"""The requests of a query, literally."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, InKey, LocalIndex, NumberKey, Table, any_of
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.query.key_query import key_queries_of
from dynaorm.query.query_spec import QuerySpec, collected, queried, scanned

app = Table(
    "app",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("Keys", projection="KEYS_ONLY"),
        GlobalIndex("Native", pk=("tenant", "region"), sk=("year", NumberKey("amount"))),
        LocalIndex("LSI1"),
    ],
)


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str = "open"
    at: datetime | None = None
    by_status = Index("GSI1", pk="STATUS#{status}#{number:shard3}", sk="{at}")
    by_keys = Index("Keys", pk="KEYS#{status}", sk="{number:06d}")


class Comment(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}#{comment}"):
    project: str
    number: int
    comment: str


class Project(Entity, table=app, pk="PROJECT#{project}", sk="INFO"):
    project: str


class Order(Entity, table=app, pk="ORDER#{order}", sk="O"):
    order: str
    tenant: str
    region: str
    year: str
    amount: int
    native = Index("Native")


class Audit(Entity, table=app, pk="EQUIPMENT#{equipment}", sk="Audit#{part}", versioned=True):
    equipment: str
    part: str


def requests(spec: QuerySpec, *, consistent: bool = False) -> list[dict[str, Any]]:
    found = key_queries_of(spec, lambda name: f"test-{name}", consistent=consistent)
    return [dict(key_query.request) for key_query in found.key_queries]


COST = {"TableName": "test-app", "ReturnConsumedCapacity": "TOTAL"}


def test_a_class_is_asked_by_its_partition_and_what_its_sort_keys_begin_with() -> None:
    assert requests(queried(Ticket, {"project": "p#1"})) == [
        {
            **COST,
            "KeyConditionExpression": "#n0 = :v0 AND begins_with(#n1, :v1)",
            "ExpressionAttributeNames": {"#n0": "PK", "#n1": "SK"},
            "ExpressionAttributeValues": {":v0": {"S": "PROJECT#p%231"}, ":v1": {"S": "TICKET#"}},
        }
    ]


def test_order_consistency_and_filter_are_part_of_the_request() -> None:
    spec = queried(Ticket, {"project": "p"}).filtered([F.status == "open"]).backwards()
    (request,) = requests(spec, consistent=True)
    assert request["ScanIndexForward"] is False
    assert request["ConsistentRead"] is True
    assert request["FilterExpression"] == "attribute_not_exists(#n2) OR #n2 = :v2"
    assert request["ExpressionAttributeNames"]["#n2"] == "status"


def test_shards_and_any_of_are_key_queries_of_their_own_in_order_of_the_partitions() -> None:
    found = requests(queried(Ticket.by_status, {"status": any_of("open", "closed")}))
    assert [one["ExpressionAttributeValues"][":v0"]["S"] for one in found] == [
        f"STATUS#{status}#{shard}" for status in ("closed", "open") for shard in (1, 2, 3)
    ]
    assert {one["IndexName"] for one in found} == {"GSI1"}


def test_native_keys_are_asked_part_by_part() -> None:
    given = {"tenant": "t", "region": "eu", "year": "2024"}
    (request,) = requests(queried(Order.native, given).bounded(">=", {"amount": 5}))
    assert request["KeyConditionExpression"] == "#n0 = :v0 AND #n1 = :v1 AND #n2 = :v2 AND #n3 >= :v3"
    assert list(request["ExpressionAttributeValues"].values()) == [
        {"S": "t"},
        {"S": "eu"},
        {"S": "2024"},
        {"N": "5"},
    ]


def test_a_collection_reads_the_range_around_those_of_its_classes() -> None:
    (request,) = requests(collected([Ticket, Comment], {"project": "p"}))
    assert request["ExpressionAttributeValues"] == {":v0": {"S": "PROJECT#p"}, ":v1": {"S": "TICKET#"}}
    (request,) = requests(collected([Ticket, Project], {"project": "p"}))
    assert request["KeyConditionExpression"] == "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2"
    assert list(request["ExpressionAttributeValues"].values())[1:] == [{"S": "INFO"}, {"S": "TICKET$"}]


def test_classes_of_other_partitions_are_no_collection() -> None:
    with pytest.raises(UsageError, match="their partition keys differ"):
        requests(collected([Ticket, Audit], {"project": "p", "equipment": "1"}))


def test_keys_alone_are_asked_for_with_what_tells_whose_they_are() -> None:
    spec = queried(Ticket.by_status, {"status": "open", "number": 3})
    (request,) = requests(QuerySpec(spec.sources, spec.equal, keys_only=True))
    names = request["ExpressionAttributeNames"]
    asked = [names[name] for name in request["ProjectionExpression"].split(", ")]
    assert asked == ["PK", "SK", "GSI1PK", "GSI1SK", "_type", "number"]


def test_a_scan_reads_segments_and_leaves_other_classes_to_dynamodb() -> None:
    found = requests(scanned(Project, 2))
    assert [(one["Segment"], one["TotalSegments"]) for one in found] == [(0, 2), (1, 2)]
    assert found[0]["FilterExpression"] == "#n0 IN (:v0) OR attribute_not_exists(#n0)"
    assert found[0]["ExpressionAttributeValues"] == {":v0": {"S": "Project"}}


# -- what no key serves ------------------------------------------------------------------------------------------------


def test_a_missing_partition_field_names_the_index_that_would_do() -> None:
    with pytest.raises(
        UsageError,
        match=r"project is not given; query Ticket\.by_status by status$",
    ):
        requests(queried(Ticket, {"status": "open"}))
    with pytest.raises(UsageError, match=r"give order a value, or scan the table"):
        requests(queried(Order, {}))


class Sale(Entity, table=app, pk="SALE#{sale}", sk="S"):
    sale: str
    at: datetime
    of_day = Index("GSI1", pk="SALES#{at:%Y-%m-%d}", sk="{at}")


def test_a_condition_on_a_field_of_the_partition_key_is_sent_to_a_computed_field() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    with pytest.raises(
        UsageError,
        match=r"a condition on at gives it no value; make this part of the key of a computed field",
    ):
        requests(queried(Sale.of_day, {}).bounded(">=", {"at": noon}))


def test_a_field_outside_the_key_is_sent_to_filter() -> None:
    with pytest.raises(UsageError, match=r"no key of Ticket contains status; .*, or filter by status$"):
        requests(queried(Ticket, {"project": "p", "status": "open"}))
    with pytest.raises(UsageError, match="no key of Ticket contains at"):
        requests(queried(Ticket, {"project": "p"}).bounded("<", {"at": datetime(2024, 1, 1, tzinfo=UTC)}))


def test_none_is_in_no_key() -> None:
    with pytest.raises(InvalidValue, match=r"None is in no key; give project a value: .* of every Ticket"):
        requests(queried(Ticket, {"project": None}))
    with pytest.raises(InvalidValue, match=r"None is in no key; scan, and filter by a missing status$"):
        requests(queried(Ticket.by_status, {"status": None}))


def test_no_remedy_names_a_filter_that_dynamodb_refuses() -> None:
    table = Table("devices", pk="DeviceID", sk="At", indexes=[GlobalIndex("ByOwner"), GlobalIndex("ByPlace")])

    class Log(Entity, table=table, sk="{state}#{level}#{at}"):
        device: Annotated[str, Attribute("DeviceID")]
        state: str
        level: Annotated[str, InKey()]
        at: Annotated[str, InKey()]
        owner: Annotated[str | None, InKey()] = None
        by_owner = Index("ByOwner", pk="OWNER#{owner}", sk="{device}")
        by_place = Index("ByPlace", pk="PLACE#{state}", sk="{at}")

    with pytest.raises(InvalidValue, match="scan, and compare owner in your code"):
        requests(queried(Log.by_owner, {"owner": None}))
    with pytest.raises(UsageError, match=r"declare an Index whose key has it$"):
        requests(queried(Log.by_place, {"state": "s", "owner": "o"}))
    with pytest.raises(UsageError, match=r"or filter by state$"):
        requests(queried(Log.by_owner, {"owner": "o", "state": "s"}))
    with pytest.raises(UsageError, match=r"give level a single value$"):
        queried(Log, {"device": "d"}).bounded(">", {"level": "a"}).bounded("<", {"at": "b"})


def test_a_filter_cannot_name_the_keys_of_the_query() -> None:
    table = Table("devices", pk="DeviceID", sk="At", type_attribute=None, revision_attribute=None)

    class Log(Entity, table=table):
        device: Annotated[str, Attribute("DeviceID")]
        at: Annotated[str, Attribute("At")]

    with pytest.raises(UsageError, match="the filter names at, which is a key of Log"):
        requests(queried(Log, {"device": "d"}).filtered([F.at > "2024"]))
    assert requests(scanned(Log, 1).filtered([F.at > "2024"]))[0]["FilterExpression"] == "#n0 > :v0"


def test_a_filter_speaks_of_fields_of_every_class() -> None:
    with pytest.raises(UnknownField):
        requests(collected([Ticket, Project], {"project": "p"}).filtered([F.status == "open"]))


def test_a_range_of_times_is_as_wide_as_its_bounds() -> None:
    class Reading(Entity, table=app, pk="DEVICE#{device}", sk="READING#{at}"):
        device: str
        at: datetime
        by_time = Index("GSI1", pk="READINGS#{device}", sk="{at}")

    bounds = {"at": datetime(2024, 1, 1, 12, 30, tzinfo=UTC)}
    (primary,) = requests(queried(Reading, {"device": "1"}).bounded("<=", bounds))
    (indexed,) = requests(queried(Reading.by_time, {"device": "1"}).bounded("<=", bounds))
    assert primary["ExpressionAttributeValues"][":v2"] == {"S": "READING#2024-01-01T12:30:00.000000Z"}
    assert indexed["ExpressionAttributeValues"][":v1"] == {"S": "2024-01-01T12:30:00.000000Z"}


class Issue(Entity, table=app, pk="ISSUE#{number}", sk="ISSUE"):
    number: int
    status: str = "open"
    open_issues = Index("GSI1", pk="ISSUES", sk="OPEN#{number:06d}", when=F.status == "open")
    closed_issues = Index("GSI1", pk="ISSUES", sk="CLOSED#{number:06d}", when=F.status == "closed")


def test_the_parts_of_a_native_sort_key_are_given_from_the_left() -> None:
    spec = queried(Order.native, {"tenant": "t", "region": "eu"}).bounded(">=", {"amount": 5})
    with pytest.raises(UsageError, match="amount comes after year"):
        requests(spec)


def test_places_with_conditions_are_a_collection() -> None:
    (request,) = requests(collected([Issue.open_issues, Issue.closed_issues], {}))
    assert list(request["ExpressionAttributeValues"].values())[1:] == [{"S": "CLOSED#"}, {"S": "OPEN$"}]
