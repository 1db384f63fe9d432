"""Items under keys of other items: no tool fails on them, and none writes what cannot be read, or history."""

import os
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Aggregate, Entity, Session, Table, Unique, entity_of, tools
from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DecodeError
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.flow.windows import windows
from dynaorm.testing import FakeClock
from dynaorm.tools import RepairResult
from dynaorm.transport import Call, Transport
from tests.fuzz.shelf import Shelf
from tests.laws.classes import NOON

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))

table = Table("misplaced")
Item = dict[str, Any]


class Note(Entity, table=table, pk="NOTE#{name}", sk="NOTE", versioned=True):
    name: str
    slug: Annotated[str, Unique()]


class Long(Note):
    ref: Annotated[str | None, Unique()] = None


class Draft(
    Entity, table=table, pk="DRAFT#{name}", sk="DRAFT", versioned="d{version}_{sk}", version_padding=2
):
    name: str
    title: Annotated[str, Unique()]


class Box(Entity, table=table, pk="BOX#{box}", sk="BOX"):
    box: str
    cards: int = 0


class Card(Entity, table=table, pk="CARD#{name}", sk="CARD"):
    name: str
    code: Annotated[str, Unique()]
    box: str
    in_box = Aggregate(Box, count="cards")


CLASSES = ("Note", "Long", "Draft", "Box", "Card", "Nobody")
TOOLS: dict[str, Callable[[Session], list[RepairResult]]] = {
    "repair": lambda session: list(tools.repair(session, table)),
    "backfill": lambda session: list(tools.backfill(session, table)),
}


def healthy() -> list[Item]:
    """Everything as it should be, as it is stored."""
    session = Session(transport=Shelf([table]), clock=FakeClock(NOON.timestamp()))
    entities = [
        Box(box="a"),
        Box(box="b"),
        Card(name="a", code="a", box="a"),
        Draft(name="a", title="a"),
        Long(name="a", slug="a", ref="a"),
        Note(name="b", slug="b"),
    ]
    requests = [session.plan(one).to_request() for one in entities]
    actions = [one for request in requests for one in request.get("TransactItems", [{"Put": request}])]
    items: list[Item] = [one["Put"]["Item"] for one in actions if "Put" in one]
    items[0] |= {"cards": {"N": "1"}}
    latest = next(one for one in items if one["PK"] == {"S": "NOTE#b"} and one["SK"] == {"S": "v0_NOTE"})
    gone = {"PK": {"S": "NOTE#gone"}, "SK": latest["SK"], "deleted": {"BOOL": True}}
    last = next(one for one in items if one["PK"] == {"S": "NOTE#b"} and one["SK"] == {"S": "v1_NOTE"})
    tombstone = {**gone, "version": last["version"], "version_at": last["version_at"]}
    return [*items, tombstone, {**last, "PK": gone["PK"], "name": {"S": "gone"}}]


def key(item: Item) -> Item:
    return {name: item[name] for name in table.key_names}


def name_of(item: Item) -> str:
    return f"{item['PK']['S']} {item['SK']['S']}"


def damaged(damages: list[tuple[str, int, int]]) -> dict[str, Item]:
    """The items after some damages: to the item at a place, which takes something from another."""
    items = {name_of(one): one for one in healthy()}
    for what, place, other in damages:
        event(what)
        stored = sorted(items.values(), key=name_of)
        item, source = stored[place % len(stored)], stored[other % len(stored)]
        if what == "lost":
            del items[name_of(item)]
        else:
            put = _DAMAGES[what](item, source, place)
            items[name_of(put)] = put
        if not items:
            break
    return items


def _owned(item: Item, source: Item, place: int) -> Item:
    """A guard item of some value, which names any key as its owner."""
    value = {"S": f"{('slug', 'ref', 'title', 'code')[place % 4]}#{'abn'[place % 3]}"}
    guard = {"PK": value, "SK": value}
    nobody = {"PK": {"S": "NOBODY"}, "SK": {"S": "NOBODY"}}
    return {**guard, "owner": {"M": (guard, nobody, key(source), key(source))[place % 4 - 1]}}


_DAMAGES: dict[str, Callable[[Item, Item, int], Item]] = {
    "type": lambda item, _, place: {**item, "_type": {"S": CLASSES[place % len(CLASSES)]}},
    "content": lambda item, source, _: {**source, **key(item)},
    "owner": _owned,
}
places = st.integers(0, 59)
damages = st.lists(st.tuples(st.sampled_from([*_DAMAGES, "lost"]), places, places), min_size=1, max_size=8)


def stored(engine: Transport) -> dict[str, Item]:
    found = engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]
    return {name_of(one): one for one in found}


def store(engine: Transport, session: Session, items: Iterable[Item]) -> None:
    """Put items into an empty table."""
    if table.name in engine.call(Call("ListTables", {}))["TableNames"]:
        session.delete_table(table, name=table.name)
    session.create_table(table)
    for some in windows([{"PutRequest": {"Item": one}} for one in items], 25):
        engine.call(Call("BatchWriteItem", {"RequestItems": {table.name: some}}))


def untouchable(items: dict[str, Item]) -> dict[str, Item]:
    """Versions, and the items of classes that cannot be read."""
    return {name: item for name, item in items.items() if is_version(item) or is_unreadable(item)}


def is_version(item: Item) -> bool:
    return classify(table, item) is NotAnEntity.VERSION


def is_unreadable(item: Item) -> bool:
    try:
        entity_of(item, table)
    except DecodeError:
        return isinstance(classify(table, item), EntityMapping)
    return False


def test_what_is_as_it_should_be_is_clean() -> None:
    assert judge_items({table: healthy()}, NOON.timestamp()) == []


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"box": {"S": "other"}}, "the Box itself cannot be read; correct it or delete it"),
        ({"cards": {"S": "many"}}, ""),
    ],
)
def test_a_total_is_corrected_only_if_its_target_can_be_read(change: Item, doubt: str) -> None:
    box, *others = healthy()
    box |= {"cards": {"N": "7"}} | change
    total, unreadable = sorted(judge_items({table: [box, *others]}, NOON.timestamp()), key=str)
    assert (total.kind, total.repairable, total.uncertain_because) == (FindingKind.TOTAL, not doubt, doubt)
    assert unreadable.kind is FindingKind.UNREADABLE


@settings(max_examples=10 * EXAMPLES)
@given(damages=damages)
def test_items_under_keys_of_others_are_judged_without_an_error(damages: list[tuple[str, int, int]]) -> None:
    items = damaged(damages)
    found = judge_items({table: items.values()}, NOON.timestamp())
    assert {one.table for one in found} <= {table.name}


@settings(max_examples=EXAMPLES)
@given(damages=damages, tool=st.sampled_from(sorted(TOOLS)))
def test_items_under_keys_of_others_are_not_written(
    engine: Transport, damages: list[tuple[str, int, int]], tool: str
) -> None:
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    before = damaged(damages)
    store(engine, session, before.values())

    told = TOOLS[tool](session)
    assert {one.outcome for one in told} <= {
        Outcome.REPAIRED,
        Outcome.NEEDS_DECISION,
        Outcome.SKIPPED,
        Outcome.RESOLVED,
    }
    list(tools.repair(session, table))
    after = stored(engine)
    assert [name for name, item in untouchable(before).items() if after.get(name) != item] == []
    assert [str(one) for one in tools.repair(session, table) if not one.is_left] == []
    assert stored(engine) == after
    assert [str(one) for one in tools.verify(session, table) if one.repairable] == []
