"""The examples run, each in a process of its own, and so do the Python blocks of the README."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeAlias

import pytest

from dynaorm import Entity, Retry, Session, Table, Unique, inspect
from dynaorm.errors import OutcomeUnknown
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport, lost_answer, lost_request
from dynaorm.testing.moto_engine import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport
from tests.integrations.asgi import client_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = Path(__file__).with_name("programs.py")

pytest_plugins = ["pytester"]

SHOWN = {
    "bobby_tables": (
        "User: 3 items",
        "userName#btables",
        "email#bobby@tables.com",
        "User: 0 items",
        "User: 6 items",
        "jsmith",
    ),
    "two_tables": ("User: 1 items", "UserGuards: 2 items", "email#bobby.tables@gmail.com", "table=User"),
    "equipment_audits": (
        "Equipment: 4 items",
        "v0_Audit",
        "v3_Audit",
        "v0_Audit#part7",
        "versions purged",
    ),
    "document_tracking": ("Documents: 5 items", "metadata", "permissions", "v_0", "v_2", "second draft"),
    "locations": (
        "Locations: 11 items",
        "USA-TX-Houston",
        "region South: Midtown, Heights",
        "city='Pasadena'",
    ),
    "event_log": ("EventLog: 3 items", "1535544000", "['event-3', 'event-1']", "event-2"),
    "chat": ("ChatMessages: 6 items", "seattle-1", "seattle-2", "amsg#2018-08-29:12:00:00", "(2 requests)"),
    "people": ("['DeBrie', 'Dean', 'Dern']", "['Dean', 'DeBrie', 'Dern']", "DEBRIE", "Normalised: 3 items"),
    "orders_ksuid": (
        "2020-03-07 13:02:30+00:00",
        "newSampleTable: 5 items",
        "ORDERID#2S7pOaGwsooZHwQF9Cjb73DksHd",
        "[1, 2, 3]",
    ),
    "devices": ("SampleTable: 7 items", "(1 request)", "['72.9', '72.8', '72.7', '72.6', '72.5']"),
    "students": (
        "Students: 6 items",
        "In the index: 23552, 72442, 98244\n",
        "In the index: 23512, 23552, 48533, 72442, 98244",
    ),
    "tickets_overloaded": ("Project: 6 items", "usuario1@email.com", "YT-81274", "mailbox='usuario1'"),
    "ticket_status": (
        "Tickets: 6 items",
        "STATUS#open#",
        "(8 requests)",
        "50 tickets from 2021-07-19 back to 2021-05-31, 3 requests",
    ),
    "online_shop": ("OnlineShop: 19 items", "c#12345", "shp#54321", "type='GiftCard'", "name='The Book'"),
    "issues": (
        "GitHubTable: 6 items",
        "title='Docs are missing', status='Open'",
        "title='Slow query', status='Closed'",
        "(1 request)",
    ),
    "deals": ("BigTimeDeals: 8 items", "day='2020-05-18 00:00:00'", "subject='Two for one'", "(1 request)"),
    "typedorm": (
        "my-table: 5 items",
        "PK=DRM_GEN_USER.EMAIL#loki@asgard.com",
        "GSI1SK=ORDER#cancelled#CREATED_AT#",
        "(1 request)",
    ),
    "search_index": (
        "9 records, and these changes:",
        "Deleted Key(Song, song_id='3')",
        "wild:\n['1', '2']",
        "example:\n[]",
    ),
    "downloads_per_month": (
        "MusicLibrary: 18 items",
        "#token#d6",
        "[('129', 2), ('130', 1)]",
        "[('130', 2), ('129', 1)]",
    ),
    "device_state_log": ("DeviceStateLog: 11 items", "State#Date", "WARNING4#2020-04-27T16:15:00", "Sara"),
}
"""What each example must print, among other things."""

PARTS = {"lambda_function", "lambda_powertools", "raw"}
"""Modules that only serve the examples."""

SERVICES = {"fastapi_service": "test_fastapi_service.py"}
"""Examples that wait for requests, and their tests."""


Python: TypeAlias = Callable[[Path], tuple[int, str, str]]
"""Runs a program: its exit code, what it prints, and its errors."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Python]:
    """Runs programs as a user would, with warnings as errors and dynaorm from this tree."""
    yield from running(tmp_path_factory, 150)


