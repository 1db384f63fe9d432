"""``export``: tables for other tools, with their guards, totals and policies."""

import json
from pathlib import Path
from typing import Any

import pytest

from dynaorm.description import describe
from tests.cast import tables
from tests.cli.conftest import Command

CAST = ("tests.cast.tables:app", "tests.cast.people:Guest")


def exported(dynaorm: Command, form: str, *more: str) -> Any:
    run = dynaorm("export", *CAST, "--format", form, *more)
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def test_guard_tables_are_in_the_same_stack_under_their_physical_names(dynaorm: Command) -> None:
    found = exported(dynaorm, "cloudformation", "--table-name", "away=prod-away", "--policy", "read")
    names = {name: one["Properties"].get("TableName") for name, one in found["Resources"].items()}
    assert names == {
        "AppTable": "app",
        "AwayTable": "prod-away",
        "LocksTable": "locks",
        "AccessPolicy": None,
    }
    policy = found["Resources"]["AccessPolicy"]["Properties"]["PolicyDocument"]
    assert "${AwayTable.Arn}" in json.dumps(policy)


@pytest.mark.parametrize("form", ["global-table", "terraform"])
def test_every_format_has_every_table(dynaorm: Command, form: str) -> None:
    text = json.dumps(exported(dynaorm, form))
    assert all(f'"{name}"' in text for name in ("app", "away", "locks"))


def test_the_arguments_of_create_table_and_the_description_of_one_table_stand_alone(dynaorm: Command) -> None:
    run = dynaorm("export", "tests.cast.tables:log", "--format", "create-table")
    assert json.loads(run.stdout) == describe(tables.log).create_table()
    run = dynaorm("export", "tests.cast.tables:log", "--format", "description")
    assert json.loads(run.stdout) == describe(tables.log).to_json()
    assert [one["name"] for one in exported(dynaorm, "description")] == ["app", "away", "locks"]


def test_a_file_is_written(dynaorm: Command, tmp_path: Path) -> None:
    path = tmp_path / "tables.json"
    run = dynaorm("export", *CAST, "--format", "terraform", "-o", str(path))
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert json.loads(path.read_text()) == exported(dynaorm, "terraform")


def test_a_policy_is_refused_where_it_has_no_place(dynaorm: Command) -> None:
    run = dynaorm("export", *CAST, "--format", "create-table", "--policy", "read")
    assert run.returncode == 2
    assert "--policy has no place in create-table; give --format cloudformation" in run.stderr
    run = dynaorm("export", "tests.cast.tables:locks", "--policy", "frobnicate")
    assert run.returncode == 2
