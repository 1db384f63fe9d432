"""Law 3: pages of several partitions give each entity once, in key order, and end, however little each reads."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import BinaryKey, Entity, F, GlobalIndex, Index, NumberKey, Session, Table, any_of, item_of
from dynaorm.errors import InvalidCursor
from dynaorm.testing import FakeClock
from tests.fuzz.shelf import Shelf
from tests.laws.chains import METHODS, OPERATORS
from tests.laws.conftest import AsBytes

lines = Table(
    "pages-of-partitions",
    indexes=[
        GlobalIndex("Text"),
        GlobalIndex("Entries", projection="KEYS_ONLY"),
        GlobalIndex("Number", sk=NumberKey("NumberSK")),
        GlobalIndex("Binary", sk=BinaryKey("BinarySK")),
        GlobalIndex("Native", pk=("NativePK",), sk=("one", NumberKey("two"), "three")),
        GlobalIndex("Shards"),
    ],
)


class Line(Entity, table=lines, pk="LINE#{row}", sk="L"):
    row: int
    group: str
    text: str
    number: Decimal
    binary: bytes
    one: str
    two: int
    three: str
    flag: bool = True
    by_text = Index("Text", pk="G#{group}", sk="T#{text}")
    by_entry = Index("Entries", pk="G#{group}", sk="T#{text}")
    by_number = Index("Number", pk="G#{group}", sk="{number}")
    by_binary = Index("Binary", pk="G#{group}", sk="{binary}")
    native = Index("Native", pk=("G#{group}",), sk=("{one}", "{two}", "{three}"))
    by_shard = Index("Shards", pk="S#{row:shard3}", sk="{text}")


class Note(Line):
    """Others in the same partitions."""


TEXTS: Final = ("a", "a\0", "a#", "ab", "b", "b\U0010ffff", "\ud7ff", "\ue000", "\U0010ffff")
NUMBERS: Final = tuple(map(Decimal, ("-5", "-1E-130", "0", "1", "1.5", "10", "60", "9E+125")))
BINARIES: Final = (b"\0", b"a", b"a\0", b"a\xff", b"b", b"\xff\xff")
POOLS: Final[Mapping[str, Sequence[Any]]] = {"text": TEXTS, "number": NUMBERS, "binary": BINARIES}


@dataclass(frozen=True)
class Order:
    """An order that entities are read in: the index and the fields of its sort key."""

    index: Any
    fields: tuple[str, ...]
    is_sharded: bool = False


ORDERS: Final = {
    "text": Order(Line.by_text, ("text",)),
    "entries": Order(Line.by_entry, ("text",)),
    "number": Order(Line.by_number, ("number",)),
    "binary": Order(Line.by_binary, ("binary",)),
    "native": Order(Line.native, ("one", "two", "three")),
    "shards": Order(Line.by_shard, ("text",), is_sharded=True),
}
NAMES: Final = st.sampled_from(["x", "y"])


@st.composite
def drawn_lines(draw: st.DrawFn) -> list[Line]:
    found = []
    for row in range(draw(st.integers(0, 9))):
        values: dict[str, Any] = {name: draw(st.sampled_from(pool)) for name, pool in POOLS.items()}
        native: dict[str, Any] = {"one": draw(NAMES), "two": draw(st.integers(0, 2)), "three": draw(NAMES)}
        kind = draw(st.sampled_from([Line, Line, Note]))
        group, flag = draw(st.sampled_from("abc")), draw(st.booleans())
        found.append(kind(row=row, group=group, flag=flag, **values, **native))
    return found


@dataclass(frozen=True)
class Read:
    """A read at random: the query, and the same in Python."""

    query: Any
    holds: Callable[[Line], bool]


@st.composite
def reads(draw: st.DrawFn, session: Session, order: Order) -> Read:
    groups = "" if order.is_sharded else draw(st.sampled_from(["ab", "abc", "a"]))
    query: Any = session.query(order.index, **({"group": any_of(*groups)} if groups else {}))
    tests: list[Callable[[Line], bool]] = [lambda line: not groups or line.group in groups]
    fields, equal = order.fields, draw(st.integers(0, len(order.fields) - 1))
    for name in fields[:equal]:
        value = draw(NAMES if name != "two" else st.integers(0, 2))
        query = query.eq(**{name: value})
        tests.append(partial(_compares, name, "==", value))
    bounded = fields[equal]
    values = st.sampled_from(POOLS[bounded]) if bounded in POOLS else NAMES
    for sign in draw(st.sampled_from(["", ">", ">=", "<", "<=", "> <", ">= <", "> <=", ">= <="])).split():
        value = draw(st.integers(0, 2) if bounded == "two" else values)
        query = getattr(query, METHODS[sign])(**{bounded: value})
        tests.append(partial(_compares, bounded, sign, value))
    if draw(st.booleans()):
        query = query.filter(F.flag == True)  # noqa: E712  # a condition
        tests.append(lambda line: line.flag)
    return Read(query, lambda line: all(test(line) for test in tests))


def _compares(name: str, sign: str, value: Any, line: Line) -> bool:
    found = _key(getattr(line, name))
    return bool(found == _key(value)) if sign == "==" else OPERATORS[sign](found, _key(value))


def _key(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def place(line: Any, order: Order) -> tuple[Any, ...]:
    return tuple(_key(getattr(line, name)) for name in order.fields)


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    return Shelf([lines])


@pytest.fixture(scope="module", params=[False, True], ids=["items", "bytes"])
def session(request: pytest.FixtureRequest, shelf: Shelf) -> Session:
    return Session(transport=AsBytes(shelf) if request.param else shelf, clock=FakeClock())


EXAMPLES: Final = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "25")))


@EXAMPLES
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@given(data=st.data())
def test_pages_give_each_entity_once_and_in_order_and_end(
    session: Session, shelf: Shelf, order: Order, data: st.DataObject
) -> None:
    stored = data.draw(drawn_lines())
    put(shelf, stored)
    salt = data.draw(st.none() | st.integers(0, 9))
    shelf.page = lambda request: None if salt is None else 1 + crc32(repr((salt, request)).encode()) % 4
    check(session, stored, order, data)


def put(shelf: Shelf, stored: Sequence[Line]) -> None:
    shelf.items[lines.name], shelf.page = list(map(item_of, stored)), lambda _: None


def check(session: Session, stored: list[Line], order: Order, data: st.DataObject) -> None:
    read = data.draw(reads(session, order))
    descending = data.draw(st.booleans())
    query = read.query.descending() if descending else read.query
    expected = sorted((place(one, order) for one in stored if read.holds(one)), reverse=descending)
    found = query.all()
    assert [place(one, order) for one in found] == expected
    numbers = [one.row for one in found]
    assert sorted(numbers) == sorted(one.row for one in stored if read.holds(one))
    assert [one.row for one in query] == numbers
    assert query.count() == len(list(query.keys())) == len(numbers)
    assert [one.row for one in [query.first()] if one] == numbers[:1]
    check_forwards(query, numbers, data, most=len(stored))


SIZES: Final = st.integers(1, 4)
BUDGETS: Final = st.none() | st.integers(1, 4)


def check_forwards(query: Any, numbers: list[int], data: st.DataObject, *, most: int) -> None:
    """Each page that has a cursor read at least one item that none before it had passed."""
    pages = [query.page(data.draw(SIZES), read_at_most=data.draw(BUDGETS))]
    while pages[-1].cursor is not None:
        pages.append(query.page(data.draw(SIZES), after=pages[-1].cursor, read_at_most=data.draw(BUDGETS)))
        assert len(pages) <= most + 1
    assert [one.row for page in pages for one in page] == numbers
    turned = data.draw(st.integers(0, len(pages) - 1))
    before = [one.row for page in pages[:turned] for one in page]
    again = query.page(len(numbers) + 1, after=pages[turned - 1].cursor) if turned else query.page(20)
    assert [one.row for one in again] == numbers[len(before) :]
    check_backwards(query, pages[turned], before, data, most=most)


def check_backwards(query: Any, page: Any, before: list[int], data: st.DataObject, *, most: int) -> None:
    turns = 0
    while page.previous is not None:
        page = query.page(data.draw(SIZES), before=page.previous, read_at_most=data.draw(BUDGETS))
        here = [one.row for one in page]
        assert here == before[len(before) - len(here) :]
        before = before[: len(before) - len(here)]
        assert (turns := turns + 1) <= most + 1
    assert not before


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("descending", [False, True])
def test_the_smallest_pages_end_where_sort_keys_are_equal(
    session: Session, shelf: Shelf, order: Order, descending: bool
) -> None:
    stored = [
        Line(
            row=number * 2 + place,
            group="ab"[place],
            text=TEXTS[number],
            number=NUMBERS[number],
            binary=BINARIES[number],
            one="x",
            two=number,
            three="x",
        )
        for number in range(4)
        for place in range(2)
    ]
    put(shelf, stored)
    last = {"text": TEXTS[3], "number": NUMBERS[3], "binary": BINARIES[3], "one": "y"}[order.fields[0]]
    groups = {} if order.is_sharded else {"group": any_of("a", "b")}
    query = session.query(order.index, **groups).lt(**{order.fields[0]: last})
    query = query.descending() if descending else query
    found = [one.row for one in query]
    assert len(found) == (8 if order.fields[0] == "one" else 6)
    for size, most in ((1, None), (1, 1), (1, 2), (9, 1), (9, 2), (9, 3), (9, 5)):
        pages = [query.page(size, read_at_most=most)]
        while pages[-1].cursor is not None:
            pages.append(query.page(size, after=pages[-1].cursor, read_at_most=most))
            assert len(pages) <= len(stored) + 1
        assert [one.row for page in pages for one in page] == found


def test_a_cursor_of_another_direction_is_refused(session: Session, shelf: Shelf) -> None:
    values: dict[str, Any] = {
        "text": "a",
        "number": Decimal(1),
        "binary": b"a",
        "one": "x",
        "two": 1,
        "three": "x",
    }
    put(shelf, [Line(row=row, group=one, **values) for row, one in enumerate("ab")])
    query = session.query(Line.by_number, group=any_of("a", "b"))
    with pytest.raises(InvalidCursor):
        query.descending().page(1, after=query.page(1).cursor)


def test_a_cursor_does_not_depend_on_how_values_are_given(session: Session, shelf: Shelf) -> None:
    native: dict[str, Any] = {"text": "a", "binary": b"a", "one": "x", "two": 1, "three": "x"}
    put(shelf, [Line(row=row, number=Decimal(1), group="a", **native) for row in range(3)])
    found = []
    for number in (Decimal(1), Decimal("1.0"), any_of(Decimal("1.00"), Decimal(1)), any_of(Decimal("1E0"))):
        cursor = session.query(Line.by_number, group="a", number=Decimal("1.0")).page(1).cursor
        page = session.query(Line.by_number, group=any_of("a", "a"), number=number).page(3, after=cursor)
        found.append([one.row for one in page])
    assert found == [found[0]] * 4
    assert len(found[0]) == 2
