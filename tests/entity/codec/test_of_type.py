"""Which types have a codec, which have none, and that types may contain themselves."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, StrEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar

import pytest
from pydantic import Base64Bytes, BaseModel, Field, Json, JsonValue, RootModel, TypeAdapter
from typing_extensions import TypeAliasType, TypedDict

from dynaorm.entity.codec.of_type import UnsupportedType, codec_of
from dynaorm.entity.marker import Attribute

T = TypeVar("T")
UserId = NewType("UserId", str)
Tree = TypeAliasType("Tree", "int | list[Tree] | dict[str, Tree | None]")
Listed = TypeAliasType("Listed", list[T], type_params=(T,))
Nested = TypeAliasType("Nested", "T | list[Nested[T]]", type_params=(T,))
Maybe = TypeAliasType("Maybe", T | None, type_params=(T,))


class Money:
    """A class without a codec."""


class Pair(Enum):
    ORIGIN = (0, 0)


class Shade(StrEnum):
    RED = "red"


class Node(BaseModel):
    value: int
    next: "Node | None" = None
    kids: list["Node"] = []


class Branch(RootModel[dict[str, "Branch"]]):
    pass


class Chain(NamedTuple):
    value: int
    rest: "Chain | None"


class Folder(TypedDict):
    folders: "list[Folder]"


class Left(BaseModel):
    right: "Right | None" = None


class Right(BaseModel):
    left: Left


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (UserId, "u1"),
        (Annotated[int, Field(gt=0)], 5),
        (Listed[int], [1]),
        (Tree, {"a": [1, {"b": None}]}),
        (Tree | None, None),
        (Nested[int], [1, [2, [3]]]),
        (list[Maybe[int] | Maybe[str] | None], [1, "a", None]),
        (Node, Node(value=1, next=Node(value=2), kids=[Node(value=3, kids=[Node(value=4)])])),
        (Branch, Branch({"a": Branch({"b": Branch({})})})),
        (Chain, Chain(1, Chain(2, None))),
        (Folder, {"folders": [{"folders": []}]}),
        (Left, Left(right=Right(left=Left()))),
        (JsonValue | None, {"a": None}),
    ],
)
def test_aliases_and_types_that_contain_themselves_have_a_codec(annotation: Any, value: Any) -> None:
    codec = codec_of(annotation)
    loaded = TypeAdapter(annotation).validate_python(codec.decode(codec.encode(value)))
    assert loaded == value
    assert type(loaded) is type(value)


def test_paths_go_through_a_type_that_contains_itself() -> None:
    members = codec_of(Node).members
    for _ in range(3):
        assert members is not None
        assert members["value"].attribute == "value"
        kids = members["kids"].codec.element
        assert kids is not None
        assert kids.members is not None
        members = members["next"].codec.members


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Any, "Any cannot be stored"),
        (object, "object cannot be stored"),
        (dict, r"write dict\[str, ...\], or a model"),
        (list, r"write list\[...\]"),
        (set, r"write set\[...\]"),
        (frozenset, r"write frozenset\[...\]"),
        (tuple, r"write tuple\[..., ...\]"),
        (Sequence[int], r"write list\[...\] or tuple\[..., ...\]"),
        (Iterable[int], "Iterable cannot be stored"),
        (Callable[[], int], "Callable cannot be stored"),
        (complex, "complex cannot be stored"),
        (
            list[Any],
            r"Any cannot be stored; .* Use dynaorm.AnyValue for .*, pydantic.JsonValue for .*, or a union",
        ),
        (set[bool], r"use list\[...\]"),
        (set[int | None], r"use list\[...\]"),
        (set[list[int]], r"use list\[...\]"),
        (dict[bytes, int], r"use dict\[str, ...\]"),
        (dict[bool, int], r"use dict\[str, ...\]"),
        (dict[int | str, int], r"use dict\[str, ...\]"),
        (T, "is a type variable"),
        (Pair, r"the value \(0, 0\) of Pair cannot be stored; give its members str or int values"),
        (Literal["red", Shade.RED], "have the same attribute value; give them different values"),
        (Money, r"Money cannot be stored; .* Attribute\("),
        (Json[int], r"declare the type inside of Json\[...\]"),
        (list[Base64Bytes], "declare plain bytes or str"),
        ("Nowhere", "could not be resolved"),
        pytest.param(
            Annotated[int, Attribute(encode=lambda value: {"N": str(value)})], "give both", id="encode-alone"
        ),
    ],
    ids=str,
)
def test_a_type_without_a_codec_is_refused_with_a_remedy(annotation: Any, problem: str) -> None:
    with pytest.raises(UnsupportedType, match=problem):
        codec_of(annotation)


class Inner(BaseModel):
    anything: dict[str, Any]


class Outer(BaseModel):
    inner: list[Inner]


def test_a_problem_inside_of_models_says_where_it_is() -> None:
    with pytest.raises(UnsupportedType, match=r"Outer.inner: Inner.anything: Any cannot be stored"):
        codec_of(Outer)


class Page(BaseModel, Generic[T]):
    items: list[T]


def test_a_generic_model_needs_its_arguments() -> None:
    assert codec_of(Page[str]).encode(Page[str](items=["a"])) == {"M": {"items": {"L": [{"S": "a"}]}}}
    with pytest.raises(UnsupportedType, match=r"Page.items: ~T is a type variable; .* as in Page\[int\]"):
        codec_of(Page)
