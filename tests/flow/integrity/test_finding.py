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


def test_the_entities_among_which_a_person_chooses_are_named_as_far_as_a_sentence_has_room() -> None:
    def said(holders: int, *, mendable: bool = False) -> str:
        owners = tuple({"PK": {"S": f"USER#{number}"}} for number in range(holders))
        key = {"PK": {"S": "email#a"}}
        return str(
            Finding(FindingKind.DUPLICATE, "app", key, "User", "it is held", mendable=mendable, owners=owners)
        )

    assert said(1).endswith("it is held (PK=USER#0)")
    assert said(2).endswith("it is held (PK=USER#0 and PK=USER#1)")
    assert said(3).endswith("it is held (PK=USER#0, PK=USER#1 and PK=USER#2)")
    assert said(9).endswith("it is held (PK=USER#0, PK=USER#1, PK=USER#2 and 6 more)")
    assert said(2, mendable=True).endswith("it is held")
