"""Whatever stands in a class statement, the class is made and keeps its values, or an error refuses it.

Names, annotations, values and keywords are drawn at random. What concerns dynaorm is a DeclarationError: it ends with a
remedy, and leaves the table as it was. What concerns pydantic alone is an error of pydantic's, as for any model.
"""

import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

import dynaorm
from dynaorm import (
    Aggregate,
    Attribute,
    CreatedAt,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Session,
    Table,
    Unique,
    Versioned,
    inspect,
)
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.testing import FakeClock
from dynaorm.transport import Transport

T = TypeVar("T")
wrong: Any = 5
generic: Any = Generic
counter = count()
OWN: Final = str(Path(dynaorm.__file__).parent / "entity")


def property_of() -> property:
    return property(str)


class Mixin:
    """It is no model."""

    @property
    def beside(self) -> int:
        return 1


class Left(BaseModel):
    common: str = "left"


class Right(BaseModel):
    common: int = 1


class Box(BaseModel, Generic[T]):
    held: T | None = None


NAMES: Final = (
    "note", "other", "slug", "model_fields", "model_config", "model_dump", "model_extra", "model_note", "schema",
    "copy", "json", "dict", "fields", "_private", "__init__", "__class__", "__dict__", "__hash__", "__eq__",
    "__slots__",
    "__copy__", "__module__", "__private", "__pydantic_fields__", "__pydantic_validator__",
    "__dynaorm_options__", "__dynaorm_mapping__", "__get_pydantic_core_schema__", "__pydantic_on_complete__",
)  # fmt: skip
ANNOTATIONS: Final[tuple[Any, ...]] = (
    str, int, "str", "Missing", "list[Missing]", "not a type!", 5, None, object(), object, type, Index, Literal[()],
    list, list[str], dict[str, Any], ClassVar, ClassVar[str], Table, Box[int], Box, Generic, Field, lambda: 1,
    Annotated[str, Unique(), Unique()], Annotated[str, Unique, Attribute], Annotated[int, Versioned(), ExpiresAt()],
    Annotated[str, CreatedAt()], Annotated[str, Field(alias=wrong)], Annotated[str, Field(gt="x")],
    Annotated[str, Field(pattern="(")], Annotated[str, Field(discriminator="x")], Annotated[str, 5, "x"],
)  # fmt: skip
VALUES: Final[tuple[Callable[[], Any], ...]] = (
    lambda: "text", lambda: 1, lambda: None, lambda: True, object, lambda: F.note, lambda: F.note == 1,
    lambda: Index("GSI1", pk="NOTE#{slug}"), lambda: Index("GSI2", pk="{nothing}"), Unique,
    lambda: Field(default_factory=lambda: 1), lambda: Aggregate(wrong, sum=wrong),
    property_of, lambda: str, list, dict, lambda: ("slug",),
)  # fmt: skip
KEYWORDS: Final = (
    "extra", "frozen", "title", "str_max_length", "alias_generator", "protected_namespaces", "ignored_types",
    "json_encoders", "defer_build", "validate_assignment", "revalidate_instances", "ser_json_bytes", "regex_engine",
    "arbitrary_types_allowed", "use_attribute_docstrings", "versioned", "version_padding", "unique", "formerly", "name",
    "pk", "sk", "table", "colour", "slots", "validate_by_name", "validate_by_alias",
)  # fmt: skip
BASES: Final[tuple[tuple[Any, ...], ...]] = (
    (),
    (Mixin,),
    (Left,),
    (Right,),
    (Left, Right),
    (generic[T],),
    (Box[int],),
)

bodies = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from((..., *ANNOTATIONS)), st.sampled_from((..., *VALUES))),
    max_size=3,
)
keywords = st.dictionaries(st.sampled_from(KEYWORDS), st.sampled_from(VALUES), max_size=2)
configurations = st.dictionaries(st.sampled_from(KEYWORDS[:15]), st.sampled_from(VALUES), max_size=2)


def class_of(
    table: Table, bases: tuple[Any, ...], body: dict[str, Any], given: dict[str, Any], config: dict[str, Any]
) -> Any:
    lines = ["class Hostile(Entity, *bases, **given):", "    slug: str"]
    names: dict[str, Any] = {"Entity": Entity, "bases": bases, "__name__": __name__}
    if config:
        lines.append("    model_config = config")
        names["config"] = {name: make() for name, make in config.items()}
    for number, (name, (annotation, make)) in enumerate(body.items()):
        names[f"a{number}"] = annotation
        names[f"v{number}"] = None if make is ... else make()
        if name.startswith("__") and (make is property_of or callable(names[f"v{number}"])):
            continue  # a method of the user's, which does what it says
        annotated = "" if annotation is ... else f": a{number}"
        value = "" if make is ... else f" = v{number}"
        if annotated or value:
            lines.append(f"    {name}{annotated}{value}")
    keys = {"table": table, "pk": "HOSTILE#{slug}", "sk": "A"}
    names["given"] = {**keys, **{name: make() for name, make in given.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic warns of names that hide others
        exec("\n".join(lines), names)
    return names["Hostile"]


@given(bases=st.sampled_from(BASES), body=bodies, given_keywords=keywords, config=configurations)
def test_a_hostile_class_keeps_its_values_or_is_refused(
    engine: Transport, bases: Any, body: Any, given_keywords: Any, config: Any
) -> None:
    table = Table(f"hostile-{next(counter)}", indexes=[GlobalIndex("GSI1")])
    try:
        made = class_of(table, bases, body, given_keywords, config)
    except DeclarationError as error:
        check(error, table)
        return
    except Exception as error:  # noqa: BLE001 - pydantic raises anything for its own configuration
        check_of_pydantic(error, table)
        return
    try:
        entity = made(slug="a")
    except (ValidationError, DeclarationError):
        return  # a field without a default, or a type that is not defined
    except Exception as error:  # noqa: BLE001 - as above, with ``defer_build``
        check_of_pydantic(error, table)
        return
    with Session(transport=engine, clock=FakeClock()) as session:
        session.create_table(table)
        with suppress(UsageError):  # it is mapped to no table
            session.save(entity)
            key = inspect(entity).key
            assert key is not None
            assert vars(session.get(key)) == vars(entity)


def check(error: DeclarationError, table: Table) -> None:
    """An error names the class, and each problem ends with its remedy. The table has no class."""
    assert error.entity == "Hostile"
    assert error.problems
    assert all(";" in problem for problem in error.problems), error.problems
    assert catalog_of(table).mappings == {}


def check_of_pydantic(error: Exception, table: Table) -> None:
    """An error that is not dynaorm's was raised before a declaration was read. The table has no class."""
    asked = [one.filename for one in traceback.extract_tb(error.__traceback__)]
    assert not any(OWN in name for name in asked), error
    assert catalog_of(table).mappings == {}
