"""What transactions rely on, claimed of strict moto and of ministack alike."""

import contextlib
import functools
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import assume, given, settings
from moto.core.serialize import BaseJSONSerializer, JSONSerializer
from moto.core.utils import get_service_model
from moto.dynamodb.models.dynamo_type import LimitedSizeDict
from moto.dynamodb.responses import DynamoHandler

from dynaorm.flow.protocol.call import Call, NoAnswer, Refusal, Reply, Transport
from dynaorm.item.json_body import encode_body
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.moto_engine import strict_moto
from tests.raw_values import items

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
def strict(moto_transport: Transport, clock: FakeClock) -> Iterator[Engine]:
    with strict_moto(clock=clock):
        yield Engine(moto_transport, "app")


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


def test_a_token_of_more_than_36_characters_is_refused(engine: Engine, token: str) -> None:
    engine.transact(engine.action("Put", "a"), token=token.ljust(36, "t"))
    refusal = refusal_of(lambda: engine.transact(engine.action("Put", "a"), token=token.ljust(37, "t")))
    assert refusal.code == "ValidationException"


@pytest.mark.parametrize("actions", [0, 101])
def test_a_transaction_has_1_to_100_actions(engine: Engine, actions: int) -> None:
    many = [engine.action("Put", f"k{number}") for number in range(actions)]
    assert refusal_of(lambda: engine.transact(*many)).code == "ValidationException"


def test_a_hundred_actions_are_accepted(engine: Engine) -> None:
    engine.transact(*[engine.action("Put", f"k{number}") for number in range(100)])
    assert engine.get("k99") is not None


def test_more_than_4_mb_in_one_transaction_are_refused(engine: Engine) -> None:
    big = [engine.action("Put", f"k{number}", item={"v": {"S": "x" * 390_000}}) for number in range(11)]
    engine.transact(*big[:10])
    assert refusal_of(lambda: engine.transact(*big)).code == "ValidationException"


def test_deletes_of_more_than_4_mb_are_accepted_because_the_request_is_what_counts(engine: Engine) -> None:
    for number in range(11):
        engine.put(f"k{number}", v={"S": "x" * 390_000})
    engine.transact(*[engine.action("Delete", f"k{number}") for number in range(11)])
    assert engine.get("k10") is None


def test_an_item_has_at_most_409_600_bytes_names_included(engine: Engine) -> None:
    room = 409_600 - len("PK" + "a" + "SK" + "#" + "v")
    engine.put("a", v={"S": "x" * room})
    too_large = {"v": {"S": "x" * (room + 1)}}
    assert refusal_of(lambda: engine.put("a", **too_large)).code == "ValidationException"
    assert (
        refusal_of(lambda: engine.transact(engine.action("Put", "a", item=too_large))).code
        == "ValidationException"
    )


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


@pytest.mark.parametrize("number", ["9" * 39, "1E+126", "1E-131", "NaN", "Infinity", "one", ""])
def test_a_number_dynamodb_cannot_hold_is_refused(engine: Engine, number: str) -> None:
    assert refusal_of(lambda: engine.put("a", n={"N": number})).code == "ValidationException"


@pytest.mark.parametrize(
    "members", [{"SS": ["a", "a"]}, {"NS": ["1", "1.0"]}, {"BS": [b"a", b"a"]}, {"SS": []}]
)
def test_a_set_is_neither_empty_nor_has_a_member_twice(engine: Engine, members: dict[str, Any]) -> None:
    assert refusal_of(lambda: engine.put("a", s=members)).code == "ValidationException"


def test_documents_nest_no_deeper_than_32_levels(engine: Engine) -> None:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(31):
        value = {"L": [value]}
    engine.put("a", v=value)
    assert refusal_of(lambda: engine.put("a", v={"L": [value]})).code == "ValidationException"


def test_an_index_key_of_the_wrong_type_is_refused(engine: Engine) -> None:
    assert refusal_of(lambda: engine.put("a", GSI1PK={"N": "1"})).code == "ValidationException"


