"""``show``: what an item is, whom it belongs to, and what is wrong with it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Session
from dynaorm.transport import Transport
from tests.cli.conftest import Command
from tests.cli.desk import Case, Guide, bare, desk

AT = "tests.cli.desk"
GUARD = "guard item: reserves email for Agent(agent='liz'); the owner exists and holds it"


@pytest.fixture
def raw(engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]) -> Any:
    """AWS's own client, bound to the table of the desk."""
    client, name = engine_line[1], unique_name(desk.name)

    class Raw:
        def put(self, partition: str, sort: str, **attributes: Any) -> None:
            client.put_item(TableName=name, Item={"PK": {"S": partition}, "SK": {"S": sort}, **attributes})

        def delete(self, partition: str, sort: str) -> None:
            client.delete_item(TableName=name, Key={"PK": {"S": partition}, "SK": {"S": sort}})

    return Raw()


def said(ask: Command, *key: str) -> list[str]:
    """What a command says before the attributes of the item."""
    run = ask("show", f"{AT}:desk", *key)
    assert run.returncode == ("is wrong with it:" in run.stdout), run
    lines = run.stdout.splitlines()
    return lines[: next(at for at, line in enumerate(lines) if line.startswith("  PK "))]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (["AGENT#liz", "AGENT"], "Agent(agent='liz'), in GSI1 as by_city; nothing is wrong with it"),
        (["AGENT#bob", "AGENT"], "Agent(agent='bob'); nothing is wrong with it"),
        (["email#liz@x.com", "email#liz@x.com"], GUARD),
        (["email#liz@x.com"], GUARD),
        (["ORG#acme", "ORG"], "Org(org='acme'); nothing is wrong with it, but its totals were not counted"),
        (["GUIDE#first", "v0_GUIDE"], "Guide(slug='first'); nothing is wrong with it"),
        (["GUIDE#first", "v2_GUIDE"], "version 2 of Guide(slug='first'); nothing is wrong with it"),
        (["LOGIN#tok-1", "LOGIN"], "Login(token=**********); nothing is wrong with it"),
    ],
)
def test_it_says_what_an_item_is(ask: Command, key: list[str], says: str) -> None:
    assert said(ask, *key) == [says]


def test_it_says_what_is_wrong(ask: Command, raw: Any) -> None:
    raw.delete("email#liz@x.com", "email#liz@x.com")
    assert said(ask, "AGENT#liz", "AGENT") == [
        "Agent(agent='liz'), in GSI1 as by_city; 1 thing is wrong with it:",
        "  missing guard: no guard item protects the value",
    ]
    raw.delete("AGENT#bob", "AGENT")
    assert said(ask, "email#bob@x.com") == [
        "guard item: reserves email for Agent(agent='bob'); 1 thing is wrong with it:",
        "  orphan guard: the owner it names does not exist",
        "  (another entity may hold the value: verify looks at all of them)",
    ]
    raw.delete("GUIDE#first", "v3_GUIDE")
    assert said(ask, "GUIDE#first", "v0_GUIDE") == [
        "Guide(slug='first'); 1 thing is wrong with it:",
        "  missing version: the latest copy is version 3, and that version item does not exist",
    ]
    raw.put("JUNK#1", "JUNK", pin={"S": "4711"})
    assert said(ask, "JUNK#1", "JUNK") == [
        "an item of no declared class; 1 thing is wrong with it:",
        "  unknown item: it belongs to no class of the table",
    ]
    assert "4711" in ask("show", f"{AT}:desk", "JUNK#1", "JUNK").stdout
    assert "4711" in ask("show", f"{AT}:desk", "JUNK#1", "JUNK", "--json").stdout


