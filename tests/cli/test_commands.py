"""The commands: what they say, and how they end."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from dynaorm import Session, tools
from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.transport import Call, Refusal, Transport
from tests.cli.conftest import TARGETS, Command
from tests.conftest import ROOT
from tests.integrity.zoo import TABLES, Raw, app, key_of, member, text


def told(output: str) -> list[Any]:
    """The findings among JSON lines, which begin with the tables of the run and end with its result."""
    lines = [json.loads(line) for line in output.splitlines()]
    places = [line for line in lines if line["kind"] == "run"]
    assert lines[: len(places)] == places != []
    *found, result = lines[len(places) :]
    assert (result["kind"], result["command"]) == ("result", places[0]["command"])
    assert sum(result["found"].values()) == len(found)
    return found


def begun(*arguments: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dynaorm.cli", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_a_healthy_table_is_clean(dynaorm: Command, zoo: Raw, where: list[str]) -> None:
    run = dynaorm("verify", *TARGETS, *where, "--segments", "8")
    count = sum(map(len, zoo.items(*TABLES).values()))
    assert (run.returncode, run.stdout) == (0, "")
    cost, result = run.stderr.splitlines()[len(TABLES) :]
    assert cost.startswith("verify: a scan takes about ")
    assert result.startswith(f"verify: {count} items, nothing found; ")


def test_findings_are_told_repaired_and_gone(
    dynaorm: Command, zoo: Raw, where: list[str], tmp_path: Path
) -> None:
    zoo.delete(app, key_of("email#ann@x"))
    zoo.change(app, member("bob"), GSI1PK=text("old"))
    run = dynaorm("verify", TARGETS[0], *where)
    assert run.returncode == 1
    assert (
        "missing guard of Member in zoo, PK=email#ann@x SK=email#ann@x: no guard item protects the value"
        in run.stdout
    )
    assert "index keys: 1, missing guard: 1" in run.stderr

    run = dynaorm("verify", "tests.integrity.zoo:Member", *where, "--json")
    assert [one["kind"] for one in told(run.stdout)] == ["index keys", "missing guard"]

    stored = zoo.items(*TABLES)
    run = dynaorm("repair", TARGETS[0], *where)
    assert run.returncode == 1
    assert "claim email = 'Ann@x' for Member(group_id='red', name='ann')" in run.stdout
    assert run.stderr.endswith("repair: nothing was written; give --yes to write\n")
    assert zoo.items(*TABLES) == stored

    checkpoint = tmp_path / "checkpoint"
    options = ["--yes", "--json", "--checkpoint", str(checkpoint), "--rate", "10000"]
    run = dynaorm("repair", TARGETS[0], *where, *options)
    assert run.returncode == 0, run.stderr
    assert [one["outcome"] for one in told(run.stdout)] == ["repaired", "repaired"]
    assert not checkpoint.exists()
    assert dynaorm("verify", TARGETS[0], *where).returncode == 0


def test_it_says_what_it_will_use_and_what_it_used(dynaorm: Command, zoo: Raw, where: list[str]) -> None:
    run = dynaorm("verify", *TARGETS, *where, "--rate", "1000")
    said = re.search(r"a scan takes about (\d+) read units?\n", run.stderr)
    used = re.search(r"nothing found; (\d+) read units, \d+ s\n", run.stderr)
    assert said is not None
    assert used is not None
    assert int(said[1]) > 0
    assert int(used[1]) > 0


def test_it_says_what_it_did_not_judge(dynaorm: Command, zoo: Raw, where: list[str], tmp_path: Path) -> None:
    def unjudged(*arguments: str) -> list[str]:
        lines = dynaorm(*arguments, *where).stderr.splitlines()
        return [line.partition("not judged: ")[2] for line in lines if ": not judged: " in line]

    assert unjudged("verify", TARGETS[0]) == []
    assert unjudged("verify", "tests.integrity.zoo:Member", "tests.integrity.zoo:Group") == [
        "items that are no Member or Group; name the table to judge them all"
    ]
    assert unjudged("backfill", "tests.integrity.zoo:Member") == []  # it was never about other classes
    for name in ("ann", "bob"):
        zoo.change(app, member(name), GSI1SK=text("old"))
    assert unjudged("repair", TARGETS[0], "--at-most", "1") == [
        "what comes after the last repair that --at-most allows; run it again"
    ]
    zoo.change(app, member("ann"), extra=text("x"))
    assert unjudged("repair", TARGETS[0]) == []
    uncertain = "repair: 1 finding is uncertain, because it depends on what is not loaded\n"
    assert uncertain in dynaorm("repair", TARGETS[0], *where).stderr


def test_what_needs_a_choice_is_left(dynaorm: Command, zoo: Raw, where: list[str]) -> None:
    voucher = key_of("VOUCHER#3", "VOUCHER")
    zoo.put(app, voucher, _type=text("Voucher"), voucher_id=text("3"), code=text("c2"))
    for command in ("repair", "backfill"):
        run = dynaorm(command, TARGETS[0], *where, "--yes")
        assert run.returncode == 1
        assert run.stdout.startswith("needs a decision: duplicate value of Voucher in zoo, PK=code#c2")


@pytest.mark.parametrize("command", ["verify", "repair", "backfill"])
def test_it_says_in_which_account_region_and_table_it_works(
    dynaorm: Command, zoo: Raw, where: list[str], endpoint: str, command: str
) -> None:
    run = dynaorm(command, TARGETS[0], *where)
    said = run.stderr.splitlines()
    place = f"account 000000000000, Region us-east-1, endpoint {endpoint}, about "
    assert said[0].startswith(f"{command}: table zoo = {zoo.name('zoo')}, {place}")
    line = json.loads(dynaorm(command, TARGETS[0], *where, "--json").stdout.splitlines()[0])
    assert line.pop("items") >= 0
    assert line.pop("bytes") >= 0
    assert line == {
        "kind": "run",
        "command": command,
        "table": "zoo",
        "name": zoo.name("zoo"),
        "account": "000000000000",
        "region": "us-east-1",
        "endpoint": endpoint,
        "writes": False,
    }
    writes = command != "verify"
    assert (f"{command}: shows what it would write, and writes nothing" in said) is writes
    if writes:
        run = dynaorm(command, TARGETS[0], *where, "--yes", "--json")
        assert f"{command}: writes to these tables" in run.stderr
        assert json.loads(run.stdout.splitlines()[0])["writes"] is True


def test_a_run_that_wants_more_than_it_may_ends_with_a_status_of_its_own(
    dynaorm: Command, zoo: Raw, where: list[str], tmp_path: Path
) -> None:
    for name in ("ann", "bob", "cyd"):
        zoo.change(app, member(name), GSI1SK=text("old"))
    options = ["--at-most", "2", "--checkpoint", str(tmp_path / "checkpoint"), "--json"]
    for more in ([], ["--yes"]):
        run = dynaorm("repair", TARGETS[0], *where, *options, *more)
        outcomes = [one["outcome"] for one in told(run.stdout)]
        assert (run.returncode, outcomes) == (3, ["repaired" if more else "planned"] * 2 + ["limit reached"])
    run = dynaorm("repair", TARGETS[0], *where, *options, "--yes")
    assert (run.returncode, [one["outcome"] for one in told(run.stdout)]) == (0, ["repaired"])
    assert list(tools.verify(zoo.session, app)) == []


def test_stored_text_does_not_reach_the_terminal_as_it_is(
    dynaorm: Command, zoo: Raw, where: list[str]
) -> None:
    zoo.put(app, key_of("a\nverify: 0 items, nothing found", "\x1b[2J\x1b]0;title\x07"))
    zoo.change(app, member("ann"), GSI1PK=text("\x9b2J\u202e"), GSI1SK=text("x\ny"))
    orphan = key_of("email#\x1b[31m\nrepair: all is well")
    zoo.put(app, orphan, owner={"M": key_of("GROUP#red", "MEMBER#zoe")})
    for command in ("verify", "repair"):
        run = dynaorm(command, TARGETS[0], *where)
        assert run.returncode == 1
        assert "\\x1b[2J" in run.stdout
        assert "\\x1b[31m\\nrepair: all is well" in run.stdout
        assert all(line.isprintable() for line in run.stdout.split("\n"))
        assert not any(line.strip().startswith("repair: all is well") for line in run.stdout.split("\n"))


def test_a_run_that_goes_on_ends_with_the_status_of_all_that_was_found(
    dynaorm: Command, zoo: Raw, where: list[str], tmp_path: Path
) -> None:
    zoo.put(app, key_of("JUNK", "JUNK"))
    checkpoint = tmp_path / "checkpoint"
    options = ["--checkpoint", str(checkpoint), "--json"]
    # The findings are told through a pipe that nobody reads to its end.
    first = begun("verify", TARGETS[0], *where, *options, "--rate", "10")
    assert first.stdout is not None
    first.stdout.readline()  # the table
    line = first.stdout.readline()
    first.kill()
    first.communicate()
    assert json.loads(line)["kind"] == "unknown item"
    assert checkpoint.exists()
    run = dynaorm("verify", TARGETS[0], *where, *options)
    assert (run.returncode, told(run.stdout)) == (1, [json.loads(line)])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Usage: "),
        (["verify"], "Missing argument"),
        (["verify", "tests.integrity.zoo"], "tests.integrity.zoo has 4 Tables; name one thing of it: "),
        (["verify", "tests.integrity.zoo:"], "write module:Table or module:Class"),
        (["verify", "tests.nowhere:app"], "there is no module 'tests.nowhere'"),
        (["verify", "tests.integrity.zoo:nothing"], "there is no 'nothing' in tests.integrity.zoo"),
        (["verify", "tests.integrity.zoo:TABLES"], "is neither a Table nor an entity class"),
        (["verify", TARGETS[0], "--table-name", "zoo"], "write --table-name declared=physical"),
        (
            ["verify", TARGETS[0], "--table-name", "zo=prod-zoo"],
            "no table called 'zo' is declared here; map one of zoo",
        ),
        (["repair", TARGETS[0], "--at-most", "-1"], "at_most=-1 is not an int of 0 or more"),
        (["verify", TARGETS[0], "--rate", "0"], "rate=0.0 is not a number above 0"),
        (["verify", TARGETS[0], "--table-name", "zoo=not-there"], "There is no table 'not-there'"),
    ],
    ids=lambda one: "-".join(one) or "nothing" if isinstance(one, list) else "",
)
def test_what_cannot_be_done_says_why(
    dynaorm: Command, endpoint: str, arguments: list[str], says: str
) -> None:
    run = dynaorm(*arguments, *(["--endpoint", endpoint] if arguments else []))
    assert run.returncode == 2
    assert says.lower() in run.stderr.lower()
    assert "Traceback" not in run.stderr


def test_a_file_of_another_program_is_left_as_it_is(
    dynaorm: Command, zoo: Raw, where: list[str], tmp_path: Path
) -> None:
    database, text = tmp_path / "mine.sqlite", tmp_path / "notes.txt"
    with closing(sqlite3.connect(database)) as mine:
        mine.execute("CREATE TABLE work (name TEXT, value TEXT)")
    text.write_text("{my notes}\nwithout an end")
    contents = database.read_bytes(), text.read_bytes()
    for file in (database, text):
        run = dynaorm("verify", TARGETS[3], *where, "--checkpoint", str(file))
        assert run.returncode == 2, run
        assert "name another file" in run.stderr
        assert "Traceback" not in run.stderr
    assert (database.read_bytes(), text.read_bytes()) == contents


def test_secrets_in_keys_are_masked_also_by_a_run_that_goes_on(
    dynaorm: Command,
    endpoint: str,
    engine_line: tuple[Transport, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"vaults{uuid4().hex[:12]}"
    (tmp_path / f"{name}.py").write_text(_VAULT.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(name)
    options = ["--endpoint", endpoint, "--region", "us-east-1"]
    with Session(endpoint=endpoint, region="us-east-1") as session:
        session.create_table(module.app)
        session.bulk_load([module.Vault(pin="hush-1"), module.Vault(pin="hush-2")])
        session.save(module.Keeper(name="a", pin="hush-3"))
    client = engine_line[1]
    client.put_item(TableName=name, Item={"PK": text("VAULT#hush-4"), "SK": text("?")})
    client.put_item(TableName=name, Item={**key_of("pin#hush-5"), "more": text("x")})
    client.delete_item(TableName=name, Key=key_of("pin#hush-3"))
    client.put_item(TableName=name, Item={**key_of("pin#hush-6"), "owner": {"M": key_of("KEEPER#gone", "K")}})
    client.update_item(
        TableName=name,
        Key=key_of("VAULT#hush-1", "V"),
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": text("no number")},
    )
    checkpoint = str(tmp_path / "checkpoint")
    for more in ([], ["--json"], ["--json", "--at-most", "0", "--yes", "--checkpoint", checkpoint]):
        for _ in range(2):
            run = dynaorm("repair", f"{name}:app", *options, *more)
            assert run.returncode in (1, 3), run
            kinds = ["unknown item", "extra attributes", "unreadable item"]
            kinds += [] if "--at-most" in more else ["missing guard", "orphan guard"]
            assert all(kind in run.stdout for kind in kinds), run
            assert "hush" not in run.stdout + run.stderr


_VAULT = """
from typing import Annotated
from pydantic import Field
from dynaorm import Entity, Table, Unique

