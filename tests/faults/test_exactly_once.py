"""``update(exactly_once=True)`` returns what this update made, however many others change the same item."""

import threading
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, F, Key, Retry, Session, Table
from dynaorm.testing import FakeClock, FaultyTransport, lost_answer
from dynaorm.testing.ministack import transport_to
from dynaorm.transport import Transport
from tests.memory import MEMORY

app = Table("Sequences")
bare = Table("BareSequences", revision_attribute=None)
WRITERS = 60


class Sequence(Entity, table=app, pk="SEQUENCE#{name}", sk="S"):
    name: str
    last: int = 0


class Bare(Entity, table=bare, pk="SEQUENCE#{name}", sk="S"):
    name: str
    last: int = 0


def test_sixty_concurrent_additions_give_sixty_different_values(
    ministack_endpoint: str, unique_name: Callable[[str], str]
) -> None:
    transport = transport_to(ministack_endpoint)
    retry = Retry(attempts=40, base=0.05, cap=2.0)
    session = Session(transport=transport, table_names=unique_name, retry=retry, exactly_once=True)
    for kind in (Sequence, Bare):
        session.create_table(app if kind is Sequence else bare)
        session.save(kind(name="orders"))
        made: list[int] = []

        def take(kind: type[Sequence | Bare] = kind, made: list[int] = made) -> None:
            made.append(session.update(Key(kind, name="orders"), F.last.add(1)).last)

        threads = [threading.Thread(target=take) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(made) == list(range(1, WRITERS + 1))
    transport.close()


@settings(
    max_examples=settings().max_examples // 3,  # each makes many requests
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    lost=st.sets(st.integers(1, 8), max_size=4),
    steps=st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1, max_size=5),
    kind=st.sampled_from([Sequence, Bare]),
)
def test_an_update_exactly_once_counts_once_despite_losses(
    moto_transport: Transport, lost: set[int], steps: list[tuple[bool, int]], kind: type[Sequence | Bare]
) -> None:
    key = Key(kind, name="orders")
    with MEMORY.empty():
        engine, clock = moto_transport, FakeClock()
        faults = [lost_answer(at=at, operation="TransactWriteItems") for at in lost]
        session = Session(transport=FaultyTransport(engine, *faults), clock=clock)
        other = Session(transport=engine, clock=clock)
        session.create_table(app)
        session.create_table(bare)
        other.save(kind(name="orders"))
        total = 0
        for is_other, amount in steps:
            total += amount
            made = (other if is_other else session).update(key, F.last.add(amount), exactly_once=not is_other)
            assert made.last == total
        assert other.get_one(key).last == total
