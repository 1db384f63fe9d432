"""A template is literals and slots by turns; whatever else stands in braces is told, never taken for text."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
from tests.entity.scalars import scalars_of

SCALARS = scalars_of({"user_id": str, "number": int, "at": datetime, "größe": int})


def parsed(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    pieces, after = compiled(text).pieces, compiled(text).after
    return [*(piece.before for piece in pieces), after], [(piece.field, piece.source) for piece in pieces]


def compiled(text: str) -> KeyTemplate:
    return compile_template(text, SCALARS, kind="S", sort=False, known=(*SCALARS, "tags"))


def test_literals_and_slots_take_turns() -> None:
    assert parsed("USER#{user_id}#{number:05d}") == (
        ["USER#", "#", ""],
        [("user_id", "{user_id}"), ("number", "{number:05d}")],
    )
    assert parsed("PROFILE") == (["PROFILE"], [])
    assert parsed("{user_id}#{größe!s}") == (
        ["", "#", ""],
        [("user_id", "{user_id}"), ("größe", "{größe!s}")],
    )


def test_a_spec_may_hold_colons() -> None:
    assert parsed("{at:%Y-%m-%d:%H:%M:%S}")[1] == [("at", "{at:%Y-%m-%d:%H:%M:%S}")]


@given(st.text("{}user_id:!s05d ", min_size=1, max_size=12))
def test_a_brace_is_never_part_of_a_literal(text: str) -> None:
    try:
        literals, _ = parsed(text)
    except TemplateError:
        return
    assert not any(brace in literal for literal in literals for brace in "{}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("USER#{usr_id}", "{usr_id} names no field; did you mean {user_id}?"),
        ("USER#{zzz}", "{zzz} names no field; use one of user_id, number, at, größe"),
        (
            "USER#{tags}",
            "{tags}: a value of this field's type has no single text; use a field of type str, int",
        ),
        ("USER#{user_id.name}", "{user_id.name} names no field; did you mean {user_id}?"),
        ("USER#{ user_id }", "{ user_id } is not understood; did you mean {user_id}?"),
        ("USER#{user_id:}", "{user_id:} is not understood; did you mean {user_id}?"),
        ("USER#{user_id!r}", "{user_id!r} is not understood; did you mean {user_id}?"),
        ("USER#{}", "{} is not understood; write {field} or {field:spec}"),
        ("USER#{0}", "{0} is not understood; write {field} or {field:spec}"),
        (
            "USER#{user_id",
            "a '{' is not part of a placeholder, and literal text cannot contain it; write {field}",
        ),
        (
            "USER#user_id}",
            "a '}' is not part of a placeholder, and literal text cannot contain it; write {field}",
        ),
        (
            "{{user_id}}",
            "a '{' is not part of a placeholder, and literal text cannot contain it; write {field}",
        ),
        ("", "it is empty, and a key cannot be; write literal text, a {field}, or both"),
        (
            "user_id",
            "it is the constant 'user_id', which is also the name of a field; write {user_id} for its value",
        ),
        ("tags", "it is the constant 'tags', which is also the name of a field; write {tags} for its value"),
        ("{number:uper}", "{number:uper} has an unknown spec 'uper'; did you mean 'upper'?"),
    ],
)
def test_what_is_not_understood_is_told(text: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compiled(text)
    assert caught.value.problems[0].startswith(problem)
