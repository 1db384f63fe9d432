"""The steps of the tutorial run, each by itself, and print what the pages show."""

import itertools
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.story.conftest import Python

FOLDER = ROOT / "docs" / "tutorial"
STEPS = sorted(FOLDER.glob("*.md"))
TESTS = """
import sys, pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-o", "dynaorm_tables=test_desk", sys.path[0]]))
"""


def program(step: Path) -> str:
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("step", [FOLDER.parent / "install.md", *STEPS], ids=lambda step: step.stem)
def test_a_step_runs_by_itself_and_prints_the_plan_that_it_shows(
    step: Path, tmp_path: Path, python: Python
) -> None:
    (tmp_path / "step.py").write_text(program(step))
    code, printed, errors = python(tmp_path / "step.py")
    assert code == 0, errors
    shown = re.findall(r"^```\n(TransactWriteItems.*?)^```$", step.read_text(), re.MULTILINE | re.DOTALL)
    assert len(shown) == (step == STEPS[0])
    assert all(printed.endswith(one) for one in shown)


def test_the_tests_of_the_fourth_step_pass(tmp_path: Path, python: Python) -> None:
    (tmp_path / "test_desk.py").write_text(program(STEPS[3]))
    (tmp_path / "run.py").write_text(TESTS)
    code, printed, errors = python(tmp_path / "run.py")
    assert (code, "2 passed" in printed) == (0, True), printed + errors


def test_each_step_leads_to_the_next() -> None:
    for step, following in itertools.pairwise(STEPS):
        assert f"]({following.name})" in step.read_text()
