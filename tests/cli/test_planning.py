"""``plan``: what a write would send, without sending it."""

import io
import json
import sys
from pathlib import Path

import pytest

from dynaorm import Session
from tests.cli.conftest import Command, Run
from tests.cli.desk import Agent

AT = "tests.cli.desk"
NEW = ["agent=zoe", "email=zoe@x.com"]
_BLOCK = "TransactWriteItems"


def actions(run: Run) -> list[str]:
    """A plan without its price."""
    return run.stdout.splitlines()[1:]


@pytest.mark.parametrize(
    ("arguments", "operation", "purposes"),
    [
        (["Agent", *NEW], _BLOCK, ["insert", "claim"]),
        (["Agent", "agent=liz", "email=liz@x.com", "--overwrite"], "PutItem", ["replace"]),
        (["Agent", "--update", "agent=liz", "--set", "active=false"], "UpdateItem", ["update"]),
        (
            ["Agent", "--update", "agent=liz", "--set", "email=l@x.com"],
            _BLOCK,
            ["update", "release", "claim"],
        ),
        (["Code", "--upsert", "code=c9", "--set", "used=3"], "UpdateItem", ["upsert"]),
        (["Agent", "--delete", "agent=liz"], _BLOCK, ["delete", "release"]),
        (["Guide", "--delete", "slug=first"], "PutItem", ["bury"]),
        (["Case", "org=acme", "number=4", "title=x", "created=2026-01-05"], _BLOCK, ["insert", "aggregate"]),
    ],
)
def test_every_verb_is_planned_and_nothing_is_written(
    ask: Command, desk_session: Session, arguments: list[str], operation: str, purposes: list[str]
) -> None:
    before = list(desk_session.scan(Agent))
    run = ask("plan", f"{AT}:{arguments[0]}", *arguments[1:], "--json")
    found = json.loads(run.stdout)
    assert (found["kind"], found["operation"]) == ("plan", operation)
    assert [one["purpose"] for one in found["actions"]] == purposes
    assert run.returncode == 0
    assert list(desk_session.scan(Agent)) == before


def test_a_plan_is_said_in_words(ask: Command) -> None:
    run = ask("plan", f"{AT}:Agent", *NEW, "--table-name", "desk=elsewhere")
    assert run.stdout == (
        "TransactWriteItems, 2 actions, 4 write capacity units\n"
        "1. Put elsewhere PK=AGENT#zoe SK=AGENT: insert Agent(agent='zoe'), if nothing is stored under its key\n"
        "2. Put elsewhere PK=email#zoe@x.com SK=email#zoe@x.com: claim email = 'zoe@x.com' for Agent(agent='zoe'), "
        "if nobody else holds it\n"
    )


def test_the_fields_come_from_a_file_or_standard_input(
    ask: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"agent": "zoe", "email": "zoe@x.com", "balance": "1.5", "tags": ["a"], "place": {"city": "Rome"}}
    file = tmp_path / "zoe.json"
    expected = actions(ask("plan", f"{AT}:Agent", *NEW))
    for content in (plain, {"Agent": plain, "key": {}}):
        file.write_text(json.dumps(content))
        assert actions(ask("plan", f"{AT}:Agent", "--values", str(file))) == expected
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(content)))
        assert actions(ask("plan", f"{AT}:Agent", "--values", "-")) == expected
    run = ask("plan", f"{AT}:Agent", "--values", str(file), "agent=yan", "--request", "--json")
    item = json.loads(run.stdout)["request"]["TransactItems"][0]["Put"]["Item"]
    assert (item["agent"], item["balance"], item["tags"]) == ({"S": "yan"}, {"N": "1.5"}, {"SS": ["a"]})


def test_secrets_are_in_no_plan_unless_the_request_is_asked_for(ask: Command) -> None:
    secret = ["plan", f"{AT}:Agent", *NEW, "password=hush"]
    login = ["plan", f"{AT}:Login", "token=hush", "agent=liz"]
    for more in ([], ["--json"]):
        for command in (secret, login):
            assert "hush" not in ask(*command, *more).stdout
            assert "hush" in ask(*command, *more, "--request").stdout


def test_a_write_of_what_is_not_stored_is_status_1(ask: Command) -> None:
    run = ask("plan", f"{AT}:Agent", "--delete", "agent=zoe")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "nothing is stored under Agent(agent='zoe'), so the write would be refused\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["agent=zoe"], "this is no Agent: email: Field required; give its fields as field=value"),
        ([*NEW, "balance=x"], "balance=x does not fit Agent.balance"),
        ([*NEW, "blance=1"], "Agent has no field 'blance' that can be used here; did you mean 'balance'?"),
        (["agent=liz", "--update"], "--update needs a change; give one: --set field=value"),
        (["agent=liz", "--delete", "--set", "active=false"], "--set belongs to --update and --upsert"),
        (["agent=liz", "--delete", "--update"], "contradict each other; give one of them"),
        (["--delete"], "agent"),
        (["--values", "nowhere.json"], "nowhere.json"),
        (["--values", "pyproject.toml"], "--values pyproject.toml is not JSON"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_what_cannot_be_planned_says_why(ask: Command, arguments: list[str], says: str) -> None:
    run = ask("plan", f"{AT}:Agent", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert "Traceback" not in run.stderr
