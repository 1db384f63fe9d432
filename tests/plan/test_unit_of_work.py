"""Tokens and durations that cannot be used are refused before anything is planned."""

from datetime import timedelta
from typing import Any

import pytest

from dynaorm.errors import UsageError
from dynaorm.plan.unit_of_work import check_token

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("token", "remember"),
    [(None, None), ("t", None), ("t" * 36, None), ("t", DAY), ("t", timedelta(microseconds=1))],
)
def test_a_token_has_1_to_36_characters_and_may_be_remembered(token: Any, remember: Any) -> None:
    check_token(token, remember)


@pytest.mark.parametrize(
    ("token", "remember", "said"),
    [
        (7, None, "the token 7 is no text; give a str"),
        (
            "",
            None,
            "the token '' has 0 characters; use 1 to 36 (ClientRequestToken, Amazon DynamoDB API Reference)",
        ),
        (
            "t" * 37,
            None,
            (
                f"the token {'t' * 37!r} has 37 characters; "
                "use 1 to 36 (ClientRequestToken, Amazon DynamoDB API Reference)"
            ),
        ),
        (
            None,
            DAY,
            (
                f"remember={DAY!r} without a token remembers nothing; "
                'name the block: transaction(token="order-17", remember=...)'
            ),
        ),
        *(
            (
                "t",
                wrong,
                (
                    f"remember={wrong!r} is not a positive duration; "
                    "give a datetime.timedelta, such as timedelta(days=1)"
                ),
            )
            for wrong in (60, timedelta(0), -DAY)
        ),
    ],
)
def test_any_other_is_refused_with_the_way_out(token: Any, remember: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_token(token, remember)
    assert str(refused.value) == said
