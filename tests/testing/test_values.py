"""The values that are made up for a type are valid, can be stored, and differ where they can."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, Secret, TypeAdapter
from typing_extensions import TypeAliasType, TypedDict

from dynaorm import AnyValue, Ksuid
from dynaorm.description.factory import counted
from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.text.scalar import SCALARS
from dynaorm.entity.type_tree import type_tree
from dynaorm.testing.strategies import drawn
from tests.entity.kinds import LEAVES, SETS, UNIONS, Kind

T = TypeVar("T")
Age = NewType("Age", int)
Bounded = TypeAliasType("Bounded", "Annotated[int, Field(ge=5)] | None")


class Node(BaseModel):
    value: Annotated[int, Field(ge=5)]
    next: "Node | None" = None


@dataclass
class Box(Generic[T]):
    content: T
    inner: "Box[T] | None" = None


class Options(TypedDict):
    name: Annotated[str, Field(min_length=2)]
    folders: NotRequired["list[Options]"]


class Pair(NamedTuple):
    left: Ksuid
    right: int


class Names(RootModel[list[str]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


TYPES = [
    Age,
    Bounded,
    Annotated[int | None, Field(ge=5)],
    Annotated[list[Annotated[int, Field(le=3)]], Field(min_length=2)],
    Node,
    Box[int],
    Options,
    Pair,
    Names,
    AnyValue,
    dict[str, Secret[int]],
    Annotated[Cat | Dog, Field(discriminator="kind")],
]


@pytest.mark.parametrize("annotation", TYPES, ids=str)
@given(st.data())
def test_a_value_is_valid_and_can_be_stored_whatever_its_type_is_made_of(
    annotation: Any, data: st.DataObject
) -> None:
    check(annotation, counted("field", type_tree(annotation), 1))
    check(annotation, data.draw(drawn(type_tree(annotation))))


@given(LEAVES | SETS | UNIONS, st.data())
def test_every_type_has_values(kind: Kind, data: st.DataObject) -> None:
    annotation, _ = kind
    check(annotation, counted("field", type_tree(annotation), 1))
    check(annotation, data.draw(drawn(type_tree(annotation))))


def check(annotation: Any, value: Any) -> None:
    valid = TypeAdapter(annotation).validate_python(value, by_name=True, by_alias=False)
    try:
        codec_of(annotation).encode(valid)
    except ValueError as problem:
        # A value of a type that contains itself may have more levels than DynamoDB: no strategy counts them.
        assume("is nested too deeply" not in str(problem))
        raise


@pytest.mark.parametrize("kind", sorted(SCALARS, key=repr))
@given(st.data())
def test_a_value_of_a_type_with_one_text_is_one_that_a_key_takes(kind: type, data: st.DataObject) -> None:
    value = data.draw(drawn(type_tree(kind)))
    assert SCALARS[kind].from_text(SCALARS[kind].to_text(value)) == value
