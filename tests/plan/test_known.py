"""What is known of the table grows with every answer."""

from dynaorm.plan.known import Known


def test_what_is_learned_adds_to_what_was_known_and_the_newer_item_counts() -> None:
    known = Known({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
    learned = known.learned({("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None}, frozenset({("t", "h")}))
    assert learned == Known(
        {("t", "a"): {"n": {"N": "1"}}, ("t", "b"): {"n": {"N": "2"}}, ("t", "c"): None},
        frozenset({("t", "g"), ("t", "h")}),
    )
    assert known == Known({("t", "a"): {"n": {"N": "1"}}, ("t", "b"): None}, frozenset({("t", "g")}))