app = Table({name!r})


class Vault(Entity, table=app, pk="VAULT#{{pin}}", sk="V"):
    pin: str = Field(repr=False)
    n: int = 0


class Keeper(Entity, table=app, pk="KEEPER#{{name}}", sk="K"):
    name: str
    pin: Annotated[str, Unique()] = Field(repr=False)
"""


def test_a_reader_that_goes_away_ends_the_command(zoo: Raw, where: list[str]) -> None:
    zoo.put(app, key_of("JUNK", "JUNK"))
    for stream, statuses in (("stdout", {2}), ("stderr", {1, 2})):
        read, write = os.pipe()
        os.close(read)
        streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: write}
        run = subprocess.run(
            [sys.executable, "-m", "dynaorm.cli", "verify", TARGETS[0], *where],
            cwd=ROOT,
            text=True,
            check=False,
            timeout=100,
            **streams,
        )
        os.close(write)
        assert run.returncode in statuses
        assert "Traceback" not in f"{run.stdout}{run.stderr}"
        assert "Exception" not in f"{run.stdout}{run.stderr}"


def test_a_terminal_shows_a_bar(where: list[str]) -> None:
    ours, theirs = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-m", "dynaorm.cli", "verify", TARGETS[0], *where],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=100,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert run.returncode == 0
    assert "━" in shown
    assert run.stdout == b""


# -- permissions that are missing --------------------------------------------------------------------------------------
class Denying(ThreadingHTTPServer):
    """A server that passes requests on to an engine, except those of one operation once some were passed on."""

    def __init__(self, engine: Transport) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine = engine
        self.operation, self.passes = "", 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def denies(self, operation: str) -> bool:
        if operation != self.operation:
            return False
        self.passes -= 1
        return self.passes < 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers["X-Amz-Target"].partition(".")[2]
        assert isinstance(self.server, Denying)
        if self.server.denies(operation):
            message = f"User: me is not authorized to perform: dynamodb:{operation}"
            denial = {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message}
            self._answer(400, json.dumps(denial).encode())
            return
        try:
            self._answer(200, encode_body(self.server.engine.call(Call(operation, decode_body(body)))))
        except Refusal as refusal:
            self._answer(400, encode_body({"__type": refusal.code, "message": refusal.message}))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def denying(engine_line: tuple[Transport, Any]) -> Iterator[Denying]:
    with Denying(engine_line[0]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("command", "operation", "passes"),
    [
        (["verify"], "DescribeTable", 0),
        (["verify"], "Scan", 1),
        (["verify"], "TransactGetItems", 0),
        (["repair", "--yes"], "TransactWriteItems", 1),
        (["backfill", "--yes"], "TransactWriteItems", 1),
    ],
)
def test_a_missing_permission_is_one_line_with_its_remedy_and_the_run_can_go_on(
    dynaorm: Command,
    zoo: Raw,
    where: list[str],
    denying: Denying,
    tmp_path: Path,
    command: list[str],
    operation: str,
    passes: int,
) -> None:
    zoo.put(app, key_of("JUNK", "JUNK"))
    for name in ("ann", "bob"):
        zoo.delete(app, key_of(f"email#{name}@x"))
        zoo.change(app, member(name), GSI1PK=text("old"))
    checkpoint = tmp_path / "checkpoint"
    options = [*where[2:], "--checkpoint", str(checkpoint), "--segments", "4"]
    denying.operation, denying.passes = operation, passes
    denied = dynaorm(command[0], TARGETS[0], *command[1:], "--endpoint", denying.endpoint, *options)
    assert denied.returncode == 2
    (line,) = [one for one in denied.stderr.splitlines() if one.startswith("dynaorm: ")]
    assert denied.stderr.endswith(f"{line}\n")
    table = zoo.name(app.name)
    assert line.startswith(f"dynaorm: these credentials may not do {operation} on {table!r}")
    assert f"not authorized to perform: dynamodb:{operation}" in line
    assert "iam_policy" in line
    assert checkpoint.exists() is (operation != "DescribeTable")
    run = dynaorm(command[0], TARGETS[0], *command[1:], *where[:2], *options)
    assert run.returncode == (0 if command[0] == "backfill" else 1)  # the unknown item stays
    assert not checkpoint.exists()
    assert {one.kind.value for one in tools.verify(zoo.session, app)} == {
        "unknown item",
        *(["missing guard", "index keys"] if command == ["verify"] else []),
    }


def test_repair_judges_and_mends_only_what_a_file_of_findings_names(
    dynaorm: Command, where: list[str], zoo: Raw, tmp_path: Path
) -> None:
    zoo.delete(app, key_of("email#ann@x"))
    path = tmp_path / "found.jsonl"
    assert dynaorm("verify", *TARGETS, *where, "--findings", str(path)).returncode == 1
    assert path.stat().st_mode & 0o077 == 0
    zoo.delete(app, key_of("email#bob@x"))  # after the verification
    run = dynaorm("repair", *TARGETS, *where, "--findings", str(path))
    assert run.returncode == 1
    assert "planned: missing guard" in run.stdout
    assert "for the items" not in run.stderr
    run = dynaorm("repair", *TARGETS, *where, "--findings", str(path), "--yes")
    assert run.returncode == 0
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == ["repaired"]
    run = dynaorm("repair", *TARGETS, *where, "--findings", str(path), "--yes", "--json")
    assert [json.loads(line).get("outcome") for line in run.stdout.splitlines()][-2:] == [
        "already right",
        None,
    ]
    assert "email#bob@x" in dynaorm("verify", *TARGETS, *where).stdout


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"kind": "other", "table": "zoo"}'])
def test_a_file_of_something_else_is_no_file_of_findings(
    dynaorm: Command, where: list[str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "found.jsonl"
    path.write_text(text)
    run = dynaorm("repair", *TARGETS, *where, "--findings", str(path))
    assert run.returncode == 2
    assert "line 1" in run.stderr
    assert "verify --findings" in run.stderr.replace("\n", " ")
