"""Conditions are trees: resolved by a resolver, rendered with placeholders only, and meant as written."""

import re
from typing import Any

import pytest
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from dynaorm import F
from dynaorm.errors import UsageError
from dynaorm.failure import MASK
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    IsIn,
    Missing,
    Not,
    Operand,
    Or,
    SizeOf,
    all_of,
    any_of_conditions,
    equals,
    exists,
    missing,
    paths_of,
    render,
)
from dynaorm.item.field import condition_text
from dynaorm.item.path import Path, PathSource, Placeholders, Role
from dynaorm.item.resolve import resolve
from dynaorm.item.value import AttributeValue

# All that may stand in an expression: placeholders, indexes, and DynamoDB's own words.
EXPRESSION = re.compile(
    r"(#n\d+|:v\d+|\[\d+\]|[.,() ]|=|<>|<=|>=|<|>|AND|OR|NOT|IN|BETWEEN"
    r"|attribute_exists|attribute_not_exists|begins_with|contains|size)+"
)

NAMES = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["size", "AND", "#n0", ":v0", "a.b", "a[0]", "status"]
)
PATHS: st.SearchStrategy[Path] = st.builds(
    lambda name, rest: (name, *rest), NAMES, st.lists(NAMES | st.integers(0, 99), max_size=2)
)
VALUES: st.SearchStrategy[dict[str, Any]] = st.builds(lambda text: {"S": text}, st.text(max_size=8))
OPERANDS: st.SearchStrategy[Operand] = st.builds(Attr, PATHS) | st.builds(SizeOf, PATHS)
SIDES = VALUES | OPERANDS
SIZES = st.builds(SizeOf, PATHS)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
LEAVES: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Compare, st.builds(Attr, PATHS), OPERATORS, SIDES),
    st.builds(Compare, SIZES, OPERATORS, OPERANDS),
    st.builds(Between, st.builds(Attr, PATHS), SIDES, SIDES),
    st.builds(IsIn, st.builds(Attr, PATHS), st.lists(SIDES, max_size=3).map(tuple)),
    st.builds(IsIn, SIZES, st.lists(OPERANDS, max_size=3).map(tuple)),
    st.builds(BeginsWith, PATHS, SIDES),
    st.builds(Contains, PATHS, SIDES),
    st.builds(Exists, PATHS),
    st.builds(Missing, PATHS),
)


def trees(leaves: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda left, right: left & right, inner, inner),
            st.builds(lambda left, right: left | right, inner, inner),
            st.builds(lambda part: ~part, inner),
            st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=8,
    )


class Upper:
    """Resolves names to upper case, and values to text that says how they were asked for."""

    def attribute(self, path: Path) -> Path:
        return tuple(step.upper() if isinstance(step, str) else step for step in path)

    def sources(self, path: Path) -> tuple[PathSource, ...]:
        return (PathSource(stored=self.attribute(path)),)

    def start(self, _: Path) -> AttributeValue | None:
        return None

    def refuse_other_form(self, path: Path, other: Path) -> None:
        pass

    def encode(self, path: Path, value: object, *, role: Role) -> AttributeValue:
        return {"BOOL": value} if isinstance(value, bool) else {"S": f"{path[0]}:{value}:{role}"}


def rendered(condition: Condition) -> tuple[str, dict[str, str], dict[str, AttributeValue]]:
    placeholders = Placeholders()
    text = render(condition, placeholders)
    return text, placeholders.names, placeholders.values


