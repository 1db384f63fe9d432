"""What was read of the table grows with every answer."""

from dynaorm.plan.reads import Reads


def test_more_reads_are_added_and_the_newer_item_counts() -> None:
    before = Reads({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
    after = before.with_more({("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None}, frozenset({("t", "h")}))
    assert after == Reads(
        {("t", "a"): {"n": {"N": "1"}}, ("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None},
        frozenset({("t", "g"), ("t", "h")}),
    )
    assert before == Reads({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
