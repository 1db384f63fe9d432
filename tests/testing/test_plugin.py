"""The fixtures a project gets by installing dynaorm, in a project of its own."""

import subprocess
import sys

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


def test_a_run_that_asks_for_no_fixture_does_not_pay_for_moto() -> None:
    check = "import dynaorm.testing.plugin, sys; sys.exit('moto' in sys.modules or 'boto3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
