"""What is asked of a key: whatever the condition lets through and the tests accept is what was asked for, exactly."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from dynaorm import Ksuid
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template import KeyValueError, compile_template
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.item.condition import Attr, Between, Compare
from dynaorm.query.key_range import Bound, Operator
from tests.query.asked import Asked

TYPES: dict[str, type] = {
    "name": str,
    "other": str,
    "number": int,
    "at": datetime,
    "day": date,
    "amount": Decimal,
    "content": bytes,
    "ksuid": Ksuid,
}


def scalars() -> dict[str, Scalar]:
    return {name: found for name, kind in TYPES.items() if (found := scalar_of(kind)) is not None}


def part_of(text: str, kind: KeyKind = "S") -> KeyPart:
    template = compile_template(text, scalars(), kind=kind, sort=True)
    return KeyPart(KeyAttribute("SK", kind), template, 1024)


def test_the_closest_condition_is_sent() -> None:
    part = part_of("T#{number:03d}")

    def condition(*bounds: Bound) -> Any:
        return Asked(part, {}, bounds).condition

    low, high = Bound("number", ">=", (5,)), Bound("number", "<=", (9,))
    assert condition(low, high) == Between(condition(low).operand, {"S": "T#005"}, {"S": "T#009"})
    assert condition(low).high == {"S": "T$"}
    assert Asked(part_of("{name}"), {}, (Bound("name", ">", ("a",)),)).condition == Compare(
        condition(low).operand, ">", {"S": "a"}
    )
    assert Asked(part, {"number": 7}, ()).keys.is_point


@pytest.mark.parametrize(
    "bounds",
    [
        (Bound("number", "between", (9, 5)),),
        (Bound("number", ">=", (5,)), Bound("number", "<", (5,))),
        (Bound("number", ">", (5,)), Bound("number", "<", (5,))),
    ],
)
def test_what_nothing_can_satisfy_is_known_before_anything_is_sent(bounds: tuple[Bound, ...]) -> None:
    assert Asked(part_of("T#{number:03d}"), {}, bounds).is_empty


def test_a_bound_on_a_later_field_names_the_one_that_is_missing() -> None:
    part = part_of("{name}#{other}#{number:03d}")
    with pytest.raises(KeyValueError) as caught:
        Asked(part, {"name": "a"}, (Bound("number", "<", (3,)),))
    assert "give other too" in caught.value.problem
    with pytest.raises(KeyValueError):
        Asked(part, {"other": "a"}, ())


def test_a_value_that_cannot_be_in_the_key_is_refused() -> None:
    with pytest.raises(KeyValueError, match="number"):
        Asked(part_of("T#{number:03d}"), {}, (Bound("number", "<", (-3,)),))
    with pytest.raises(KeyValueError, match="no beginning of a key"):
        Asked(part_of("{amount}", "N"), {}, (Bound("amount", "begins_with", ("1",)),))
    asked = Asked(part_of("{content}", "B"), {}, (Bound("content", "begins_with", (b"a",)),))
    assert asked.finds({"content": b"ab"})


@pytest.mark.parametrize("separator", ["_", "|", "~", ":"])
def test_a_range_of_times_ends_where_it_should_whatever_comes_after_the_time(separator: str) -> None:
    before = datetime(2020, 3, 7, tzinfo=UTC)
    asked = Asked(part_of(f"{{at}}{separator}{{name}}"), {}, (Bound("at", "<", (before,)),))
    assert asked.condition == Compare(Attr(("SK",)), "<", {"S": "2020-03-07T00:00:00.000000Z"})
    assert asked.finds({"at": before - timedelta(microseconds=1), "name": ""})
    assert not asked.finds({"at": before, "name": ""})


def test_raw_text_is_taken_apart_as_far_as_its_key_can_be_told() -> None:
    after = Asked(part_of("{name:raw}#{other}#{number:03d}"), {}, (Bound("name", ">", ("a",)),))
    assert not after.finds({"name": "a", "other": "x", "number": 1})
    assert after.finds({"name": "a#b", "other": "x", "number": 1})
    part = part_of("{name:raw}~{number:03d}~{other}")
    given_before = Asked(part, {"name": "a"}, (Bound("number", "<=", (5,)),))
    assert given_before.finds({"name": "a", "number": 5, "other": "x"})
    assert not given_before.finds({"name": "a", "number": 999, "other": "x"})
    assert not given_before.finds({"name": "a~005~b", "number": 5, "other": "x"})


def test_raw_text_whose_end_the_key_does_not_tell_is_told_by_its_value() -> None:
    asked = Asked(part_of("{name:raw}#{other:raw}"), {}, (Bound("name", "<=", ("a",)),))
    assert asked.by_key("a#b#c") is None
    assert asked.finds({"name": "a", "other": "b#c"})
    assert not asked.finds({"name": "a#b", "other": "c"})
    one = Asked(part_of("{name:raw}#{other:raw}"), {"name": "a", "other": "b#c"}, ())
    assert one.finds({"name": "a", "other": "b#c"})
    assert not one.finds({"name": "a#b", "other": "c"}), "another entity with the same key"


@pytest.mark.parametrize("kind", ["S", "N", "B"])
def test_a_bound_that_is_none_is_refused(kind: KeyKind) -> None:
    field = {"S": "name", "N": "amount", "B": "content"}[kind]
    with pytest.raises(KeyValueError, match="is None"):
        Asked(part_of(f"{{{field}}}", kind), {}, (Bound(field, "<", (None,)),))


@pytest.mark.parametrize("sign", ["<", "begins_with"])
@pytest.mark.parametrize(("kind", "text"), [("S", "P#{name}"), ("S", "{name}"), ("B", "{name}")])
def test_a_bound_that_no_key_can_hold_is_refused(kind: KeyKind, text: str, sign: Operator) -> None:
    """DynamoDB refuses a request whose key condition is longer than a key, or is no UTF-8."""
    with pytest.raises(KeyValueError, match="1024 allowed"):
        Asked(part_of(text, kind), {}, (Bound("name", sign, ("é" * 600,)),))
    with pytest.raises(KeyValueError, match="surrogate"):
        Asked(part_of(text, kind), {}, (Bound("name", sign, ("\ud800",)),))


@pytest.mark.parametrize(
    ("text", "kind", "prefix"),
    [("{content}", "B", "ab"), ("{name}", "B", b"ab"), ("{ksuid}", "B", b"ab"), ("{name}", "S", b"ab")],
)
def test_a_beginning_of_another_type_is_refused(text: str, kind: KeyKind, prefix: object) -> None:
    with pytest.raises(KeyValueError):
        Asked(part_of(text, kind), {}, (Bound(text.strip("{}"), "begins_with", (prefix,)),))


@pytest.mark.parametrize(
    "number", ["9.9E+125", "1E-130", "-1E-130", "12345678901234567890.123456789012345678"]
)
def test_a_bound_keeps_every_digit_of_a_number(number: str) -> None:
    asked = Asked(part_of("{amount}", "N"), {}, (Bound("amount", "<=", (Decimal(number),)),))
    assert isinstance(asked.condition, Compare)
    assert Decimal(asked.condition.right["N"]) == Decimal(number)
    assert len(asked.condition.right["N"]) < 50