def test_a_finding_with_a_masked_key_can_be_seen_when_it_is_asked_for(ask: Command, raw: Any) -> None:
    raw.put("LOGIN#tok-2", "LOGIN", _type={"S": "Login"}, token={"S": "tok-2"}, agent={"N": "1"})
    for command in ("verify", "repair"):
        for form in ([], ["--json"]):
            run = ask(command, f"{AT}:desk", *form)
            assert "tok-2" not in run.stdout + run.stderr
            hint = "1 finding has a key with a secret field, which is masked; --show-secrets shows it"
            assert " ".join(run.stderr.split()).count(hint) == 1
            run = ask(command, f"{AT}:desk", *form, "--show-secrets")
            assert "LOGIN#tok-2" in run.stdout
            assert "masked" not in run.stderr


def test_a_tombstone_says_of_what(ask: Command, desk_session: Session) -> None:
    desk_session.delete(desk_session.query(Guide, slug="first").one())
    assert said(ask, "GUIDE#first", "v0_GUIDE") == [
        "tombstone: Guide(slug='first') is deleted; nothing is wrong with it"
    ]


def test_a_guard_without_an_owner_is_no_fault_by_itself(ask: Command, raw: Any) -> None:
    raw.put("email#zoe@x.com", "email#zoe@x.com")
    assert said(ask, "email#zoe@x.com") == [
        "guard item: reserves email, and names no owner; nothing is wrong with it"
    ]


def test_every_attribute_is_shown_and_secrets_are_masked(ask: Command) -> None:
    run = ask("show", f"{AT}:desk", "AGENT#liz", "AGENT")
    shown = dict(line.split(maxsplit=1) for line in run.stdout.splitlines()[1:])
    assert shown.pop("_rev")
    assert shown == {
        "PK": "AGENT#liz",
        "SK": "AGENT",
        "agent": "liz",
        "email": "Liz@x.com",
        "password": "**********",
        "place": "{city: Oslo, street: ''}",
        "balance": "0",
        "tags": "{a, b}",
        "active": "true",
        "GSI1PK": "CITY#Oslo",
        "GSI1SK": "liz",
        "_type": "Agent",
    }
    assert "hush" in ask("show", f"{AT}:desk", "AGENT#liz", "AGENT", "--show-secrets").stdout


def test_a_secret_key_is_masked_in_every_form(ask: Command) -> None:
    for more in ([], ["--json"]):
        login = ["show", f"{AT}:desk", "LOGIN#tok-1", "LOGIN", *more]
        assert "tok-1" not in ask(*login).stdout
        assert "tok-1" in ask(*login, "--show-secrets").stdout


def test_json_has_the_item_as_it_is_stored(ask: Command, raw: Any) -> None:
    found = json.loads(ask("show", f"{AT}:desk", "email#liz@x.com", "--json").stdout)
    owner = {"PK": {"S": "AGENT#liz"}, "SK": {"S": "AGENT"}}
    assert found == {
        "kind": "guard",
        "class": "Agent",
        "says": "guard item: reserves email for Agent(agent='liz')",
        "places": {},
        "constraint": "email",
        "version": None,
        "owner": owner,
        "Item": {"PK": {"S": "email#liz@x.com"}, "SK": {"S": "email#liz@x.com"}, "owner": {"M": owner}},
        "findings": [],
    }
    raw.delete("AGENT#liz", "AGENT")
    (finding,) = json.loads(ask("show", f"{AT}:desk", "email#liz@x.com", "--json").stdout)["findings"]
    assert finding["kind"] == "orphan guard"


def test_an_item_of_a_partition_that_cannot_be_read_is_named(ask: Command, raw: Any) -> None:
    raw.put("ORG#acme", "CASE#00x", _type={"S": "Case"})
    raw.put("ORG#acme", "NOTE", text={"S": "x"})
    run = ask("show", f"{AT}:desk", "ORG#acme")
    lines = run.stdout.splitlines()
    assert lines[-3:-1] == [
        "CASE#00x  Case(org='acme', number='CASE#00x'); it cannot be read",
        "NOTE  an item of no declared class",
    ]
    assert run.stderr == "2 items cannot be read by a class; give its sort key, too, to see what is wrong\n"
    assert run.returncode == 1
    (wrong,) = [
        one
        for line in ask("show", f"{AT}:desk", "ORG#acme", "--json").stdout.splitlines()
        if not (one := json.loads(line))["readable"] and one["kind"] == "entity"
    ]
    assert wrong["Item"]["SK"] == {"S": "CASE#00x"}


