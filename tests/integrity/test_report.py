"""Findings as JSON lines, and the file of duplicate values."""

import json
from pathlib import Path

from dynaorm.flow.finding import Finding, Kind
from dynaorm.flow.mend import Mended, Outcome
from dynaorm.integrity.report import DuplicatesFile, as_json
from dynaorm.item.value import Item

KEY: Item = {"PK": {"S": "email#a"}, "SK": {"B": b"\x00\x01"}}
FINDING = Finding(Kind.DUPLICATE, "app", KEY, "User", "two hold it", mendable=False, owners=(KEY,))


def test_a_finding_is_one_line() -> None:
    key = {"PK": {"S": "email#a"}, "SK": {"B": "AAE="}}
    assert json.loads(as_json(FINDING)) == {
        "kind": "duplicate value",
        "table": "app",
        "key": key,
        "entity": "User",
        "detail": "two hold it",
        "mendable": False,
        "owners": [key],
    }
    assert "\n" not in as_json(FINDING)


def test_what_was_left_says_why() -> None:
    line = json.loads(as_json(Mended(FINDING, Outcome.LEFT, "it needs a choice")))
    assert (line["outcome"], line["reason"]) == ("left", "it needs a choice")


def test_a_duplicate_is_written_down_once_and_a_torn_line_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "duplicates"
    for _ in range(2):
        with DuplicatesFile(path) as file:
            file.add(FINDING)
            file.add(FINDING)
        with path.open("a") as torn:
            torn.write('{"kind": "dupl')
    with DuplicatesFile(path):
        pass
    assert path.read_text() == f"{as_json(FINDING)}\n"
