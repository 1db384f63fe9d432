"""What a person sees on a terminal, and a program in a pipe."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import TARGETS, Command
from tests.conftest import ROOT
from tests.integrity.damages import portions
from tests.integrity.zoo import Raw


def test_80_columns_show_whole_words_on_a_terminal_and_in_a_pipe(
    dynaorm: Command, zoo: Raw, where: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for damage in portions()[0]:
        damage.do(zoo)
    wide = dynaorm("repair", TARGETS[0], *where).stdout
    assert max(map(len, wide.splitlines())) > 80
    status, shown = on_a_terminal("repair", TARGETS[0], *where)
    monkeypatch.delenv("COLUMNS")
    piped = dynaorm("repair", TARGETS[0], *where)
    assert status == piped.returncode == 1
    assert shown.split() == piped.stdout.split() == wide.split()
    assert too_wide(shown) == too_wide(piped.stdout) == []


AT = "tests.cli.desk"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", f"{AT}:Case", "org=acme"],
        ["plan", f"{AT}:Agent", "--delete", "agent=liz"],
        ["layout", f"{AT}:desk", "--from-table", "2", "--with-values"],
    ],
    ids=lambda one: one[0],
)
def test_a_terminal_of_80_columns_shows_what_a_pipe_has(
    dynaorm: Command, at_desk: list[str], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    plain = dynaorm(*arguments, *at_desk)
    status, shown = on_a_terminal(*arguments, *at_desk)
    if arguments[0] == "layout":
        shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert status == plain.returncode == 0
    assert "\x1b" not in shown + plain.stdout
    assert timeless(shown).split() == timeless(plain.stdout).split()
    assert too_wide(shown) == []


def timeless(shown: str) -> str:
    """The output without the times of reading."""
    return re.sub(r"\d\d:\d\d:\d\d\s+UTC", "", shown)


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """The status and the output of a command on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "dynaorm.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while some := os.read(ours, 10_000):
            shown += some
    os.close(ours)
    return run.wait(100), shown.decode()


def too_wide(shown: str) -> list[str]:
    """The lines of more than 80 columns, except for words that are longer."""
    return [line for line in shown.splitlines() if len(line) > 80 and len(line.split()) > 1]


def test_a_shell_is_told_how_to_complete_a_line() -> None:
    for shell in ("bash", "zsh", "fish"):
        run = subprocess.run(
            [Path(sys.executable).with_name("dynaorm")],
            env={**os.environ, "_DYNAORM_COMPLETE": f"{shell}_source"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, "")
        assert "_DYNAORM_COMPLETE" in run.stdout
