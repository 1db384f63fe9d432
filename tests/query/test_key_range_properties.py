"""Over templates made up at random, what a query finds is what plain Python finds."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynaorm.entity.key_part import KeyPart, versioned
from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
from dynaorm.entity.text.scalar import Scalar, scalar_of
from dynaorm.item.condition import BeginsWith, Between, Compare, Condition
from dynaorm.item.value import AttributeValue
from dynaorm.query.key_range import Bound, Operator
from tests.query.asked import Asked

_letters = st.text(st.sampled_from("abAB_%#'\"!$~|: é\u00ff\uffff\U0001f600\U0010ffff"), max_size=4)
_times = st.datetimes(datetime(2020, 1, 1), datetime(2020, 1, 3), timezones=st.just(UTC))  # noqa: DTZ001 - aware by timezones=

# The specs a field of each type can have in a key that is a text, and its values.
FIELDS: dict[str, tuple[type, list[str], st.SearchStrategy[Any]]] = {
    "name": (str, ["", ":upper", ":raw"], _letters),
    "other": (str, ["", ":casefold"], _letters),
    "number": (int, [":03d", ":03d:desc", "!s", ":shard12"], st.integers(0, 999)),
    "at": (datetime, ["", ":desc", ":%Y-%m-%d", ":%H"], _times),
    "amount": (Decimal, ["!s"], st.decimals(-20, 20, allow_nan=False, places=1)),
    "done": (bool, [""], st.booleans()),
    "content": (bytes, [""], st.binary(max_size=2)),
    "ident": (UUID, [""], st.uuids()),
}
SIDES = ["", "P#", "é~", "#", "_", "\x7f"]
BETWEEN = ["", "#", "_", "|", "~", "!", ":", " #", "#~", "z", "\u07ff", "\U0010ffff"]
VERSIONS = ["v{version}_{sk}", "{sk}_v{version}", "é{sk}~{version}!", "{version}#{sk}#"]
SIGNS: list[list[Operator]] = [
    ["<"],
    ["<="],
    [">"],
    [">="],
    ["between"],
    ["begins_with"],
    [">=", "<"],
    [">", "<="],
    [">", "<"],
    ["begins_with", "<"],
    ["between", ">"],
]


def scalars() -> dict[str, Scalar]:
    return {name: found for name, (kind, _, _) in FIELDS.items() if (found := scalar_of(kind)) is not None}


def versioned_part(draw: st.DrawFn, inner: KeyTemplate, kind: KeyKind) -> KeyPart:
    around = versioned(draw(st.sampled_from(VERSIONS)), inner)
    return KeyPart(KeyAttribute("SK", kind), inner, 1024 - around.reserve, version=around)


@st.composite
def text_parts(draw: st.DrawFn) -> KeyPart:
    """A key of one to three fields, now and then that of a versioned class."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True))
    texts = [draw(st.sampled_from(SIDES))]
    for name in names:
        texts += [f"{{{name}{draw(st.sampled_from(FIELDS[name][1]))}}}", draw(st.sampled_from(BETWEEN))]
    texts[-1] = draw(st.sampled_from(SIDES))
    try:
        template = compile_template("".join(texts), scalars(), kind="S", sort=True)
    except TemplateError:
        assume(False)
        raise
    attribute = KeyAttribute("SK", "S")
    if draw(st.integers(0, 2)):
        return KeyPart(attribute, template, 1024)
    return versioned_part(draw, template, "S")


@st.composite
def plain_parts(draw: st.DrawFn) -> KeyPart:
    """A key that is one field: a number, or bytes, now and then of a versioned class."""
    kind: KeyKind = draw(st.sampled_from(["N", "B"]))
    text = draw(
        st.sampled_from(
            ["{number}", "{amount}", "{at:epoch}"] if kind == "N" else ["{content}", "{ident}", "{name}"]
        )
    )
    template = compile_template(text, scalars(), kind=kind, sort=True)
    attribute = KeyAttribute("SK", kind)
    if kind == "N" or draw(st.booleans()):
        return KeyPart(attribute, template, 1024)
    return versioned_part(draw, template, kind)


def written(part: KeyPart, field: str, value: Any) -> Any:
    """What a field's value is compared by: its text in the key, its bytes, or its number."""
    assert part.template is not None
    piece = next(one for one in part.template.pieces if one.field == field)
    text = piece.write(value)
    if part.attribute.kind == "N":
        return Decimal(text)
    return text if part.template.packing is None else part.template.packing.pack(text)


def is_within(part: KeyPart, bound: Bound, value: Any) -> bool:
    assert part.template is not None
    piece = next(one for one in part.template.pieces if one.field == bound.field)
    text = written(part, bound.field, value)
    if bound.operator == "begins_with":
        prefix = bound.values[0]
        if part.attribute.kind == "B":
            return bool(text.startswith(prefix.encode() if isinstance(prefix, str) else prefix))
        change = piece.change or str
        return bool(text.startswith(piece.escape(change(prefix))))
    low = written(part, bound.field, bound.values[0])
    if bound.operator == "between":
        high = written(part, bound.field, bound.values[1])
        return bool(high <= text <= low if piece.desc else low <= text <= high)
    if piece.desc:
        text, low = low, text
    return bool({"<": text < low, "<=": text <= low, ">": text > low, ">=": text >= low}[bound.operator])


