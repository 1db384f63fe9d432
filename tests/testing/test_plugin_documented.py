"""Every file that docs/testing.md shows, put where it says, is a project whose tests pass."""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "testing.md"

pytest_plugins = ["pytester"]


def files() -> dict[str, str]:
    """The blocks that begin with the name of a file."""
    found = re.findall(r"^```\w+\n# (\S+)\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    return dict(found)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("DYNAORM_ENDPOINT", raising=False)
    for name, text in files().items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    # The first entity of a process takes long on a busy machine.
    (pytester.path / "conftest.py").write_text(
        "from hypothesis import HealthCheck, settings\n"
        "settings.register_profile('busy', suppress_health_check=[HealthCheck.too_slow])\n"
        "settings.load_profile('busy')\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{DOCUMENT.parents[1]}:{pytester.path}")
    return pytester


def test_all_blocks_of_python_are_files() -> None:
    assert DOCUMENT.read_text().count("```python\n") == sum(name.endswith(".py") for name in files())


def test_the_documented_tests_pass_on_every_engine(project: pytest.Pytester, ministack_endpoint: str) -> None:
    first = project.runpytest_subprocess("tests")
    first.assert_outcomes(passed=13, failed=1)  # the first run writes the snapshot
    run = project.runpytest_subprocess("tests", "--dynaorm-endpoint", ministack_endpoint)
    run.assert_outcomes(passed=14)


def test_the_documented_example_runs(project: pytest.Pytester) -> None:
    assert project.runpython(project.path / "try_it.py").ret == 0