A, B, C = exists("a"), exists("b"), exists("c")


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F.a == 1, "#n0 = :v0"),
        (F.a != 1, "#n0 <> :v0"),
        (F.a < 1, "#n0 < :v0"),
        (F.a <= 1, "#n0 <= :v0"),
        (F.a > 1, "#n0 > :v0"),
        (F.a >= 1, "#n0 >= :v0"),
        (F.a == F.b, "attribute_exists(#n0) AND #n0 = #n1"),
        (F.a > F.b.size(), "#n0 > size(#n1)"),
        (F.a.size() >= 3, "size(#n0) >= :v0"),
        (F.a.b[2].c <= F.a.c, "#n0.#n1[2].#n2 <= #n0.#n2"),
        (F.a.between(1, F.c), "#n0 BETWEEN :v0 AND #n1"),
        (F.a.size().between(1, 2), "size(#n0) BETWEEN :v0 AND :v1"),
        (F.a.is_in([1, 2]), "#n0 IN (:v0, :v1)"),
        (F.a.is_in([]), "(attribute_exists(#n0) AND attribute_not_exists(#n0))"),
        (F.a.begins_with("x"), "begins_with(#n0, :v0)"),
        (F.a.contains("x"), "contains(#n0, :v0)"),
        (F.a.contains(F.b), "contains(#n0, #n1)"),
        (F.a.exists(), "attribute_exists(#n0)"),
        (F.a.missing(), "attribute_not_exists(#n0)"),
    ],
)
def test_a_condition_renders_as_dynamodb_writes_it(condition: Condition, text: str) -> None:
    assert rendered(resolve(condition, Upper()))[0] == text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (A & (B & C), "{a} AND {b} AND {c}"),
        (A & B | C, "{a} AND {b} OR {c}"),
        (A & (B | C), "{a} AND ({b} OR {c})"),
        (~(A | B), "NOT ({a} OR {b})"),
        (~~A, "NOT (NOT {a})"),
        (And((And((A, B)), Or((A, Or((B, C)))))), "{a} AND {b} AND ({a} OR {b} OR {c})"),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(condition: Condition, text: str) -> None:
    found, names, _ = rendered(condition)
    for placeholder, name in names.items():
        found = found.replace(f"attribute_exists({placeholder})", f"{{{name}}}")
    assert found == text


def test_a_size_is_compared_with_a_number_of_any_field() -> None:
    assert resolve(F.a.size() > 3, Upper()) == Compare(SizeOf(("A",)), ">", {"N": "3"})


@pytest.mark.parametrize("value", ["3", None, True, [1]])
def test_a_size_compared_with_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"size of a\.b is a number.*compare"):
        resolve(F.a.b.size() >= value, Upper())


@pytest.mark.parametrize(
    "condition", [F.a < True, F.a >= False, F.a.between(False, "x"), F.a.between("x", True)]
)
def test_what_has_no_order_in_dynamodb_is_not_compared_by_order(condition: Condition) -> None:
    with pytest.raises(UsageError, match=r"a is compared by order with BOOL.*use == or !="):
        resolve(condition, Upper())


@pytest.mark.parametrize(
    ("low", "high", "holds_for_something"),
    [
        ({"N": "9"}, {"N": "10"}, True),
        ({"N": "10"}, {"N": "9"}, False),
        ({"N": "1"}, {"N": "1.0"}, True),
        ({"S": "10"}, {"S": "9"}, True),
        ({"S": "b"}, {"S": "a"}, False),
        ({"S": "b"}, {"N": "1"}, True),
        ({"B": b"\xff"}, {"B": b"\x00"}, False),
        (Attr(("b",)), {"N": "1"}, True),
        ({"N": "1"}, SizeOf(("b",)), True),
    ],
    ids=repr,
)
def test_bounds_the_wrong_way_round_hold_for_nothing(low: Any, high: Any, holds_for_something: bool) -> None:
    assert ("BETWEEN" in rendered(Between(Attr(("a",)), low, high))[0]) == holds_for_something


def test_more_values_than_dynamodb_takes_are_given_in_portions() -> None:
    text, names, values = rendered(~IsIn(Attr(("a",)), tuple({"N": str(number)} for number in range(201))))
    portions = re.fullmatch(r"NOT \(#n0 IN \((.*)\) OR #n0 IN \((.*)\) OR #n0 IN \((.*)\)\)", text)
    assert portions is not None
    assert [portion.count(":v") for portion in portions.groups()] == [100, 100, 1]
    assert names == {"#n0": "a"}
    assert len(values) == 201


@pytest.mark.parametrize(
    "condition",
    [
        IsIn(Attr(("a",)), tuple({"N": str(number)} for number in range(1000))),
        Or(tuple(equals("a", {"N": "1"}) for _ in range(151))),
    ],
    ids=["length", "operators"],
)
def test_an_expression_that_dynamodb_would_refuse_is_not_sent(condition: Condition) -> None:
    with pytest.raises(UsageError, match="DynamoDB accepts 4096 and 300; use fewer values"):
        rendered(condition)


