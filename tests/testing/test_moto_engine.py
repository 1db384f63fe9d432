"""What transactions rely on, claimed of strict moto and of ministack alike."""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.responses import DynamoHandler

from dynaorm.errors import UsageError
from dynaorm.testing import FakeClock, strict_moto
from dynaorm.testing.ministack import transport_to
from dynaorm.testing.moto_engine import MotoTransport
from dynaorm.transport import Call, NoAnswer, Refusal, Reply, Transport
from tests.raw_tables import REGION

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
PRESENT = {"ConditionExpression": "attribute_exists(PK)"}


class Engine:
    """A table with the keys PK and SK and an index on GSI1PK, and a few words to speak to it."""

    def __init__(self, transport: Transport, table: str) -> None:
        self.transport = transport
        self.table = table
        self.call("CreateTable", **SCHEMA)

    def call(self, operation: str, **request: Any) -> Reply:
        return self.transport.call(Call(operation, {"TableName": self.table, **request}))

    def put(self, key: str, **values: Any) -> Reply:
        return self.call("PutItem", Item={**keys(key), **values})

    def get(self, key: str) -> Any:
        return self.call("GetItem", Key=keys(key), ConsistentRead=True).get("Item")

    def action(self, kind: str, key: str, **parameters: Any) -> dict[str, Any]:
        whole = {"Item": {**keys(key), **parameters.pop("item", {})}} if kind == "Put" else {"Key": keys(key)}
        return {kind: {"TableName": self.table, **whole, **parameters}}

    def transact(self, *actions: dict[str, Any], token: str | None = None) -> Reply:
        request: dict[str, Any] = {"TransactItems": list(actions)}
        if token is not None:
            request["ClientRequestToken"] = token
        return self.transport.call(Call("TransactWriteItems", request))

    def add_one(self, key: str) -> dict[str, Any]:
        return {
            "Key": keys(key),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }


