"""``apply``: live tables become as they are declared."""

import json
import os
import pty
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, Session, Table, Unique, tools
from dynaorm.transport import Transport
from tests.cli.conftest import Command
from tests.raw_tables import REGION

before = Table("apply-table", indexes=[GlobalIndex("Other", projection="KEYS_ONLY")])
declared = Table("apply-table", indexes=[GlobalIndex("GSI1"), GlobalIndex("Other")])
AT = "tests.cli.test_apply:declared"


class OldBook(Entity, table=before, pk="BOOK#{isbn}", sk="BOOK", name="Book"):
    isbn: str
    slug: str


class Book(Entity, table=declared, pk="BOOK#{isbn}", sk="BOOK"):
    isbn: str
    slug: Annotated[str, Unique()]
    by_slug = Index("GSI1", pk="SLUG#{slug}", sk="{isbn}")


@pytest.fixture
def live(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Iterator[Session]:
    """A session on a table that was made before its index and its constraint were declared."""
    name = unique_name(declared.name)
    with Session(transport=engine_line[0], table_names={declared.name: name}) as session:
        session.create_table(before)
        session.save_many([OldBook(isbn=str(one), slug=f"s{one}") for one in range(3)])
        yield session
        session.delete_table(declared, name=name)


@pytest.fixture
def where(endpoint: str, live: Session) -> list[str]:
    name = live._context.table_name(declared.name)
    return ["--endpoint", endpoint, "--region", REGION, "--table-name", f"{declared.name}={name}"]


def test_the_plan_says_where_what_and_what_it_costs_and_nothing_is_written_without_yes(
    dynaorm: Command, live: Session, where: list[str]
) -> None:
    differences = tools.compare_table(live, declared)
    run = dynaorm("apply", AT, *where)
    name = where[-1].partition("=")[2]
    assert run.returncode == 1
    told = run.stdout.splitlines()
    assert told[0] == f"{name}: it has no index 'GSI1': create the index 'GSI1'"
    assert told[1].startswith("the new indexes take up to about 3 write units")
    assert told[2].startswith(f"{name}: complete the entities that lack")
    assert "up to 6 hours old" in told[3]
    assert told[4].startswith(f"{name}: its index 'Other' does not project ALL attributes: left, because ")
    assert "apply removes nothing, and would have to delete the index 'Other'" in told[4]
    assert told[5] == "dynaorm diff --format update-table --delete shows the requests that would remove it"
    assert f"apply: table {declared.name} = {name}, account 000000000000, Region {REGION}" in run.stderr
    assert "nothing was written; give --yes to write" in run.stderr
    assert tools.compare_table(live, declared) == differences
    assert "GSI1PK" not in str(live.plan(live.get_one(Book, isbn="1")))


def test_it_adds_the_index_and_completes_the_entities(
    dynaorm: Command, live: Session, where: list[str]
) -> None:
    run = dynaorm("apply", AT, *where, "--yes", "--at-most", "1")
    assert run.returncode == 3
    assert any(line.endswith("create the index 'GSI1': done") for line in run.stdout.splitlines())
    assert "apply: 1 difference is left; the plan says why" in run.stderr  # the projection
    assert "not judged: what comes after the last repair that --at-most allows; run it again" in run.stderr
    assert not any(
        line.startswith("repaired") for line in run.stdout.splitlines()
    )  # it is counted, and no news
    assert "limit reached: 1, repaired: 1" in run.stderr
    run = dynaorm("apply", AT, *where, "--yes", "--json")
    assert run.returncode == 1
    *lines, application = [json.loads(line) for line in run.stdout.splitlines()]
    assert (application["kind"], application["backfills"]) == ("application", [])
    assert (lines[1]["applied"], lines[1]["index"]) == (False, "Other")
    run = dynaorm("backfill", AT, *where, "--yes", "--json")
    assert run.returncode == 0
    *lines, result = [json.loads(line) for line in run.stdout.splitlines()]
    assert (result["kind"], result["command"], result["found"]) == ("result", "backfill", {"repaired": 2})
    assert [one["outcome"] for one in lines if one["kind"] == "incomplete"] == ["repaired", "repaired"]
    assert [one.isbn for one in live.query(Book.by_slug, slug="s1")] == ["1"]
    assert list(tools.verify(live, Book)) == []


@pytest.mark.parametrize(("answer", "left"), [("n", ["no index", "projection"]), ("y", ["projection"])])
def test_a_person_at_a_terminal_is_asked(
    dynaorm: Command,
    live: Session,
    where: list[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    left: list[str],
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    with (
        os.fdopen(theirs) as keyboard,
        os.fdopen(os.dup(theirs), "w") as screen,
        monkeypatch.context() as patched,
    ):
        patched.setattr(sys, "stdin", keyboard)
        patched.setattr(sys, "stderr", screen)
        run = dynaorm("apply", AT, *where, "--no-backfill")
    shown = ""
    with suppress(OSError):  # nobody writes there any more
        while found := os.read(ours, 100_000):
            shown += found.decode()
    os.close(ours)
    assert run.returncode == 1  # nothing is done, or the projection is left
    assert "do this? [y/N]" in shown
    assert ("nothing was written" in shown) == (answer == "n")
    assert [one.kind for one in tools.compare_table(live, declared)] == left


def test_a_table_that_does_not_exist_is_made_and_one_that_is_as_declared_stays(
    dynaorm: Command, live: Session, where: list[str]
) -> None:
    name = where[-1].partition("=")[2]
    live.delete_table(declared, name=name)
    run = dynaorm("apply", AT, *where, "--yes")
    assert run.returncode == 0, run.stderr
    assert f"account unknown, Region {REGION}" in run.stderr
    assert tools.compare_table(live, declared) == ()
    run = dynaorm("apply", AT, *where, "--no-backfill")
    assert (run.returncode, run.stdout) == (0, "nothing to do: the table is as declared\n")
