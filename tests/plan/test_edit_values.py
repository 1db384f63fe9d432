"""The values of changes, as the types of their places have them."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo

from dynaorm import Entity, F, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, SetIfMissing, SetTo
from dynaorm.plan.edit import validate_changes, validate_with_entity


def at_most(value: int, info: ValidationInfo) -> int:
    if value > info.data.get("most", 9):
        raise ValueError("is too large")
    return value


class Line(BaseModel):
    most: int = 9
    sku: Annotated[str, AfterValidator(str.lower)] = ""
    size: Annotated[int, AfterValidator(at_most)] = 0


class Order(Entity, table=Table("given"), pk="ORDER#{id}", sk="O"):
    id: str
    most: int = 9
    lines: list[Line] = Field(default_factory=list)
    grid: list[list[int]] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    numbers: set[Annotated[int, Field(ge=0)]] = Field(default_factory=set)
    sizes: list[Annotated[int, AfterValidator(at_most)]] = Field(default_factory=list)


LINE = Line(sku="a")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.counts["a"].set("7"), SetTo(("counts", "a"), 7)),
        (F.counts["a"].set_if_missing("7"), SetIfMissing(("counts", "a"), 7)),
        (F.lines[0].sku.set("A"), SetTo(("lines", 0, "sku"), "a")),
        (F.lines.append({"sku": "A"}), Append(("lines",), (LINE,))),
        (F.lines.append([{"sku": "A"}, LINE]), Append(("lines",), (LINE, LINE))),
        (F.lines.prepend(LINE, {"sku": "A"}), Prepend(("lines",), (LINE, LINE))),
        (F.grid.append(["7"]), Append(("grid",), ([7],))),
        (F.grid[0].append("7", 8), Append(("grid", 0), (7, 8))),
        (F.numbers.add("7"), AddTo(("numbers",), frozenset({7}))),
        (F.numbers.add({7, "7", 8}), AddTo(("numbers",), frozenset({7, 8}))),
        (F.numbers.add([7, 8]), AddTo(("numbers",), frozenset({7, 8}))),
        (F.numbers.discard("7", {8}), Discard(("numbers",), (7, 8))),
        (F.numbers.discard(-1), Discard(("numbers",), (-1,))),
        (F.counts["a"].add(-1), AddTo(("counts", "a"), -1)),
    ],
)
def test_a_value_is_converted_by_the_type_of_its_place(change: Change, expected: Change) -> None:
    assert validate_changes(mapping_of(Order), (change,)) == (expected,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (F.counts["a"].set("x"), r"counts = 'x': at a: Input should be a valid integer"),
        (F.lines.append({"sku": 5}), r"lines = \{'sku': 5\}: Input should be a valid string"),
        (F.numbers.add({1, -1}), r"numbers = -1: Input should be greater than or equal to 0"),
        (F.grid.append("x"), r"grid = 'x': Input should be a valid list"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(change: Change, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        validate_changes(mapping_of(Order), (change,))


@pytest.mark.parametrize(
    ("change", "before", "message"),
    [
        (F.lines[0]["size"].set("7"), {"lines": [Line(most=5)]}, "at 0.size: Value error, is too large"),
        (F.sizes.append("7"), {"most": 5}, "sizes = '7': Value error, is too large"),
    ],
)
def test_a_value_whose_validators_look_around_is_judged_with_the_entity(
    change: Change, before: dict[str, Any], message: str
) -> None:
    mapping = mapping_of(Order)
    (waiting,) = validate_changes(mapping, (change,))
    assert waiting == change
    with pytest.raises(InvalidValue, match=message):
        validate_with_entity(mapping, (waiting,), lambda: before)
    (found,) = validate_with_entity(mapping, (waiting,), lambda: {"lines": [Line()]})
    assert found != waiting


def test_the_entity_is_not_asked_for_where_no_validator_looks_at_it() -> None:
    changes = (F.counts["a"].set(7),)
    assert (
        validate_with_entity(mapping_of(Order), changes, lambda: pytest.fail("it was asked for")) == changes
    )
