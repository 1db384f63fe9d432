"""The seam of the JSON reader: a reader where one is possible, None where the codecs must read."""

import pytest

from dynaorm import Entity, Table
from dynaorm.entity.reader import reader_of
from dynaorm.item.json_body import Body, encode_body
from tests.pydantic_version import needs_pydantic_2_13

TYPED, UNTYPED = Table("typed"), Table("untyped", type_attribute=None)


class Leaf(Entity, table=TYPED, pk="LEAF#{name}", sk="L"):
    name: str


@needs_pydantic_2_13
def test_a_reader_gives_the_entities_of_a_reply_and_what_else_it_says() -> None:
    reader = reader_of(TYPED, (Leaf,), "Query")
    assert reader is not None
    item = {"PK": {"S": "LEAF#a"}, "SK": {"S": "L"}, "name": {"S": "a"}, "_type": {"S": "Leaf"}}
    parsed = reader.read(Body(encode_body({"Items": [item], "Count": 1})), None)
    assert parsed is not None
    assert (parsed.found, parsed.rest) == ([Leaf(name="a")], {"Count": 1})


def test_the_codecs_read_everything_where_pydantic_core_cannot_build_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dynaorm.entity.reader.BUILDS_AS_GIVEN", False)
    assert reader_of(TYPED, (Leaf,), "Query") is None
