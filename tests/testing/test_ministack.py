"""A server of one's own starts, answers, empties and ends."""

import stat
from pathlib import Path

import pytest

from dynaorm.errors import UsageError
from dynaorm.testing import Ministack
from dynaorm.testing.ministack import find_ministack
from dynaorm.transport import Call, NoAnswer, PynamoTransport


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without ministack."""
    monkeypatch.delenv("DYNAORM_MINISTACK", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_without_an_executable_the_error_says_how_to_get_one(nowhere: Path) -> None:
    with pytest.raises(UsageError, match=r"pip install ministack.*DYNAORM_MINISTACK.*DYNAORM_ENDPOINT"):
        find_ministack([nowhere / "ministack"])


def test_the_environment_comes_before_the_places_given_and_these_before_path(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = executable(nowhere / "ministack", "true")
    place = executable(nowhere / "place", "true")
    named = executable(nowhere / "named", "true")
    assert find_ministack() == on_path
    assert find_ministack([nowhere / "absent", place]) == place
    monkeypatch.setenv("DYNAORM_MINISTACK", str(named))
    assert find_ministack([place]) == named


def test_a_named_executable_that_is_not_there_is_an_error_rather_than_another_one(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(nowhere / "ministack", "true")
    monkeypatch.setenv("DYNAORM_MINISTACK", str(nowhere / "gone"))
    with pytest.raises(UsageError, match="gone"):
        find_ministack()


def test_a_server_that_cannot_start_is_reported_with_what_it_said(tmp_path: Path) -> None:
    broken = executable(tmp_path / "ministack", "echo no such module; exit 1")
    with pytest.raises(UsageError, match="no such module"):
        Ministack(broken).__enter__()


def test_another_port_is_tried_when_somebody_else_took_the_first(tmp_path: Path) -> None:
    taken = executable(
        tmp_path / "ministack", f"echo $GATEWAY_PORT >> {tmp_path}/ports; echo already in use; exit 1"
    )
    with pytest.raises(UsageError, match="already in use"):
        Ministack(taken).__enter__()
    assert len((tmp_path / "ports").read_text().split()) == 3


def test_outside_of_its_block_a_server_has_no_endpoint(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="with Ministack"):
        _ = Ministack(executable(tmp_path / "ministack", "true")).endpoint


def test_a_server_answers_in_its_block_and_is_gone_after_it(ministack_executable: Path) -> None:
    with Ministack(ministack_executable) as server:
        transport = PynamoTransport(endpoint=server.endpoint)
        transport.call(
            Call(
                "CreateTable",
                {
                    "TableName": "app",
                    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
        )
        assert transport.call(Call("ListTables", {}))["TableNames"] == ["app"]
        server.reset()
        assert transport.call(Call("ListTables", {}))["TableNames"] == []
    transport.close()
    with pytest.raises(NoAnswer) as caught:
        transport.call(Call("ListTables", {}))
    assert not caught.value.sent