def test_only_what_may_be_a_secret_is_masked_in_a_key_of_no_class(ask: Command, raw: Any) -> None:
    raw.put("FOO#1", "BAR", x={"S": "y"})
    raw.put("LOGIN#tok-2", "BAD")
    shown = ask("show", f"{AT}:desk", "FOO#1", "BAR").stdout.splitlines()
    assert shown[-3:] == ["  PK  FOO#1", "  SK  BAR", "  x   y"]
    shown = ask("show", f"{AT}:desk", "LOGIN#tok-2", "BAD").stdout.splitlines()
    assert shown[-2:] == ["  PK  **********", "  SK  BAD"]
    shown = ask("show", f"{AT}:desk", "LOGIN#tok-1", "LOGIN").stdout.splitlines()
    assert "  PK     LOGIN#**********" in shown


def test_a_partition_is_shown_item_by_item(ask: Command) -> None:
    run = ask("show", f"{AT}:desk", "GUIDE#first")
    assert run.stdout.splitlines() == [
        "v0_GUIDE  Guide(slug='first')",
        "v1_GUIDE  version 1 of Guide(slug='first')",
        "v2_GUIDE  version 2 of Guide(slug='first')",
        "v3_GUIDE  version 3 of Guide(slug='first')",
    ]
    run = ask("show", f"{AT}:desk", "GUIDE#first", "--limit", "3")
    assert len(run.stdout.splitlines()) == 3
    assert run.stderr == "there are more items: --limit 6\n"
    kinds = [
        json.loads(line)["kind"]
        for line in ask("show", f"{AT}:desk", "GUIDE#first", "--json").stdout.splitlines()
    ]
    assert kinds == ["entity", "version", "version", "version"]


def test_stored_text_is_escaped(ask: Command, raw: Any, desk_session: Session) -> None:
    raw.put("A\x1b[2J", "\x1b]0;title\x07", **{"\x1bname": {"S": "\x1bvalue\nnothing is wrong with it"}})
    for key in (["A\x1b[2J", "\x1b]0;title\x07"], ["A\x1b[2J"]):
        run = ask("show", f"{AT}:desk", *key)
        assert run.returncode == ("is wrong with it:" in run.stdout)
        assert all(line.isprintable() for line in run.stdout.split("\n"))
    case = desk_session.query(Case, org="acme").first()
    assert case is not None
    case.title = "\x9b2J\u202e"
    desk_session.save(case)
    assert all(
        line.isprintable() for line in ask("show", f"{AT}:desk", "ORG#acme", "CASE#001").stdout.split("\n")
    )


def test_a_table_without_a_sort_key_takes_one_key(ask: Command) -> None:
    run = ask("show", f"{AT}:bare", "c1")
    assert run.stdout.splitlines()[0] == "Code(code='c1'); nothing is wrong with it"
    run = ask("show", f"{AT}:bare", "c1", "more")
    assert (run.returncode, run.stderr) == (
        2,
        f"dynaorm: {bare!r} has no sort key; give the partition key alone\n",
    )


@pytest.mark.parametrize("key", [["nothing"], ["AGENT#liz", "nothing"]])
def test_what_is_not_stored_is_said_and_is_status_1(ask: Command, key: list[str]) -> None:
    run = ask("show", f"{AT}:desk", *key)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"no item of Table('desk') has this key: {' '.join(key)}\n"


@pytest.mark.parametrize(
    ("target", "key", "says"),
    [
        ("tests.cast.tables:log", ["s", "x"], "at is a number, and 'x' is not; give a number"),
        ("tests.cast.tables:blobs", ["o", "?"], "digest is base64, and '?' is not; give base64"),
    ],
)
def test_a_key_of_another_type_is_refused(ask: Command, target: str, key: list[str], says: str) -> None:
    run = ask("show", target, *key, "--import", AT)
    assert (run.returncode, run.stderr) == (2, f"dynaorm: {says}\n")
