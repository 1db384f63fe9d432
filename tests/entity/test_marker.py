"""Markers are immutable values that compare by their arguments."""

from typing import Annotated, Any

import pytest
from pydantic import create_model

from dynaorm import Attribute, Entity, Table, Unique
from dynaorm.entity.marker import argument_problems
from dynaorm.errors import DeclarationError


def test_one_name_needs_no_tuple() -> None:
    assert Unique(scope="tenant").scope == ("tenant",)
    assert Attribute("A", formerly="B").formerly == ("B",)


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        (Unique, {"name": 5}, "Unique(name=5) is no text; give a str"),
        (Unique, {"pk": 5, "sk": "A"}, "Unique(pk=5) is no text; give a str"),
        (Unique, {"scope": 5}, "Unique(scope=(5,)) is no text; give names"),
        (Unique, {"scope": [["org"]]}, "Unique(scope=(['org'],)) is no text; give names"),
        (
            Unique,
            {"normalize": "lower"},
            "Unique(normalize='lower') is not a function; give one without calling it",
        ),
        (Unique, {"shared": "no"}, "Unique(shared='no') is neither True nor False; give one of them"),
        (Attribute, {"name": 5}, "Attribute(name=5) is no text; give a str"),
        (Attribute, {"formerly": ("Old", 5)}, "Attribute(formerly=('Old', 5)) is no text; give names"),
        (
            Attribute,
            {"encode": dict, "decode": "str"},
            "Attribute(decode='str') is not a function; give one without calling it",
        ),
        (Attribute, {"codec": 5}, "Attribute(codec=5) is no form; give one of dynaorm.codecs"),
    ],
)
def test_a_marker_with_an_argument_of_another_type_is_refused_with_its_class(
    kind: Any, given: dict[str, Any], problem: str
) -> None:
    marker = kind(**given)
    assert list(argument_problems(marker)) == [problem]
    keys = {"table": Table("app"), "pk": "TICKET#{slug}", "sk": "A"}
    with pytest.raises(DeclarationError) as caught:
        create_model(
            "Ticket", __base__=Entity, __cls_kwargs__=keys, slug=str, code=(Annotated[str, marker], ...)
        )
    assert caught.value.problems == (f"code: {problem}",)
