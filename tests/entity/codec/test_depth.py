"""How deeply a value may be nested, and which codecs check it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel, Field, JsonValue, Secret

from dynaorm import Attribute, codecs
from dynaorm.entity.codec.depth import LEVELS, encode_at
from dynaorm.entity.codec.json import AnyValue
from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.codec.value import ANY_DEPTH


class Tree(BaseModel):
    branches: "list[Tree]" = Field(default=[])


class Chain(TypedDict):
    next: "Chain | None"


class Pair(NamedTuple):
    one: int
    two: AnyValue


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Box(BaseModel):
    kind: Literal["box"] = "box"
    content: AnyValue = None


@dataclass
class Flat:
    value: dict[str, list[int]]


def wrapped(value: Any, wrap: Callable[[Any], Any], times: int) -> Any:
    for _ in range(times):
        value = wrap(value)
    return value


def listed(value: Any) -> list[Any]:
    return [value]


def encoded(annotation: Any, value: Any, *metadata: object) -> Any:
    return codec_of(annotation, metadata).encode(value)


WRITTEN: Any = Attribute(encode=lambda value: value, decode=lambda stored: stored)
CASES: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "any": (AnyValue, lambda levels: wrapped("x", listed, levels - 1)),
    "json": (JsonValue, lambda levels: wrapped(None, listed, levels - 1)),
    "dict of any": (dict[str, AnyValue], lambda levels: {"a": 1, "b": wrapped(1, listed, levels - 2)}),
    "named tuple": (Pair, lambda levels: Pair(1, wrapped(1, listed, levels - 2))),
    "secret": (Secret[list[AnyValue]], lambda levels: Secret([wrapped(1, listed, levels - 2)])),
    "model": (Tree, lambda levels: wrapped(Tree(), lambda one: Tree(branches=[one]), levels // 2 - 1)),
    "typed dict": (Chain, lambda levels: wrapped(None, lambda one: {"next": one}, levels)),
    "union": (int | list[AnyValue], lambda levels: wrapped(1, listed, levels - 1)),
    "either": (
        Annotated[Cat | Box, Field(discriminator="kind")],
        lambda levels: Box(content=wrapped(1, listed, levels - 2)),
    ),
    "own": (
        Annotated[Any, WRITTEN],
        lambda levels: wrapped({"S": "x"}, lambda one: {"L": [one]}, levels - 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value_has_32_levels_of_which_the_attribute_is_the_first(name: str) -> None:
    annotation, nested = CASES[name]
    assert encoded(annotation, nested(LEVELS))
    for levels in (LEVELS + (2 if name == "model" else 1), 5_000):
        with pytest.raises(ValueError, match=r"nested too deeply: DynamoDB has 32 levels.*PYNAMODB_JSON"):
            encoded(annotation, nested(levels))


@pytest.mark.parametrize(
    ("annotation", "levels"),
    [
        (str, 1),
        (int | None, 1),
        (set[str], 1),
        (list[str], 2),
        (list[str] | None, 2),
        (tuple[int, list[int]], 3),
        (Flat, 4),
        (list[Flat | None], 5),
        (AnyValue, LEVELS),
        (Tree, LEVELS),
    ],
)
def test_how_deeply_values_can_be_nested_is_known_from_the_type(annotation: Any, levels: int) -> None:
    assert codec_of(annotation).levels == levels


def test_a_value_that_is_stored_as_text_may_be_nested_more_deeply() -> None:
    stored = encoded(Any, wrapped(1, listed, 40), Attribute(codec=codecs.PYNAMODB_JSON))
    assert stored == {"S": "[" * 40 + "1" + "]" * 40}


def test_a_part_of_an_attribute_has_the_levels_below_it() -> None:
    codec = codec_of(list[AnyValue]).element
    assert codec is not None
    assert codec.levels == ANY_DEPTH
    assert encode_at(codec, wrapped(1, listed, 27), 5)
    with pytest.raises(ValueError, match="nested too deeply"):
        encode_at(codec, wrapped(1, listed, 28), 5)
    text = codec_of(str)
    assert encode_at(text, "x", LEVELS) == {"S": "x"}
    with pytest.raises(ValueError, match="nested too deeply"):
        encode_at(text, "x", LEVELS + 1)
