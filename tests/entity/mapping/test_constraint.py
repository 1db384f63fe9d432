"""The keys of guard items: one text per value, and different texts for different values."""

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.text.scalar import scalar_of


def constraint(*types: Any, name: str = "attr", normalize: Callable[[Any], Any] | None = None) -> Constraint:
    scalars = [scalar_of(one) for one in types]
    found = tuple(one for one in scalars if one is not None)
    assert len(found) == len(types)
    return Constraint(name, tuple(f"f{n}" for n in range(len(types))), found, normalize)


def key(one: Constraint, *values: Any) -> str | None:
    found = one.guard_key(dict(zip(one.fields, values, strict=True)))
    assert found is None or found.partition == found.sort
    return None if found is None else found.partition


def test_a_long_value_is_replaced_by_its_hash() -> None:
    one = constraint(str)
    fits, long = "é" * 509 + "x", "é" * 510
    assert key(one, fits) == f"attr#{fits}"
    assert len(str(key(one, fits)).encode()) == 1024
    assert key(one, long) == f"attr#sha256:{sha256(long.encode()).hexdigest()}"


def test_a_value_that_reads_like_a_hash_is_hashed_itself() -> None:
    text = "sha256:" + "0" * 64
    assert key(constraint(str), text) == f"attr#sha256:{sha256(text.encode()).hexdigest()}"
    assert key(constraint(str, str), "sha256:", "x") == f"attr#sha256:{sha256(b'sha256:#x').hexdigest()}"


@pytest.mark.parametrize(
    ("kind", "value"),
    [(str, 5), (int, True), (int, "5"), (datetime, datetime(2024, 1, 1))],  # noqa: DTZ001
)
def test_a_value_of_another_type_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^is "):
        key(constraint(kind), value)


parts = st.text(alphabet="#%sha256:ab", max_size=12)


@given(st.tuples(parts, parts), st.tuples(parts, parts))
def test_two_composite_values_never_share_a_key(left: tuple[str, str], right: tuple[str, str]) -> None:
    one = constraint(str, str)
    assert (key(one, *left) == key(one, *right)) == (left == right)


def test_none_in_any_part_claims_nothing() -> None:
    one = constraint(str, str)
    assert [key(one, "a", None), key(one, None, "b"), key(one, None, None)] == [None, None, None]
    assert key(constraint(str, str, str), "a", None, "c") is None
    assert key(constraint(str), None) is None
