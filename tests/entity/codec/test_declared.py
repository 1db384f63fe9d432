"""What types declare: fields of every kind of class, qualifiers, and metadata that bears on storage."""

import dataclasses
from typing import Annotated, Any, Generic, NamedTuple, NotRequired, Required, TypeVar

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import ReadOnly, TypeAliasType, TypedDict

from dynaorm.entity.codec.declared import fields_of
from dynaorm.entity.codec.of_type import UnsupportedType, codec_of
from dynaorm.entity.marker import Attribute, Unique

T = TypeVar("T")


@dataclasses.dataclass
class Plain:
    a: int
    b: Annotated[int, Attribute("B")] = 1
    c: int = Field(default=2, alias="see")
    d: list[int] = dataclasses.field(default_factory=list)
    e: int = dataclasses.field(default=0, init=False, compare=False)
    f: dataclasses.InitVar[int] = 0


@pydantic.dataclasses.dataclass
class Rich(Plain):
    pass


class Model(BaseModel):
    a: int
    b: Annotated[int, Attribute("B")] = 1
    c: int = Field(default=2, alias="see")
    d: list[int] = Field(default_factory=list)


class Keys(TypedDict, total=False):
    a: Required[int]
    b: Annotated[NotRequired[ReadOnly[int]], Attribute("B")]
    c: int
    d: list[int]


@pytest.mark.parametrize("kind", [Plain, Rich, Model, Keys])
def test_every_kind_of_class_says_the_same(kind: Any) -> None:
    found = {one.name: one for one in fields_of(kind, {})}
    assert list(found) == ["a", "b", "c", "d"]
    assert [one.required for one in found.values()] == [True, False, False, False]
    assert found["b"].meta.attribute == Attribute("B")
    assert found["d"].tree.plain == list[int]


@dataclasses.dataclass
class Generic_(Generic[T]):  # noqa: N801 (Generic is taken)
    many: list[T]
    one: Annotated[T, "x"] | None = None


class Pair(NamedTuple, Generic[T]):
    left: T
    right: T


def test_the_arguments_of_a_generic_class_fill_in_its_variables() -> None:
    assert codec_of(Generic_[int]).encode(Generic_([1], 2)) == {
        "M": {"many": {"L": [{"N": "1"}]}, "one": {"N": "2"}}
    }
    assert codec_of(Pair[str]).encode(Pair("a", "b")) == {"L": [{"S": "a"}, {"S": "b"}]}
    with pytest.raises(UnsupportedType, match="is a type variable; write a type instead"):
        codec_of(Generic_)


@dataclasses.dataclass
class Computed:
    area: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Seeded:
    seed: dataclasses.InitVar[int]


def test_a_field_that_could_not_be_given_back_has_no_codec() -> None:
    with pytest.raises(UnsupportedType, match=r"Computed.area has init=False, .* write compare=False"):
        codec_of(Computed)
    with pytest.raises(UnsupportedType, match=r"Seeded.seed is an InitVar, .* give it a default"):
        codec_of(Seeded)


def test_an_annotation_that_cannot_be_resolved_has_no_codec() -> None:
    @dataclasses.dataclass
    class Lost:
        one: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UnsupportedType, match="define Lost and the names in it at the top of a module"):
        codec_of(Lost)
    alias = TypeAliasType("alias", "list[Nowhere]")  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(UnsupportedType, match="the annotations of alias cannot be resolved"):
        codec_of(alias)


class Misplaced(BaseModel):
    names: list[Annotated[str, Unique()]]


def test_a_marker_that_would_mean_a_part_of_a_nested_field_has_no_codec() -> None:
    with pytest.raises(UnsupportedType, match=r"Misplaced.names: Unique\(\) stands inside the type"):
        codec_of(Misplaced)


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, bytes]  # type: ignore[mutable-override]  # pydantic's own way to declare it


def test_extra_fields_with_a_declared_type_have_its_codec() -> None:
    codec = codec_of(Typed)
    assert codec.decode(codec.encode(Typed.model_validate({"a": b"x"}))) == {"a": b"x"}
    with pytest.raises(ValueError, match="at a: is an int, not a bytes"):
        codec.encode(Typed.model_construct(a=5))
