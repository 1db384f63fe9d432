"""Core schemas: every node is found and can be changed, and a validator is built from the result."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Event
from typing import Annotated, Any, NotRequired

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationInfo
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import core_schema
from typing_extensions import TypedDict

from dynaorm.entity.core_schema import (
    by_name,
    changed,
    nodes_of,
    takes_info,
    validator_of,
)


class Leaf(BaseModel):
    size: int = Field(alias="Size")


@pydantic_dataclass
class Point:
    x: int = Field(alias="X")


@dataclass
class Plain:
    leaf: Leaf


class Typed(TypedDict):
    leaf: NotRequired[Leaf]


class Everything(BaseModel):
    leaf: Leaf = Field(alias="Leaf")
    several: list[Leaf] = Field(default=[Leaf(Size=1)])
    pair: tuple[Leaf, Leaf] | None = None
    by_key: dict[str, Leaf] = {}
    point: Point | int = 0
    plain: Plain | None = None
    typed: Typed = {}
    path: PurePosixPath = PurePosixPath("/")
    inner: "Everything | None" = Field(default=None, alias="Inner")


EVERYTHING: Any = Everything.__pydantic_core_schema__


def look(value: str, info: ValidationInfo) -> str:
    return f"{value} of {sorted(info.data)}"


Looking = Annotated[str, AfterValidator(look)]


class Inner(BaseModel):
    first: int = 0
    looking: Looking = ""


def test_a_kind_of_node_that_is_not_known_yet_is_searched_and_changed() -> None:
    later = {"type": "later", "held_schema": {"type": "int"}, "by_place": [{"schema": {"type": "str"}}]}
    assert [one["type"] for one in nodes_of(later)] == ["later", "int", "str"]
    seen = changed(later, lambda node: {**node, "seen": True} if "type" in node else node)
    assert all(one["seen"] for one in nodes_of(seen))


@pytest.mark.parametrize("name", ["default", "expected", "members", "metadata", "custom_error_context"])
def test_data_that_looks_like_a_schema_is_unchanged(name: str) -> None:
    schema = {"type": "default", "schema": {"type": "any"}, name: {"type": "str"}}
    assert [one["type"] for one in nodes_of(schema)] == ["default", "any"]
    assert changed(schema, lambda node: {**node, "seen": True})[name] == {"type": "str"}


def test_what_pydantic_never_runs_on_python_values_is_no_node() -> None:
    looking = core_schema.with_info_after_validator_function(look, core_schema.str_schema())
    either = core_schema.json_or_python_schema(looking, core_schema.int_schema())
    described = BeforeValidator(lambda value: value, json_schema_input_type=Looking)
    for schema in (either, TypeAdapter(Annotated[int, described]).core_schema):
        assert not any(map(takes_info, nodes_of(schema)))


def test_another_thread_sees_complete_classes_while_a_validator_is_built_of_them() -> None:
    seen: set[bool] = set()
    is_built = Event()

    def watch() -> None:
        while not is_built.is_set():
            seen.update(vars(one)["__pydantic_complete__"] for one in (Everything, Leaf, Point))

    with switching_often(), ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        for _ in range(500):
            validator_of(by_name(EVERYTHING))
        is_built.set()
        watching.result()
    assert seen == {True}


@contextmanager
def switching_often() -> Iterator[None]:
    """Threads that take turns as often as Python allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