@st.composite
def bounds_of(draw: st.DrawFn, part: KeyPart, field: str) -> tuple[Bound, ...]:
    values, found = FIELDS[field][2], []
    for sign in draw(st.sampled_from(SIGNS)):
        if sign == "between":
            found.append(Bound(field, sign, (draw(values), draw(values))))
        elif sign != "begins_with":
            found.append(Bound(field, sign, (draw(values),)))
        elif part.attribute.kind == "B" and field != "ident":
            prefix = draw(values)
            found.append(Bound(field, sign, (prefix[: draw(st.integers(0, 2))],)))
        elif part.attribute.kind == "S":
            assert part.template is not None
            piece = next(one for one in part.template.pieces if one.field == field)
            text = draw(values) if piece.open else piece.write(draw(values))
            found.append(Bound(field, sign, (text[: draw(st.integers(0, 4))],)))
    # A binary key is asked for its beginning alone.
    return tuple(
        found[:1] if part.attribute.kind == "B" and any(b.operator == "begins_with" for b in found) else found
    )


@st.composite
def specs(draw: st.DrawFn, part: KeyPart) -> tuple[dict[str, Any], tuple[Bound, ...]]:
    """Leading fields that are given, and bounds of the next one, if any."""
    given_ones = draw(st.integers(0, len(part.fields) - 1))
    equal = {name: draw(FIELDS[name][2]) for name in part.fields[:given_ones]}
    return equal, draw(bounds_of(part, part.fields[given_ones])) if draw(st.integers(0, 5)) else ()


@st.composite
def entities(
    draw: st.DrawFn, part: KeyPart, equal: Mapping[str, Any], bounds: tuple[Bound, ...]
) -> dict[str, Any]:
    """Field values, often just those that were asked for."""
    values = {name: draw(FIELDS[name][2]) for name in part.fields}
    if draw(st.booleans()):
        values |= equal
    asked = [value for bound in bounds if bound.operator != "begins_with" for value in bound.values]
    is_at_the_edge: bool = draw(st.booleans())
    if asked and is_at_the_edge:
        edge: st.SearchStrategy[Any] = st.sampled_from(asked)
        values[bounds[0].field] = draw(edge)
    return values


def wanted(
    part: KeyPart, equal: Mapping[str, Any], bounds: tuple[Bound, ...], values: Mapping[str, Any]
) -> bool:
    return all(
        written(part, name, value) == written(part, name, values[name]) for name, value in equal.items()
    ) and all(is_within(part, bound, values[bound.field]) for bound in bounds)


def stored(part: KeyPart, key: str | bytes) -> AttributeValue:
    return {part.attribute.kind: key}


def contents(condition: Condition | None) -> Iterator[AttributeValue]:
    if isinstance(condition, Between):
        yield from (condition.low, condition.high)
    elif isinstance(condition, Compare):
        yield condition.right
    elif isinstance(condition, BeginsWith):
        yield condition.prefix


@settings(max_examples=settings().max_examples * 3)
@given(data=st.data(), part=st.one_of(text_parts(), plain_parts()))
def test_a_query_finds_what_python_finds(data: st.DataObject, part: KeyPart) -> None:
    equal, bounds = data.draw(specs(part))
    asked = Asked(part, equal, bounds, is_foreign=data.draw(st.booleans()))
    for _ in range(10):
        values = data.draw(entities(part, equal, bounds))
        if part.render(values):
            assert asked.finds(values) == wanted(part, equal, bounds, values), (
                part.text,
                equal,
                bounds,
                values,
            )


@given(data=st.data(), part=st.one_of(text_parts(), plain_parts()))
def test_dynamodb_accepts_every_condition(data: st.DataObject, part: KeyPart) -> None:
    """It refuses empty keys, and ranges whose low end is above the high one."""
    asked = Asked(part, *data.draw(specs(part)))
    found = [next(iter(value.values())) for value in contents(asked.condition)]
    assert all(found)
    if isinstance(asked.condition, Between):
        low, high = map(Decimal, found) if part.attribute.kind == "N" else found
        assert low <= high


FIXED = ["{number:03d}", "{at}", "{at:desc}", "{ident}", "{at:%Y-%m-%d}", "{done}"]


@pytest.mark.parametrize("separator", ["#", "_", "~"])
@given(data=st.data(), placeholder=st.sampled_from(FIXED))
def test_of_texts_of_one_length_no_more_is_read_than_asked_for(
    data: st.DataObject, placeholder: str, separator: str
) -> None:
    template = compile_template(f"{placeholder}{separator}{{name}}", scalars(), kind="S", sort=True)
    part, field = KeyPart(KeyAttribute("SK", "S"), template, 1024), template.fields[0]
    bounds = tuple(one for one in data.draw(bounds_of(part, field)) if one.operator != "begins_with")
    asked = Asked(part, {}, bounds)
    for _ in range(5):
        values = data.draw(entities(part, {}, bounds))
        key = part.render(values)
        assert key is not None
        is_read = asked.reads(stored(part, key)) and not (
            asked.keys.is_read_with_end and key == asked.keys.high
        )
        assert is_read == wanted(part, {}, bounds, values)