@given(trees(LEAVES))
def test_the_paths_of_a_condition_are_those_it_renders(condition: Condition) -> None:
    names = {step for path in paths_of(condition) for step in path if isinstance(step, str)}
    assert names == set(rendered(condition)[1].values())


@given(trees(LEAVES))
def test_resolving_reaches_every_path(condition: Condition) -> None:
    try:
        resolved = resolve(condition, Upper())
    except UsageError as refusal:  # DynamoDB would refuse it
        event(refusal.problem)
        reject()
    assert paths_of(resolved) == {Upper().attribute(path) for path in paths_of(condition)}
    text, names, _ = rendered(resolved)
    assert EXPRESSION.fullmatch(text)
    assert [name for name in names.values() if name != name.upper()] == []


def holds(condition: Condition, present: set[str]) -> bool:
    match condition:
        case And(parts):
            return all(holds(part, present) for part in parts)
        case Or(parts):
            return any(holds(part, present) for part in parts)
        case Not(part):
            return not holds(part, present)
        case Exists((name,)):
            return name in present
        case Missing((name,)):
            return name not in present
    raise AssertionError(condition)


LETTERS = ("a", "b", "c")
PRESENCE = st.builds(exists, st.sampled_from(LETTERS)) | st.builds(missing, st.sampled_from(LETTERS))


@settings(max_examples=50)
@given(condition=trees(PRESENCE), present=st.sets(st.sampled_from(LETTERS)))
def test_a_tree_means_to_dynamodb_what_it_means_to_python(
    dynamodb: Any, condition: Condition, present: set[str]
) -> None:
    dynamodb.put_item(TableName="items", Item={"PK": {"S": "1"}, **{name: {"S": "x"} for name in present}})
    text, names, _ = rendered(condition)
    found = dynamodb.scan(TableName="items", FilterExpression=text, ExpressionAttributeNames=names)
    assert bool(found["Items"]) == holds(condition, present)


def test_a_condition_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"& \| ~ instead of and, or, not"):
        bool(F.a == 1)
    with pytest.raises(TypeError, match="between"):
        1 < F.a < 5  # noqa: B015  # the mistake under test


@pytest.mark.parametrize("other", [5, None, True, F.b])
def test_a_condition_is_joined_with_conditions_only(other: Any) -> None:
    with pytest.raises(TypeError, match="is not a condition; put comparisons in parentheses"):
        (F.a == 1) & other
    with pytest.raises(TypeError, match="is not a condition; put comparisons in parentheses"):
        (F.a == 1) | other


def test_joining_flattens_and_leaves_out_what_is_none() -> None:
    assert all_of() is all_of(None, None) is None
    assert all_of(None, A) is any_of_conditions(A) is A
    assert all_of(A, None, And((B, C))) == And((A, B, C))
    assert any_of_conditions(A, Or((B, C))) == Or((A, B, C))
    assert all_of(A, Or((B, C))) == And((A, Or((B, C))))


# -- in words ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F.status == "open", "F.status == 'open'"),
        (F["Total Sum"] != 3, "F['Total Sum'] != 3"),
        (F.address.city.begins_with("x"), "F.address.city.begins_with('x')"),
        (F.tags[0].contains("a"), "F.tags[0].contains('a')"),
        (F.tags.size() > 3, "F.tags.size() > 3"),
        (F.start < F.end, "F.start < F.end"),
        (F.n.between(1, F.most), "F.n.between(1, F.most)"),
        (F.n.is_in(1, 2), "F.n.is_in(1, 2)"),
        (F.a.exists() & ~F.b.missing(), "(F.a.exists()) & (~(F.b.missing()))"),
        ((F.a == 1) | (F.a == 2), "(F.a == 1) | (F.a == 2)"),
    ],
)
def test_a_condition_is_shown_as_it_was_written(condition: Condition, text: str) -> None:
    assert condition_text(condition) == text


def test_values_that_are_compared_with_a_secret_are_masked() -> None:
    condition = (F.token == "s") & (F.n == 1) & F.token.is_in("a", F.other)
    assert condition_text(condition, frozenset({"token"})) == (
        f"(F.token == {MASK}) & (F.n == 1) & (F.token.is_in({MASK}, F.other))"
    )
