"""Changes drawn at random: applied here and by DynamoDB, they give the same item."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynaorm.item.path import Path, overlaps
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.update import (
    AddTo,
    Append,
    Change,
    Discard,
    Prepend,
    Remove,
    SetIfMissing,
    SetTo,
    apply_changes,
    render_update,
)
from dynaorm.item.value import AttributeValue, Item, number_text, same

NAMES = ["a", "b", "c", "d"]
NUMBERS = st.decimals(-(10**6), 10**6, places=3).map(lambda number: {"N": number_text(Decimal(number))})
TEXTS = st.text("xyz", min_size=1, max_size=2).map(lambda text: {"S": text})
STRINGS = st.lists(st.text("xyz", min_size=1, max_size=1), min_size=1, unique=True).map(
    lambda one: {"SS": one}
)
NUMBER_SETS = st.lists(st.integers(0, 3).map(str), min_size=1, unique=True).map(lambda one: {"NS": one})
LEAVES: st.SearchStrategy[dict[str, Any]] = st.one_of(NUMBERS, TEXTS, STRINGS, NUMBER_SETS)
VALUES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements})
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda members: {"M": members})
    ),
    max_leaves=6,
)
ITEMS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)


def places(value: AttributeValue, path: Path = ()) -> Iterator[tuple[Path, AttributeValue | None]]:
    """Every path into a map or list, and one beside and one beyond what is there."""
    ((tag, content),) = value.items()
    parts: Mapping[str | int, AttributeValue] = {}
    if tag == "M":
        parts = content
        yield (*path, "e"), None
    elif tag == "L":
        parts = dict(enumerate(content))
        yield (*path, len(content) + 1), None
    for step, part in parts.items():
        yield (*path, step), part
        yield from places(part, (*path, step))


def change_at(path: Path, current: AttributeValue | None) -> st.SearchStrategy[Change]:
    """A change that fits what is there, more often than not."""
    values = st.lists(VALUES, min_size=1, max_size=2).map(tuple)
    fitting: list[st.SearchStrategy[Change]] = [
        st.builds(SetTo, st.just(path), VALUES),
        st.builds(SetIfMissing, st.just(path), VALUES),
        st.just(Remove(path)),
    ]
    tag = None if current is None else next(iter(current))
    if tag in {None, "N"}:
        fitting.append(st.builds(AddTo, st.just(path), NUMBERS))
    if tag in {None, "L", "S"}:
        fitting += [st.builds(Append, st.just(path), values), st.builds(Prepend, st.just(path), values)]
    if tag in {None, "SS", "NS", "N"} and len(path) == 1:
        fitting.append(st.builds(AddTo, st.just(path), STRINGS | NUMBER_SETS))
        fitting.append(st.builds(Discard, st.just(path), st.lists(TEXTS, min_size=1, max_size=3).map(tuple)))
        numbers = st.integers(0, 3).map(lambda number: {"N": str(number)})
        fitting.append(
            st.builds(Discard, st.just(path), st.lists(numbers, min_size=1, max_size=3).map(tuple))
        )
    return st.one_of(fitting)


@st.composite
def updates(draw: st.DrawFn) -> tuple[Item, list[Change]]:
    """An item, and changes of different parts of it."""
    item = draw(ITEMS)
    spots = draw(st.lists(st.sampled_from([*places({"M": item})]), min_size=1, max_size=4, unique_by=repr))
    changes: list[Change] = []
    for path, current in spots:
        if not any(overlaps(path, change.path) for change in changes):
            changes.append(draw(change_at(path, current)))
    return item, changes


def shifts_others(changes: list[Change]) -> bool:
    """Whether an element is removed before another one of its list, within which something else is removed.

    moto then looks for the other one where it is after the first removal. DynamoDB reads all paths as they were.
    """
    removed = [change.path for change in changes if isinstance(change, Remove)]
    return any(
        len(other) > len(path) and other[: len(path) - 1] == path[:-1] and isinstance(path[-1], int)
        for path in removed
        for other in removed
    )


def updated(dynamodb: Any, item: Item, changes: list[Change]) -> Item | None:
    """The item after DynamoDB's own UpdateItem; None where it refused."""
    key = {"PK": {"S": "1"}}
    dynamodb.put_item(TableName="items", Item={**key, **item})
    placeholders = Placeholders()
    text = render_update(changes, placeholders)
    values = {"ExpressionAttributeValues": placeholders.values} if placeholders.values else {}
    names = {"ExpressionAttributeNames": placeholders.names}
    try:
        dynamodb.update_item(TableName="items", Key=key, UpdateExpression=text, **names, **values)
    except ClientError:
        return None
    found: dict[str, AttributeValue] = dynamodb.get_item(TableName="items", Key=key)["Item"]
    del found["PK"]
    return found


def applied(item: Item, changes: list[Change]) -> Item | None:
    try:
        return apply_changes(item, changes)
    except ValueError:
        return None


@settings(max_examples=150)
@given(update=updates())
def test_a_change_applied_here_is_what_dynamodb_stores(
    dynamodb: Any, update: tuple[Item, list[Change]]
) -> None:
    item, changes = update
    assume(not shifts_others(changes))
    here, there = applied(item, changes), updated(dynamodb, item, changes)
    assert (here is None) == (there is None)
    assert here is None or there is None or same({"M": here}, {"M": there})


# All that may stand in an update expression.
EXPRESSION = re.compile(r"(#n\d+|:v\d+|\[\d+\]|[.,()=+ ]|SET|REMOVE|ADD|DELETE|if_not_exists|list_append)+")


@given(updates())
def test_an_expression_holds_placeholders_and_dynamodbs_words_only(update: tuple[Item, list[Change]]) -> None:
    placeholders = Placeholders()
    text = render_update(update[1], placeholders)
    assert EXPRESSION.fullmatch(text)
    assert set(re.findall(r"#n\d+", text)) == set(placeholders.names)
    assert set(re.findall(r":v\d+", text)) == set(placeholders.values)


@given(updates())
def test_the_item_given_is_never_changed(update: tuple[Item, list[Change]]) -> None:
    before = repr(update)
    applied(*update)
    assert repr(update) == before
