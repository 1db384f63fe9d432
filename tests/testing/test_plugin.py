"""The fixtures a project gets by installing dynaorm, in a project of its own."""

import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PROJECT = """
import pytest
from dynaorm.entity.table import Table
from dynaorm.flow.call import Call
from dynaorm.transport.pynamodb import PynamoTransport

APP = Table("app")

@pytest.fixture
def dynaorm_tables():
    return (APP,)

@pytest.fixture
def tables():
    return lambda **where: PynamoTransport(**where).call(Call("ListTables", {}))["TableNames"]
"""


def test_a_session_on_moto_has_the_projects_tables_and_nothing_of_the_test_before(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.makeconftest(PROJECT)
    pytester.makepyfile(
        """
        import pytest
        from dynaorm.flow.call import Call
        from dynaorm.transport.pynamodb import PynamoTransport

        @pytest.mark.dynaorm_unchecked
        @pytest.mark.parametrize("round", [1, 2])
        def test_tables(dynaorm_session, tables, round):
            assert tables(region="us-east-1") == ["app"]
            transport = PynamoTransport(region="us-east-1")
            assert transport.call(Call("Scan", {"TableName": "app"}))["Count"] == 0
            item = {"PK": {"S": "a"}, "SK": {"S": "b"}}
            transport.call(Call("PutItem", {"TableName": "app", "Item": item}))
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_without_tables_of_its_own_a_project_gets_a_session_on_an_empty_dynamodb(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.makepyfile("def test_empty(dynaorm_session, dynaorm_tables): assert dynaorm_tables == ()")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_dynaorm_moto_is_strict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from dynaorm.flow.call import Call, Refusal
        from dynaorm.transport.pynamodb import PynamoTransport

        def test_strict(dynaorm_moto):
            with pytest.raises(Refusal, match="between 1 and 100"):
                PynamoTransport(region="us-east-1").call(Call("TransactWriteItems", {"TransactItems": []}))
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_an_endpoint_given_is_used_with_tables_of_the_tests_own_which_are_deleted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ministack_endpoint: str
) -> None:
    monkeypatch.setenv("DYNAORM_ENDPOINT", ministack_endpoint)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    pytester.makeconftest(PROJECT.replace('"app"', '"plugin"'))
    pytester.makepyfile(
        """
        import os

        def mine(tables):
            names = tables(endpoint=os.environ["DYNAORM_ENDPOINT"])
            return [name for name in names if name.startswith("plugin-")]

        def test_tables(dynaorm_session, tables):
            assert len(mine(tables)) == 1

        def test_gone(monkeypatch, tables):
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
            assert mine(tables) == []
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=2)


ENTITIES = """
from typing import Annotated
from dynaorm import Entity, Table, Unique

app, notes = Table("plugin-app"), Table("plugin-notes", sk=None)

class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]

class Note(Entity, table=notes, pk="NOTE#{text}"):
    text: str
"""


@pytest.fixture
def service(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a project with two tables, and tests of it. On its configuration alone depends what they run on."""
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    # A name of this project's own: modules of other tests in this process stay imported.
    module = f"entities_{uuid.uuid4().hex}"
    pytester.syspathinsert()
    pytester.path.joinpath(f"{module}.py").write_text(ENTITIES)

    def make(tests: str) -> None:
        pytester.path.joinpath("test_service.py").write_text(
            f"from {module} import *\nimport asyncio, pytest\nfrom dynaorm import F, Key\n{textwrap.dedent(tests)}"
        )
        pytester.makeini(f"[pytest]\ndynaorm_tables = {module}")

    return make


def ran(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:randomly", *arguments)


@pytest.fixture(params=["moto", "url"])
def engine(request: pytest.FixtureRequest) -> str:
    """What to give as ``--dynaorm-endpoint``."""
    return "moto" if request.param == "moto" else str(request.getfixturevalue("ministack_endpoint"))


def test_the_tables_of_the_modules_named_are_there_in_both_kinds_of_session_on_either_engine(
    pytester: pytest.Pytester, service: Callable[[str], None], engine: str
) -> None:
    service(
        """
        def test_both(dynaorm_session, dynaorm_async_session):
            dynaorm_session.save(User(user_id="u", email="a@x"))

            async def find():
                await dynaorm_async_session.save(Note(text="n"))
                return await dynaorm_async_session.get_by(User, email="a@x")

            assert asyncio.run(find()).user_id == "u"
            assert dynaorm_session.exists(Note, text="n")

        def test_nothing_of_it_is_left(dynaorm_session):
            assert dynaorm_session.scan(User).count() == dynaorm_session.scan(Note).count() == 0
        """
    )
    ran(pytester, "--dynaorm-endpoint", engine).assert_outcomes(passed=2)


def test_a_marker_names_tables_for_one_test(
    pytester: pytest.Pytester, service: Callable[[str], None]
) -> None:
    service(
        """
        @pytest.mark.dynaorm_tables(Note, app)
        def test_marked(dynaorm_session, dynaorm_store):
            assert dynaorm_store.tables == (notes, app)

        def test_not_marked(dynaorm_store):
            assert dynaorm_store.tables == ()
        """
    )
    pytester.makeini("[pytest]")
    ran(pytester, "--strict-markers").assert_outcomes(passed=2)


@pytest.mark.parametrize("name", ["ini", "environment", "option"])
def test_an_option_comes_before_the_environment_and_that_before_the_configuration(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.makeini("[pytest]\ndynaorm_endpoint = http://ini:1")
    arguments = []
    if name != "ini":
        monkeypatch.setenv("DYNAORM_ENDPOINT", "http://environment:1")
    if name == "option":
        arguments = ["--dynaorm-endpoint", "http://option:1"]
    pytester.makepyfile(f"def test_it(dynaorm_endpoint): assert dynaorm_endpoint == 'http://{name}:1'")
    ran(pytester, *arguments).assert_outcomes(passed=1)


def test_moto_by_option_overrides_an_endpoint_of_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNAORM_ENDPOINT", "http://environment:1")
    pytester.makepyfile("def test_it(dynaorm_endpoint): assert dynaorm_endpoint is None")
    ran(pytester, "--dynaorm-endpoint=moto").assert_outcomes(passed=1)


def test_ministack_by_option_is_a_server_of_this_run(
    pytester: pytest.Pytester, service: Callable[[str], None], ministack_executable: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("DYNAORM_MINISTACK", str(ministack_executable))
    service(
        """
        def test_it(dynaorm_session, dynaorm_endpoint):
            assert dynaorm_endpoint.startswith("http://127.0.0.1:")
            dynaorm_session.save(Note(text="n"))
        """
    )
    ran(pytester, "--dynaorm-endpoint=ministack").assert_outcomes(passed=1)


@pytest.mark.parametrize("name", ["memory", "memory:", "sqlite:dev.db"])
def test_an_engine_in_the_process_has_sessions_faults_and_an_endpoint(
    pytester: pytest.Pytester, service: Callable[[str], None], name: str
) -> None:
    service(
        """
        import asyncio
        import pytest
        from dynaorm import Session
        from dynaorm.testing import lost_answer

        @pytest.mark.parametrize("round", [1, 2])
        def test_it(dynaorm_session, dynaorm_async_session, dynaorm_store, dynaorm_faults, dynaorm_endpoint, round):
            dynaorm_faults.inject(lost_answer())
            note = dynaorm_session.save(Note(text="n"))
            assert asyncio.run(dynaorm_async_session.get(Note, text="n")) == note
            assert dynaorm_faults.pending == ()
            with Session(endpoint=dynaorm_endpoint, table_names=dynaorm_store.name) as other:
                assert other.get(Note, text="n") == note
        """
    )
    ran(pytester, f"--dynaorm-endpoint={name}").assert_outcomes(passed=2)


def test_an_engine_nobody_knows_is_an_error_that_names_those_there_are(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(dynaorm_session): ...")
    result = ran(pytester, "--dynaorm-endpoint=mota")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'mota' names no engine: give moto, memory, ministack, or a URL*"])


def test_what_no_session_would_leave_behind_fails_the_test_unless_it_is_marked(
    pytester: pytest.Pytester, service: Callable[[str], None], engine: str
) -> None:
    service(
        """
        from dynaorm.flow.call import Call

        def damage(store):
            store.session().save(User(user_id="u", email="a@x"))
            key = {"PK": {"S": "email#a@x"}, "SK": {"S": "email#a@x"}}
            store.wire.call(Call("DeleteItem", {"TableName": store.name("plugin-app"), "Key": key}))

        def test_damage(dynaorm_store):
            damage(dynaorm_store)

        @pytest.mark.dynaorm_unchecked
        def test_on_purpose(dynaorm_store):
            damage(dynaorm_store)
        """
    )
    result = ran(pytester, "--dynaorm-endpoint", engine)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*missing guard of User in *, PK=email#a@x*: no guard item protects the value*"]
    )
    ran(pytester, "--dynaorm-endpoint", engine, "-o", "dynaorm_check=false").assert_outcomes(passed=2)


def test_a_table_that_the_test_deleted_is_not_looked_for(
    pytester: pytest.Pytester, service: Callable[[str], None], engine: str
) -> None:
    service(
        """
        from dynaorm.flow.call import Call

        def test_it(dynaorm_store, dynaorm_session):
            dynaorm_store.wire.call(Call("DeleteTable", {"TableName": dynaorm_store.name("plugin-app")}))
        """
    )
    ran(pytester, "--dynaorm-endpoint", engine).assert_outcomes(passed=1)


def test_faults_strike_sessions_of_both_kinds_on_either_engine(
    pytester: pytest.Pytester, service: Callable[[str], None], engine: str
) -> None:
    service(
        """
        from dynaorm.errors import OutcomeUnknown, Throttled
        from dynaorm import Retry
        from dynaorm.testing import FakeClock, lost_answer, lost_request, throttle

        @pytest.fixture
        def dynaorm_clock():
            return FakeClock()

        def test_survived(dynaorm_session, dynaorm_faults):
            dynaorm_faults.inject(lost_answer(), throttle(at=2))
            dynaorm_session.save(User(user_id="u", email="a@x"))
            assert [call.operation for call in dynaorm_faults.calls] == ["TransactWriteItems"] * 3
            assert dynaorm_session.exists(User, user_id="u")

        def test_survived_asynchronously(dynaorm_async_session, dynaorm_faults):
            dynaorm_faults.inject(lost_answer(times=2))
            asyncio.run(dynaorm_async_session.save(User(user_id="u", email="a@x")))
            assert len(dynaorm_faults.calls) == 3

        def test_not_survived(dynaorm_store, dynaorm_faults):
            hasty = dynaorm_store.session(retry=Retry(attempts=1))
            dynaorm_faults.inject(throttle(operation="PutItem"))
            with pytest.raises(Throttled):
                hasty.save(Note(text="n"))
        """
    )
    ran(pytester, "--dynaorm-endpoint", engine).assert_outcomes(passed=3)


def test_a_fault_that_never_struck_fails_the_test(
    pytester: pytest.Pytester, service: Callable[[str], None]
) -> None:
    service(
        """
        from dynaorm.testing.faults import lost_answer

        def test_too_late(dynaorm_session, dynaorm_faults):
            dynaorm_faults.inject(lost_answer(at=3))
            dynaorm_session.save(Note(text="n"))

        def test_taken_back(dynaorm_session, dynaorm_faults):
            dynaorm_faults.inject(lost_answer(at=3))
            dynaorm_session.save(Note(text="n"))
            dynaorm_faults.inject()
        """
    )
    result = ran(pytester)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*never struck: lost_answer(at=3, times=1); 1 call was made*"])


def test_a_run_that_asks_for_no_fixture_does_not_pay_for_moto() -> None:
    check = "import dynaorm.testing.plugin, sys; sys.exit('moto' in sys.modules or 'boto3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


# -- what a failed test left -------------------------------------------------------------------------------------------

FAILING = """
import pytest
from dynaorm import Entity, Table
from dynaorm.transport import Call

APP = Table("app")

class User(Entity, table=APP, pk="USER#{user_id}", sk="U"):
    user_id: str
    name: str = ""

@pytest.fixture
def dynaorm_tables():
    return (APP,)

def test_passes(dynaorm_session):
    dynaorm_session.save(User(user_id="passed"))

def test_fails(dynaorm_session):
    dynaorm_session.save(User(user_id="u1", name="Bobby"))
    assert False

def test_is_checked(dynaorm_session, dynaorm_transport):
    dynaorm_session.save(User(user_id="u2"))
    item = {"PK": {"S": "strange"}, "SK": {"S": "item"}}
    dynaorm_transport.call(Call("PutItem", {"TableName": "app", "Item": item}))

def test_without_a_table():
    assert False
"""


def test_a_failed_test_shows_what_it_left_when_asked(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.makepyfile(FAILING)
    run = pytester.runpytest_inprocess("--dynaorm-show", "-p", "no:randomly")
    run.assert_outcomes(passed=2, failed=2, errors=1)
    run.stdout.fnmatch_lines_random(
        [
            "app (PK, SK)  1 class, 0 indexes, 1 item",
            "USER#u1",
            "└ U  User  name=Bobby",
            "app (PK, SK)  1 class, 0 indexes, 2 items",
            "USER#u2",
            "└ item  unknown*",
        ]
    )
    run.stdout.no_fnmatch_line("*USER#passed*")
    assert run.stdout.str().count("- items -") == 2


def test_a_failed_test_shows_nothing_unasked(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    pytester.makepyfile(FAILING)
    run = pytester.runpytest_inprocess("-p", "no:randomly")
    run.stdout.no_fnmatch_line("*1 class*")
