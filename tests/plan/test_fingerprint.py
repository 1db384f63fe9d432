"""The revision of a block under a token of the caller's: it follows from what the caller gave, and from that alone."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import (
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    Key,
    Table,
    Unique,
)
from dynaorm.entity.table import ident_of
from dynaorm.item.value import Item
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.fingerprint import is_fixed, revision_under_token
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Reads, Save, UnitOfWork
from dynaorm.plan.plan import Plan
from tests.cast.events import Note
from tests.cast.orders import Login
from tests.cast.others import Spot
from tests.cast.people import Member
from tests.plan.compiling import NOW

app = Table("token-app", indexes=[GlobalIndex("GSI1")])


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""
    tags: frozenset[str] = frozenset()
    left: int = 0


class Kept(Entity, table=app, pk="KEPT#{name}", sk="K"):
    name: str
    email: Annotated[str, Unique()]
    shelf: Annotated[str, InKey()] = "x"
    row: Annotated[str, InKey()] = "y"
    left: int = 0
    by_shelf = Index("GSI1", pk="SHELF#{shelf}#{row}", sk="{name}")


class Renamed(Entity, table=app, pk="RENAMED#{name}", sk="R"):
    name: str
    text: Annotated[str, Attribute(formerly="body")] = ""


reserved = Table("token-reserved")


class Room(Entity, table=Table("token-rooms", guard_table=reserved), pk="ROOM#{name}", sk="R"):
    """Its table has no TTL."""

    name: str
    number: Annotated[int | None, Unique()] = None


class Stay(Entity, table=Table("token-stays", guard_table=reserved), pk="STAY#{name}", sk="S"):
    """Because of it, guard items expire."""

    name: str
    code: Annotated[str, Unique()]
    until: Annotated[datetime | None, ExpiresAt()] = None


def plan_of(*intents: Intent, reads: Reads = NOTHING_READ, token: str = "T", now: float = NOW) -> Plan:
    return compile_plan(merge_intents(intents, now), reads, UnitOfWork(now, "w2", str, token))


def revision(*intents: Intent, token: str = "T", now: float = NOW) -> str:
    return revision_under_token(merge_intents(intents, now), UnitOfWork(now, "w2", str, token))


def stored(entity: Any, **more: Any) -> Item:
    """The item of an entity that was just inserted."""
    (main, *_) = plan_of(Save(entity), token="first").actions
    assert main.after is not None
    return {**main.after, **more}


def knowing(*items: Item) -> Reads:
    return Reads({ident_of(app, {name: item[name] for name in ("PK", "SK")}): item for item in items})


BLOCKS: dict[str, tuple[Intent, ...]] = {
    "an overwritten entity": (Save(Document(doc_id="d", text="t"), None, True),),
    "an edit that makes a version": (Edit(Key(Document, doc_id="d"), (F.left.add(1),)),),
    "an edit that changes nothing any more": (
        Edit(Key(Document, doc_id="d"), (F.text.set("old"),)),
        Save(Stock(sku="a")),
    ),
    "a new entity where another was": (Save(Document(doc_id="d", text="t")),),
    "a deletion by key": (Deletion(Key(Document, doc_id="d")), Save(Stock(sku="a"))),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_it_does_not_depend_on_what_was_read(name: str) -> None:
    block = BLOCKS[name]
    deleted = {"deleted": {"BOOL": True}} if name == "a new entity where another was" else {}
    found = [
        stored(Document(doc_id="d", text="old", left=left), version={"N": str(left)}, **deleted)
        for left in (1, 7)
    ]
    plans = [plan_of(*block, reads=knowing(item)) for item in found]
    written = {planned.revision for plan in plans for planned in plan.actions if planned.revision is not None}
    assert written == {revision(*block)}


def test_blocks_that_say_something_else_have_another_one() -> None:
    key, kept = Key(Stock, sku="a"), Key(Kept, name="k")
    document = Key(Document, doc_id="d")
    blocks: list[tuple[Intent, ...]] = [
        (Edit(key, (F.left.add(1),)),),
        (Edit(key, (F.left.add(2),)),),
        (Edit(key, (F.left.add(1),), creates=True),),
        (Edit(Key(Stock, sku="b"), (F.left.add(1),)),),
        (Edit(key, (F.left.add(1),), F.left < 5),),
        (Edit(key, (F.left.add(1),), F.left < 6),),
        (Edit(key, (F.left.add(1),)), Save(Stock(sku="b"))),
        (Edit(document, (F.left.add(1),)),),
        (Edit(document, (F.left.add(2),)),),
        (Edit(document, (F.left.add(1),), creates=True),),
        (Edit(document, (F.left.add(1),), F.left < 5),),
        (Edit(document, (F.left.add(1),), F.left < 6),),
        (Deletion(document),),
        (Deletion(document, F.left < 5),),
        (Save(Document(doc_id="d"), None, True),),
        (Save(Document(doc_id="d", left=1), None, True),),
        (Save(Document(doc_id="d"), F.left < 5, True),),
        (Edit(kept, (F.email.set("a@x"),)),),
        (Edit(kept, (F.email.set("b@x"),)),),
        (Edit(kept, (F.shelf.set("a"),)),),
        (Edit(kept, (F.shelf.set("b"),)),),
        (Edit(kept, (F.row.set("a"),)),),
        (Deletion(Key(Member, name="1")),),
        (Deletion(Key(Member, name="2")),),
    ]
    assert len({revision(*block) for block in blocks}) == len(blocks)
    assert revision(*blocks[0], token="U") != revision(*blocks[0])
    assert [revision(*block) for block in blocks] == [revision(*block) for block in blocks]


def loaded(entity: Any) -> Any:
    for effect in plan_of(Save(entity)).effects:
        effect.apply()
    return entity


def test_what_is_only_checked_and_what_is_unchanged_count_too() -> None:
    stock, other = loaded(Stock(sku="a")), Save(Stock(sku="b"))
    key, renamed = Key(Stock, sku="a"), Key(Renamed, name="r")
    blocks: list[tuple[Intent, ...]] = [
        (other,),
        (Save(stock), other),
        (Check(stock), Edit(key, (F.left.add(1),)), other),
        (Edit(key, (F.left.add(1),)), other),
        (Check(renamed, F.text == "x"), other),
        (Deletion(renamed, F.text == "x"), other),
    ]
    assert len({revision(*block) for block in blocks}) == len(blocks)


def test_the_next_version_of_the_library_gives_an_upsert_the_same() -> None:
    assert (
        revision(Edit(Key(Stock, sku="a"), (F.left.add(1),), creates=True))
        == "0262a62716c2c4495752ab7360c3d18a"
    )


@pytest.mark.parametrize(
    ("intents", "expected"),
    [
        ([Save(Stock(sku="a"))], True),
        ([Save(Stock(sku="a")), Check(Key(Stock, sku="b"), F.left > 0)], True),
        ([Edit(Key(Stock, sku="a"), (F.left.add(1),))], True),
        ([Check(Key(Stock, sku="b"), F.left > 0)], False),
        ([Save(loaded(Stock(sku="a")), F.left > 0)], False),
        ([Save(Stock(sku="b")), Deletion(loaded(Stock(sku="a")))], False),
        ([Save(Document(doc_id="d"))], False),
        ([Save(Login(token="l"))], False),
        ([Save(Spot(name="s"))], False),
        ([Save(Note(note="n"))], False),
        ([Save(Room(name="r"))], True),
        ([Save(Room(name="r", number=1))], False),
    ],
)
def test_a_block_is_fixed_if_neither_time_nor_what_is_stored_or_was_loaded_is_in_it(
    intents: list[Intent], expected: bool
) -> None:
    assert is_fixed(plan_of(*intents)) is expected


def test_a_block_that_was_planned_with_a_read_item_is_not_fixed() -> None:
    key = Key(Document, doc_id="d")
    item = stored(Document(doc_id="d"))
    assert not is_fixed(plan_of(Edit(key, (F.text.set("n"),)), reads=Reads({ident_of(app, item): item})))
