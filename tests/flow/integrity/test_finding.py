"""A finding is told in one line, whatever is stored."""

from dynaorm import Table
from dynaorm.entity.key import item_named
from dynaorm.flow.integrity.finding import FindingKind, finding_at
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.record import replace

APP = Table("app")


def test_a_finding_is_one_line_that_no_stored_text_can_break() -> None:
    key = {"PK": {"S": "a\nverify: 0 items, nothing found"}, "SK": {"S": "\x1b[2J"}}
    finding = finding_at(FindingKind.UNKNOWN_ITEM, ItemAddress(APP, key), "its _type is '\u202e'")
    assert str(finding) == (
        "unknown item in app, PK=a\\nverify: 0 items, nothing found SK=\\x1b[2J: its _type is '\\u202e'"
    )


def test_why_a_finding_is_uncertain_is_told_with_it() -> None:
    key = {"PK": {"S": "a"}}
    finding = finding_at(FindingKind.TOTAL, ItemAddress(APP, key), "n is 1", entity="Team")
    finding = replace(finding, uncertain_because="who knows")
    assert str(finding) == "total of Team in app, PK=a: n is 1 (uncertain: who knows)"


def test_a_finding_names_as_many_entities_as_it_has_room_for() -> None:
    def said(holders: int, *, repairable: bool = False) -> str:
        owners = [item_named({"PK": {"S": f"USER#{number}"}}) for number in range(holders)]
        at = ItemAddress(APP, {"PK": {"S": "email#a"}})
        return str(finding_at(FindingKind.DUPLICATE, at, "it is held", repairable=repairable, owners=owners))

    assert said(1).endswith("it is held (PK=USER#0)")
    assert said(2).endswith("it is held (PK=USER#0 and PK=USER#1)")
    assert said(3).endswith("it is held (PK=USER#0, PK=USER#1 and PK=USER#2)")
    assert said(9).endswith("it is held (PK=USER#0, PK=USER#1, PK=USER#2 and 6 more)")
    assert said(2, repairable=True).endswith("it is held")
