"""The service of the examples, over HTTP: uvicorn in a thread, ministack in another process, dynaorm's own fixtures."""

import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi_service import Stock, main, service, shop

from dynaorm import Session, Table
from dynaorm.integrations.fastapi import current_session
from dynaorm.testing import assert_consistent, strict_moto
from dynaorm.transport import Transport
from tests.integrations.asgi import client_of


@pytest.fixture(scope="session")
def dynaorm_endpoint(ministack_endpoint: str) -> str:
    return ministack_endpoint


@pytest.fixture(scope="session")
def dynaorm_transport(ministack_line: tuple[Transport, Any]) -> Transport:
    return ministack_line[0]


@pytest.fixture
def dynaorm_tables() -> tuple[Table, ...]:
    return (shop,)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The service, listening. Clients wait until it has started."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(service, log_level="warning"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def client(url: str, dynaorm_session: Session) -> Iterator[httpx.Client]:
    service.dependency_overrides[current_session] = lambda: dynaorm_session
    with httpx.Client(base_url=url) as client:
        yield client
    service.dependency_overrides.clear()


def signed_up(client: httpx.Client, email: str = "liz@x.com") -> httpx.Response:
    return client.post("/users", json={"email": email, "full_name": "Liz"})


def at_once(client: httpx.Client, method: str, path: str, *bodies: Any, **given: Any) -> list[httpx.Response]:
    """Send requests at the same time, as clients that do not know each other."""
    with ThreadPoolExecutor(len(bodies)) as pool:
        sent = [pool.submit(client.request, method, path, json=body, **given) for body in bodies]
        return [one.result() for one in sent]


def test_of_two_clients_that_patch_one_user_exactly_one_gets_412(client: httpx.Client) -> None:
    user = signed_up(client)
    path = f"/users/{user.json()['user_id']}"
    tag = user.headers["ETag"]
    for number in range(2, 5):
        names = [{"full_name": f"{name} {number}"} for name in ("Bob", "Eve")]
        answers = at_once(client, "PATCH", path, *names, headers={"If-Match": tag})
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        (made,) = (answer for answer in answers if answer.status_code == 200)
        shown = client.get(path)
        assert shown.json() == made.json()
        tag = made.headers["ETag"]
        assert shown.headers["ETag"] == tag
        versions = client.get(f"{path}/history").json()
        assert [version["number"] for version in versions] == list(range(number, 0, -1))
        assert versions[0]["user"] == made.json()


def test_a_request_that_is_repeated_with_one_key_makes_one_order(
    client: httpx.Client, dynaorm_session: Session
) -> None:
    dynaorm_session.save(Stock(sku="book", left=10))
    path = f"/users/{signed_up(client).json()['user_id']}/orders"
    body, key = {"sku": "book", "quantity": 3}, {"Idempotency-Key": path}
    answers = at_once(client, "POST", path, body, body, body, headers=key)
    answers += [client.post(path, json=body, headers=key)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(201, answers[0].json())] * 4
    assert client.post(path, json={**body, "quantity": 2}, headers=key).status_code == 422
    assert dynaorm_session.get_one(Stock, sku="book").left == 7
    assert client.get(path).json() == {"items": [answers[0].json()], "cursor": None}


def test_the_openapi_lists_the_errors_of_every_route() -> None:
    declared = {
        (method, path): {
            int(status)
            for status, response in operation["responses"].items()
            if "application/problem+json" in response["content"]
        }
        for path, operations in service.openapi()["paths"].items()
        for method, operation in operations.items()
    }
    assert declared == {
        ("post", "/users"): {409, 500, 503},
        ("get", "/users/{user_id}"): {404, 500, 503},
        ("patch", "/users/{user_id}"): {400, 404, 409, 412, 428, 500, 503},
        ("get", "/users/{user_id}/history"): {500, 503},
        ("post", "/users/{user_id}/orders"): {400, 404, 412, 422, 500, 503},
        ("get", "/users/{user_id}/orders"): {400, 500, 503},
    }


def test_the_example_serves_an_in_memory_dynamodb(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(app: FastAPI, **_: Any) -> None:
        ask = client_of(app)
        user = ask("POST", "/users", json={"email": "liz@x.com", "full_name": "Liz"}).json()
        order = {"sku": "book", "quantity": 10}
        orders = f"/users/{user['user_id']}/orders"
        served.append(ask("POST", orders, json=order, headers={"Idempotency-Key": "k1"}).status_code)

    served: list[int] = []
    monkeypatch.setattr(uvicorn, "run", serve)
    main()
    assert served == [201]


# -- the page of the documentation -------------------------------------------------------------------------------------
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text()

pytest_plugins = ["pytester"]


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


SERVICE, *SNIPPETS, TESTS = blocks("python")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module for the code of the page."""
    module = ModuleType("docs_service")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_the_service_answers_as_the_page_says(page: ModuleType) -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        exec(compile(SERVICE, "service.md", "exec"), vars(page))
        session.create_table(page.app)
        vars(page)["session"] = session
        exec(compile("\n\n".join(SNIPPETS), "service.md", "exec"), vars(page))
        ask = client_of(page.service)
        new = {"email": "liz@x.com", "full_name": "Liz"}
        path = f"/users/{ask('POST', '/users', json=new).json()['user_id']}"
        assert [ask("POST", "/users", json=new).json()] == [json.loads(one) for one in blocks("json")]
        assert ask("PUT", f"{path}/name", params={"full_name": "Eliza"}).json()["full_name"] == "Eliza"
        assert_consistent(session, page.app)


def test_the_asynchronous_service_finds_what_is_stored(
    page: ModuleType,
    ministack_endpoint: str,
    unique_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", ministack_endpoint)
    code = f"{SERVICE}\n\n{SNIPPETS[0]}".replace('Table("app")', f'Table("{unique_name("app")}")')
    exec(compile(code, "service.md", "exec"), vars(page))
    with Session(region="eu-west-1") as session:
        session.create_table(page.app)
        session.save(page.User(user_id="u1", email="liz@x.com", full_name="Liz"))
        ask = client_of(page.async_service)
        found = {"user_id": "u1", "email": "liz@x.com", "full_name": "Liz"}
        assert ask("GET", "/users/u1").json() == found
        assert ask("GET", "/users/u2").status_code == 404
        session.delete_table(page.app, name=page.app.name)


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.syspathinsert()
    for block in (SERVICE, TESTS):
        path = pytester.path / block.partition("\n")[0].removeprefix("# ")
        path.parent.mkdir()
        path.write_text(block)
    pytester.makeini("[pytest]\ndynaorm_tables = myservice.api")
    pytester.runpytest_inprocess("tests").assert_outcomes(passed=TESTS.count("\ndef test_"))
