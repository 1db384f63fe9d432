"""What the key of an item says about every entity that may be stored under it, without reading it."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, CreatedAt, Entity, F, GlobalIndex, Index, Key, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.action import Update
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read
from dynaorm.plan.intent import Edit, Save
from dynaorm.plan.merge_intents import merge_intents
from dynaorm.plan.without_reading import index_changes
from tests.plan.compiling import NOW, plan_of

app = Table("known-entity", indexes=[GlobalIndex("GSI1")])


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    books: int = 0


class Book(Entity, table=app, pk="BOOK#{kind}", sk="{number:03d}"):
    """Only novels are in the index, have a unique title and are counted."""

    kind: str
    number: int
    title: Annotated[str | None, Unique(when=F.kind == "novel")] = None
    shelf: str | None = None
    read: bool = False
    on_shelf = Aggregate(Shelf, count="books", key={"name": "shelf"}, when=F.kind == "novel")
    by_title = Index("GSI1", pk="{title}", sk="{number:03d}", when=F.kind == "novel")


class Alike(Entity, table=app, pk="ALIKE#{name:lower}", sk="A"):
    """Its key does not say how the name is written, and only one way to write it is in the index."""

    name: str
    seen: int = 0
    by_name = Index("GSI1", pk="ALIKE", sk="{name}", when=F.name == "Ann")


class Board(Entity, table=app, pk="BOARD#{name}", sk="B"):
    """Its index has those that are open, by the time of their creation."""

    name: str
    status: str = "open"
    posts: int = 0
    made: Annotated[datetime | None, CreatedAt()] = None
    by_time = Index("GSI1", pk="BOARDS", sk="{made}", when=F.status == "open")


class Post(Entity, table=app, pk="BOARD#{name}", sk="POST#{number:04d}"):
    name: str
    number: int = 1
    on_board = Aggregate(Board, count="posts")


def reads(target: Key[Any], *changes: Change, creates: bool = False) -> bool:
    return bool(items_to_read(merge_intents([Edit(target, changes, creates=creates)], NOW)))


@pytest.mark.parametrize("creates", [False, True])
@pytest.mark.parametrize(("kind", "expected"), [("novel", True), ("atlas", False)])
def test_a_condition_on_the_key_decides_about_indexes_and_guards(
    kind: str, expected: bool, creates: bool
) -> None:
    key = Key(Book, kind=kind, number=1)
    assert reads(key, F.title.set("x"), creates=creates) is expected
    # A book that is created so has neither a title nor a shelf: nothing is claimed or counted.
    assert not reads(key, F.read.set(True), creates=creates)


def test_a_place_that_the_key_excludes_loses_its_keys() -> None:
    key: Item = Key(Book, kind="atlas", number=1).primary_key
    assert index_changes(mapping_of(Book), key, (F.title.set("x"),)) == (
        Remove(("GSI1PK",)),
        Remove(("GSI1SK",)),
    )
    key = Key(Book, kind="novel", number=1).primary_key
    assert index_changes(mapping_of(Book), key, (F.title.set("x"),)) == (
        SetTo(("GSI1PK",), {"S": "x"}),
        SetTo(("GSI1SK",), {"S": "001"}),
    )


def test_an_upsert_reads_where_entities_under_one_key_differ_in_what_an_index_asks() -> None:
    # Of "ann" and "Ann", only the second is in the index, and the item under their key may be of either.
    assert reads(Key(Alike, name="Ann"), F.seen.add(1), creates=True)
    assert not reads(Key(Alike, name="ann"), F.seen.add(1), creates=True)


def test_a_total_puts_no_stored_target_into_an_index() -> None:
    # The stored board may be closed, and then it is not in the index.
    (*_, planned) = plan_of(Save(Post(name="a"))).actions
    assert planned.blind
    assert isinstance(planned.action, Update)
    assert [change.path[0] for change in planned.action.changes] == ["posts", "_rev"]
