"""Each invariant of blocks under tokens finds its violation, and no other invariant is violated."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

TILL, OTHER = "t-0-1", "t-0-8"


def set_number(ground: "Ground", partition: str, name: str, number: int) -> None:
    ground.item(partition, partition.partition("#")[0])[name] = {"N": str(number)}


def test_a_sound_run_has_payments_that_were_acknowledged_recognised_and_refused(ground: "Ground") -> None:
    outcomes = [ground.payment(TILL, at).outcome for at in range(3)]
    assert outcomes == ["acknowledged", "refused", "acknowledged"]
    assert ground.payment(TILL, 1).error == "TokenReused"
    assert ground.broken() == set()


def test_a_block_that_was_applied_twice_is_found(ground: "Ground") -> None:
    set_number(ground, f"TILL#{TILL}", "runs", 2)
    set_number(ground, "PURSE#0", "total", 102)
    assert ground.broken() == {"a token is applied once", "acknowledged blocks were applied"}


def test_two_blocks_that_were_applied_under_one_token_are_found(ground: "Ground") -> None:
    ground.change(ground.payment(TILL, 1), outcome="acknowledged", error="")
    assert ground.broken() == {"acknowledged blocks were applied"}


def test_an_acknowledged_block_that_is_gone_is_found(ground: "Ground") -> None:
    set_number(ground, f"TILL#{OTHER}", "runs", 0)
    set_number(ground, "PURSE#0", "total", 1)
    ground.items.remove(ground.item(f"#token#{OTHER}"))
    assert ground.broken() == {"acknowledged blocks were applied"}


def test_the_trace_of_a_refused_block_is_found(ground: "Ground") -> None:
    ground.change(ground.payment(OTHER, 0), outcome="refused", error="EntityNotFound")
    assert ground.broken() == {"refused blocks were not applied"}


@pytest.mark.parametrize("error", ["AlreadyExists", "EntityNotFound", "ConditionFailed"])
def test_a_repeat_that_was_refused_is_found(ground: "Ground", error: str) -> None:
    ground.change(ground.payment(TILL, 2), outcome="refused", error=error)
    assert ground.broken() == {"repeats are recognised"}


def test_a_repeat_of_unknown_outcome_is_found_if_no_answer_was_lost(ground: "Ground") -> None:
    again = ground.change(ground.payment(TILL, 2), outcome="unknown", end=None, error="OutcomeUnknown")
    assert ground.broken() == {"repeats are recognised"}
    again = ground.change(again, unanswered=True)
    assert ground.broken() == set()
    ground.change(again, unanswered=False, error="")  # its process was killed
    assert ground.broken() == set()


def test_a_reuse_of_a_token_that_was_used_for_nothing_else_is_found(ground: "Ground") -> None:
    first = ground.payment(OTHER, 0)
    ground.records.append(
        replace(first, id="2.1-1", begin=first.begin - 1, outcome="refused", error="TokenReused")
    )
    assert ground.broken() == {"reuse is noticed"}


def test_half_of_a_block_is_found(ground: "Ground") -> None:
    set_number(ground, "PURSE#0", "total", 1)
    assert ground.broken() == {"purses add up"}


def test_a_token_item_that_is_missing_or_is_not_of_its_block_is_found(ground: "Ground") -> None:
    item = ground.item(f"#token#{TILL}")
    ground.items.remove(item)
    assert ground.broken() == {"what is remembered was applied"}
    ground.items.append({**item, "_revision": {"S": f"{ground.payment(OTHER, 0).id}-1"}})
    assert ground.broken() == {"what is remembered was applied"}


def test_a_token_item_of_a_block_that_was_not_applied_is_found(ground: "Ground") -> None:
    key = {"S": "#token#t-0-9"}
    ground.items.append({**ground.item(f"#token#{TILL}"), "PK": key, "SK": key})
    assert ground.broken() == {"what is remembered was applied"}
