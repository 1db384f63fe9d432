"""A class is mapped as soon as its fields are known, completely or not at all."""

import sys
import typing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Annotated, Any, TypeVar

import pytest
from pydantic import BaseModel, create_model
from typing_extensions import TypeAliasType

from dynaorm import Entity, Key, Table, Unique, Versioned
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.constraint import GuardKey
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DeclarationError

T = TypeVar("T")


class Tree(Entity, table=Table("app"), pk="TREE#{slug}", sk="A"):
    slug: str
    root: "Branch"


class Wrong(Entity, table=Table("app"), pk="WRONG#{slgu}", sk="A"):
    slug: str
    root: "Branch"


class Lazy(Entity, table=Table("app"), pk="LAZY#{slug}", sk="A", defer_build=True):
    slug: str


class Budding(BaseModel):
    next: "list[Unknown]"  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Sprouting:
    next: "Unknown"  # type: ignore[name-defined]  # noqa: F821


class Homeless(Entity, table=Table("app"), pk="HOMELESS#{slug}", sk="A"):
    slug: str
    root: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


def test_a_class_that_waits_for_a_type_is_not_mapped_yet() -> None:
    expected = (
        "Cannot map class Homeless:\n  - root: its annotation names 'Nowhere', which is not defined; define or import "
        "Nowhere before the class is first used, or call Homeless.model_rebuild() where Nowhere is known"
    )
    for _ in range(2):
        with pytest.raises(DeclarationError) as caught:
            Key(Homeless, slug="x")
        assert str(caught.value) == expected


def test_a_class_is_mapped_by_model_rebuild() -> None:
    class Late(Entity, table=Table("app"), pk="LATE#{slug}", sk="A"):
        slug: str
        root: "list[Later] | None"

    with pytest.raises(DeclarationError, match="root: its annotation names 'Later', which is not defined"):
        mapping_of(Late)

    class Later(BaseModel):
        name: str

    Late.model_rebuild()
    assert mapping_of(Late).encoder.encode({"slug": "a", "root": None}) == {"slug": {"S": "a"}}


@pytest.mark.parametrize("kind", [Budding, Sprouting])
def test_the_field_whose_record_waits_for_a_type_is_named(kind: type[Any]) -> None:
    keys = {"table": Table("app"), "pk": "LATE#{slug}", "sk": "A"}
    fields: Any = {"slug": str, "branches": list[kind]}  # type: ignore[valid-type]
    late: Any = create_model("Late", __base__=Entity, __cls_kwargs__=keys, **fields)
    with pytest.raises(DeclarationError, match="\n  - branches: its annotation names 'Unknown'"):
        mapping_of(late)


class Branch(BaseModel):
    name: str
    branches: list["Branch"] = []


def test_a_class_is_mapped_once_its_forward_references_are_known() -> None:
    mapping = mapping_of(Tree)
    branch = {"name": {"S": "a"}, "branches": {"L": [{"M": {"name": {"S": "b"}, "branches": {"L": []}}}]}}
    value = Branch(name="a", branches=[Branch(name="b")])
    assert mapping.encoder.encode({"slug": "x", "root": value}) == {"slug": {"S": "x"}, "root": {"M": branch}}


def test_a_class_that_failed_to_complete_raises_its_error_again() -> None:
    expected = "Cannot map class Wrong:\n  - pk='WRONG#{slgu}': {slgu} names no field; did you mean {slug}?"
    with pytest.raises(DeclarationError) as first:
        Wrong.model_rebuild()
    errors = [first.value]
    for _ in range(2):
        with pytest.raises(DeclarationError) as again:
            Key(Wrong, slug="x")
        errors.append(again.value)
    assert [str(error) for error in errors] == [expected] * 3


def test_a_class_that_pydantic_builds_late_is_mapped_when_used() -> None:
    assert Key(Lazy, slug="x").primary_key == {"PK": {"S": "LAZY#x"}, "SK": {"S": "A"}}


def test_a_class_that_is_rebuilt_stays_mapped() -> None:
    Tree.model_rebuild(force=True)
    assert catalog_of(mapping_of(Tree).table).mappings["Tree"] is mapping_of(Tree)


@pytest.mark.parametrize(
    "kind", [TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType)], ids=["backport", "own"]
)
def test_an_alias_is_what_it_stands_for_whoever_made_it(kind: Any) -> None:
    """From Python 3.12 on, those of the ``type`` statement are not those of typing_extensions."""
    email = kind("email", Annotated[str, Unique()])
    only = kind("only", Annotated[T, Versioned()], type_params=(T,))
    other: Any = kind("other", str | None)
    keys: dict[str, Any] = {"table": Table("app"), "pk": "USER#{email}", "sk": "A", "versioned": True}
    fields: dict[str, Any] = {"email": email, "name": only[str], "others": list[other]}
    mapping = mapping_of(create_model("User", __base__=Entity, __cls_kwargs__=keys, **fields))
    values = {"email": "x", "name": "Bo", "others": ["y", None]}
    assert claims(mapping, mapping.subject({}, values)) == [("email", GuardKey("email#x", "email#x"), "x")]
    assert mapping.primary_key.of(values)["PK"] == {"S": "USER#x"}
    assert mapping.encoder.encode(values)["others"] == {"L": [{"S": "y"}, {"NULL": True}]}
    assert mapping.fields["name"].versioned


@pytest.fixture
def _busy_threads() -> Iterator[None]:
    """Python changes from thread to thread as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_busy_threads")
def test_classes_declared_in_threads_all_join_their_table() -> None:
    names = ["Apple", "Pear", "Plum", "Quince"]
    for _ in range(20):
        app = Table("app")
        begin = Barrier(len(names))

        def declare(name: str, app: Table = app, begin: Barrier = begin) -> bool:
            begin.wait()

            class Item(Entity, table=app, name=name, pk=name + "#{slug}", sk="A"):
                slug: str

            # Classes that have joined are mapped, also those of other threads.
            return all(mapping_of(one.entity) is one for one in catalog_of(app).mappings.values())

        with ThreadPoolExecutor(len(names)) as threads:
            assert all(threads.map(declare, names))
        assert sorted(catalog_of(app).mappings) == names
