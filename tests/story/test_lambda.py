"""The example of a Lambda function: its API with and without Powertools, its stream, and what it needs to start."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from importlib import import_module
from pathlib import Path
from typing import Any

import botocore
import lambda_function
import pytest
from lambda_function import SignUps, User

from dynaorm import Retry, Session, item_of
from dynaorm.embedded.engine import Engine
from dynaorm.testing import FakeClock, FaultyTransport, conflict, tables_of, throttle
from tests.transport.unruly import unruly_server

ROOT = Path(__file__).parents[2]

pytest_plugins = ["pytester"]


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport(Engine())


@pytest.fixture
def session(wire: FaultyTransport, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The session of the function, in memory."""
    session = Session(transport=wire, clock=FakeClock())
    for table in tables_of(lambda_function):
        session.create_table(table)
    monkeypatch.setattr(lambda_function, "session", session)
    return session


def request(method: str, path: str, body: object = None, **parameters: str) -> dict[str, Any]:
    """An event of an HTTP API of API Gateway, payload format 2.0."""
    route = "/".join("{user_id}" if part in parameters.values() else part for part in path.split("/"))
    return {
        "version": "2.0",
        "routeKey": f"{method} {route}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
        "pathParameters": parameters,
        "body": b64encode(json.dumps(body).encode()).decode(),
        "isBase64Encoded": True,
    }


BOB = {"email": "bob@x.com", "name": "Bob"}


@pytest.fixture(params=["lambda_function", "lambda_powertools"])
def api(request: pytest.FixtureRequest) -> Any:
    """Each API. Powertools would hook into every session that botocore makes in this process, also for other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore, "register_initializer", lambda _: None)
        return import_module(request.param).api


def test_the_api_answers_as_documented(api: Any, session: Session, wire: FaultyTransport) -> None:
    def answered(event: dict[str, Any]) -> tuple[int, Any]:
        found = api(event, None)
        return found["statusCode"], json.loads(found["body"])

    status, user = answered(request("POST", "/users", BOB))
    assert (status, user) == (201, user | BOB)
    assert user.keys() == {"user_id", "email", "name", "joined"}
    got = request("GET", f"/users/{user['user_id']}", user_id=user["user_id"])
    assert answered(got) == (200, user)
    assert answered(request("POST", "/users", {**BOB, "email": "BOB@x.com"})) == (
        409, {"error": "this email is taken"}
    )  # fmt: skip
    status, wrong = answered(request("POST", "/users", {"email": "SECRET"}))
    assert (status, [one["loc"] for one in wrong["error"]]) == (422, [["name"]])
    assert "SECRET" not in str(wrong)
    assert answered(request("GET", "/users/u9", user_id="u9"))[0] == 404
    assert answered(request("GET", "/elsewhere"))[0] == 404
    wire.inject(throttle(times=10))
    assert answered(got) == (503, {"error": "try again"})


def records(*users: User) -> dict[str, Any]:
    """The event of Lambda for the inserts of some users, without their guard items."""
    items = [item_of(user) for user in users]
    return {
        "Records": [
            {
                "eventName": "INSERT",
                "eventSource": "aws:dynamodb",
                "dynamodb": {
                    "ApproximateCreationDateTime": 1_700_000_000.0,
                    "Keys": {name: item[name] for name in ("PK", "SK")},
                    "NewImage": item,
                    "SequenceNumber": str(number),
                    "StreamViewType": "NEW_AND_OLD_IMAGES",
                },
            }
            for number, item in enumerate(items, 1)
        ]
    }


def test_every_stream_record_is_counted_once(
    session: Session, wire: FaultyTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = records(*(User(email=f"{number}@x", name="n") for number in range(3)))
    assert lambda_function.stream(records(), None) == {"batchItemFailures": []}
    impatient = Session(transport=wire, clock=FakeClock(), retry=Retry(attempts=1))
    monkeypatch.setattr(lambda_function, "session", impatient)
    wire.inject(conflict(at=2, operation="TransactWriteItems"))
    assert lambda_function.stream(event, None) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert lambda_function.stream(event, None) == {"batchItemFailures": []}
    assert session.scan(SignUps).one().users == 3


def test_it_runs_without_botocore_and_pynamodb() -> None:
    """A package for Lambda can leave them out, if credentials and Region are those of the environment."""
    program = (
        "import json, sys\n"
        "for name in ('botocore', 'boto3', 'pynamodb', 'urllib3', 'jmespath', 'dateutil'):\n"
        "    sys.modules[name] = None\n"
        "import lambda_function\n"
        "api, records = json.loads(sys.stdin.read())\n"
        "print(lambda_function.api(api)['statusCode'], lambda_function.stream(records))\n"
    )
    events = [request("GET", "/users/u1", user_id="u1"), records(User(email="a@x", name="n"))]
    with unruly_server() as server:
        environment = {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",  # pragma: allowlist secret
            "AWS_SESSION_TOKEN": "token",
            "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint,
            "AWS_CONFIG_FILE": "/none",
            "AWS_SHARED_CREDENTIALS_FILE": "/none",
        }
        run = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(events), env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert run.stdout == "404 {'batchItemFailures': []}\n", run.stderr
    operations = [one.headers["x-amz-target"].partition(".")[2] for one in server.requests]
    assert operations == ["GetItem", "TransactWriteItems"]


def test_the_documented_tests_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    (block,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/lambda.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert block.startswith("# tests/test_function.py\n")
    pytester.makepyfile(test_function=block)
    pytester.makeini("[pytest]\ndynaorm_tables = lambda_function")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'examples'}")
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=2)
