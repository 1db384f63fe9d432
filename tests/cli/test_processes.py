"""``--processes``: a command divides its work among processes of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Session, Table, tools
from dynaorm.transport import Transport
from tests.cli.conftest import Command
from tests.integrity.shop import fill, now
from tests.raw_tables import REGION

AT = "tests.integrity.shop:now"


@pytest.fixture
def live(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Session]:
    """A shop whose items are older than its declarations."""
    name = unique_name(now.name)
    with Session(transport=engine_line[0], table_names={now.name: name}) as session:
        session.create_table(Table("shop"))
        fill(session)
        tools.apply(session, now, backfill=False)
        yield session
        session.delete_table(now, name=name)


def test_processes_complete_the_entities_and_the_command_says_what_they_did(
    dynaorm: Command, live: Session, endpoint: str, tmp_path: Path
) -> None:
    name = live._context.table_name(now.name)
    where = ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{now.name}={name}"]
    run = dynaorm(
        "backfill", AT, *where, "--checkpoint", str(tmp_path / "at"), "--processes", "2", "--yes", "--json"
    )
    assert run.returncode == 1, run.stderr  # two users have one nick
    *lines, result = map(json.loads, run.stdout.splitlines())
    assert result["found"] == {"repaired": 6, "needs a decision": 1}
    assert [one["kind"] for one in lines if one.get("outcome") == "needs a decision"] == ["duplicate value"]
    assert result["read_units"] > 5
    assert result["write_units"] > 5
    assert [*tmp_path.iterdir()] == []
    assert [one.kind.value for one in tools.verify(live, now)] == ["duplicate value"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["repair", AT], "depends on what the others have written; give --yes, or leave --processes out"),
        (
            ["repair", AT, "--yes", "--at-most", "3"],
            "--at-most is for one process: no process knows how much the others have repaired",
        ),
        (
            ["repair", AT, "--yes", "--findings", __file__],
            "--findings is for one process: it names the items that are judged",
        ),
        (["verify", AT, "--export", "somewhere"], "--processes is about requests"),
    ],
)
def test_what_only_one_process_can_do_is_refused(dynaorm: Command, given: list[str], said: str) -> None:
    run = dynaorm(*given, "--processes", "2")
    assert run.returncode == 2
    assert said in run.stderr


def test_there_is_at_least_one_process(dynaorm: Command) -> None:
    run = dynaorm("verify", AT, "--processes", "0")
    assert (run.returncode, "--processes 0 is not an int of 1 or more" in run.stderr) == (2, True)
