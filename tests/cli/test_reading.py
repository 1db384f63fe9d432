"""``get``, ``get-by``, ``query`` and ``history`` in the same process."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Session
from dynaorm.transport import Transport
from tests.cli.conftest import Command, Run
from tests.cli.desk import Case, desk
from tests.raw_tables import REGION

AT = "tests.cli.desk"


def lines(run: Run) -> list[Any]:
    return [json.loads(line) for line in run.stdout.splitlines()]


# -- one entity --------------------------------------------------------------------------------------------------------


def test_get_shows_every_field_and_masks_secrets(ask: Command) -> None:
    run = ask("get", f"{AT}:Agent", "agent=liz")
    head, *rows = run.stdout.splitlines()
    assert head.startswith("Agent(agent='liz')  revision ")
    assert rows == [
        "  agent     liz",
        "  email     Liz@x.com",
        "  password  **********",
        "  place     {city: Oslo, street: ''}",
        "  balance   0",
        "  tags      {a, b}",
        "  active    true",
    ]
    assert (run.returncode, run.stderr) == (0, "")


def test_get_as_json_is_what_plan_takes(ask: Command) -> None:
    (found,) = lines(ask("get", f"{AT}:Agent", "agent=liz", "--json"))
    assert found.pop("revision")
    assert found == {
        "key": {"PK": {"S": "AGENT#liz"}, "SK": {"S": "AGENT"}},
        "Agent": {
            "agent": "liz",
            "email": "Liz@x.com",
            "password": "**********",
            "place": {"city": "Oslo", "street": ""},
            "balance": "0",
            "tags": ["a", "b"],
            "active": True,
        },
    }


def test_secrets_are_shown_when_they_are_asked_for(ask: Command) -> None:
    for more in ([], ["--json"]):
        agent = ["get", f"{AT}:Agent", "agent=liz", *more]
        login = ["get", f"{AT}:Login", "token=tok-1", *more]
        masked = ask(*agent).stdout + ask(*login).stdout
        assert "hush" not in masked
        assert "tok-1" not in masked
        assert "hush" in ask(*agent, "--show-secrets").stdout
        assert ask(*login, "--show-secrets").stdout.count("tok-1") == 2


def test_a_secret_key_that_is_not_stored_is_not_shown(ask: Command) -> None:
    run = ask("get", f"{AT}:Login", "token=hush")
    assert (run.returncode, run.stdout, run.stderr) == (
        1,
        "",
        "nothing is stored under Login(token=**********)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["get", "agent=zoe"], "nothing is stored under Agent(agent='zoe')"),
        (["get", "email=zoe@x.com"], "no Agent holds email=zoe@x.com"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_what_is_not_stored_is_said_and_is_status_1(
    ask: Command, arguments: list[str], says: str, more: list[str]
) -> None:
    run = ask(arguments[0], f"{AT}:Agent", *arguments[1:], *more)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"{says}\n")


def test_a_version_is_shown_and_one_that_does_not_exist_is_named(ask: Command) -> None:
    guide = ["get", f"{AT}:Guide", "slug=first"]
    assert "Guide(slug='first')  version 3  revision " in ask(*guide).stdout
    assert "  text   ''\n" in ask(*guide, "--version", "1").stdout
    run = ask(*guide, "--version", "9")
    assert (run.returncode, run.stderr) == (1, "there is no version 9 of Guide(slug='first')\n")
    for moment in ("2020", "2020-05", "2020-05-06", "2020-05-06T10:00:00Z", "2020-05-06T10:00:00+02:00"):
        run = ask(*guide, "--as-of", moment)
        assert run.returncode == 1
        assert run.stderr.startswith("Guide(slug='first') was not stored at 20")
    assert ask(*guide, "--as-of", "2100-01-01").stdout == ask(*guide).stdout


def test_get_by_finds_a_value_in_any_case(ask: Command) -> None:
    assert (
        ask("get", f"{AT}:Agent", "email=LIZ@X.COM").stdout == ask("get", f"{AT}:Agent", "agent=liz").stdout
    )


# -- many entities -----------------------------------------------------------------------------------------------------


def names(run: Run) -> list[str]:
    return [line.partition("  ")[0] for line in run.stdout.splitlines()]


def test_a_query_shows_each_entity_in_a_line(ask: Command) -> None:
    run = ask("query", f"{AT}:Case", "org=acme")
    assert run.stdout.splitlines() == [
        "Case(org='acme', number=1)  title=Case 1  status=open  created=2026-01-05 00:00:00  due=2026-02-01",
        "Case(org='acme', number=2)  title=Case 2  status=open  created=2026-02-07 12:30:00",
        "Case(org='acme', number=3)  title=Case 3  status=closed  created=2025-12-31 00:00:00",
    ]
    assert (run.returncode, run.stderr) == (0, "3 entities; 1 request, 0.5 read units\n")


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        (["status=open"], [1, 2]),
        (["status=open", "--descending"], [2, 1]),
        (["status=open", "status=closed"], [3, 1, 2]),
        (["status=open", "--ge", "created=2026-02"], [2]),
        (["status=open", "--lt", "created=2026-02"], [1]),
        (["status=open", "--le", "created=2026-01"], [1]),
        (["status=open", "--gt", "created=2026-01"], [2]),
        (["status=open", "--ge", "created=2026-01-05", "--le", "created=2026-02-07"], [1, 2]),
        (["status=open", "--le", "created=2026-02-07T12:00:00Z"], [1]),
        (["status=open", "--begins-with", "created=2026-02-0"], [2]),
        (["status=open", "--gt", "created=2026"], []),
        (["status=open", "--filter", "title=Case 2"], [2]),
        (["status=open", "--filter", "due:=null"], [2]),
        (["status=open", "--filter", "due=2026-02-01"], [1]),
        (["status=open", "--limit", "1"], [1]),
    ],
)
def test_a_query_takes_bounds_filters_and_several_values(
    ask: Command, more: list[str], numbers: list[int]
) -> None:
    run = ask("query", f"{AT}:Case.by_status", *more)
    assert names(run) == [f"Case(org='acme', number={number})" for number in numbers]
    assert run.returncode == (0 if numbers else 1)


def test_a_day_bounds_a_field_of_days(ask: Command) -> None:
    for bound, count in (("--ge", 1), ("--gt", 0), ("--le", 1), ("--lt", 0)):
        for text in ("2026-02-01", "2026-02", "2026"):
            expected = {"--gt": 0, "--lt": 0}.get(bound, count)
            assert len(names(ask("query", f"{AT}:Case.by_due", bound, f"due={text}"))) == expected


def test_a_nested_field_is_named_with_dots(ask: Command) -> None:
    assert names(ask("query", f"{AT}:Agent.by_city", "place.city=Oslo")) == ["Agent(agent='liz')"]
    found = ask(
        "query",
        f"{AT}:Agent.by_city",
        "place.city=Oslo",
        "--filter",
        "place.street=",
        "--filter",
        "balance=0",
    )
    assert names(found) == ["Agent(agent='liz')"]


def test_several_classes_are_read_together(ask: Command) -> None:
    run = ask("query", f"{AT}:Org", f"{AT}:Case", "org=acme")
    assert [name.partition("(")[0] for name in names(run)] == ["Case", "Case", "Case", "Org"]


def test_a_page_ends_with_the_cursor_of_the_next_one(ask: Command) -> None:
    query = ["query", f"{AT}:Case", "org=acme", "--limit", "2"]
    said, _, cursor = ask(*query).stderr.partition("next page: --after ")
    assert said.startswith("2 entities; ")
    last = ask(*query, "--after", cursor.strip())
    assert names(last) == ["Case(org='acme', number=3)"]
    assert "next page" not in last.stderr
    *_, page = lines(ask(*query, "--json"))
    assert page == {"kind": "page", "entities": 2, "requests": 1, "read_units": 0.5, "next": cursor.strip()}


def test_explain_sends_nothing(dynaorm: Command) -> None:
    """Nobody answers there."""
    nowhere = ["--endpoint", "http://127.0.0.1:9", "--region", REGION]
    run = dynaorm("query", f"{AT}:Case.by_status", "status=open", "--explain", *nowhere)
    assert run.stdout == (
        "1 request, and more for each further page\n1. Query desk index GSI1: GSI1PK = 'STATUS#open'\n"
    )


def test_an_item_that_does_not_fit_is_left_out_and_the_command_fails(
    ask: Command, engine_line: tuple[Transport, Any], unique_name: Callable[[str], str]
) -> None:
    key = {"PK": {"S": "ORG#acme"}, "SK": {"S": "CASE#002"}, "_type": {"S": "Case"}}
    item = {**key, "org": {"S": "acme"}, "number": {"N": "2"}, "created": {"S": "\x1b[31m"}}
    engine_line[1].put_item(TableName=unique_name(desk.name), Item=item)
    run = ask("query", f"{AT}:Case", "org=acme")
    assert names(run) == ["Case(org='acme', number=1)", "Case(org='acme', number=3)"]
    assert run.returncode == 2
    assert run.stderr.startswith("left out: ")
    assert "\x1b" not in run.stderr


def test_stored_text_is_escaped(ask: Command, desk_session: Session) -> None:
    found = desk_session.query(Case, org="acme").first()
    assert found is not None
    found.title = "\x1b[2J\nCase(org='acme', number=9)"
    desk_session.save(found)
    for command in (["query", f"{AT}:Case", "org=acme"], ["get", f"{AT}:Case", "org=acme", "number=1"]):
        for more in ([], ["--json"]):
            run = ask(*command, *more)
            assert all(line.isprintable() for line in run.stdout.split("\n"))
            assert not any(line.startswith("Case(org='acme', number=9)") for line in run.stdout.split("\n"))


# -- versions ----------------------------------------------------------------------------------------------------------


def test_history_shows_what_each_version_changed(ask: Command) -> None:
    run = ask("history", f"{AT}:Guide", "slug=first")
    assert [line.split("  ", 2)[::2] for line in run.stdout.splitlines()] == [
        ["version 3", "title=First steps"],
        ["version 2", "text=Begin here."],
        ["version 1", "slug=first  title=First  text=''"],
    ]
    newest, *_ = lines(ask("history", f"{AT}:Guide", "slug=first", "--json"))
    assert newest.pop("at").startswith("20")
    assert newest == {
        "kind": "version",
        "number": 3,
        "values": {"slug": "first", "title": "First steps", "text": "Begin here."},
    }


def test_history_is_as_long_as_it_is_asked_for(ask: Command) -> None:
    run = ask("history", f"{AT}:Guide", "slug=first", "--limit", "2")
    assert [line.split("  ", 2)[::2] for line in run.stdout.splitlines()] == [
        ["version 3", "title=First steps"],
        ["version 2", "text=Begin here."],
    ]
    assert run.stderr == "there are older versions: --limit 4\n"


def test_two_versions_are_compared(ask: Command) -> None:
    diff = ["history", f"{AT}:Guide", "slug=first", "--diff"]
    assert ask(*diff, "1", "3").stdout.splitlines() == [
        "  title  First -> First steps",
        "  text   '' -> Begin here.",
    ]
    assert lines(ask(*diff, "1", "2", "--json")) == [
        {"kind": "diff", "versions": [1, 2], "changes": {"text": ["", "Begin here."]}}
    ]
    assert ask(*diff, "2", "2").stderr == "versions 2 and 2 are equal\n"
    assert ask(*diff, "2", "7").returncode == 1


def test_an_entity_that_was_never_stored_has_no_history(ask: Command) -> None:
    run = ask("history", f"{AT}:Guide", "slug=other")
    assert (run.returncode, run.stdout, run.stderr) == (1, "", "nothing is stored of Guide(slug='other')\n")


# -- what cannot be done -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["get", f"{AT}:Agnet", "agent=liz"], "there is no 'Agnet' in tests.cli.desk; did you mean 'Agent'?"),
        (["get", f"{AT}:desk", "agent=liz"], "is a table; name one of its classes: tests.cli.desk:Agent, "),
        (
            ["get", f"{AT}:Agent", "agnt=liz"],
            "Agent has no field 'agnt' that can be used here; did you mean 'agent'?",
        ),
        (["get", f"{AT}:Agent", "place.cty=x"], "Agent has no field 'place.cty'"),
        (["get", f"{AT}:Agent", "liz"], "'liz' gives no field a value; write field=value"),
        (["get", f"{AT}:Agent", "agent=a", "agent=b"], "agent is given twice; give each field one value"),
        (["get", f"{AT}:Case", "org=acme"], "number"),
        (
            ["get", f"{AT}:Case", "org=a", "number=x"],
            "number=x does not fit Case.number: Input should be a valid integer",
        ),
        (["get", f"{AT}:Case", "org=a", "number:=x"], "number:=x does not fit Case.number: Invalid JSON"),
        (
            ["get", f"{AT}:Guide", "slug=a", "--as-of", "soon"],
            "--as-of soon is not a time; write 2026-01-31T12:00Z",
        ),
        (["get", f"{AT}:Agent", "active=true"], "active"),
        (
            ["query", f"{AT}:Case.by_statsu", "status=x"],
            "there is no 'by_statsu' in Case; did you mean 'by_status'?",
        ),
        (["query", f"{AT}:Case.by_status"], "status is not given"),
        (["query", "status=open"], "no class is named; write: dynaorm query MODULE:CLASS FIELD=VALUE"),
        (["query", f"{AT}:Case", "org=a", "--filter", "ttle=x"], "did you mean 'title'?"),
        (["query", f"{AT}:Case.by_status", "status=a", "--ge", "created=2026-13"], "there is no 2026-13"),
        (
            ["query", f"{AT}:Case.by_status", "status=a", "created=2026"],
            "is a year, and no time; write --ge created=2026",
        ),
        (["query", f"{AT}:Case", "org=a", "--after", "x"], "the cursor is damaged"),
        (["query", f"{AT}:Case", "org=a", "--limit", "0"], "Invalid value for '--limit'"),
        (["history", f"{AT}:Agent", "agent=liz"], "Agent keeps no versions"),
        (["get", f"{AT}:Agent", "agent=liz", "--table-name", "desk=other"], "there is no table 'other'"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_what_cannot_be_done_says_why(ask: Command, arguments: list[str], says: str) -> None:
    run = ask(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_the_value_of_a_secret_field_is_in_no_error(ask: Command) -> None:
    run = ask("get", f"{AT}:Login", "token:=[5, 7]")
    assert run.returncode == 2
    assert "token:=********** does not fit Login.token" in run.stderr
    assert "[5, 7]" not in run.stderr


def test_entities_with_a_secret_in_their_key_are_queried_and_no_cursor_shows_it(ask: Command) -> None:
    query = ["query", f"{AT}:Login", "token=tok-1"]
    plain, as_json = ask(*query), ask(*query, "--json")
    assert (plain.returncode, as_json.returncode) == (0, 0)
    assert plain.stdout.startswith("Login(token=**********)")
    assert json.loads(as_json.stdout.splitlines()[-1])["next"] is None
    assert "tok-1" not in plain.stdout + plain.stderr + as_json.stdout
