"""What a person sees on a terminal, and a program in a pipe."""

import os
import pty
import subprocess
import sys
from contextlib import suppress

from tests.cli.conftest import TARGETS, Command
from tests.conftest import ROOT
from tests.integrity.damages import portions
from tests.integrity.zoo import Raw


def test_a_terminal_of_80_columns_shows_whole_words_and_a_pipe_one_line_each(
    dynaorm: Command, zoo: Raw, where: list[str]
) -> None:
    for damage in portions()[0]:
        damage.do(zoo)
    plain = dynaorm("repair", TARGETS[0], *where).stdout
    assert max(map(len, plain.splitlines())) > 80
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "dynaorm.cli", "repair", TARGETS[0], *where],
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
    assert run.wait(100) == 1
    assert shown.decode().split() == plain.split()
    wide = [line for line in shown.decode().splitlines() if len(line) > 80]
    assert [line for line in wide if len(line.split()) > 1] == []
