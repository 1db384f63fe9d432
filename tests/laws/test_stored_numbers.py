"""Law: a stored number that DynamoDB cannot hold is a DecodeError, at once and on every road.

Both roads of a read, the codecs and the JSON reader, give the same result.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from enum import Enum, IntFlag
from itertools import count
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from dynaorm import Entity, ExpiresAt, NumberKey, Table
from dynaorm.entity.codec.special import EXPIRY
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError
from dynaorm.item.json_body import Body, encode_body
from tests.dynamodb_json import AttributeValue


class Level(Enum):
    ONE = 1


class Rights(IntFlag):
    READ = 1


class Inner(BaseModel):
    n: int


def number(text: str) -> AttributeValue:
    return {"N": text}


KINDS: Mapping[str, tuple[Any, Any]] = {
    "int": (int, number),
    "int | None": (int | None, number),
    "float": (float, number),
    "timedelta": (timedelta, number),
    "int | float": (int | float, number),
    "Enum": (Level, number),
    "Flag": (Rights, number),
    "Literal": (Literal[1, 2], number),
    "JsonValue": (JsonValue, number),
    "a list": (list[int], lambda text: {"L": [{"N": text}]}),
    "a set": (set[int], lambda text: {"NS": [text]}),
    "a model": (Inner, lambda text: {"M": {"n": {"N": text}}}),
    "an expiry": (Annotated[datetime | None, ExpiresAt()], number),
}
TEXTS = ["1E99999999", "-1E99999999", "9" * 6000, "NaN", "sNaN", "Infinity", "-Infinity", "x", ""]
numbers = count()


def entity_of(annotation: Any) -> type[Entity]:
    class Holder(Entity, table=Table(f"numbers-{next(numbers)}"), pk="HOLDER#{name}", sk="H"):
        name: str
        held: annotation

    return Holder


def item_of(held: AttributeValue) -> dict[str, AttributeValue]:
    key = {"PK": {"S": "HOLDER#n"}, "SK": {"S": "H"}, "_type": {"S": "Holder"}}
    return {**key, "name": {"S": "n"}, "held": held}


def by_json(entity: type[Entity], item: Mapping[str, AttributeValue]) -> Any:
    """The entity or item that the JSON reader gives; None where it leaves the reply to the codecs."""
    table = mapping_of(entity).table
    reader = json_reader_of(table, (entity,), "GetItem")
    if reader is None:
        return None
    found = reader.read(Body(encode_body({"Item": item})), 0.0)
    return found.found[0] if found is not None and found.found else None


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_beyond_dynamodb_is_a_decode_error(kind: str) -> None:
    annotation, stored = KINDS[kind]
    entity = entity_of(annotation)
    for text in TEXTS:
        item = item_of(stored(text))
        with pytest.raises(DecodeError, match="held"):
            mapping_of(entity).loader.hydrate(item)
        assert not isinstance(by_json(entity, item), entity), text


@pytest.mark.parametrize(
    "text", ["9" * 38, "1" + "0" * 125, "-1E+125", "1E-130", "0." + "0" * 129 + "1", "0"]
)
def test_every_number_of_dynamodb_is_read_alike_on_both_roads(text: str) -> None:
    for kind in ("int", "float", "int | None", "int | float", "a list", "a set", "a model"):
        annotation, stored = KINDS[kind]
        entity = entity_of(annotation)
        item = item_of(stored(text))
        found = by_json(entity, item)
        try:
            expected = mapping_of(entity).loader.hydrate(item)
        except DecodeError:
            expected = None
            assert "float" not in kind
            assert "." in text or "E-" in text
        if isinstance(found, entity):
            assert found == expected


def test_an_item_whose_expiry_is_no_time_never_expires_nor_loads() -> None:
    mapping = mapping_of(entity_of(Annotated[datetime | None, ExpiresAt()]))
    for text in ("NaN", "Infinity", "1E99999999"):
        item = item_of({"N": text})
        assert not mapping.is_expired(item, 1e12)
        for read in (mapping.loader.hydrate, mapping.loader.expiry_of):
            with pytest.raises(DecodeError, match="held"):
                read(item)


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_expiry_that_is_stored_and_loaded_again_is_the_same(at: datetime) -> None:
    stored = EXPIRY.encode(at)
    assert EXPIRY.encode(EXPIRY.decode(stored)) == stored
    assert timedelta(0) <= at - EXPIRY.decode(stored) < timedelta(seconds=1)


def test_a_number_key_that_dynamodb_cannot_hold_does_not_match() -> None:
    table = Table("number-keys", pk="name", sk=NumberKey("at"), key_fields="in_key")

    class Reading(Entity, table=table, pk="{name}", sk="{at}"):
        name: str
        at: int

    class Day(Entity, table=Table("days", pk="name", sk=NumberKey("at")), pk="{name}", sk="{on:epoch}"):
        name: str
        on: date

    for entity in (Reading, Day):
        part = mapping_of(entity).sort
        assert part is not None
        for text in ("1E99999999", "9" * 4000, "NaN"):
            assert part.match(text) is None
