"""The workflows call commands that exist, and the package claims no Python that they do not test."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FORMS = sorted(path for path in (ROOT / ".github").rglob("*.yml"))
WORKFLOWS = [path for path in FORMS if path.parent.name == "workflows"]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_every_file_of_the_repository_host_is_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_and_files_that_exist(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands:
        name, *arguments = command.split()
        if name == "make":
            assert set(arguments) <= targets, command
        elif "/" in name:
            assert (ROOT / name).is_file(), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_read_the_sources_and_write_nothing(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    granted = {
        (name, *one) for name, job in workflow["jobs"].items() for one in job.get("permissions", {}).items()
    }
    assert granted <= {("publish", "id-token", "write")}


def test_the_package_claims_no_python_that_the_workflow_does_not_test() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    claimed = {
        match[1]
        for one in project["classifiers"]
        if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one))
    }
    job = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]
    assert claimed
    assert claimed <= set(job["strategy"]["matrix"]["python"])
    assert project["requires-python"] == f">={min(claimed, key=lambda one: int(one[2:]))}"
