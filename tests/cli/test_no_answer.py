"""Commands against a server that does not answer: each ends soon, with one line that says what to do."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dynaorm.cli.entry import main
from dynaorm.cli.terminal import FAILED

LIMIT: Final = "0.2"
READING: Final = (
    ("get", "tests.cli.desk:Org", "org=o"),
    ("get", "tests.cli.desk:Agent", "email=a@x.com"),
    ("query", "tests.cli.desk:Org", "org=o"),
    ("show", "tests.cli.desk:desk", "ORG#o", "ORG"),
    ("verify", "tests.cli.desk:desk"),
    ("repair", "tests.cli.desk:desk"),
    ("backfill", "tests.cli.desk:desk"),
    ("diff", "tests.cli.desk:desk"),
    ("apply", "tests.cli.desk:desk"),
    ("dump", "tests.cli.desk:desk", "out.json"),
    ("layout", "tests.cli.desk:desk", "--from-table", "3"),
)


@pytest.fixture(params=["a closed port", "a server that never answers"])
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param != "a closed port":
            listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_command_without_an_answer_ends_with_one_line_that_says_what_to_do(
    command: tuple[str, ...],
    endpoint: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert main([*command, "--endpoint", endpoint, "--timeout", LIMIT]) == FAILED
    *_, said = capfd.readouterr().err.splitlines()
    assert said.startswith("dynaorm: ")
    assert " got no answer " in said
    assert said.endswith("; check the region, the endpoint and the network, and try again")
