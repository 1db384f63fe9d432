"""Templates render keys and match them back: what each spec, literal and value makes, literally."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from dynaorm import Ksuid
from dynaorm.entity.template import KeyValueError
from dynaorm.entity.text.scalar import may_meet, shape_of_text
from tests.entity.template.fields import Status, compiled

NOON = datetime(2018, 8, 29, 12, 0, tzinfo=UTC)
BOBBY = UUID("b201c1f2-238e-461f-88e6-0e606fbc3c51")
KSUID = Ksuid.from_base62("1YnlHOfSSk3DhX4BR6lMAceAo1V")


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("PROFILE", {}, "PROFILE"),
        ("USER#{user_id}", {"user_id": "a#b%c"}, "USER#a%23b%25c"),
        ("{user_id}#{at}", {"user_id": "amsg", "at": NOON}, "amsg#2018-08-29T12:00:00.000000Z"),
        ("{user_id}-{name}", {"user_id": "seattle-1", "name": "x"}, "seattle%2D1-x"),
        ("{user_id}é{name}", {"user_id": "é", "name": "è"}, "%C3%A9éè"),
        ("{user_id}2{name}", {"user_id": "2", "name": "3"}, "%3223"),
        ("C#{user_id:raw}", {"user_id": "a#b"}, "C#a#b"),
        ("C#{user_id:upper}", {"user_id": "a#é"}, "C#A%23É"),
        ("TICKET#{number:06d}", {"number": 42}, "TICKET#000042"),
        ("{number!s}/{name}", {"number": -42, "name": "a"}, "-42/a"),
        ("{at:%Y-%m}#{name}", {"at": NOON, "name": "a-b"}, "2018-08#a-b"),
        ("{day}-{number!s}", {"day": date(2024, 1, 2), "number": -1}, "2024-01-02--1"),
        ("{status}-{name}", {"status": Status.ON_HOLD, "name": "x"}, "on%2Dhold-x"),
        ("{done}#", {"done": False}, "false#"),
        ("{digest}", {"digest": b"\x01\xff"}, "01ff"),
        ("ORDERID#{ksuid}", {"ksuid": KSUID}, "ORDERID#1YnlHOfSSk3DhX4BR6lMAceAo1V"),
        ("STATUS#{status}#{number:shard8}", {"status": Status.OPEN, "number": 42}, "STATUS#open#1"),
        ("{name}#{name:lower}", {"name": "Bob"}, "Bob#bob"),
    ],
)
def test_keys_are_these(text: str, values: dict[str, Any], key: str) -> None:
    template = compiled(text)
    assert template.render(values) == key
    assert template.match(key) == {name: value for name, value in values.items() if name in template.lossless}


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("{number}", {"number": -5}, "-5"),
        ("{number!s}", {"number": -5}, "-5"),
        ("{price}", {"price": Decimal("1.50")}, "1.5"),
        ("{at:epoch}", {"at": NOON}, "1535544000"),
        ("{at:epoch_ms}", {"at": NOON}, "1535544000000"),
        ("{day:epoch}", {"day": date(1970, 1, 2)}, "86400"),
    ],
)
def test_a_number_key_is_the_text_of_a_number(text: str, values: dict[str, Any], key: str) -> None:
    template = compiled(text, "N", sort=True)
    assert template.render(values) == key
    assert template.match(key) == ({} if "at" in values else values)


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("{digest}", {"digest": b"\x00\xff"}, b"\x00\xff"),
        ("{name}", {"name": "é"}, b"\xc3\xa9"),
        ("{id}", {"id": BOBBY}, BOBBY.bytes),
        ("{ksuid}", {"ksuid": KSUID}, bytes(KSUID)),
        ("{status:raw}", {"status": Status.OPEN}, b"open"),
    ],
)
def test_a_binary_key_is_bytes(text: str, values: dict[str, Any], key: bytes) -> None:
    template = compiled(text, "B")
    assert template.render(values) == key
    assert template.match(key) == values
    assert template.match(key.hex()) is None
    assert may_meet(template.shape, shape_of_text("anything"))


@pytest.mark.parametrize("text", ["{user_id}", "USER#{user_id}", "USER#{user_id}#{name}"])
def test_a_key_without_one_of_its_values_is_none(text: str) -> None:
    assert compiled(text).render({"user_id": None, "name": "x"}) is None
    assert compiled(text).render({"name": "x"}) is None
    assert compiled("{digest}", "B").render({"digest": None}) is None


@pytest.mark.parametrize(
    ("text", "field", "value", "problem"),
    [
        ("USER#{user_id}", "user_id", 5, "is an int, not a str"),
        ("USER#{user_id}#{number:05d}", "number", -1, "is negative, and {number:05d} holds 0 to 99999"),
        ("{at}", "at", datetime(2024, 1, 1), "is a datetime without a time zone"),  # noqa: DTZ001 - refused
    ],
)
def test_a_value_that_cannot_be_part_of_a_key_is_named(
    text: str, field: str, value: object, problem: str
) -> None:
    with pytest.raises(KeyValueError, match=re.escape(problem)) as caught:
        compiled(text).render({"user_id": "u1", field: value})
    assert (caught.value.field, caught.value.value) == (field, value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("USER#{user_id}", "ORDER#u1"),
        ("USER#{user_id}", "USER#a%2fb"),
        ("USER#{user_id}", "USER#%61"),
        ("USER#{user_id}", "USER#%FF"),
        ("{number:05d}", "12"),
        ("N{number!s}", "N-0"),
        ("{id}", str(BOBBY).upper()),
        ("{status}#", "closed#"),
        ("{ksuid}", "z" * 27),
        ("{name}#{name}", "a#b"),
        ("{price}#", "1.50#"),
    ],
)
def test_a_key_that_is_never_rendered_matches_nothing(text: str, key: str) -> None:
    assert compiled(text).match(key) is None


def test_a_field_that_only_chooses_a_shard_asks_all_of_them() -> None:
    template = compiled("STATUS#{status}#{number:shard3}")
    assert template.shards == {"number": 3}
    assert template.renders({"status": Status.OPEN}) == ("STATUS#open#1", "STATUS#open#2", "STATUS#open#3")
    assert template.renders({"status": Status.OPEN, "number": 42}) == ("STATUS#open#3",)
    assert template.renders({"number": 42}) == ()
    assert template.render({"status": Status.OPEN}) is None


def test_a_field_that_is_rendered_too_chooses_no_shard() -> None:
    template = compiled("{name:shard2}#{name}")
    assert template.shards == {}
    assert template.renders({}) == ()
    assert template.renders({"name": "x"}) == (template.render({"name": "x"}),)
    assert compiled("{number}", "N").renders({"number": 1}) == ("1",)
