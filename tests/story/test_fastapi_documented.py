"""The page about services: its Python runs, its answer is the one that is sent, and its project passes its tests."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from dynaorm import Session
from dynaorm.testing import assert_consistent, strict_moto
from tests.integrations.asgi import client_of

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


def test_the_service_and_what_is_added_to_it_run_and_answer_as_the_page_says(page: ModuleType) -> None:
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


def test_the_asynchronous_service_of_the_page_finds_what_is_stored(
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