@pytest.fixture(scope="module")
def python_in_80_columns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Python]:
    yield from running(tmp_path_factory, 80)


def running(tmp_path_factory: pytest.TempPathFactory, columns: int) -> Iterator[Python]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": str(columns)}
    files = [tmp_path_factory.mktemp("programs") / name for name in ("output", "errors")]
    command = [sys.executable, "-W", "error", str(PROGRAMS)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        asked, answers = runner.stdin, runner.stdout

        def run(program: Path) -> tuple[int, str, str]:
            asked.write("\t".join(map(str, [program, *files])) + "\n")
            code = int(answers.readline())
            output, errors = (file.read_text() for file in files)
            for file in files:
                file.unlink()
            return code, output, errors

        yield run
        asked.close()


def test_every_example_is_known_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == SHOWN.keys() | PARTS | SERVICES.keys()
    assert [name for name in SERVICES.values() if not Path(__file__).with_name(name).exists()] == []


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_an_example_runs_and_prints_its_items_and_leaves_nothing_for_verify_to_find(
    name: str, python: Python
) -> None:
    code, printed, errors = python(EXAMPLES / f"{name}.py")
    assert (code, errors) == (0, "")
    assert "\nverified: " in printed
    missing = [text for text in SHOWN[name] if text not in printed]
    assert not missing, f"{name} does not print {missing}:\n{printed}"
    assert "…" not in printed, "an item is cut"


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_an_example_fits_into_a_terminal_and_cuts_nothing(name: str, python_in_80_columns: Python) -> None:
    code, printed, errors = python_in_80_columns(EXAMPLES / f"{name}.py")
    assert (code, errors) == (0, "")
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    assert "…" not in printed


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_part_of_the_examples_runs_and_prints_nothing(name: str, python: Python) -> None:
    assert python(EXAMPLES / f"{name}.py") == (0, "", "")


# -- README ------------------------------------------------------------------------------------------------------------


def blocks() -> list[str]:
    """The fenced Python blocks of the README, in order."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def block(containing: str) -> str:
    (found,) = (text for text in blocks() if containing in text)
    return found


def test_every_python_block_of_the_readme_is_run_by_a_test_here() -> None:
    run = (
        "session.create_table(app)",
        "any_of(",
        "dynaorm_faults.inject",
        "unknown.plan",
        "AsyncSession(",
        "FastAPI(",
        "DirectTransport(",
    )
    assert [block(containing) for containing in run] == blocks()


def test_the_queries_run_on_strict_moto(tmp_path: Path, python: Python) -> None:
    before = "from dynaorm import Session\nfrom dynaorm.testing.moto_engine import strict_moto\n\nwith strict_moto():\n"
    asked = block("any_of(").replace("newest =", "session.create_table(app)\nnewest =")
    program = tmp_path / "queries.py"
    lines = f'session = Session(region="eu-west-1")\n{asked}assert newest == page.entities == []\n'
    program.write_text(before + textwrap.indent(lines, "    "))
    assert python(program) == (0, "", "")


def test_the_asynchronous_example_runs_on_strict_moto(tmp_path: Path, python: Python) -> None:
    before = (
        "import asyncio\nfrom dynaorm import Entity, Session, Table\n"
        "from dynaorm.testing.moto_engine import strict_moto\n\n"
        'app = Table("app")\n\n'
        'class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):\n    user_id: str\n\n'
        'class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):\n'
        "    project: str\n    number: int\n\n"
    )
    main = "async def main():\n" + textwrap.indent(block("AsyncSession("), "    ")
    run_it = (
        "with strict_moto(), Session(region='eu-west-1') as session:\n"
        "    session.create_table(app)\n    session.save(User(user_id='u1'))\n    asyncio.run(main())\n"
    )
    program = tmp_path / "asynchronous.py"
    program.write_text(f"{before}{main}\n{run_it}")
    assert python(program) == (0, "", "")


def test_the_sixty_second_example_runs_on_strict_moto(tmp_path: Path, python: Python) -> None:
    program = tmp_path / "sixty_seconds.py"
    on_moto = "from dynaorm.testing.moto_engine import strict_moto\n\nwith strict_moto():\n"
    program.write_text(on_moto + textwrap.indent(block("session.create_table(app)"), "    "))
    code, printed, errors = python(program)
    assert (code, errors) == (0, "")
    explained = printed.splitlines()
    assert explained[0].startswith("TransactWriteItems, 3 actions, ")
    assert [line.partition(" app ")[0] for line in explained[1:]] == ["1. Update", "2. Delete", "3. Put"]
    assert "release email = 'Bobby@Example.com'" in explained[2]
    assert "claim email = 'bobby@tables.com'" in explained[3]


def test_the_test_of_the_readme_passes_in_a_project_with_such_entities(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    package = pytester.mkpydir("myservice")
    entities = block("session.create_table(app)").partition("session = Session(")[0]
    (package / "entities.py").write_text(entities)
    pytester.makepyfile(block("dynaorm_faults.inject"))
    pytester.makeini("[pytest]\ndynaorm_tables = myservice.entities")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(pytester.path)]))
    run = pytester.runpytest_subprocess("-p", "no:randomly")
    run.assert_outcomes(passed=1)


def test_the_service_answers_as_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("myservice", "myservice.entities", "myservice.api"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    entities, api = (vars(sys.modules[f"myservice.{name}"]) for name in ("entities", "api"))
    exec(block("session.create_table(app)").partition("session = Session(")[0], entities)
    exec(block("FastAPI("), api)
    with strict_moto(), Session(region="eu-west-1") as session:
        session.create_table(entities["app"])
        ask = client_of(api["service"])
        new = {"email": "bobby@tables.com", "full_name": "Bobby Tables"}
        bobby, phony = ask("POST", "/users", json=new), ask("POST", "/users", json=new)
        assert (bobby.status_code, phony.status_code, phony.json()["field"]) == (201, 409, "email")
        path = f"/users/{bobby.json()['user_id']}/name"
        tag = {"If-Match": bobby.headers["ETag"]}
        answers = [ask("PUT", path, params={"name": "Bob"}, headers=one) for one in (None, tag, tag)]
        assert [answer.status_code for answer in answers] == [428, 200, 412]
        assert answers[1].json() == bobby.json() | {"full_name": "Bob"}


orders = Table("orders")


class Order(Entity, table=orders, pk="ORDER#{number}", sk="ORDER"):
    number: int
    email: Annotated[str, Unique()]


def order() -> Order:
    return Order(number=7, email="bobby@tables.com")


def test_the_direct_transport_of_the_readme_stores_and_loads(
    ministack_endpoint: str, unique_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", ministack_endpoint)
    names: dict[str, Any] = {"Session": partial(Session, table_names=unique_name)}
    exec(block("DirectTransport("), names)
    with names["session"] as session:
        session.create_table(orders)
        assert session.get_one(Order, number=session.save(order()).number) == order()
    session._transport.close()


@pytest.mark.parametrize("lost", [lost_request, lost_answer])
def test_an_unknown_outcome_is_settled_as_the_readme_says(lost: Callable[..., Fault]) -> None:
    with strict_moto(), Session(region="us-east-1") as plain:
        plain.create_table(orders)
        silent = FaultyTransport(PynamoTransport(region="us-east-1"), lost(times=2))
        impatient = Session(transport=silent, retry=Retry(attempts=2), clock=FakeClock())
        names = {"session": impatient, "order": order(), "OutcomeUnknown": OutcomeUnknown}
        exec(block("unknown.plan"), names)
        assert [call.operation for call in silent.calls] == ["TransactWriteItems"] * 3
        assert inspect(names["order"]).loaded
        assert plain.get_by(Order, email="bobby@tables.com") == order()
