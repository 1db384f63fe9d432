"""The steps of the tutorial run, each by itself, and print what the pages show."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorial"
STEPS = sorted(FOLDER.glob("*.md"))
INSTALL = FOLDER.parent / "install.md"


def program(step: Path) -> str:
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("step", [INSTALL, *STEPS], ids=lambda step: step.stem)
def test_a_step_runs_by_itself(step: Path, tmp_path: Path) -> None:
    (tmp_path / "step.py").write_text(program(step))
    run = subprocess.run(
        [sys.executable, "step.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_the_plan_that_the_first_step_shows_is_the_one_that_it_prints(tmp_path: Path) -> None:
    step = STEPS[0]
    (tmp_path / "step.py").write_text(program(step))
    run = subprocess.run(
        [sys.executable, "step.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (shown,) = re.findall(r"^```\n(TransactWriteItems.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL)
    assert run.stdout.endswith(shown)


def test_the_tests_of_the_fourth_step_pass(tmp_path: Path) -> None:
    (tmp_path / "test_desk.py").write_text(program(STEPS[3]))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "dynaorm_tables=test_desk",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in run.stdout, run.stdout


def test_each_step_leads_to_the_next() -> None:
    for step, following in itertools.pairwise(STEPS):
        assert f"]({following.name})" in step.read_text()