def test_a_key_of_the_wrong_type_cancels_a_transaction_with_a_reason(engine: Engine) -> None:
    wrong = {"Put": {"TableName": engine.table, "Item": {"PK": {"N": "1"}, "SK": {"S": "#"}}}}
    refusal = refusal_of(lambda: engine.transact(engine.action("Put", "a"), wrong))
    assert refusal.code == "TransactionCanceledException"
    assert [reason and reason.code for reason in refusal.reasons] == [None, "ValidationError"]
    assert engine.get("a") is None


def test_an_unused_value_placeholder_is_refused(engine: Engine) -> None:
    unused = {"ExpressionAttributeValues": {":unused": {"S": "x"}}, **ABSENT}
    assert (
        refusal_of(lambda: engine.transact(engine.action("Put", "a", **unused))).code == "ValidationException"
    )
    assert refusal_of(lambda: engine.call("PutItem", Item=keys("a"), **unused)).code == "ValidationException"


def test_a_table_that_does_not_exist_is_named_by_its_own_error(engine: Engine) -> None:
    absent = {"TableName": "absent", "Item": keys("a")}
    for call in (Call("PutItem", absent), Call("TransactWriteItems", {"TransactItems": [{"Put": absent}]})):
        assert refusal_of(functools.partial(engine.transport.call, call)).code == "ResourceNotFoundException"


def batch(engine: Engine, *requests: dict[str, Any]) -> Reply:
    return engine.transport.call(Call("BatchWriteItem", {"RequestItems": {engine.table: list(requests)}}))


@pytest.mark.parametrize("requests", [0, 26])
def test_a_batch_write_has_1_to_25_requests(engine: Engine, requests: int) -> None:
    puts = [{"PutRequest": {"Item": keys(f"k{number}")}} for number in range(requests)]
    assert refusal_of(lambda: batch(engine, *puts)).code == "ValidationException"


def test_a_batch_write_names_an_item_once(engine: Engine) -> None:
    put, delete = {"PutRequest": {"Item": keys("a")}}, {"DeleteRequest": {"Key": keys("a")}}
    assert refusal_of(lambda: batch(engine, put, delete)).code == "ValidationException"
    batch(engine, put, {"DeleteRequest": {"Key": keys("b")}})
    assert engine.get("a") is not None


def batch_get(engine: Engine, *names: str) -> Reply:
    request = {"RequestItems": {engine.table: {"Keys": [keys(name) for name in names]}}}
    return engine.transport.call(Call("BatchGetItem", request))


def test_a_batch_get_has_at_most_100_keys(engine: Engine) -> None:
    names = [str(number) for number in range(101)]
    assert batch_get(engine, *names[:100])["Responses"] == {engine.table: []}
    assert refusal_of(lambda: batch_get(engine, *names)).code == "ValidationException"


def test_a_batch_get_names_an_item_once(engine: Engine) -> None:
    assert refusal_of(lambda: batch_get(engine, "a", "b", "a")).code == "ValidationException"


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
        owners = (DynamoHandler, LimitedSizeDict, BaseJSONSerializer)
        names = ("call_action", "__setitem__", "_serialize_type_structure")
        return [vars(owner).get(name) for owner, name in zip(owners, names, strict=True)]

    before = replaced()
    with contextlib.suppress(KeyError), strict_moto():
        assert not any(one is other for one, other in zip(replaced(), before, strict=True))
        raise KeyError
    assert replaced() == before


@settings(max_examples=settings().max_examples // 3)
@given(items)
def test_an_item_is_answered_as_moto_alone_would_answer_it(item: dict[str, Any]) -> None:
    assume(b'"":' not in encode_body(item))  # moto loses an empty name, which DynamoDB does not allow
    operation = get_service_model("dynamodb").operation_model("Scan")
    alone = JSONSerializer(operation).serialize({"Items": [item], "Count": 1})
    with strict_moto():
        assert JSONSerializer(operation).serialize({"Items": [item], "Count": 1}) == alone


def test_every_block_starts_empty(strict: Engine) -> None:
    strict.put("a")
    assert strict.get("a") is not None


def test_blocks_in_blocks_share_their_tables(moto_transport: Transport) -> None:
    with strict_moto():
        outer = Engine(moto_transport, "app")
        with strict_moto():
            outer.put("a")
        assert outer.get("a") is not None
