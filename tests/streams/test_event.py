"""Every form of an event gives the same records."""

import json
from base64 import b64encode
from typing import Any

import pytest

from dynaorm.errors import UsageError
from dynaorm.streams.event import records_of
from tests.streams.events import AT, FORMS, in_kinesis, in_lambda, written

OLD: Any = {"PK": {"S": "a"}, "SK": {"S": "b"}, "photo": {"B": b"\xff\x00"}}
NEW: Any = {**OLD, "n": {"N": "1"}, "set": {"BS": [b"\x00"]}}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_records(form: str) -> None:
    event = FORMS[form](
        written(None, OLD), written(OLD, NEW, sequence=222), written(NEW, None, sequence=333, ttl=True)
    )
    found = records_of(event)
    assert [(one.kind, one.old, one.new) for one in found] == [
        ("INSERT", None, OLD),
        ("MODIFY", OLD, NEW),
        ("REMOVE", NEW, None),
    ]
    assert [one.key for one in found] == [{"PK": {"S": "a"}, "SK": {"S": "b"}}] * 3
    assert [one.sequence for one in found] == ["111", "222", "333"]
    assert [one.expired for one in found] == [False, False, True]
    assert [one.problem for one in found] == [""] * 3
    assert {one.at for one in found} == {AT}
    assert {one.table for one in found} == {"" if form == "get_records" else "app"}


@pytest.mark.parametrize("precision", ["MILLISECOND", "MICROSECOND"])
def test_times_in_kinesis_are_finer(precision: str) -> None:
    (found,) = records_of(in_kinesis(written(None, OLD), precision=precision))
    assert found.at == AT


def test_lambda_names_a_failure_by_its_sequence_number_and_pipes_by_its_event_id() -> None:
    ids = {form: records_of(make(written(None, OLD)))[0].failure_id for form, make in FORMS.items()}
    assert ids == {
        "lambda": "111",
        "get_records": "111",
        "kinesis": "111",
        "kinesis_get_records": "111",
        "pipes": "id-111",
        "kinesis_pipes": "shardId-000000000006:111",
    }


def test_a_single_record_is_an_event() -> None:
    assert records_of(written(None, OLD)) == records_of({"Records": [written(None, OLD)]})


@pytest.mark.parametrize(
    "junk", [None, 1, "x", [], {}, {"eventName": "INSERT"}, {"eventSource": "aws:sqs"}], ids=str
)
def test_what_is_no_record_among_others_is_one_with_a_problem(junk: Any) -> None:
    first, wrong, last = records_of({"Records": [written(None, OLD), junk, written(OLD, NEW, sequence=222)]})
    assert [first.sequence, last.sequence] == ["111", "222"]
    assert [first.problem, last.problem] == ["", ""]
    assert wrong.raw is junk
    assert (wrong.problem, wrong.sequence, wrong.failure_id) == (
        "it is not a record of a DynamoDB stream",
        "",
        "",
    )


def test_no_records_are_no_changes() -> None:
    assert records_of({"Records": [], "NextShardIterator": None}) == records_of([]) == []


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}, "its records come from 'aws:sqs'"),
        ({"Records": [{"EventSource": "aws:sns"}]}, "its records come from 'aws:sns'"),
        ([{"eventSource": "aws:sqs", "body": "{}"}], "its records come from 'aws:sqs'"),
        ({"Records": b"x"}, "it has Records, and no Records"),
        ({"detail-type": "Scheduled Event"}, "it has detail-type, and no Records"),
        ({}, "it has nothing, and no Records"),
        ("{}", "of type str"),
        (None, "of type NoneType"),
    ],
)
def test_any_other_event_is_a_usage_error(event: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        records_of(event)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"eventName": "TRUNCATE"}, "eventName 'TRUNCATE'"),
        ({"dynamodb": {}}, "it has no Keys"),
        ({"dynamodb": {"Keys": {}}}, "Keys is not an item"),
        (
            {"dynamodb": {"Keys": {"PK": "a"}}},
            "Keys is not an item in DynamoDB JSON: 'PK' is not an attribute value",
        ),
        (
            {"dynamodb": {"Keys": OLD, "NewImage": {"PK": {"B": "%"}}}},
            "NewImage is not an item in DynamoDB JSON: 'PK' has a binary value that is not base64",
        ),
        ({"dynamodb": 1}, "not a record of a DynamoDB stream"),
    ],
)
def test_a_malformed_record_says_what_is_wrong(change: Any, problem: str) -> None:
    (found,) = records_of({"Records": [{**written(None, OLD), **change}]})
    assert problem in found.problem


@pytest.mark.parametrize("data", [b"", b"no json", b"[1]", json.dumps({"other": 1}).encode(), b"[" * 100_000])
def test_other_data_in_kinesis_is_malformed(data: bytes) -> None:
    event = in_kinesis(written(None, OLD))
    event["Records"][0]["kinesis"]["data"] = b64encode(data).decode()
    (found,) = records_of(event)
    assert found.problem == "it is not a record of a DynamoDB stream"
    assert found.failure_id == "111"


@pytest.mark.parametrize("time", [None, "soon", float("inf"), {}])
def test_a_time_that_cannot_be_read_is_unknown(time: object) -> None:
    record = written(None, OLD)
    record["dynamodb"]["ApproximateCreationDateTime"] = time
    (found,) = records_of({"Records": [record]})
    assert (found.at, found.problem) == (None, "")


@pytest.mark.parametrize(
    "identity",
    [
        None,
        "x",
        {},
        {"type": "User", "principalId": "dynamodb.amazonaws.com"},
        {"type": "Service", "principalId": "me"},
    ],
)
def test_only_dynamodbs_own_deletion_is_by_ttl(identity: object) -> None:
    record = {**in_lambda(written(OLD, None))["Records"][0], "userIdentity": identity}
    assert not records_of([record])[0].expired
