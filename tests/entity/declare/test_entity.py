"""A class is mapped as soon as its fields are known, completely or not at all."""

import sys
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, computed_field, create_model
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeAliasType

from dynaorm import Attribute, Entity, Key, Table, Unique, Versioned
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


def test_a_class_is_mapped_by_model_rebuild_where_its_type_is_known() -> None:
    class Late(Entity, table=Table("app"), pk="LATE#{slug}", sk="A"):
        slug: str
        root: "list[Later] | None"

    with pytest.raises(DeclarationError, match="root: its annotation names 'Later', which is not defined"):
        mapping_of(Late)

    class Later(BaseModel):
        name: str

    Late.model_rebuild()
    assert mapping_of(Late).encode({"slug": "a", "root": None}) == {"slug": {"S": "a"}}


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
    assert mapping.encode({"slug": "x", "root": value}) == {"slug": {"S": "x"}, "root": {"M": branch}}


def test_a_class_whose_completion_failed_raises_its_error_again_whenever_it_is_used() -> None:
    expected = "Cannot map class Wrong:\n  - pk='WRONG#{slgu}': {slgu} names no field; did you mean {slug}?"
    with pytest.raises(DeclarationError) as first:
        Wrong.model_rebuild()
    errors = [first.value]
    for _ in range(2):
        with pytest.raises(DeclarationError) as again:
            Key(Wrong, slug="x")
        errors.append(again.value)
    assert [str(error) for error in errors] == [expected] * 3


def test_a_class_that_pydantic_builds_late_is_mapped_when_it_is_used() -> None:
    assert Key(Lazy, slug="x").primary_key == {"PK": {"S": "LAZY#x"}, "SK": {"S": "A"}}


def test_a_class_that_is_rebuilt_stays_mapped() -> None:
    Tree.model_rebuild(force=True)
    assert catalog_of(mapping_of(Tree).table).mappings["Tree"] is mapping_of(Tree)


def test_a_generic_base_is_mapped_with_its_types_filled_in() -> None:
    class Box(Entity, Generic[T]):
        slug: str
        content: T

    class NumberBox(Box[int], table=Table("app"), pk="BOX#{slug}", sk="A"):
        pass

    assert mapping_of(NumberBox).encode({"slug": "x", "content": 5}) == {
        "slug": {"S": "x"},
        "content": {"N": "5"},
    }


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
    assert mapping.primary_key(values)["PK"] == {"S": "USER#x"}
    assert mapping.encode(values)["others"] == {"L": [{"S": "y"}, {"NULL": True}]}
    assert mapping.fields["name"].versioned


def test_what_is_computed_or_private_is_not_stored() -> None:
    class User(Entity, table=Table("app"), pk="USER#{slug}", sk="A"):
        slug: str
        _secret: str = "s"

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def shout(self) -> str:
            return self.slug.upper()

    assert list(mapping_of(User).fields) == ["slug"]


def test_a_validated_default_may_be_written_as_another_type() -> None:
    class User(Entity, table=Table("app"), pk="USER#{slug}", sk="A"):
        model_config = ConfigDict(validate_default=True)

        slug: str
        level: int = "5"  # type: ignore[assignment]

    assert User(slug="x").level == 5


def test_a_codec_of_the_user_s_own_never_sees_none() -> None:
    def encode(value: complex) -> dict[str, str]:
        return {"S": f"{value.real} {value.imag}"}

    def decode(stored: object) -> complex:
        assert isinstance(stored, dict)
        return complex(*map(float, stored["S"].split()))

    class Wave(Entity, table=Table("app"), pk="WAVE#{slug}", sk="A"):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        slug: str
        phase: Annotated[complex, Attribute("Phase", encode=encode, decode=decode)] = 1j
        other: Annotated[complex | None, Attribute(encode=encode, decode=decode)] = 2j

    item = mapping_of(Wave).encode(vars(Wave(slug="x", other=None)))
    assert item == {"slug": {"S": "x"}, "Phase": {"S": "0.0 1.0"}, "other": {"NULL": True}}
    values = mapping_of(Wave).decode(item)
    assert values == {"slug": "x", "phase": 1j, "other": None}


def plain(_: Any) -> CoreSchema:
    return core_schema.no_info_plain_validator_function(lambda value: value)


def chained(own: CoreSchema) -> CoreSchema:
    return core_schema.chain_schema([core_schema.any_schema(), own])


@pytest.mark.parametrize("change", [plain, chained])
def test_a_class_that_pydantic_does_not_validate_as_a_model_is_refused(
    change: Callable[[CoreSchema], CoreSchema],
) -> None:
    with pytest.raises(DeclarationError) as caught:

        class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
            slug: str

            @classmethod
            def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
                return change(handler(source))

    (problem,) = caught.value.problems
    assert problem == (
        "its __get_pydantic_core_schema__() gives another schema than that of its fields; let it return what "
        "handler(source) gives, or write validators"
    )


def test_a_class_may_wrap_the_schema_of_its_model() -> None:
    class Ticket(Entity, table=Table("app"), pk="TICKET#{slug}", sk="A"):
        slug: str

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
            return core_schema.no_info_wrap_validator_function(
                lambda value, inner: inner(value), handler(source)
            )

    assert mapping_of(Ticket).rules.of_class


@pytest.fixture
def _busy_threads() -> Iterator[None]:
    """Python changes from thread to thread as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_busy_threads")
def test_classes_that_are_declared_in_several_threads_all_join_their_table() -> None:
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
