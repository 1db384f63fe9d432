"""The entry point, and what it says where the extra is missing."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

_WITHOUT = """
import sys
sys.modules[{name!r}] = None
from dynaorm.cli.entry import main
sys.exit(main(["verify"]))
"""


def test_without_the_extra_it_is_named() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(name="click")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("dynaorm: the command line needs click")
    assert run.stderr.endswith('run: pip install "dynaorm[cli]"\n')


@pytest.mark.parametrize(
    ("module", "arguments", "status", "output"),
    [("dynaorm", ["--help"], 0, "stdout"), ("dynaorm.cli", [], 2, "stderr")],
)
def test_help_names_the_commands(module: str, arguments: list[str], status: int, output: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status
    assert all(command in getattr(run, output) for command in ("verify", "repair", "backfill"))
