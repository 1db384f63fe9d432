"""The header Idempotency-Key is read as the draft writes it and as clients do, and names tokens and ids."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.integrations.http import IdempotencyKey, digits_of, key_in

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ('"8e03978e-40d5-43e8-bc93-6894a57f9324"', "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        ('"a key"', "a key"),
        ("x" * 255, "x" * 255),
        ("", None),
        ('""', None),
        ("a key", None),
        ('"a', None),
        ('a"', None),
        ("é", None),
        ("x" * 256, None),
    ],
)
def test_a_key_is_quoted_or_bare_visible_ascii(header: str, key: str | None) -> None:
    assert key_in(header) == key


def test_ids_are_the_same_for_a_key_and_a_name_and_differ_otherwise() -> None:
    key, other = IdempotencyKey("t1", DAY), IdempotencyKey("t2", DAY)
    assert key.id_for("order") == IdempotencyKey("t1", DAY).id_for("order")
    assert len({key.token, key.id_for("order"), key.id_for("invoice"), other.id_for("order")}) == 4


@given(first=st.lists(st.text(), max_size=4), second=st.lists(st.text(), max_size=4))
def test_digits_are_equal_for_equal_texts_alone(first: list[str], second: list[str]) -> None:
    assert (digits_of(*first) == digits_of(*second)) == (first == second)
    assert 1 <= len(digits_of(*first)) <= 36
