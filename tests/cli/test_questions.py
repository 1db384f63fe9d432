"""``questions``: what can be asked of a table."""

import json

import pytest

from dynaorm.description import describe
from tests.cli.conftest import Command
from tests.cli.desk import desk

AT = "tests.cli.desk"


def test_every_question_of_the_description_is_listed(dynaorm: Command) -> None:
    run = dynaorm("questions", f"{AT}:desk")
    assert run.returncode == 0
    for one in describe(desk).questions:
        assert f"  {one.text}\n    {one.call()}\n" in run.stdout
    found = [json.loads(line) for line in dynaorm("questions", f"{AT}:desk", "--json").stdout.splitlines()]
    assert [one["call"] for one in found] == [one.call() for one in describe(desk).questions]
    assert {one["kind"] for one in found} == {"question"}


def test_a_question_says_what_it_costs(dynaorm: Command) -> None:
    run = dynaorm("questions", f"{AT}:desk", "--class", "Case", "--class", "Guide")
    assert run.stdout.splitlines()[:16] == [
        "Case",
        "  The Case with one org and number",
        "    session.get(Case, org=..., number=...)",
        "    1 GetItem, strongly consistent on request",
        "  Every Case of one org",
        "    session.query(Case, org=...)",
        "    1 Query, sorted by number, strongly consistent on request",
        "  Every Case of one status",
        "    session.query(Case.by_status, status=...)",
        "    1 Query on GSI1, sorted by created, eventually consistent",
        "  Every Case",
        "    session.query(Case.by_due)",
        "    1 Query on GSI2, then BatchGetItem, sorted by due, eventually consistent",
        "",
        "Guide",
        "  The Guide with one slug",
    ]


def test_patterns_is_another_name(dynaorm: Command) -> None:
    assert (
        dynaorm("patterns", f"{AT}:Guide").stdout
        == dynaorm("questions", f"{AT}:desk", "--class", "Guide").stdout
    )


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_table_without_classes_answers_nothing(dynaorm: Command, more: list[str]) -> None:
    run = dynaorm("questions", "tests.cast.tables:locks", *more)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "the table locks has no class, so nothing can be asked of it\n"


def test_a_class_that_is_not_there_is_answered_with_the_nearest(dynaorm: Command) -> None:
    run = dynaorm("questions", f"{AT}:desk", "--class", "Gide")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "dynaorm: the table has no class 'Gide'; did you mean 'Guide'?\n"
