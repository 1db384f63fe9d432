"""What an annotation says, whatever names stand around the type."""

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace
from datetime import date
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypeVar,
    Union,
)

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, create_model
from typing_extensions import TypeAliasType, TypedDict

from dynaorm import Unique
from dynaorm.entity.mapping.secret import holds_secret
from dynaorm.entity.marker import parse_markers
from dynaorm.entity.text.scalar import scalar_of
from dynaorm.entity.type_tree import substituted, type_tree
from tests.entity.kinds import DICT, LIST, TUPLE

T = TypeVar("T")
VARIABLE: Any = T
KEYS: Any = TypedDict
UserId = NewType("UserId", str)
Written = TypeAliasType("Written", "list[Written] | SecretStr | None")
Later = TypeAliasType("Later", "list[Nowhere]")  # type: ignore[name-defined]  # noqa: F821
WrittenMaybe = TypeAliasType("WrittenMaybe", "Annotated[T, 'written'] | None", type_params=(T,))


class Node(BaseModel):
    value: Annotated[int, Field(ge=0)]
    next: "Node | None" = None


class Options(TypedDict):
    size: NotRequired[Annotated[int, "a size"]]


class Pair(NamedTuple):
    left: int
    right: "Pair | None"


# -- a model: a type is a class with what was written around it ----------------------------------------------


@dataclass(frozen=True)
class Model:
    """What a made up annotation means.

    Attributes:
        plain: its class.
        is_optional: None is a value.
        is_secret: a value may be or contain a secret.
        marks: how many markers apply to the field.
        parts: how many markers apply to parts of the value.
    """

    plain: Any
    is_optional: bool = False
    is_secret: bool = False
    marks: int = 0
    parts: int = 0


Case = tuple[Any, Model]


def name(written: Any, model: Model) -> Case:
    return TypeAliasType("Alias", written), model


def new(written: Any, model: Model) -> Case:
    return NewType("New", written), model


def noted(written: Any, model: Model) -> Case:
    return Annotated[written, "note"], model


def marking(written: Any, model: Model) -> Case:
    return Annotated[written, Unique()], replace(model, marks=model.marks + 1)


def optional(written: Any, model: Model) -> Case:
    return Union[written, None], replace(model, is_optional=True)  # noqa: UP007 - as classes are written


def generic(written: Any, model: Model) -> Case:
    return WrittenMaybe[written], replace(model, is_optional=True)


def inside(kind: Callable[[Any], Any]) -> Callable[[Any, Model], Case]:
    def wrapped(written: Any, model: Model) -> Case:
        found = kind(written)
        return found, Model(found, is_secret=model.is_secret, parts=model.marks + model.parts)

    return wrapped


WRAPS = [
    name,
    new,
    noted,
    marking,
    optional,
    generic,
    inside(lambda written: LIST[written]),
    inside(lambda written: DICT[str, written]),
    inside(lambda written: TUPLE[written, int]),
    inside(lambda written: create_model("Made", inner=(written, ...))),
    inside(lambda written: make_dataclass("Made", [("inner", written)])),
    inside(lambda written: KEYS("Made", {"inner": written})),
    inside(lambda written: NamedTuple("Made", [("inner", written)])),
]
LEAVES: list[Case] = [
    (int, Model(int)),
    (UserId, Model(str)),
    (SecretStr, Model(SecretStr, is_secret=True)),
    (date, Model(date)),
]


@given(st.sampled_from(LEAVES), st.lists(st.sampled_from(WRAPS), max_size=5))
def test_wrappers_around_a_type_change_nothing_of_it(leaf: Case, wraps: list[Any]) -> None:
    written, model = leaf
    for wrap in wraps:
        written, model = wrap(written, model)
    tree = type_tree(written)
    assert tree.accepts_none is model.is_optional
    assert holds_secret(written) is model.is_secret
    assert tree.without_none.plain == model.plain
    assert (scalar_of(written) is None) is (scalar_of(model.plain) is None)
    mark = parse_markers("value", create_model("Holder", value=(written, ...)).model_fields["value"])
    assert len(mark.markers) == model.marks
    assert any("stands inside the type" in one for one in mark.problems) is (model.parts > 0)


# -- examples ------------------------------------------------------------------------------------------------


def test_metadata_is_kept_as_if_it_stood_in_one_annotated() -> None:
    inner = TypeAliasType("inner", Annotated[int, 1, 2])
    assert type_tree(Annotated[inner, 3]).metadata == (1, 2, 3)
    assert type_tree(Options).fields["size"].tree.metadata == ("a size",)
    assert type_tree(Options).fields["size"].tree.qualifiers == (NotRequired,)


def test_a_type_that_contains_itself_is_walked_once() -> None:
    for annotation in (Node, Written, Pair, WrittenMaybe[Written]):
        walked = [id(one) for one in type_tree(annotation).walk()]
        assert len(walked) == len(set(walked)) < 12
    assert holds_secret(Written)


def test_an_alias_with_an_unknown_name_is_not_resolved() -> None:
    tree = type_tree(list[Later])
    (inner,) = tree.parts
    assert (inner.plain, str(inner.unresolved)) == (Later, "name 'Nowhere' is not defined")


def test_a_type_takes_the_place_of_another_wherever_it_stands() -> None:
    given_types = {T: int, Any: str}
    assert (
        substituted(dict[str, Annotated[VARIABLE, 1] | list[Any]], given_types)
        == dict[str, Annotated[int, 1] | list[str]]
    )
    assert substituted(Literal["T"], given_types) == Literal["T"]
