"""``diff``: what differs between declared tables and live ones."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dynaorm import GlobalIndex, Session, Table
from dynaorm.flow.table_definition import definition
from dynaorm.transport import Call, Transport
from tests.cli.conftest import Command
from tests.raw_tables import REGION

declared = Table("diff-table", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection=["note"])])
_LIVE = Table(
    "diff-table", indexes=[GlobalIndex("GSI2", projection="KEYS_ONLY"), GlobalIndex("Other", sk=None)]
)
AT = "tests.cli.test_diff:declared"


@pytest.fixture
def compared(
    dynaorm: Command,
    engine_line: tuple[Transport, Any],
    endpoint: str,
    unique_name: Callable[[str], str],
) -> Iterator[Command]:
    """Runs ``diff`` on a table that differs from its declaration."""
    transport, client = engine_line
    name = unique_name(declared.name)
    transport.call(Call("CreateTable", definition(_LIVE, name)))
    where = ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{declared.name}={name}"]
    yield lambda *arguments: dynaorm("diff", *arguments, *where)
    client.delete_table(TableName=name)


def test_differences_are_told_with_what_to_do(compared: Command) -> None:
    run = compared(AT)
    assert run.returncode == 1
    told = [line.partition(": ")[2] for line in run.stdout.splitlines() if not line.startswith(" ")]
    assert told == [
        "it has no index 'GSI1'",
        "its index 'GSI2' does not project note",
        "it has an index 'Other', which is not declared (harmless)",
    ]
    assert "    UpdateTable: create the index 'GSI1'" in run.stdout.splitlines()
    lines = [json.loads(line) for line in compared(AT, "--json", "--ignore-harmless").stdout.splitlines()]
    assert [(one["what"], one["index"], one["harmless"]) for one in lines] == [
        ("no index", "GSI1", False),
        ("projection", "GSI2", False),
    ]


def test_the_requests_are_those_that_delete_nothing_unless_they_may(compared: Command) -> None:
    run = compared(AT, "--format", "update-table")
    (step,) = map(json.loads, run.stdout.splitlines())
    assert (step["operation"], step["text"]) == ("UpdateTable", "create the index 'GSI1'")
    assert "2 of 3 differences are left" in run.stderr
    run = compared(AT, "--format", "update-table", "--delete")
    assert [json.loads(line)["text"] for line in run.stdout.splitlines()] == [
        "delete the index 'GSI2'",
        "delete the index 'Other'",
        "create the index 'GSI1'",
        "create the index 'GSI2'",
    ]
    assert run.stderr == ""


def test_templates_change_one_index_at_a_time(compared: Command) -> None:
    templates = json.loads(compared(AT, "--format", "cloudformation").stdout)
    properties = [template["Resources"]["DiffTableTable"]["Properties"] for template in templates]
    found = [[index["IndexName"] for index in one.get("GlobalSecondaryIndexes", ())] for one in properties]
    assert found == [["Other"], [], ["GSI1"], ["GSI1", "GSI2"]]


def test_a_table_that_is_as_declared_is_clean(
    dynaorm: Command, engine_line: tuple[Transport, Any], endpoint: str, unique_name: Any
) -> None:
    name = unique_name(declared.name)
    where = ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{declared.name}={name}"]
    run = dynaorm("diff", AT, *where)
    assert (run.returncode, run.stdout.splitlines()[0]) == (1, f"{name}: there is no table {name!r}")
    with Session(transport=engine_line[0], table_names={declared.name: name}) as session:
        session.create_table(declared)
        run = dynaorm("diff", AT, *where)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "the live tables are as declared\n")
        session.delete_table(declared, name=name)
