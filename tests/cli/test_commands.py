"""The commands, on ministack in another process: what they say, and how they end."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.integrity.conftest import raw_on
from tests.integrity.zoo import TABLES, Raw, app, key_of, member, text

TARGETS = [f"tests.integrity.zoo:{name}" for name in ("app", "keepers", "far", "plain")]


@pytest.fixture
def zoo(ministack_endpoint: str, unique_name: Any) -> Iterator[Raw]:
    for raw in raw_on(ministack_endpoint, unique_name):
        raw.fill()
        yield raw


@pytest.fixture
def where(ministack_endpoint: str, zoo: Raw) -> list[str]:
    names = [f"{table.name}={zoo.name(table.name)}" for table in TABLES]
    return ["--endpoint", ministack_endpoint, *(part for name in names for part in ("--table-name", name))]


def dynaorm(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dynaorm.cli", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        **options,
    )


def test_a_healthy_table_is_clean(where: list[str]) -> None:
    run = dynaorm("verify", *TARGETS, *where, "--segments", "8")
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    assert run.stderr.endswith("items, nothing found\n")


def test_findings_are_told_repaired_and_gone(zoo: Raw, where: list[str], tmp_path: Path) -> None:
    zoo.delete(app, key_of("email#ann@x"))
    zoo.change(app, member("bob"), GSI1PK=text("old"))
    run = dynaorm("verify", TARGETS[0], *where)
    assert run.returncode == 1
    assert (
        "missing guard of Member in zoo, PK=email#ann@x SK=email#ann@x: nothing guards the value"
        in run.stdout
    )
    assert "1 index keys, 1 missing guard" in run.stderr

    run = dynaorm("verify", "tests.integrity.zoo:Member", *where, "--json")
    assert [json.loads(line)["kind"] for line in run.stdout.splitlines()] == ["index keys", "missing guard"]

    run = dynaorm("repair", TARGETS[0], *where, "--dry-run")
    assert run.returncode == 1
    assert "claim email = 'Ann@x' for Member(group_id='red', name='ann')" in run.stdout

    checkpoint = tmp_path / "checkpoint"
    run = dynaorm("repair", TARGETS[0], *where, "--json", "--checkpoint", str(checkpoint), "--rate", "10000")
    assert run.returncode == 0, run.stderr
    assert [json.loads(line)["outcome"] for line in run.stdout.splitlines()] == ["mended", "mended"]
    assert not checkpoint.exists()
    assert dynaorm("verify", TARGETS[0], *where).returncode == 0


def test_what_needs_a_choice_is_left_and_written_down(zoo: Raw, where: list[str], tmp_path: Path) -> None:
    voucher = key_of("VOUCHER#3", "VOUCHER")
    zoo.put(app, voucher, _type=text("Voucher"), voucher_id=text("3"), code=text("c2"))
    duplicates = tmp_path / "duplicates"
    for command in ("repair", "backfill"):
        run = dynaorm(command, TARGETS[0], *where, "--duplicates", str(duplicates))
        assert run.returncode == 1
        assert run.stdout.startswith("left: duplicate value of Voucher in zoo, PK=code#c2")
    lines = [json.loads(line) for line in duplicates.read_text().splitlines()]
    assert {line["key"]["PK"]["S"] for line in lines} == {"code#c2"}


def test_several_machines_share_a_table(zoo: Raw, where: list[str]) -> None:
    for name in ("ann", "bob", "cyd", "dan"):
        zoo.change(app, member(name), GSI1SK=text("old"))
    found = []
    for segment in range(3):
        run = dynaorm("verify", TARGETS[0], *where, "--json", "--segments", "3", "--segment", str(segment))
        found += [json.loads(line)["key"]["SK"]["S"] for line in run.stdout.splitlines()]
    assert sorted(found) == [f"MEMBER#{name}" for name in ("ann", "bob", "cyd", "dan")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Usage: "),
        (["verify"], "Missing argument"),
        (["verify", "tests.integrity.zoo"], "write module:Table or module:Class"),
        (["verify", "tests.nowhere:app"], "there is no module 'tests.nowhere'"),
        (["verify", "tests.integrity.zoo:nothing"], "there is no 'nothing' in tests.integrity.zoo"),
        (["verify", "tests.integrity.zoo:TABLES"], "is neither a Table nor an entity class"),
        (["verify", TARGETS[0], "--table-name", "zoo"], "write --table-name declared=physical"),
        (["verify", TARGETS[0], "--segments", "2", "--segment", "2"], "there is no segment 2 of 2 segments"),
        (["verify", TARGETS[0], "--rate", "0"], "rate=0.0 lets nothing happen"),
        (["verify", TARGETS[0], "--table-name", "zoo=not-there"], "There is no table 'not-there'"),
        (["verify", TARGETS[0], "--endpoint", "http://127.0.0.1:9"], "127.0.0.1:9"),
    ],
    ids=lambda one: "-".join(one) or "nothing" if isinstance(one, list) else "",
)
def test_what_cannot_be_done_says_why(ministack_endpoint: str, arguments: list[str], says: str) -> None:
    more = ["--endpoint", ministack_endpoint] if arguments and "--endpoint" not in arguments else []
    run = dynaorm(*arguments, *more)
    assert run.returncode == 2
    assert says.lower() in run.stderr.lower()
    assert "Traceback" not in run.stderr


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
