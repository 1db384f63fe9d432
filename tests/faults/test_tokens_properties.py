"""Running a block again under its token changes nothing, whatever it writes, who runs it, and what is lost."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Aggregate, Entity, F, Key, Session, Table, Transaction, Unique, inspect
from dynaorm.errors import OutcomeUnknown, StoreError
from dynaorm.flow.call import Call
from dynaorm.testing import FakeClock, FaultyTransport, assert_consistent, lost_answer
from dynaorm.transport import Transport
from tests.memory import MEMORY

app = Table("App")


class Plain(Entity, table=app, pk="PLAIN#{slug}", sk="A"):
    slug: str
    size: int = 0


class Guarded(Entity, table=app, pk="GUARDED#{slug}", sk="A"):
    slug: str
    email: Annotated[str, Unique()]
    size: int = 0


class Page(Entity, table=app, pk="PAGE#{slug}", sk="A", versioned=True):
    slug: str
    size: Annotated[int, Field(le=3)] = 0  # what one block adds, another cannot


class Shelf(Entity, table=app, pk="SHELF#{shelf}", sk="A"):
    shelf: str
    books: int = 0
    pages: int = 0


class Book(Entity, table=app, pk="BOOK#{slug}", sk="A"):
    slug: str
    shelf: str = "one"
    size: int = 0
    on_shelf = Aggregate(Shelf, count="books", sum={"size": "pages"})


CLASSES: tuple[type[Any], ...] = (Plain, Guarded, Page, Book)
VERBS = ("save", "overwrite", "set", "add", "take", "delete")


def new(kind: type[Any], size: int) -> Any:
    return kind(slug="a", size=size, **({"email": "a@x"} if kind is Guarded else {}))


def write(tx: Transaction, kind: type[Any], verb: str, size: int) -> Any:
    """One write of a block, and the object it was given, if any."""
    key = Key(kind, slug="a")
    if verb in ("save", "overwrite"):
        return tx.save(new(kind, size), overwrite=verb == "overwrite")
    if verb == "delete":
        tx.delete(key)
    elif verb == "take":
        tx.update(key, F.size.add(-1), condition=F.size >= 1)
    else:
        tx.update(key, F.size.set(size) if verb == "set" else F.size.add(size))
    return None


WRITES = st.tuples(st.sampled_from(CLASSES), st.sampled_from(VERBS), st.integers(0, 2))
BEFORE = st.sampled_from(["nothing", "stored", "deleted"])


@settings(max_examples=settings().max_examples // 3)  # each makes many requests
@given(
    writes=st.lists(WRITES, min_size=1, max_size=4, unique_by=lambda one: one[0]),
    before=st.tuples(BEFORE, BEFORE, BEFORE, BEFORE),
    lost=st.booleans(),
)
def test_a_block_that_is_run_again_under_its_token_changes_nothing_more(
    moto_transport: Transport, writes: list[tuple[type[Any], str, int]], before: tuple[str, ...], lost: bool
) -> None:
    def session(*faults: Any) -> Session:
        return Session(transport=FaultyTransport(engine, *faults), clock=clock)

    def block(session: Session) -> list[Any]:
        with session.transaction(token="TRANSACTION1") as tx:
            objects = [write(tx, *one) for one in writes]
        return [one for one in objects if one is not None]

    with MEMORY.empty():
        engine, clock = moto_transport, FakeClock()
        setup = session()
        prepare(setup, before)
        refusal = refused(lambda: block(session(*[lost_answer(operation="TransactWriteItems")] * lost)))
        if isinstance(refusal, OutcomeUnknown):  # an attempt got no answer, and the next was refused
            refusal = refused(lambda: block(session()))
        items = scanned(engine)
        clock.advance(5.0)
        if refusal is not None:
            assert type(refused(lambda: block(session()))) is type(refusal)
        elif leaves_nothing(writes):
            assert isinstance(refused(lambda: block(session())), OutcomeUnknown | None)
        else:
            for one in block(session()):
                assert inspect(one) == inspect(setup.get_one(Key(type(one), slug="a")))
        assert scanned(engine) == items
        assert_consistent(setup, app)


@pytest.mark.parametrize("unplannable", [True, False])
def test_what_an_earlier_run_saved_has_the_totals_that_are_stored(
    moto_transport: Transport, unplannable: bool
) -> None:
    def block() -> tuple[Shelf, Book]:
        with Session(transport=moto_transport).transaction(token="TRANSACTION1") as tx:
            if unplannable:
                tx.delete(Key(Guarded, slug="a"))
            else:
                tx.update(Key(Page, slug="a"), F.size.add(1))
            return tx.save(Shelf(shelf="a")), tx.save(Book(slug="a", shelf="a", size=3))

    with MEMORY.empty():
        setup = Session(transport=moto_transport)
        prepare(setup, ("nothing", "stored", "stored", "nothing"))
        block()
        shelf, book = block()
        for one, stored in (
            (shelf, setup.get_one(Shelf, shelf="a")),
            (book, setup.get_one(Book, slug="a")),
        ):
            assert (one, inspect(one)) == (stored, inspect(stored))
        assert_consistent(setup, app)


def prepare(session: Session, before: tuple[str, ...]) -> None:
    session.create_table(app)
    for kind, was in zip(CLASSES, before, strict=True):
        if was != "nothing":
            session.save(stored := new(kind, 1))
            if was == "deleted":
                session.delete(stored)


def leaves_nothing(writes: list[tuple[type[Any], str, int]]) -> bool:
    """Whether a block only deletes by key, so that no stored item shows who deleted."""
    return all(verb == "delete" and kind is not Page for kind, verb, _ in writes)


def refused(work: Callable[[], object]) -> StoreError | None:
    try:
        work()
    except StoreError as refusal:
        return refusal
    return None


def scanned(engine: Transport) -> dict[str, Any]:
    items = engine.call(Call("Scan", {"TableName": "App", "ConsistentRead": True}))["Items"]
    return {repr((item["PK"], item["SK"])): item for item in items}
