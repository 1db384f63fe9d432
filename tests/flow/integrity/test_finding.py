"""A finding is told in one line, whatever is stored."""

from dynaorm.flow.integrity.finding import Finding, FindingKind


def test_a_finding_is_one_line_that_no_stored_text_can_break() -> None:
    key = {"PK": {"S": "a\nverify: 0 items, nothing found"}, "SK": {"S": "\x1b[2J"}}
    finding = Finding(FindingKind.UNKNOWN_ITEM, "app", key, None, "its _type is '\u202e'", mendable=False)
    assert str(finding) == (
        "unknown item in app, PK=a\\nverify: 0 items, nothing found SK=\\x1b[2J: its _type is '\\u202e'"
    )


def test_a_doubt_is_told_with_the_finding() -> None:
    key = {"PK": {"S": "a"}}
    finding = Finding(FindingKind.TOTAL, "app", key, "Team", "n is 1", mendable=False, doubt="who knows")
    assert str(finding) == "total of Team in app, PK=a: n is 1 (doubtful: who knows)"
