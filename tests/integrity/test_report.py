"""Findings as JSON lines, and the file of duplicate values."""

import json
from typing import Any

import pytest

from dynaorm import Key, Table
from dynaorm.entity.key import item_named
from dynaorm.failure import MASK, RedactedDict
from dynaorm.flow.integrity.finding import FindingKind, Outcome, finding_at
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.integrity.serialize import as_json, finding_in, repair_result_in
from dynaorm.record import replace
from dynaorm.tools import RepairResult
from tests.dynamodb_json import Item

KEY: Item = {"PK": {"S": "email#a"}, "SK": {"B": b"\x00\x01"}}
AT = ItemAddress(Table("app"), KEY)
OWNER = item_named(KEY)
FINDING = finding_at(FindingKind.DUPLICATE, AT, "two hold it", entity="User", owners=(OWNER,))


def test_a_finding_is_one_line() -> None:
    key = {"PK": {"S": "email#a"}, "SK": {"B": "AAE="}}
    assert json.loads(as_json(FINDING)) == {
        "kind": "duplicate value",
        "table": "app",
        "key": key,
        "item_key": key,
        "entity": "User",
        "detail": "two hold it",
        "repairable": False,
        "owners": [key],
    }
    assert "\n" not in as_json(FINDING)


@pytest.mark.parametrize("owners", [(), (OWNER, OWNER)])
def test_a_line_can_be_read_back(owners: tuple[Key[Any], ...]) -> None:
    finding = finding_at(FindingKind.DUPLICATE, AT, "é", repairable=True, owners=owners)
    assert finding_in(as_json(finding)) == finding
    for mended in (RepairResult(finding, Outcome.REPAIRED), RepairResult(finding, Outcome.SKIPPED, "why")):
        assert repair_result_in(as_json(mended)) == mended


def test_a_key_with_a_secret_is_masked_but_in_a_private_file() -> None:
    key = RedactedDict({"PK": {"S": "pin#hush"}, "SK": {"B": b"hush"}}, frozenset({"PK", "SK"}))
    finding = replace(
        FINDING, item_key=key, key=OWNER, owners=(item_named(RedactedDict(KEY, frozenset({"SK"}))), OWNER)
    )
    line = as_json(finding)
    assert json.loads(line)["item_key"] == {"PK": {"S": MASK}, "SK": {"B": MASK}}
    assert json.loads(line)["owners"][0] == {"PK": {"S": "email#a"}, "SK": {"B": MASK}}
    again = finding_in(as_json(finding, with_secrets=True))
    assert again == finding
    assert str(again) == str(finding)
    assert as_json(again) == line
