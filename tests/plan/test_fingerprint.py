"""The fingerprints of a block: they follow from what the caller gave, and from that alone."""

from datetime import datetime
from typing import Annotated

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
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Save
from dynaorm.plan.token import Fingerprints, fingerprints
from tests.cast.people import Member
from tests.plan.compiling import NOW, saved

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


def of_block(*intents: Intent) -> Fingerprints:
    return fingerprints(merge_intents(intents, NOW))


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
    assert len({of_block(*block) for block in blocks}) == len(blocks)


def test_what_is_only_checked_and_what_is_unchanged_count_too() -> None:
    stock, other = saved(Stock(sku="a")), Save(Stock(sku="b"))
    key, renamed = Key(Stock, sku="a"), Key(Renamed, name="r")
    blocks: list[tuple[Intent, ...]] = [
        (other,),
        (Save(stock), other),
        (Check(stock), Edit(key, (F.left.add(1),)), other),
        (Edit(key, (F.left.add(1),)), other),
        (Check(renamed, F.text == "x"), other),
        (Deletion(renamed, F.text == "x"), other),
    ]
    assert len({of_block(*block) for block in blocks}) == len(blocks)


def test_the_next_version_of_the_library_gives_an_upsert_the_same() -> None:
    assert (
        of_block(Edit(Key(Stock, sku="a"), (F.left.add(1),), creates=True)).outline
        == "16c495d8b9ec1def12abb03ce38b0712"
    )
