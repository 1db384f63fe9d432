"""Keys in pieces: literal texts, values of fields, shards, and what is masked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.description.description import FieldPart, LiteralPart, TemplateDescription
from dynaorm.failure import MASK
from dynaorm.layout.view import KeyPiece, pieces_of, plain_text

STATUS = TemplateDescription(
    "GSI1PK",
    "STATUS#{status}#{number:shard8}",
    (LiteralPart("STATUS#"), FieldPart("status"), LiteralPart("#"), FieldPart("number", "shard8", 8)),
)
NOTE = TemplateDescription("SK", "NOTE#{at}", (LiteralPart("NOTE#"), FieldPart("at")), "v{version}_{sk}")
BESIDE = TemplateDescription(
    "SK", "{year:04d}{number:06d}", (FieldPart("year", "04d"), FieldPart("number", "06d"))
)


def told(template: TemplateDescription, text: str, **given_: object) -> list[tuple[str, str, str]]:
    found = pieces_of(template, {"S": text}, frozenset(), **given_)  # type: ignore[arg-type]  # a number
    return [(one.kind, one.text, one.field) for one in found]


def test_a_key_is_literal_texts_values_and_shards() -> None:
    assert told(STATUS, "STATUS#open#3") == [
        ("literal", "STATUS#", ""),
        ("value", "open", "status"),
        ("literal", "#", ""),
        ("shard", "3", "number"),
    ]


def test_the_key_of_a_version_has_its_number_as_literal_text() -> None:
    assert told(NOTE, "v12_NOTE#now", number=12) == [
        ("literal", "v12_", ""),
        ("literal", "NOTE#", ""),
        ("value", "now", "at"),
    ]
    assert told(NOTE, "v0_NOTE#now", number=0)[0] == ("literal", "v0_", "")


def test_padded_numbers_beside_each_other_are_told_apart() -> None:
    assert told(BESIDE, "2024000017") == [("value", "2024", "year"), ("value", "000017", "number")]


def test_a_key_that_its_template_does_not_render_is_one_value() -> None:
    assert told(STATUS, "something else") == [("value", "something else", "")]
    assert pieces_of(STATUS, {"N": "12"}, frozenset()) == (KeyPiece("12", "value"),)


@pytest.mark.parametrize("text", ["STATUS#hunter2#3", "hunter2"])
def test_a_secret_is_masked_even_where_the_template_does_not_fit(text: str) -> None:
    found = pieces_of(STATUS, {"S": text}, frozenset({"status"}))
    assert "hunter2" not in plain_text(found)
    assert MASK in plain_text(found)


@given(st.text(), st.integers(1, 8))
def test_the_pieces_of_a_key_are_the_whole_key(status: str, shard: int) -> None:
    text = f"STATUS#{status}#{shard}"
    assert plain_text(pieces_of(STATUS, {"S": text}, frozenset())) == text
