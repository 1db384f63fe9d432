"""Templates that would be ambiguous, out of order or of another type than their key are refused, with a remedy."""

import re

import pytest

from dynaorm.entity.table import KeyKind
from dynaorm.entity.template import TemplateError
from tests.entity.template.fields import compiled


def problems_of(text: str, kind: KeyKind = "S", *, sort: bool = True) -> tuple[str, ...]:
    try:
        compiled(text, kind, sort=sort)
    except TemplateError as error:
        return error.problems
    return ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{number}",
            "sorts as text in a string key, 10 before 9; write {number:06d}, or {number!s} if the order",
        ),
        ("N#{number}", "{number} sorts as text"),
        ("N#{number:raw}", "write {number:06d}, or {number!s:raw} if the order does not matter"),
        (
            "{price}",
            "write {price!s} if the order does not matter; any number sorts in an index with sk=NumberKey('price')",
        ),
        ("{at:epoch}", "write {at}, or {at!s:epoch} if the order does not matter"),
        ("{day:epoch_ms}", "write {day}, or {day!s:epoch_ms} if the order does not matter"),
    ],
)
def test_a_number_in_a_string_sort_key_is_padded_or_told_not_to_matter(text: str, problem: str) -> None:
    (found,) = problems_of(text)
    assert problem in found
    assert problems_of(text, sort=False) == ()
    (remedy,) = re.findall(r"\{\w+!s[^}]*\}", found)
    assert problems_of(remedy) == ()


@pytest.mark.parametrize(
    "text", ["{at:%d-%m-%Y}", "{at:%y%m%d}", "{at:%Y-%m-%d %I}", "{day:%m-%d}", "{at:%H}"]
)
def test_a_date_format_that_does_not_sort_is_refused_in_a_sort_key(text: str) -> None:
    (found,) = problems_of(text)
    assert "does not sort as the date" in found
    assert problems_of(text, sort=False) == ()
    (remedy,) = re.findall(r"\{\w+!s[^}]*\}", found)
    assert problems_of(remedy) == ()


@pytest.mark.parametrize(
    "text", ["{at:%Y-%m-%d}", "{at:%Y}#{at:%m}#{at:%d}", "{day:%G-%V-%u}", "{at:%Y-%m-%d:%H}"]
)
def test_a_date_format_that_sorts_may_be_part_of_a_sort_key(text: str) -> None:
    assert problems_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "{name:raw}%{city}",
        "{number!s:raw}0{name}",
        "{number:05d}0{name}",
        "{number!s}-{name}",
        "{at}-{name}",
        "{id}a",
        "{done}e",
    ],
)
def test_a_literal_that_cannot_be_mistaken_is_kept(text: str) -> None:
    assert problems_of(text) == ()


ONE_FIELD = "a number key is one field and nothing else; write one, such as {created_at:epoch}"
NUMBERS = "is text, and the key is a number; use an int, Decimal, date or datetime field"
BINARY = "use a field of type bytes, UUID, Ksuid or str, without spec"


@pytest.mark.parametrize(
    ("text", "kind", "remedy"),
    [
        ("PROFILE", "N", ONE_FIELD),
        ("N#{number}", "N", ONE_FIELD),
        ("{number}#{number}", "N", ONE_FIELD),
        ("{number:05d}", "N", "{number:05d} is text, and the key is a number; write {number}"),
        ("{at}", "N", "{at} is text, and the key is a number; write {at:epoch}"),
        ("{day:%Y}", "N", "{day:%Y} is text, and the key is a number; write {day:epoch}"),
        ("{name}", "N", f"{{name}} {NUMBERS}"),
        ("{done}", "N", f"{{done}} {NUMBERS}"),
        ("{number:shard8}", "N", "{number:shard8} is text, and the key is a number; write {number}"),
        ("PROFILE", "B", "a binary key is one field and nothing else; write one, such as {digest}"),
        ("{at}", "B", BINARY),
        ("{number}", "B", BINARY),
        ("{name:upper}", "B", BINARY),
    ],
)
def test_number_and_binary_keys_are_one_bare_field(text: str, kind: KeyKind, remedy: str) -> None:
    (problem,) = problems_of(text, kind)
    assert problem.endswith(remedy)
