"""Core schemas: every node is found and can be changed, and a validator is built from the result."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Event
from typing import Any, NotRequired

import pytest
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from dynaorm.entity.json_reader.core_schema import by_name, changed, definitions_of, nodes
from dynaorm.entity.mapping.core_schema import validator_of


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


SCHEMA: Any = Everything.__pydantic_core_schema__


def test_every_class_in_a_schema_is_found() -> None:
    assert {one["cls"] for one in nodes(SCHEMA) if "cls" in one} >= {Everything, Leaf, Point, Plain}


def test_a_default_that_looks_like_a_schema_is_unchanged() -> None:
    schema = {"type": "default", "schema": {"type": "any"}, "default": {"type": "str"}}
    assert [one["type"] for one in nodes(schema)] == ["default", "any"]
    assert changed(schema, lambda node: {**node, "seen": True})["default"] == {"type": "str"}


def test_values_by_field_name_are_validated_despite_aliases() -> None:
    leaf = {"size": 2}
    values = {
        "leaf": leaf,
        "several": [leaf],
        "pair": (leaf, leaf),
        "by_key": {"a": leaf},
        "point": {"x": 1},
        "plain": {"leaf": leaf},
        "typed": {"leaf": leaf},
        "path": PurePosixPath("/a"),
        "inner": {"leaf": leaf},
    }
    validator = validator_of(by_name(SCHEMA))
    found = validator.validate_python(values, by_alias=True, by_name=False)
    assert found == Everything.__pydantic_validator__.validate_python(values, by_alias=False, by_name=True)
    assert found.inner.leaf.size == 2


def test_another_thread_sees_complete_classes_while_a_validator_is_built_of_them() -> None:
    seen: set[bool] = set()
    is_built = Event()

    def watch() -> None:
        while not is_built.is_set():
            seen.update(vars(one)["__pydantic_complete__"] for one in (Everything, Leaf, Point))

    with switching_often(), ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        for _ in range(500):
            validator_of(by_name(SCHEMA))
        is_built.set()
        watching.result()
    assert seen == {True}


def test_a_schema_that_is_not_valid_is_refused() -> None:
    with pytest.raises(SchemaError):
        validator_of({"type": "definitions", "schema": SCHEMA, "definitions": [{"type": "nothing"}]})


@contextmanager
def switching_often() -> Iterator[None]:
    """Threads that take turns as often as Python allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_definitions_are_separated_from_the_schema() -> None:
    schema, definitions = definitions_of(SCHEMA)
    assert schema["type"] != "definitions"
    assert any(one["cls"] is Everything for one in definitions.values() if "cls" in one)
    simple: Any = TypeAdapter(int).core_schema
    assert definitions_of(simple) == (simple, {})
