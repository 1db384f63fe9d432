"""Numbers have one text, and two attribute values are the same where DynamoDB's ``=`` says so."""

import math
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynaorm.item.value import AttributeValue, number_text, same, set_of

DIGITS = st.text("0123456789", min_size=1, max_size=38)


class Level(IntEnum):
    HIGH = 3


class Mixed(int, Enum):
    TWO = 2


@st.composite
def numbers(draw: st.DrawFn) -> Decimal:
    """Any number DynamoDB can store, in any spelling."""
    digits = draw(DIGITS)
    significant = digits.strip("0")
    exponent = draw(st.integers(-130, 125)) - (len(digits) - 1)
    value = Decimal(f"{draw(st.sampled_from(['', '-']))}{digits}E{exponent}")
    assume(not significant or -130 <= value.adjusted() <= 125)
    return value


@st.composite
def spellings(draw: st.DrawFn, value: Decimal) -> str:
    """Another text of the same number."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    zeros = draw(st.integers(0, 5))
    text = "".join(map(str, digits)) + "0" * zeros
    return f"{'-' if sign else ''}{'0' * draw(st.integers(0, 3))}{text}E{exponent - zeros}"


def scalars() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(lambda text: {"S": text}, st.text(max_size=4)),
        st.builds(lambda number: {"N": str(number)}, numbers()),
        st.builds(lambda blob: {"B": blob}, st.binary(max_size=4)),
        st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
        st.just({"NULL": True}),
        st.builds(lambda texts: {"SS": texts}, st.lists(st.text(max_size=3), min_size=1, unique=True)),
        st.builds(lambda blobs: {"BS": blobs}, st.lists(st.binary(max_size=3), min_size=1, unique=True)),
        st.builds(
            lambda found: {"NS": [str(number) for number in found]},
            st.lists(numbers(), min_size=1, max_size=4, unique=True),
        ),
    )


VALUES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    scalars(),
    lambda inner: (
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3))
        | st.builds(lambda members: {"M": members}, st.dictionaries(st.text(max_size=3), inner, max_size=3))
    ),
    max_leaves=8,
)


def respelled(draw: st.DrawFn, value: AttributeValue) -> AttributeValue:
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return {"N": draw(spellings(Decimal(content)))}
        case "NS":
            return {"NS": draw(st.permutations([draw(spellings(Decimal(one))) for one in content]))}
        case "SS" | "BS":
            return {tag: draw(st.permutations(content))}
        case "L":
            return {"L": [respelled(draw, one) for one in content]}
        case "M":
            names = draw(st.permutations(list(content)))
            return {"M": {name: respelled(draw, content[name]) for name in names}}
    return {tag: content}


@st.composite
def twins(draw: st.DrawFn) -> tuple[AttributeValue, AttributeValue]:
    """One value, and the same with sets in another order and numbers in another spelling."""
    value = draw(VALUES)
    return value, respelled(draw, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (Decimal("-0.00"), "0"),
        (100, "100"),
        (Decimal("1.50"), "1.5"),
        (Decimal("1E+2"), "100"),
        (1e22, "10000000000000000000000"),
        (Decimal("1E+39"), "1" + "0" * 39),
        (Decimal("1E+40"), "1E+40"),
        (Decimal("-1.5E+125"), "-1.5E+125"),
        (10**125, "1E+125"),
        (Decimal("1E-38"), "0." + "0" * 37 + "1"),
        (Decimal("1E-130"), "1E-130"),
        (10**38 - 1, "9" * 38),
        (Level.HIGH, "3"),
        (Mixed.TWO, "2"),
    ],
)
def test_a_number_has_one_text(value: int | Decimal | float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.nan, "not a finite number"),
        (math.inf, "not a finite number"),
        (-math.inf, "not a finite number"),
        (Decimal("sNaN"), "not a finite number"),
        (10**38 + 1, "39 significant digits"),
        (Decimal("1." + "1" * 38), "39 significant digits"),
        (10**126, "larger than"),
        (-(10**127), "larger than"),
        (10**100_000, "larger than"),
        (Decimal("1E+126"), "outside DynamoDB's range"),
        (1e200, "outside DynamoDB's range"),
        (1e-200, "outside DynamoDB's range"),
        (Decimal("9E-131"), "outside DynamoDB's range"),
        (True, "is a bool"),
        ("5", "'5' is not a number"),
        (None, "None is not a number"),
        (1j, "is not a number"),
    ],
    ids=lambda value: f"{math.log10(abs(value)):.4f} digits" if type(value) is int else repr(value)[:30],
)
def test_what_dynamodb_cannot_store_as_a_number_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        number_text(value)


@given(numbers())
def test_a_text_is_exactly_the_number(value: Decimal) -> None:
    assert Decimal(number_text(value)) == value


@given(st.data(), numbers())
def test_every_spelling_of_a_number_has_the_same_text(data: st.DataObject, value: Decimal) -> None:
    other = Decimal(data.draw(spellings(value)))
    assume(other.adjusted() >= -130)
    assert number_text(other) == number_text(value)


@given(numbers())
def test_a_text_has_no_zeros_to_spare(value: Decimal) -> None:
    text = number_text(value)
    mantissa = text.partition("E")[0].lstrip("-")
    whole, point, fraction = mantissa.partition(".")
    assert len(mantissa) <= 41
    assert whole == "0" or not whole.startswith("0")
    assert bool(fraction) == bool(point)
    assert not fraction.endswith("0")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(value: float) -> None:
    assume(value == 0 or 1e-130 <= abs(value) < 1e126)
    assert float(number_text(value)) == value


@given(twins())
def test_sameness_ignores_the_order_of_sets_and_spelling(
    pair: tuple[AttributeValue, AttributeValue],
) -> None:
    assert same(*pair)
    assert same(*reversed(pair))


@given(twins(), st.data())
def test_sameness_is_transitive(pair: tuple[AttributeValue, AttributeValue], data: st.DataObject) -> None:
    left, middle = pair
    right = data.draw(st.one_of(VALUES, st.just(left), st.just(middle)))
    assert same(left, right) == same(middle, right)


@given(VALUES)
def test_a_stored_value_is_never_the_same_as_an_absent_one(value: AttributeValue) -> None:
    assert not same(value, None)
    assert not same(None, value)
    assert same(value, value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"S": "a"}, {"S": "A"}),
        ({"S": ""}, {"NULL": True}),
        ({"N": "1"}, {"N": "1.00000000000000000000000000000000000001"}),
        ({"BOOL": True}, {"BOOL": False}),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}),
        ({"NS": ["1", "2"]}, {"NS": ["1", "3"]}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"L": [{"S": "a"}]}, {"L": []}),
        ({"M": {"a": {"N": "1"}}}, {"M": {"b": {"N": "1"}}}),
        ({"M": {"a": {"N": "1"}}}, {"M": {"a": {"N": "2"}}}),
        ({"L": []}, {"M": {}}),
    ],
    ids=repr,
)
def test_different_values_are_not_the_same(left: AttributeValue, right: AttributeValue) -> None:
    assert not same(left, right)


def test_a_set_is_made_of_values_of_one_type_and_sorted() -> None:
    assert set_of([{"S": "b"}, {"S": "a"}, {"S": "b"}]) == {"SS": ["a", "b"]}
    mistakes: list[list[AttributeValue]] = [[{"S": "1"}, {"N": "1"}], [{"BOOL": True}], []]
    for members in mistakes:
        with pytest.raises(
            ValueError, match="a DynamoDB set holds only strings, only numbers or only binary, not"
        ):
            set_of(members)