SCHEMA = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK")
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "GSI1",
            "KeySchema": [{"AttributeName": "GSI1PK", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def keys(key: str) -> dict[str, Any]:
    return {"PK": {"S": key}, "SK": {"S": "#"}}


@pytest.fixture
def strict(clock: FakeClock) -> Iterator[Engine]:
    with strict_moto(clock=clock):
        yield Engine(MotoTransport(region=REGION), "app")


@pytest.fixture(params=["moto", "ministack"])
def engine(request: pytest.FixtureRequest, unique_name: Callable[[str], str]) -> Iterator[Engine]:
    if request.param == "moto":
        yield request.getfixturevalue("strict")
        return
    transport = transport_to(request.getfixturevalue("ministack_endpoint"))
    engine = Engine(transport, unique_name("app"))
    yield engine
    engine.call("DeleteTable")
    transport.close()


@pytest.fixture
def token() -> str:
    """A token no other test used: an engine remembers them for ten minutes, whatever the table."""
    return uuid.uuid4().hex


def refusal_of(work: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        work()
    return caught.value


def test_a_token_again_with_the_same_bytes_succeeds_and_changes_nothing(engine: Engine, token: str) -> None:
    create = engine.action("Put", "a", **ABSENT)
    engine.transact(create, token=token)
    engine.put("a", later={"BOOL": True})
    engine.transact(create, token=token)
    assert engine.get("a") == {**keys("a"), "later": {"BOOL": True}}


def test_a_token_again_with_other_bytes_is_a_mismatch(engine: Engine, token: str) -> None:
    engine.transact(engine.action("Put", "a"), token=token)
    refusal = refusal_of(lambda: engine.transact(engine.action("Put", "b"), token=token))
    assert refusal.code == "IdempotentParameterMismatchException"
    assert engine.get("b") is None


def test_the_token_of_a_cancelled_transaction_is_free(engine: Engine, token: str) -> None:
    check = engine.action("Delete", "a", **PRESENT)
    refusal_of(lambda: engine.transact(check, token=token))
    engine.put("a")
    engine.transact(check, token=token)
    assert engine.get("a") is None


def test_a_token_is_forgotten_after_ten_minutes(strict: Engine, clock: FakeClock, token: str) -> None:
    create = strict.action("Put", "a", **ABSENT)
    strict.transact(create, token=token)
    clock.advance(599)
    strict.transact(create, token=token)
    clock.advance(2)
    assert refusal_of(lambda: strict.transact(create, token=token)).code == "TransactionCanceledException"


def test_another_order_of_a_map_is_another_request_as_in_dynamodb_local(strict: Engine, token: str) -> None:
    strict.transact(strict.action("Put", "a", item={"b": {"S": ""}, "c": {"S": ""}}), token=token)
    turned = strict.action("Put", "a", item={"c": {"S": ""}, "b": {"S": ""}})
    assert (
        refusal_of(lambda: strict.transact(turned, token=token)).code
        == "IdempotentParameterMismatchException"
    )


def puts(engine: Engine, count: int, **item: Any) -> list[dict[str, Any]]:
    return [engine.action("Put", f"k{number}", item=item) for number in range(count)]


def batch(engine: Engine, *names: str, deleted: str | None = None) -> Reply:
    requests = [{"PutRequest": {"Item": keys(name)}} for name in names]
    if deleted is not None:
        requests.append({"DeleteRequest": {"Key": keys(deleted)}})
    return engine.transport.call(Call("BatchWriteItem", {"RequestItems": {engine.table: requests}}))


def batch_get(engine: Engine, *names: str) -> Reply:
    request = {"RequestItems": {engine.table: {"Keys": [keys(name) for name in names]}}}
    return engine.transport.call(Call("BatchGetItem", request))


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


LARGE = {"v": {"S": "x" * 390_000}}
ROOM = 409_600 - len("PK" + "a" + "SK" + "#" + "v")
NAMES = [str(number) for number in range(101)]
UNUSED = {"ExpressionAttributeValues": {":unused": {"S": "x"}}, **ABSENT}

# Each limit, by what is just within it and what is just beyond it.
ACCEPTED: dict[str, Callable[[Engine], object]] = {
    "a token of 36 characters": lambda it: it.transact(*puts(it, 1), token=uuid.uuid4().hex + "tttt"),
    "100 actions": lambda it: it.transact(*puts(it, 100)),
    "less than 4 MB in a transaction": lambda it: it.transact(*puts(it, 10, **LARGE)),
    "an item of 409,600 bytes, names included": lambda it: it.put("a", v={"S": "x" * ROOM}),
    "32 levels": lambda it: it.put("a", v=nested(31)),
    "a batch that names each item once": lambda it: batch(it, "a", deleted="b"),
    "100 keys in a batch": lambda it: batch_get(it, *NAMES[:100]),
}
SETS: list[dict[str, Any]] = [{"SS": ["a", "a"]}, {"NS": ["1", "1.0"]}, {"BS": [b"a", b"a"]}, {"SS": []}]
REFUSED: dict[str, Callable[[Engine], object]] = {
    "a token of 37 characters": lambda it: it.transact(*puts(it, 1), token="t" * 37),
    "no action": lambda it: it.transact(),
    "101 actions": lambda it: it.transact(*puts(it, 101)),
    "more than 4 MB in a transaction": lambda it: it.transact(*puts(it, 11, **LARGE)),
    "an item of 409,601 bytes": lambda it: it.put("a", v={"S": "x" * (ROOM + 1)}),
    "such an item in a transaction": lambda it: it.transact(
        it.action("Put", "a", item={"v": {"S": "x" * (ROOM + 1)}})
    ),
    "33 levels": lambda it: it.put("a", v=nested(32)),
    "an index key of the wrong type": lambda it: it.put("a", GSI1PK={"N": "1"}),
    "a value that no expression uses": lambda it: it.call("PutItem", Item=keys("a"), **UNUSED),
    "such a value in a transaction": lambda it: it.transact(it.action("Put", "a", **UNUSED)),
    "a batch of no requests": batch,
    "a batch of 26 requests": lambda it: batch(it, *NAMES[:26]),
    "a batch that names an item twice": lambda it: batch(it, "a", deleted="a"),
    "101 keys in a batch": lambda it: batch_get(it, *NAMES),
    "a key twice in a batch": lambda it: batch_get(it, "a", "b", "a"),
    **{
        f"the number {number:.12}": partial(Engine.put, key="a", n={"N": number})
        for number in ("9" * 39, "1E+126", "1E-131", "NaN", "Infinity", "one", "")
    },
    **{f"the set {members}": partial(Engine.put, key="a", s=members) for members in SETS},
}


@pytest.mark.parametrize("accepted", ACCEPTED.values(), ids=ACCEPTED)
def test_what_dynamodb_accepts_is_accepted(engine: Engine, accepted: Callable[[Engine], object]) -> None:
    accepted(engine)


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_dynamodb_refuses_is_refused(engine: Engine, refused: Callable[[Engine], object]) -> None:
    assert refusal_of(lambda: refused(engine)).code == "ValidationException"


def test_deletes_of_more_than_4_mb_are_accepted_because_the_request_is_what_counts(engine: Engine) -> None:
    for number in range(11):
        engine.put(f"k{number}", v={"S": "x" * 390_000})
    engine.transact(*[engine.action("Delete", f"k{number}") for number in range(11)])
    assert engine.get("k10") is None


def test_an_update_past_the_item_limit_is_refused_and_changes_nothing(engine: Engine) -> None:
    engine.put("a", v={"S": "x" * 300_000})
    grow = {"UpdateExpression": "SET w = :w", "ExpressionAttributeValues": {":w": {"S": "x" * 120_000}}}
    assert refusal_of(lambda: engine.call("UpdateItem", Key=keys("a"), **grow)).code == "ValidationException"
    assert "w" not in engine.get("a")


@pytest.mark.parametrize(
    ("sent", "stored"), [("1.50", "1.5"), ("-0", "0"), ("007", "7"), ("1e2", "100"), ("9" * 38, "9" * 38)]
)
def test_numbers_read_back_in_canonical_form(engine: Engine, sent: str, stored: str) -> None:
    nested = {"L": [{"M": {"n": {"N": sent}}}]}
    engine.put("a", n={"N": sent}, nested=nested, ns={"NS": [sent]})
    item = engine.get("a")
    assert (item["n"], item["ns"]) == ({"N": stored}, {"NS": [stored]})
    assert item["nested"] == {"L": [{"M": {"n": {"N": stored}}}]}


def test_a_key_of_the_wrong_type_cancels_a_transaction_with_a_reason(engine: Engine) -> None:
    wrong = {"Put": {"TableName": engine.table, "Item": {"PK": {"N": "1"}, "SK": {"S": "#"}}}}
    refusal = refusal_of(lambda: engine.transact(engine.action("Put", "a"), wrong))
    assert refusal.code == "TransactionCanceledException"
    assert [reason and reason.code for reason in refusal.reasons] == [None, "ValidationError"]
    assert engine.get("a") is None


def test_a_table_that_does_not_exist_is_named_by_its_own_error(engine: Engine) -> None:
    absent = {"TableName": "absent", "Item": keys("a")}
    for call in (Call("PutItem", absent), Call("TransactWriteItems", {"TransactItems": [{"Put": absent}]})):
        assert refusal_of(partial(engine.transport.call, call)).code == "ResourceNotFoundException"


def together(count: int, work: Callable[[int], object]) -> list[str]:
    """Do it in that many threads at once: for each, "ok" or the code of its refusal."""
    start = threading.Barrier(count)

    def one(number: int) -> str:
        start.wait()
        try:
            work(number)
        except Refusal as refusal:
            return refusal.code
        except NoAnswer as missing:
            return missing.reason
        return "ok"

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_of_eight_transactions_that_create_one_guard_exactly_one_succeeds(engine: Engine) -> None:
    def create(number: int) -> None:
        engine.transact(
            engine.action("Put", "guard", item={"owner": {"N": str(number)}}, **ABSENT),
            engine.action("Put", f"user{number}", **ABSENT),
        )

    outcomes = together(8, create)
    assert sorted(outcomes) == ["TransactionCanceledException"] * 7 + ["ok"]
    winner = outcomes.index("ok")
    assert engine.get("guard")["owner"] == {"N": str(winner)}
    assert [number for number in range(8) if engine.get(f"user{number}")] == [winner]


def test_a_cancelled_transaction_never_undoes_what_another_caller_wrote(engine: Engine) -> None:
    engine.put("counter", n={"N": "0"})

    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                engine.call("UpdateItem", **engine.add_one("counter"))
            else:
                refusal_of(
                    lambda: engine.transact(
                        engine.action("Put", "other"), engine.action("Delete", "absent", **PRESENT)
                    )
                )

    assert together(6, work) == ["ok"] * 6
    assert engine.get("counter")["n"] == {"N": "60"}
    assert engine.get("other") is None


def test_one_token_in_six_threads_applies_once_and_no_thread_hears_of_a_failed_condition(
    engine: Engine, token: str
) -> None:
    engine.put("counter", n={"N": "0"})
    add = {"Update": {"TableName": engine.table, **engine.add_one("counter")}}
    create = engine.action("Put", "a", **ABSENT)
    outcomes = together(6, lambda _: engine.transact(add, create, token=token))
    assert set(outcomes) <= {"ok", "TransactionInProgressException"}
    assert engine.get("counter")["n"] == {"N": "1"}


def test_after_the_block_moto_is_as_it_was() -> None:
    def replaced() -> list[Any]:
        return [vars(DynamoHandler).get(name) for name in ("call_action", "parse_parameters")]

    before = replaced()
    with contextlib.suppress(KeyError), strict_moto():
        assert not any(now is then for now, then in zip(replaced(), before, strict=True))
        raise KeyError
    assert replaced() == before


def test_outside_of_a_block_nothing_is_reached() -> None:
    with pytest.raises(UsageError, match="no strict_moto block is open"):
        MotoTransport(region=REGION).call(Call("ListTables", {}))


def test_boto3_and_a_transport_of_moto_see_one_table(strict: Engine, one_loader: None) -> None:
    strict.put("a", data={"B": b"\xff"})
    # One that was made before moto was imported does not hear of it.
    client: Any = botocore.session.Session().create_client("dynamodb", region_name=REGION)
    with closing(client):
        assert client.get_item(TableName=strict.table, Key=keys("a"))["Item"] == strict.get("a")
        client.put_item(TableName=strict.table, Item=keys("b"))
        with pytest.raises(ClientError) as caught:
            client.transact_write_items(
                TransactItems=[
                    strict.action("Put", "a", ReturnValuesOnConditionCheckFailure="ALL_OLD", **ABSENT),
                    strict.action("Put", "c"),
                ]
            )
    failed, fine = caught.value.response["CancellationReasons"]
    assert (failed["Code"], failed["Item"], fine) == (
        "ConditionalCheckFailed",
        strict.get("a"),
        {"Code": "None"},
    )
    assert strict.get("b") == keys("b")


def test_each_region_has_tables_of_its_own(strict: Engine) -> None:
    assert MotoTransport(region="eu-north-1").call(Call("ListTables", {}))["TableNames"] == []


def test_every_block_starts_empty(strict: Engine) -> None:
    strict.put("a")
    assert strict.get("a") is not None


def test_blocks_in_blocks_share_their_tables() -> None:
    with strict_moto():
        outer = Engine(MotoTransport(region=REGION), "app")
        with strict_moto():
            outer.put("a")
        assert outer.get("a") is not None
