"""Which types have one text, whatever stands around them."""

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar

import pytest
from pydantic import AnyUrl, AwareDatetime, EmailStr, PositiveInt, StringConstraints
from typing_extensions import TypeAliasType

from dynaorm.entity.text.of_type import scalar_of


class Color(Enum):
    RED = "red"


class Mixed(Enum):
    TEXT = "1"
    NUMBER = 1


class Empty(Enum):
    pass


T = TypeVar("T")
UserId = NewType("UserId", str)
Alias = TypeAliasType("Alias", Annotated[int, "metadata"] | None)
Generic = TypeAliasType("Generic", T | None, type_params=(T,))


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (Optional[int], "int"),  # noqa: UP045 - both spellings are users'
        (int | None, "int"),
        (Annotated[int | None, "metadata"], "int"),
        (Annotated[str, StringConstraints(max_length=3)] | None, "str"),
        (PositiveInt, "int"),
        (UserId, "str"),
        (Alias, "int"),
        (Generic[date], "date"),
        (EmailStr, "str"),
        (AwareDatetime, "datetime"),
        (AnyUrl, "AnyUrl"),
        (Literal["a", None], "Literal"),  # noqa: PYI061 - both spellings are users'
        (Color, "Color"),
    ],
    ids=repr,
)
def test_what_stands_around_a_type_does_not_matter(annotation: Any, name: str) -> None:
    found = scalar_of(annotation)
    assert found is not None
    assert found.name == name


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
