"""A forked child leaves alone what its parent opened, and goes on with resources of its own; no pickle has them."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from dynaorm import AsyncSession, Session
from dynaorm.errors import UsageError
from dynaorm.transport import AsyncDirectTransport, AsyncPynamoTransport, DirectTransport, PynamoTransport
from tests.cast.people import User
from tests.transport.forked import KINDS
from tests.transport.unruly import Unruly

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first request for credentials writes to the first of these, and waits for the second."""
    pipes = [str(tmp_path / "begun"), str(tmp_path / "go_on")]
    for pipe in pipes:
        os.mkfifo(pipe)
    program = tmp_path / "credentials.py"
    program.write_text(
        "import pathlib\n"
        f"first = pathlib.Path({str(tmp_path)!r}, 'first')\n"
        "if not first.exists():\n"
        "    first.touch()\n"
        f"    open({pipes[0]!r}, 'w').close()\n"
        f"    open({pipes[1]!r}).close()\n"
        """print('{"Version": 1, "AccessKeyId": "K", "SecretAccessKey": "S"}')\n"""
    )
    config = tmp_path / "config"
    config.write_text(f"[profile slow]\ncredential_process = {sys.executable} {program}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "slow")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    return pipes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_goes_on_in_parent_and_child_whatever_was_under_way(
    kind: str,
    pipes: list[str],
    server: Unruly,
    secure_server: Unruly,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    endpoints = [server.endpoint, secure_server.endpoint]
    program = [sys.executable, "-W", "error", "-m", "tests.transport.forked", kind, *pipes, *endpoints]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    during, plain, secure = json.loads(done.stdout)
    assert during == [0, None, None], "the child waits for no lock of the thread that only its parent has"
    # botocore's own connections stay open in the child, and are not used there.
    left = (1, 2) if kind == "default through botocore" else (0, 0)
    assert [plain, secure] == [[0, [None, number], None] for number in left]
    assert secure_server.connections == 2, (
        "one of the parent, which the child does not end, and one of the child"
    )
    assert len(secure_server.requests) == 3


KEPT: Final[dict[str, Callable[[], Any]]] = {
    "Session": Session,
    "AsyncSession": AsyncSession,
    "DirectTransport": DirectTransport,
    "AsyncDirectTransport": AsyncDirectTransport,
    "PynamoTransport": PynamoTransport,
    "AsyncPynamoTransport": AsyncPynamoTransport,
    "Query": lambda: Session().query(User, user_id="1"),
    "AsyncQuery": lambda: AsyncSession().query(User, user_id="1"),
}


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_uses_the_connections_of_a_process_is_neither_pickled_nor_copied(
    kind: str, take: Callable[[Any], Any]
) -> None:
    with pytest.raises(UsageError) as refused:
        take(KEPT[kind]())
    assert str(refused.value) == (
        f"this {kind} cannot be pickled or copied: it uses connections of this process; make a session in each "
        "process, and give it values such as entities, keys and cursors"
    )
