"""What is asked of a key: whatever the condition lets through and ``admits`` accepts is what was asked for, exactly."""

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Ksuid, ksuid_range, new_ksuid
from dynaorm.entity.key_range import Bound, KeyRange, Operator, key_range
from dynaorm.entity.keys import KeyPart, key_part, versioned_key_part
from dynaorm.entity.scalar import Scalar, scalar_of
from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template import KeyValueError, compile_template
from dynaorm.entity.version_template import versioned
from dynaorm.item.condition import Between, Compare
from dynaorm.item.evaluate import holds

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
    return key_part(KeyAttribute("SK", kind), template, 1024)


def finds(asked: KeyRange, key: Any, kind: str = "S") -> bool:
    """Whether DynamoDB and the check that follows let a key through."""
    stored = {kind: key}
    if asked.is_empty or (asked.condition is not None and not holds(asked.condition, {"SK": stored})):
        return False
    return asked.admits is None or asked.admits(stored)


_letters = st.text(st.sampled_from("abAB_%#'\"!$~ é\U0001f600"), max_size=4)
_times = st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - aware by timezones=
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": _letters,
    "other": _letters,
    "number": st.integers(0, 999),
    "at": _times,
    "day": st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    "amount": st.decimals(-100, 100, allow_nan=False, places=1),
    "content": st.binary(min_size=1, max_size=3),
}

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# Each template, the field that is bounded, and what of its value is compared.
TEXTS: list[tuple[str, str]] = [
    ("{name}", "name"),
    ("NAME#{name}", "name"),
    ("{name}#{other}", "name"),
    ("{name}#{other}", "other"),
    ("P~{name}~{other}~{number:03d}", "other"),
    ("{name:upper}#{other}", "name"),
    ("{number:03d}", "number"),
    ("T#{number:03d}#{name}", "number"),
    ("{number:03d:desc}#{name}", "number"),
    ("{at}", "at"),
    ("{at:desc}", "at"),
    ("{day:%Y-%m-%d}#{name}#END", "day"),
    ("{number!s}_{name}", "number"),
    ("{name:raw}", "name"),
]


@st.composite
def bounds_of(draw: st.DrawFn, field: str) -> tuple[Bound, ...]:
    """One condition, or two that make a range."""
    value = VALUES[field]
    signs: list[Operator] = draw(
        st.sampled_from([["<"], ["<="], [">"], [">="], ["between"], [">=", "<"], [">", "<="], [">", "<"]])
    )
    return tuple(
        Bound(field, sign, (draw(value), draw(value)) if sign == "between" else (draw(value),))
        for sign in signs
    )


def wanted(part: KeyPart, bounds: tuple[Bound, ...], values: Mapping[str, Any]) -> bool:
    """What plain Python says: the rendered texts compare so, backwards for what is written backwards."""
    assert part.template is not None
    (piece,) = [one for one in part.template.pieces if one.slot.field == bounds[0].field]
    text = piece.write(values[bounds[0].field])
    for bound in bounds:
        texts = [piece.write(value) for value in bound.values]
        pairs = (
            [(">=", texts[0]), ("<=", texts[1])]
            if bound.operator == "between"
            else [(bound.operator, texts[0])]
        )
        for sign, other in pairs:
            one, two = (other, text) if piece.slot.desc else (text, other)
            if not COMPARED[sign](one, two):
                return False
    return True


@pytest.mark.parametrize(("text", "field"), TEXTS)
@given(data=st.data())
def test_a_bound_finds_what_python_finds(text: str, field: str, data: st.DataObject) -> None:
    part = part_of(text)
    assert part.template is not None
    before = [one.slot.field for one in part.template.pieces]
    before = before[: before.index(field)]
    equal = {name: data.draw(VALUES[name]) for name in before}
    bounds = data.draw(bounds_of(field))
    asked = key_range(part, equal, bounds)
    for _ in range(12):
        values = {name: data.draw(VALUES[name]) for name in part.fields}
        if data.draw(st.booleans()):
            values |= equal
        key = part.render(values)
        if not key:
            continue
        alike = all(
            one.write(values[one.slot.field]) == one.write(equal[one.slot.field])
            for one in part.template.pieces
            if one.slot.field in equal
        )
        assert finds(asked, key) == (alike and wanted(part, bounds, values)), (key, asked.condition)


@given(data=st.data(), kind=st.sampled_from(["N", "B"]))
def test_numbers_compare_by_value_and_binary_by_byte(data: st.DataObject, kind: KeyKind) -> None:
    field = "amount" if kind == "N" else "content"
    part = part_of(f"{{{field}}}", kind)
    bounds = data.draw(bounds_of(field))
    asked = key_range(part, {}, bounds)
    for _ in range(10):
        value = data.draw(VALUES[field])
        assert finds(asked, part.render({field: value}), kind) == all(
            bound.values[0] <= value <= bound.values[1]
            if bound.operator == "between"
            else COMPARED[bound.operator](value, bound.values[0])
            for bound in bounds
        )


