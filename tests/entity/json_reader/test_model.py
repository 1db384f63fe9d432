"""Which classes are read from JSON, and which are left to their codecs."""

import types
from itertools import count
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field, field_validator, model_validator

from dynaorm import Entity, GlobalIndex, Index, InKey, Table
from dynaorm.entity.json_reader.model import JsonModel, json_model
from dynaorm.entity.mapping.mapping import mapping_of

NUMBERS = count()
OWN = {"pk": "{slug}", "sk": None}


def declared(keywords: Any = None, fields: Any = None, /, **members: Any) -> JsonModel | None:
    """The reader of a class with these keywords, annotations and members."""
    given = {"pk": "O#{slug}", "sk": "A", **(keywords or {})}
    key = "slug" if given["sk"] is None else "PK"
    indexes = [GlobalIndex("GSI1"), GlobalIndex("GSI2")]
    table = Table(f"read-{next(NUMBERS)}", pk=key, sk=given["sk"] and "SK", indexes=indexes)
    space = {"__annotations__": {"slug": str, **(fields or {})}, "__module__": __name__, **members}
    made: Any = types.new_class("Read", (Entity,), {"table": table, **given}, lambda own: own.update(space))
    return json_model(mapping_of(made))


def made_by(self: Any, **values: Any) -> None:
    Entity.__init__(self, **values)


def same(value: Any, _: Any = None) -> Any:
    return value


@pytest.mark.parametrize(
    "members",
    [
        {"look": field_validator("slug")(lambda cls, value, info: f"{cls}{value}{info.mode}")},
        {"look": model_validator(mode="before")(staticmethod(same))},
        {"look": model_validator(mode="wrap")(lambda cls, values, handler: cls and handler(values))},
        {"__init__": made_by},
        {"one": Index("GSI1", pk="X#{spot}", sk="{slug}"), "two": Index("GSI2", pk="Y#{spot}", sk="{slug}")},
        {"tags": Field(default={}), "model_config": {"validate_default": True}},
    ],
    ids=["field validator", "before", "wrap", "init", "in keys of two indexes", "validated default"],
)
def test_a_class_whose_validators_could_behave_differently_is_left_to_the_codecs(
    members: dict[str, Any],
) -> None:
    more: dict[str, Any] = {"spot": Annotated[str | None, InKey()]} if "two" in members else {}
    more |= {"tags": dict[str, int]} if "tags" in members else {}
    assert declared(None, more, **members) is None


IN_KEY = Annotated[str, InKey()]
WHOLE: dict[str, Any] = {"slug": IN_KEY, "part": IN_KEY, "number": Annotated[int, InKey()]}


@pytest.mark.parametrize(
    ("keywords", "fields", "members", "compared"),
    [
        (OWN, {}, {}, []),
        ({**OWN, "str_strip_whitespace": True}, {}, {}, ["{slug}"]),
        (OWN, {"slug": Annotated[str, AfterValidator(lambda value: f"{value}!")]}, {}, ["{slug}"]),
        (OWN, {}, {"rename": model_validator(mode="after")(same)}, ["{slug}"]),
        ({}, {}, {"check": model_validator(mode="after")(same)}, ["O#{slug}", "A"]),
        ({"pk": "{slug}", "sk": "W#{part}#{number:04d}"}, WHOLE, {}, ["W#{part}#{number:04d}"]),
        ({"sk": "A#{slug:upper}"}, {"slug": IN_KEY}, {}, ["A#{slug:upper}"]),
        ({"pk": "{slug}", "sk": "{slug}"}, {"slug": IN_KEY}, {}, ["{slug}"]),
    ],
    ids=["own", "stripped", "longer", "renamed", "checked", "whole", "keyed", "same"],
)
def test_a_part_of_the_key_is_compared_unless_it_holds_strings_that_no_validator_changes(
    keywords: Any, fields: Any, members: Any, compared: list[str]
) -> None:
    model = declared(keywords, fields, **members)
    assert model is not None
    assert [part.text for part in model.keys] == compared


def test_constant_defaults_are_known_in_advance() -> None:
    kinds = {"level": int, "nick": str | None, "mood": str | None, "tags": list[str]}
    constant = declared(None, kinds, level=5, nick=None, mood="fine", tags=Field(default=["new"]))
    made = declared(None, {"number": int}, number=Field(default_factory=lambda: 1))
    assert constant is not None
    assert made is not None
    assert made.defaults is None
    item = {"slug": {"S": "a"}, "level": {"N": "5"}}
    assert constant.defaults_in(item) == {"nick": None, "mood": {"S": "fine"}, "tags": {"L": [{"S": "new"}]}}
