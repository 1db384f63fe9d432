"""However often a block runs under a token that is remembered, it is applied once, and no verdict on it is false."""

from datetime import timedelta
from typing import Annotated, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, F, Key, Retry, Session, Table, Transaction, Unique
from dynaorm.errors import Contention, DynaormError, OutcomeUnknown
from dynaorm.testing import (
    FakeClock,
    FaultyTransport,
    assert_consistent,
    conflict,
    lost_answer,
    lost_request,
)
from dynaorm.transport import Transport
from tests.memory import MEMORY

app = Table("App")
HOUR = timedelta(hours=1)


class Counter(Entity, table=app, pk="COUNTER", sk="C"):
    """Only the block writes it, and all it does is count: so it says how often the block was applied."""

    runs: int = 0


class Plain(Entity, table=app, pk="PLAIN#{slug}", sk="A"):
    slug: str
    size: int = 0


class Guarded(Entity, table=app, pk="GUARDED#{slug}", sk="A"):
    slug: str
    email: Annotated[str, Unique()] = "a@x"
    size: Annotated[int, Field(le=6)] = 0


class Page(Entity, table=app, pk="PAGE#{slug}", sk="A", versioned=True):
    slug: str
    size: Annotated[int, Field(le=6)] = 0  # what one block adds, another cannot


CLASSES: tuple[type[Any], ...] = (Plain, Guarded, Page)
VERBS = ("save", "overwrite", "set", "add", "take", "delete", "none")
WRITES = st.tuples(*(st.tuples(st.just(kind), st.sampled_from(VERBS)) for kind in CLASSES))
FAULTS = st.lists(st.sampled_from([lost_answer, lost_request, conflict]), max_size=2)
STEPS = st.lists(
    st.tuples(WRITES, FAULTS, st.sampled_from([0.0, 30.0, 700.0, 3700.0])), min_size=2, max_size=4
)


def write(tx: Any, kind: type[Any], verb: str, size: int) -> None:
    """One write: ``tx`` is a transaction, or the session of somebody else."""
    key = Key(kind, slug="a")
    if verb in ("save", "overwrite"):
        tx.save(kind(slug="a", size=size), overwrite=verb == "overwrite")
    elif verb == "delete":
        tx.delete(key)
    elif verb == "take":
        tx.update(key, F.size.add(-1), condition=F.size >= 1)
    elif verb != "none":
        tx.update(key, F.size.set(size) if verb == "set" else F.size.add(size))


@settings(max_examples=10)
@given(block=WRITES, before=WRITES, steps=STEPS)
def test_a_block_is_applied_once_in_the_time_it_is_remembered(
    moto_transport: Transport,
    block: tuple[tuple[type[Any], str], ...],
    before: tuple[tuple[type[Any], str], ...],
    steps: list[tuple[tuple[tuple[type[Any], str], ...], list[Any], float]],
) -> None:
    clock = FakeClock()
    with MEMORY.empty(clock=clock):
        engine = moto_transport
        setup = Session(transport=engine, clock=clock)
        setup.create_table(app)
        setup.save(Counter())
        others(setup, before, 1)
        runs, over = 0, 0.0
        for meanwhile, faults, seconds in steps:
            made = [fault(at=at, operation="TransactWriteItems") for at, fault in enumerate(faults, 1)]
            wire = FaultyTransport(engine, *made)
            session = Session(transport=wire, clock=clock, retry=Retry(attempts=2))
            remembered = clock.now() < over
            refusal = run(session, block)
            counted = setup.get_one(Key(Counter), consistent=True).runs
            assert counted - runs in ((0,) if remembered else (0, 1))
            if counted > runs:
                over = clock.now() + HOUR.total_seconds()
            remembered = remembered or counted > runs
            assert refusal is None or isinstance(refusal, OutcomeUnknown | Contention) or not remembered
            assert refusal is not None or remembered
            if remembered and len(made) < 2:
                assert refusal is None
            runs = counted
            others(setup, meanwhile, 5)
            clock.advance(seconds)
        assert_consistent(setup, app)


def run(session: Session, block: tuple[tuple[type[Any], str], ...]) -> DynaormError | None:
    def collect(tx: Transaction) -> None:
        tx.update(Key(Counter), F.runs.add(1))
        for one in block:
            write(tx, *one, 2)

    try:
        with session.transaction(token="TRANSACTION1", remember=HOUR) as tx:
            collect(tx)
    except DynaormError as refusal:
        return refusal
    return None


def others(session: Session, writes: tuple[tuple[type[Any], str], ...], size: int) -> None:
    """What somebody else does, as far as it can be done."""
    for one in writes:
        try:
            write(session, *one, size)
        except DynaormError:
            continue