@given(given_name=_letters, prefix=_letters, names=st.lists(st.tuples(_letters, _letters), max_size=8))
def test_a_prefix_is_of_the_field_and_stays_within_its_level(
    given_name: str, prefix: str, names: list[tuple[str, str]]
) -> None:
    part = part_of("P#{name}#{other}")
    asked = key_range(part, {"name": given_name}, (Bound("other", "begins_with", (prefix,)),))
    level = key_range(part, {"name": given_name}, ())
    for name, other in names:
        key = part.render({"name": name, "other": other})
        assert finds(level, key) == (name == given_name)
        assert finds(asked, key) == (name == given_name and other.startswith(prefix))


@given(data=st.data(), template=st.sampled_from(["v{version}_{sk}", "{sk}_v{version}"]))
def test_only_latest_copies_are_found(data: st.DataObject, template: str) -> None:
    inner = compile_template("AUDIT#{name}", scalars(), kind="S", sort=True)
    part = versioned_key_part(KeyAttribute("SK", "S"), versioned(template, inner), inner)
    bounds = data.draw(st.one_of(st.just(()), bounds_of("name")))
    asked = key_range(part, {}, bounds)
    assert part.version is not None
    for _ in range(8):
        name, number = data.draw(_letters), data.draw(st.integers(1, 12))
        hit = not bounds or wanted(part, bounds, {"name": name})
        assert finds(asked, part.render({"name": name})) == hit
        assert not finds(asked, part.version.number(number, {"name": name}))


def test_the_closest_condition_is_sent() -> None:
    part = part_of("T#{number:03d}")

    def condition(*bounds: Bound) -> Any:
        return key_range(part, {}, bounds).condition

    low, high = Bound("number", ">=", (5,)), Bound("number", "<=", (9,))
    assert condition(low, high) == Between(condition(low).operand, {"S": "T#005"}, {"S": "T#009"})
    assert condition(low).high == {"S": "T$"}
    assert key_range(part_of("{name}"), {}, (Bound("name", ">", ("a",)),)).condition == Compare(
        condition(low).operand, ">", {"S": "a"}
    )
    assert key_range(part, {"number": 7}, ()).is_equal


@pytest.mark.parametrize(
    "bounds",
    [
        (Bound("number", "between", (9, 5)),),
        (Bound("number", ">=", (5,)), Bound("number", "<", (5,))),
        (Bound("number", ">", (5,)), Bound("number", "<", (5,))),
    ],
)
def test_what_nothing_can_satisfy_is_known_before_anything_is_sent(bounds: tuple[Bound, ...]) -> None:
    assert key_range(part_of("T#{number:03d}"), {}, bounds).is_empty


@pytest.mark.parametrize(("text", "kind"), [("{ksuid}", "S"), ("{ksuid}", "B"), ("ORDER#{ksuid}", "S")])
def test_a_range_of_time_bounds_ksuids(text: str, kind: KeyKind) -> None:
    start, end = datetime(2020, 3, 7, 13, 2, tzinfo=UTC), datetime(2020, 3, 7, 13, 3, tzinfo=UTC)
    part = part_of(text, kind)
    asked = key_range(part, {}, (Bound("ksuid", "between", ksuid_range(start, end)),))
    inside, outside = Ksuid.from_base62("1YnlHOfSSk3DhX4BR6lMAceAo1V"), Ksuid.from_base62(new_ksuid())
    assert finds(asked, part.render({"ksuid": inside}), kind)
    assert not finds(asked, part.render({"ksuid": outside}), kind)
    with pytest.raises(KeyValueError):
        key_range(part, {}, (Bound("ksuid", "<", ("not a ksuid",)),))


def test_a_bound_on_a_later_field_names_the_one_that_is_missing() -> None:
    part = part_of("{name}#{other}#{number:03d}")
    with pytest.raises(KeyValueError) as caught:
        key_range(part, {"name": "a"}, (Bound("number", "<", (3,)),))
    assert "give other too" in caught.value.problem
    with pytest.raises(KeyValueError):
        key_range(part, {"other": "a"}, ())


def test_a_value_that_cannot_be_in_the_key_is_refused() -> None:
    with pytest.raises(KeyValueError, match="number"):
        key_range(part_of("T#{number:03d}"), {}, (Bound("number", "<", (-3,)),))
    with pytest.raises(KeyValueError, match="no beginning of a key"):
        key_range(part_of("{amount}", "N"), {}, (Bound("amount", "begins_with", ("1",)),))
    assert finds(
        key_range(part_of("{content}", "B"), {}, (Bound("content", "begins_with", (b"a",)),)), b"ab", "B"
    )
