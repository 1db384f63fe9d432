"""Changes mean here what they mean to DynamoDB: rendered for it, or applied to an item we already have."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynaorm import F
from dynaorm.errors import UsageError
from dynaorm.item.path import Path, PathSource, Placeholders, Role, overlaps
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
    resolve_changes,
)
from dynaorm.item.value import AttributeValue, Item, number_text, same


class Plain:
    """Names as they are; values by Python's type, elements of a set alone."""

    def attribute(self, path: Path) -> Path:
        return path

    def sources(self, path: Path) -> tuple[PathSource, ...]:
        return (PathSource(stored=path),)

    def start(self, path: Path) -> AttributeValue | None:
        starts: dict[str, AttributeValue] = {"counted": {"N": "50"}, "listed": {"L": [{"N": "7"}]}}
        return starts.get(str(path[0]))

    def refuse_other_form(self, path: Path, other: Path) -> None:
        pass

    def encode(self, path: Path, value: object, *, role: Role) -> AttributeValue:
        assert path
        assert role != "text"
        match value:
            case bool():
                return {"BOOL": value}
            case int():
                return {"N": number_text(value)}
            case str():
                return {"S": value}
            case bytes():
                return {"B": value}
            case set() | frozenset():
                tags = {"NS" if isinstance(one, int) else "SS" for one in value}
                return {tags.pop(): sorted(map(str, value))} if tags else {"L": []}
            case list():
                return {"L": [self.encode(path, one, role=role) for one in value]}
        raise ValueError(f"{value!r} is of no type")


def resolved(*changes: Change) -> tuple[Change, ...]:
    return resolve_changes(changes, Plain())


def rendered(*changes: Change) -> tuple[str, list[str], list[AttributeValue]]:
    placeholders = Placeholders()
    text = render_update(changes, placeholders)
    return text, list(placeholders.names.values()), list(placeholders.values.values())


S, N = {"S": "x"}, {"N": "1"}


