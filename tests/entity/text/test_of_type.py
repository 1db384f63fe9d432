"""Which types have no single text."""

from enum import Enum
from typing import Any, Literal, TypeVar

import pytest

from dynaorm.entity.text.scalar import scalar_of


class Mixed(Enum):
    TEXT = "1"
    NUMBER = 1


class Empty(Enum):
    pass


T = TypeVar("T")


@pytest.mark.parametrize(
    "annotation",
    [
        int | str,
        list[str],
        dict,
        Any,
        None,
        object,
        Mixed,
        Empty,
        Literal[1, "1"],
        Literal[None],  # noqa: PYI061 - see above
        T,
        tuple[int],
        complex,
    ],
    ids=repr,
)
def test_a_type_without_one_text_has_no_scalar(annotation: Any) -> None:
    assert scalar_of(annotation) is None
