"""The description of a table says what its declarations say."""

import json
from typing import Any

import pytest

from dynaorm import Table
from dynaorm.description import FORMAT, FieldPart, LiteralPart, describe
from dynaorm.errors import UsageError
from dynaorm.flow.table_definition import definition
from tests.cast import documents, events, orders, others, people, tables, tickets

CAST: list[Table] = [one for one in vars(tables).values() if isinstance(one, Table)]
MODULES = (documents, events, orders, others, people, tickets)


@pytest.mark.parametrize("table", CAST, ids=[one.name for one in CAST])
def test_its_create_table_is_what_a_session_sends(table: Table) -> None:
    assert json.dumps(describe(table).create_table()) == json.dumps(definition(table, table.name))


@pytest.mark.parametrize("table", CAST, ids=[one.name for one in CAST])
def test_it_is_plain_data_with_a_format(table: Table) -> None:
    plain = describe(table).to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["format"] == FORMAT == "dynaorm.description/1"


def a_class(table: Table, name: str) -> Any:
    return next(one for one in describe(table).classes if one.name == name)


def test_a_versioned_class_has_its_own_template_and_that_of_its_versions() -> None:
    sort = a_class(tables.app, "Page").sort
    assert (sort.text, sort.version_text, sort.whole_text) == ("TEXT", "v{version}_{sk}", "v{version}_TEXT")
    assert sort.pieces == (LiteralPart("TEXT"),)
    assert a_class(tables.app, "Letter").versions == "r_{version}_{sk}"


def test_a_template_is_taken_apart() -> None:
    (by_status, *_) = a_class(tables.app, "Job").places
    assert by_status.partition[0].pieces == (
        LiteralPart("STATUS#"),
        FieldPart("status"),
        LiteralPart("#"),
        FieldPart("number", "shard4", 4),
    )


def test_the_conditions_of_places_are_in_words() -> None:
    conditions = {one.name: one.when for one in a_class(tables.app, "Issue").places}
    assert conditions == {
        "open_issues": "F.status == 'open'",
        "closed_issues": "F.status == 'closed'",
        "flagged": "a function",
    }


def test_a_secret_field_has_no_default_and_is_marked() -> None:
    code = next(one for one in a_class(tables.app, "Safe").fields if one.name == "code")
    assert (code.secret, code.attribute, code.default, code.type) == (True, "Code", None, "SecretStr")


def test_only_a_table_can_be_described() -> None:
    not_a_table: Any = documents.Page
    with pytest.raises(UsageError, match="takes a Table"):
        describe(not_a_table)