@pytest.mark.parametrize(
    ("change", "text", "values"),
    [
        (F.a.set("x"), "SET #n0 = :v0", [S]),
        (F.a.b[0].set("x"), "SET #n0.#n1[0] = :v0", [S]),
        (F.a.set_if_missing("x"), "SET #n0 = if_not_exists(#n0, :v0)", [S]),
        (F.a.add(1), "ADD #n0 :v0", [N]),
        (F.a.add({1}), "ADD #n0 :v0", [{"NS": ["1"]}]),
        (F.a.b.add(1), "SET #n0.#n1 = if_not_exists(#n0.#n1, :v0) + :v1", [{"N": "0"}, N]),
        (
            F.a.append("x", 1),
            "SET #n0 = list_append(if_not_exists(#n0, :v0), :v1)",
            [{"L": []}, {"L": [S, N]}],
        ),
        (
            F.a.prepend("x", 1),
            "SET #n0 = list_append(:v0, if_not_exists(#n0, :v1))",
            [{"L": [S, N]}, {"L": []}],
        ),
        (F.a.remove(), "REMOVE #n0", []),
        (F.a[1].remove(), "REMOVE #n0[1]", []),
        (F.a.discard("x", "w", "x"), "DELETE #n0 :v0", [{"SS": ["w", "x"]}]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_change_renders_as_one_clause(change: Change, text: str, values: list[AttributeValue]) -> None:
    found, _, found_values = rendered(*resolved(change))
    assert (found, found_values) == (text, values)


def test_clauses_of_a_kind_share_a_keyword() -> None:
    changes = resolved(
        F.a.remove(), F.b.set("x"), F.c.add(1), F.d.discard("x"), F.e.append("x"), F.f.remove()
    )
    assert rendered(*changes)[:2] == (
        "SET #n1 = :v0, #n4 = list_append(if_not_exists(#n4, :v3), :v4) REMOVE #n0, #n5 ADD #n2 :v1 DELETE #n3 :v2",
        ["a", "b", "c", "d", "e", "f"],
    )


def test_a_text_added_is_an_element_of_a_set() -> None:
    assert resolved(F.tags.add("blue")) == (AddTo(("tags",), {"SS": ["blue"]}),)


@pytest.mark.parametrize(
    "change", [F.a.add(set()), F.a.append(), F.a.prepend(), F.a.discard(), F.a.discard(set())], ids=repr
)
def test_adding_or_discarding_nothing_changes_nothing(change: Change) -> None:
    assert resolved(change, F.b.remove()) == (Remove(("b",)),)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ([F.a.add([1])], "a is neither a number nor a set.*append"),
        ([F.a.discard("x", 1)], "a is not a set: a DynamoDB set holds .* not N and S; use .set"),
        ([F.a.discard([1])], "a is not a set: .* not L"),
        ([F.a.set(1), F.a.add(1)], "a and a are changed in one update; combine"),
        ([F.a.b.set(1), F.a.remove()], r"a and a\.b are changed in one update"),
        ([F.a[0].set(1), F.b.set(1), F.a.append(1)], r"a and a\.0 are changed in one update"),
    ],
    ids=str,
)
def test_what_dynamodb_cannot_do_is_refused_before_it_is_sent(changes: list[Change], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        resolved(*changes)


ITEM: Item = {
    "number": {"N": "1.5"},
    "text": {"S": "x"},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2.50"]},
    "blobs": {"BS": [b"a"]},
    "list": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
    "map": {"M": {"number": {"N": "1"}, "list": {"L": [{"M": {"a": {"S": "x"}}}]}}},
}


def test_every_change_reads_the_item_as_it_was() -> None:
    after = apply_changes(
        ITEM,
        [
            Remove(("list", 0)),
            SetTo(("list", 8), S),
            SetTo(("list", 7), N),
            AddTo(("list", 1), N),
            Remove(("list", 2)),
        ],
    )
    assert after["list"] == {"L": [{"N": "2"}, N, S]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (SetTo(("new", "a"), S), "through 'new', which is not stored"),
        (SetTo(("text", "a"), S), "through 'a', which a value of type S cannot have"),
        (SetTo(("map", 0), S), "through 0, which a value of type M cannot have"),
        (SetTo(("list", 9, "a"), S), "through 9, which is not stored"),
        (Remove(("new", "a")), "through 'new', which is not stored"),
        (Remove(("map", "new", "a")), "through 'new', which is not stored"),
        (AddTo(("text",), N), "text has type S, not N"),
        (AddTo(("number",), {"NS": ["1"]}), "number has type N, not NS"),
        (AddTo(("texts",), {"NS": ["1"]}), "texts has type SS, not NS"),
        (AddTo(("number",), {"N": "1E+100"}), "significant digits"),
        (Append(("text",), (S,)), "text has type S, not L"),
        (Prepend(("map",), (S,)), "map has type M, not L"),
        (Discard(("list",), (S,)), "list has type L, not SS"),
        (Change(("text",)), "is not a change"),
    ],
    ids=repr,
)
def test_what_dynamodb_would_refuse_is_refused_here(change: Change, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        apply_changes(ITEM, [change])


def test_one_path_is_not_changed_twice() -> None:
    with pytest.raises(ValueError, match=r"map\.number is changed twice"):
        apply_changes(ITEM, [Remove(("map",)), AddTo(("map", "number"), N)])


# -- properties --------------------------------------------------------------------------------------------------------
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


@settings(max_examples=settings().max_examples * 2)
@given(update=updates())
def test_a_change_applied_here_is_what_dynamodb_stores(
    dynamodb: Any, update: tuple[Item, list[Change]]
) -> None:
    item, changes = update
    assume(not shifts_others(changes))
    here, there = applied(item, changes), updated(dynamodb, item, changes)
    assert (here is None) == (there is None)
    assert here is None or there is None or same({"M": here}, {"M": there})


@given(updates())
def test_the_item_given_is_never_changed(update: tuple[Item, list[Change]]) -> None:
    before = repr(update)
    applied(*update)
    assert repr(update) == before
