"""Where a marker applies to its field, and where it is refused."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, create_model
from typing_extensions import TypeAliasType, TypedDict

from dynaorm import Attribute, ExpiresAt, InKey, Unique, Versioned
from dynaorm.entity.marker import AnnotatedField, parse_markers

Email = TypeAliasType("Email", Annotated[str, Unique("email")])


class Model(BaseModel):
    code: Annotated[str, Unique()]


class Renamed(BaseModel):
    code: Annotated[str, Attribute("c")]


class Deep(BaseModel):
    parts: list[Renamed]
    again: "Deep | None" = None
    code: Annotated[str, Attribute("c")] | None = None


@dataclass
class Record:
    code: Annotated[str, InKey()]


class Dictionary(TypedDict):
    code: Annotated[str, Versioned()]


class Pair(NamedTuple):
    left: Annotated[str, Unique]
    right: str


def field(annotation: Any, default: Any = ...) -> AnnotatedField:
    model = create_model("Model", value=(annotation, default))
    return parse_markers("value", model.model_fields["value"])


def test_markers_are_kept_apart_from_what_other_libraries_put_into_annotated() -> None:
    found = field(Annotated[str, "a note", Unique(), Attribute("E"), 5])
    assert found.metadata == ("a note", 5)
    assert found.find(Attribute) == [Attribute("E")]
    assert found.find(InKey) == []


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (list[Annotated[str, Unique()]], "Unique"),
        (list[Email], "Unique"),
        (list[Annotated[str, Unique]], "Unique"),
        (dict[str, Annotated[str, ExpiresAt()]], "ExpiresAt"),
        (tuple[Annotated[str, Unique()], ...] | None, "Unique"),
        (Annotated[str, Unique()] | Annotated[int, "a note"], "Unique"),
        (Annotated[str, Attribute("x")] | int | None, "Attribute"),
        (Annotated[None, Unique()] | str, "Unique"),
        (Model, "Unique"),
        (Model | None, "Unique"),
        (list[Model], "Unique"),
        (Record, "InKey"),
        (Dictionary, "Versioned"),
        (Pair, "Unique"),
        (Deep, "Attribute"),
    ],
    ids=str,
)
def test_a_marker_that_would_mean_a_part_of_the_value_is_refused(annotation: Any, kind: str) -> None:
    (problem,) = field(annotation).problems
    assert problem == (
        f"value: {kind}() stands inside the type, where it would mean a part of the value; "
        f"write Annotated[<the whole type>, {kind}()]"
    )


def test_a_marker_given_twice_is_refused() -> None:
    assert field(Annotated[str, Unique("a"), Unique("b")]).problems == (
        "value: Unique() is given twice; keep one",
    )
    assert field(Annotated[Email, Unique()]).problems == ("value: Unique() is given twice; keep one",)


def test_a_second_name_for_a_value_is_a_computed_field() -> None:
    (problem,) = field(Annotated[str, Attribute("PK"), Attribute("id")]).problems
    assert problem == (
        "value: Attribute() is given twice; "
        "keep one, and keep the value in 'id', too, with a computed field that has Stored('id')"
    )
    # Without two names, nothing of the kind is meant.
    assert field(Annotated[str, Attribute("id"), Attribute(formerly="old")]).problems == (
        "value: Attribute() is given twice; keep one",
    )
