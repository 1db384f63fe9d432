"""Compiling a template: what is known of it, and every problem of it at once."""

from collections.abc import Set as AbstractSet

import pytest

from dynaorm.entity.template import TemplateError
from dynaorm.entity.text.scalar import may_meet, shape_of_text
from tests.entity.template.fields import compiled


@pytest.mark.parametrize(
    ("text", "fields", "lossless"),
    [
        ("PROFILE", (), set()),
        ("{user_id}#{number:05d}", ("user_id", "number"), {"user_id", "number"}),
        ("{name:upper}#{name}", ("name",), {"name"}),
        ("{name:upper}", ("name",), set()),
        ("{at:%Y}#{number:shard8}", ("at", "number"), set()),
        ("{name}#{user_id:raw}", ("name", "user_id"), {"name", "user_id"}),
        ("{name}#{user_id:raw}#{city}", ("name", "user_id", "city"), {"name"}),
        ("{user_id:raw}", ("user_id",), {"user_id"}),
        ("{number:raw}#{name}", ("number", "name"), {"number", "name"}),
    ],
)
def test_a_template_knows_its_fields_and_those_it_gives_back(
    text: str, fields: tuple[str, ...], lossless: AbstractSet[str]
) -> None:
    template = compiled(text)
    assert (template.fields, template.lossless) == (fields, lossless)


@pytest.mark.parametrize(
    "text", ["{name:raw}", "{name:upper}", "USER#{name}", "{name}#", "PROFILE", "{name}#{city}"]
)
def test_a_single_field_has_neither_literal_nor_spec(text: str) -> None:
    assert compiled("{name}").is_single_field
    assert not compiled(text).is_single_field


def test_an_upper_case_key_never_meets_a_lower_case_literal() -> None:
    assert not may_meet(compiled("{name:upper}").shape, shape_of_text("email#"))
    assert not may_meet(compiled("{name:casefold}").shape, shape_of_text("Email#"))
    assert may_meet(compiled("{name}").shape, shape_of_text("email#"))
    assert not may_meet(compiled("{name}-").shape, shape_of_text("email#"))


def test_every_problem_of_a_template_is_raised_at_once() -> None:
    with pytest.raises(TemplateError) as caught:
        compiled("{usr_id}{name}{city}{number:upper}{number}", sort=True)
    assert len(caught.value.problems) == 4
    assert all("; " in problem for problem in caught.value.problems)
