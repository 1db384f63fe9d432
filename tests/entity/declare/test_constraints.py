"""Unique constraints as declared: which fields they are made of, and under which keys their guards are stored."""

from typing import Annotated

import pytest

from dynaorm import Entity, Table, Unique
from dynaorm.entity.mapping.constraint import GuardKey
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue


class Seat(Entity, table=Table("seats"), pk="SEAT#{id}", sk="SEAT"):
    id: str
    hall: str | None = None
    number: Annotated[int | None, Unique("seat", pk="seat/{hall}/{number}", sk="of {hall}")] = None
    email: Annotated[str | None, Unique(pk="mail/{email}", sk="mail", normalize=str.lower)] = None


def keys_of(**values: object) -> list[GuardKey]:
    seat = mapping_of(Seat)
    return [key for _, key, _ in claims(seat, seat.subject({}, {**vars(Seat(id="1")), **values}))]


def test_the_templates_of_a_guard_say_which_fields_are_unique_together() -> None:
    seat = mapping_of(Seat).constraints["seat"]
    assert seat.fields == ("hall", "number")
    assert seat.value_of({"hall": "A", "number": 7}) == ("A", 7)
    assert keys_of(hall="A/1", number=7) == [GuardKey("seat/A%2F1/7", "of A/1")]


def test_a_value_of_none_claims_nothing() -> None:
    assert keys_of(hall="A") == keys_of(number=7) == []


def test_a_value_is_normalised_before_it_is_written_into_the_key() -> None:
    assert keys_of(email="Liz@X") == [GuardKey("mail/liz@x", "mail")]


def test_a_guard_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidValue, match="more than the 2048 allowed"):
        keys_of(email="x" * 2048)


def test_the_guards_of_a_table_without_sort_key_have_a_partition_key_alone() -> None:
    class Flat(Entity, table=Table("flat", sk=None), pk="FLAT#{id}"):
        id: str
        email: Annotated[str, Unique(pk="mail/{email}")]

    ((_, key, _),) = claims(mapping_of(Flat), mapping_of(Flat).subject({}, {"id": "1", "email": "a"}))
    assert key.in_table(mapping_of(Flat).table) == {"PK": {"S": "mail/a"}}
