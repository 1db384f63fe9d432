"""Law 3: of an index without whole items, only those are fetched that its entries do not rule out."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, LocalIndex, Session, Table
from dynaorm.testing import FakeClock, FaultyTransport
from dynaorm.transport import Transport

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
PROJECTED: Final = ("flag", "size", "at", "old", "_type", "until")
projections = Table(
    "filters-of-projections",
    indexes=[
        GlobalIndex("Some", projection=PROJECTED),
        GlobalIndex("Keys", projection="KEYS_ONLY"),
        LocalIndex("Local", sk="LocalSK", projection=("flag", "size")),
    ],
)


class Part(Entity, table=projections, pk="WORLD#{world}", sk="PART#{row:03d}"):
    world: int
    row: int
    flag: bool = False
    size: int = 3
    at: datetime
    name: Annotated[str | None, Attribute("new", formerly=("old",))] = None
    hidden: int = 0
    code: Annotated[str, Attribute("LocalSK")] = "c"
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_some = Index("Some", pk="W#{world}", sk="{row:03d}")
    by_keys = Index("Keys", pk="W#{world}", sk="{row:03d}")
    by_code = Index("Local")


class Wheel(Part):
    size: int = 5


INDEXES: Final[Mapping[str, tuple[Any, frozenset[str]]]] = {
    "some": (Part.by_some, frozenset({"flag", "size", "at"})),
    "keys": (Part.by_keys, frozenset()),
    "local": (Part.by_code, frozenset({"flag", "size"})),
}
Test = Callable[[Any], bool]
worlds: Final = count()


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> tuple[Any, Test, frozenset[str]]:
    """A condition, the same in Python, and the fields that it names."""
    if depth and draw(st.booleans()):
        (one, first, names), (other, second, more) = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        kind = draw(st.sampled_from(["and", "or", "not"]))
        if kind == "and":
            return one & other, lambda part: first(part) and second(part), names | more
        if kind == "or":
            return one | other, lambda part: first(part) or second(part), names | more
        return ~one, lambda part: not first(part), names
    number, text, moment = draw(st.integers(0, 6)), draw(st.sampled_from("xy")), draw(TIMES)
    name, condition, test = draw(
        st.sampled_from(
            [
                ("flag", F.flag == (number > 3), lambda part: part.flag == (number > 3)),
                ("size", F.size >= number, lambda part: part.size >= number),
                ("size", F.size == number, lambda part: part.size == number),
                ("at", F.at < moment, lambda part: part.at < moment),
                ("at", F.at == moment, lambda part: part.at == moment),
                ("name", F.name == text, lambda part: part.name == text),
                ("hidden", F.hidden > number, lambda part: part.hidden > number),
            ]
        )
    )
    return condition, test, frozenset({name})


TIMES: Final = st.integers(0, 2).map(lambda second: NOON + timedelta(seconds=second))


@st.composite
def parts(draw: st.DrawFn, world: int) -> list[Part]:
    found = []
    for row in range(draw(st.integers(0, 8))):
        values: dict[str, Any] = {
            "flag": draw(st.booleans()),
            "at": draw(TIMES),
            "name": draw(st.none() | st.sampled_from("xy")),
            "hidden": draw(st.integers(0, 6)),
            "until": draw(st.sampled_from([None, None, NOON - timedelta(1), NOON + timedelta(1)])),
        }
        size: dict[str, Any] = draw(st.fixed_dictionaries({}, optional={"size": st.integers(0, 6)}))
        found.append(draw(st.sampled_from([Part, Wheel]))(world=world, row=row, **values, **size))
    return found


@pytest.fixture(scope="module")
def wire(transport: Transport) -> FaultyTransport:
    return FaultyTransport(transport)


@pytest.fixture(scope="module")
def session(wire: FaultyTransport) -> Session:
    session = Session(transport=wire, clock=FakeClock(NOON.timestamp()))
    session.create_table(projections)
    return session


def fetched(wire: FaultyTransport) -> int:
    """The number of whole items that were asked for."""
    requests = [call.request for call in wire.calls if call.operation == "BatchGetItem"]
    return sum(len(one["Keys"]) for request in requests for one in request["RequestItems"].values())


@pytest.mark.parametrize(("index", "projected"), INDEXES.values(), ids=INDEXES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_filter_is_applied_before_whole_items_are_fetched(
    session: Session, wire: FaultyTransport, index: Any, projected: frozenset[str], data: st.DataObject
) -> None:
    world = next(worlds)
    stored = data.draw(parts(world))
    session.bulk_load(stored)
    condition, holds, names = data.draw(conditions())
    more, also, other_names = data.draw(conditions(0))
    query = session.query(index, world=world).filter(condition, more)
    live = [one for one in stored if one.until is None or one.until > NOON]
    wanted = [one.row for one in live if holds(one) and also(one)]
    try:
        wire.calls.clear()
        assert [one.row for one in query.all()] == wanted
        may_match = live if index is Part.by_some else stored  # only that one tells what has expired
        for test, named in ((holds, names), (also, other_names)):
            # A former name that is projected does not say what the field is.
            if named <= projected and "at" not in named:
                may_match = [one for one in may_match if test(one)]
        assert fetched(wire) <= len(may_match)
        assert query.count() == len(wanted)
        keys = query.keys()
        assert [key.fields["row"] for key in keys] == wanted
        assert [row[0] for row in query.values("row")] == wanted
        page, rows = query.page(2, read_at_most=3), list[int]()
        rows += [one.row for one in page]
        while page.cursor is not None:
            page = query.page(2, after=page.cursor, read_at_most=3)
            rows += [one.row for one in page]
        assert rows == wanted
    finally:
        session.delete_many(stored)


def test_a_filter_on_an_index_key_comes_before_fetching(session: Session, wire: FaultyTransport) -> None:
    world = next(worlds)
    session.bulk_load([Part(world=world, row=row, at=NOON, code=code) for row, code in enumerate("abcd")])
    wire.calls.clear()
    assert [one.row for one in session.query(Part.by_code, world=world).filter(F.code.is_in("b", "d"))] == [
        1,
        3,
    ]
    assert fetched(wire) == 2
    assert "FilterExpression" not in wire.calls[0].request
