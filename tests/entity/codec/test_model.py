"""What has named fields: read attribute by attribute, stored under attribute names, decoded by field name."""

import dataclasses
from typing import Annotated, Any, Generic, NotRequired, TypeVar

import pydantic
import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    RootModel,
    SkipValidation,
    TypeAdapter,
    computed_field,
    field_serializer,
    field_validator,
)
from typing_extensions import TypedDict

from dynaorm.entity.codec.of_type import UnsupportedType, codec_of
from dynaorm.entity.marker import Attribute
from dynaorm.entity.state import LOADING

T = TypeVar("T")


class Address(BaseModel):
    city: Annotated[str, Attribute("CITY", formerly="town")] = Field(alias="Stadt")
    hidden: str = Field("h", exclude=True)
    masked: str = "m"
    tags: set[str] = {"default"}
    note: str | None
    rank: int | None = 5
    sloppy: int = None  # type: ignore[assignment]  # people write this

    @field_serializer("masked")
    def mask(self, value: str) -> str:
        return "*" * len(value)

    @computed_field  # type: ignore[prop-decorator]  # mypy does not know decorated properties
    @property
    def shown(self) -> str:
        return self.city


def address(**values: Any) -> Address:
    return Address.model_validate({"city": "B", "note": None, **values}, by_name=True)


def test_what_an_application_shows_of_a_model_is_not_what_is_stored_of_it() -> None:
    assert codec_of(Address).encode(address()) == {
        "M": {
            "CITY": {"S": "B"},
            "hidden": {"S": "h"},
            "masked": {"S": "m"},
            "tags": {"SS": ["default"]},
            "rank": {"N": "5"},
        }
    }


def test_an_absent_field_has_its_default_and_without_one_is_none_or_empty() -> None:
    assert codec_of(Address).decode({"M": {"CITY": {"S": "B"}, "unknown": {"S": ""}}}) == {
        "city": "B",
        "note": None,
        "tags": set(),
    }


class Box(BaseModel, Generic[T]):
    held: T


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: Annotated[str, Attribute("n")]


def test_an_extra_field_may_not_take_the_place_of_a_renamed_one() -> None:
    with pytest.raises(ValueError, match="has an extra field 'n'"):
        codec_of(Loose).encode(Loose.model_validate({"name": "a", "n": 1}))
    with pytest.raises(ValueError, match="at x: is <object"):
        codec_of(Loose).encode(Loose.model_validate({"name": "a", "x": object()}))


class Twice(BaseModel):
    one: Annotated[str, Attribute("x")]
    other: Annotated[str, Attribute("x")]


def test_two_fields_with_one_attribute_name_have_no_codec() -> None:
    with pytest.raises(
        UnsupportedType, match=r"Twice.other is stored as 'x', and so is Twice.one; rename one"
    ):
        codec_of(Twice)


class Options(TypedDict):
    size: int
    depth: NotRequired[int | None]
    tags: NotRequired[set[str]]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "an Options without 'size'"),
        ({"size": 1, "more": 2}, "has keys that Options does not declare: 'more'; remove or declare them"),
        ({"size": "x"}, "at size: is a str, not an int"),
        ([], "not an Options"),
    ],
)
def test_a_dict_that_is_not_as_declared_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(Options).encode(value)


class Names(RootModel[list[str]]):
    pass


def test_a_root_model_is_stored_as_what_it_holds() -> None:
    codec = codec_of(Names | None)
    assert codec.encode(Names(["a"])) == {"L": [{"S": "a"}]}
    assert TypeAdapter(Names | None).validate_python(codec.decode({"L": [{"S": "a"}]})) == Names(["a"])
    with pytest.raises(ValueError, match="not a Names"):
        codec.encode(["a"])


contexts: list[Any] = []


@pydantic.dataclasses.dataclass(config=ConfigDict(strict=True))
class Size:
    width: int = Field(alias="W")

    @field_validator("width")
    @classmethod
    def seen(cls, value: int, info: pydantic.ValidationInfo) -> int:
        contexts.append(info.context)
        if value < 0:
            raise ValueError("negative")
        return value


def test_a_strict_dataclass_is_decoded_to_an_instance_which_is_validated_as_loading() -> None:
    contexts.clear()
    codec = codec_of(list[Size])
    assert codec.decode({"L": [{"M": {"width": {"N": "1"}}}]}) == [Size(W=1)]
    assert contexts[0] is LOADING
    with pytest.raises(ValueError, match=r"at \[0\].width: Value error, negative"):
        codec.decode({"L": [{"M": {"width": {"N": "-1"}}}]})


def test_a_dataclass_of_a_strict_model_is_decoded_to_an_instance() -> None:
    @dataclasses.dataclass
    class Plain:
        a: int

    assert codec_of(Plain).decode({"M": {"a": {"N": "1"}}}) == {"a": 1}
    assert codec_of(Plain, strict=True).decode({"M": {"a": {"N": "1"}}}) == Plain(1)
    assert codec_of(Plain, (Field(strict=True),)).decode({"M": {"a": {"N": "1"}}}) == Plain(1)


def test_where_pydantic_makes_no_instance_the_codec_does() -> None:
    @dataclasses.dataclass
    class Plain:
        a: int

    class Parent(BaseModel):
        kids: list[InstanceOf[Box[int]]]

    for annotation, value in (
        (InstanceOf[Box[int]], Box[int](held=1)),
        (SkipValidation[list[Plain]], [Plain(1)]),
        (InstanceOf[Names], Names(["a"])),
        (Parent, Parent(kids=[Box[int](held=1)])),
    ):
        codec = codec_of(annotation)
        assert TypeAdapter(annotation).validate_python(codec.decode(codec.encode(value))) == value


def test_a_dataclass_with_extra_values_is_refused() -> None:
    @pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
    class Open:
        a: int

    with pytest.raises(UnsupportedType, match=r"Open is a dataclass with extra='allow', .*; write a model"):
        codec_of(Open)
