"""Tokens and durations that cannot be used are refused before anything is planned."""

from datetime import timedelta
from typing import Any

import pytest

from dynaorm.errors import UsageError
from dynaorm.plan.intent import check_token

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("token", "remember"),
    [(None, None), ("t", None), ("t" * 1000, None), ("ü" * 500, DAY), ("t", timedelta(microseconds=1))],
)
def test_a_token_has_1_to_1000_bytes_and_may_be_remembered(token: Any, remember: Any) -> None:
    check_token(token, remember)


@pytest.mark.parametrize(
    ("token", "remember", "said"),
    [
        (7, None, "the token 7 is no text; give a str"),
        ("", None, "the token '' has 0 bytes; use 1 to 1000 bytes"),
        (
            "t\ud800",
            None,
            (
                r"the token 't\ud800' has half a surrogate pair, which DynamoDB cannot store; "
                "give a text of whole characters"
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


@pytest.mark.parametrize(("token", "size"), [("t" * 1001, 1001), ("ü" * 501, 1002)])
def test_a_token_of_more_than_1000_bytes_is_refused(token: str, size: int) -> None:
    with pytest.raises(UsageError, match=rf"^the token '.*' has {size} bytes; use 1 to 1000 bytes$"):
        check_token(token)
