"""A write that reads for itself repeats a lost race, and threads that share a session lose nothing."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Key, Retry, Session, inspect
from dynaorm.errors import Contention
from tests.faults.entities import Page
from tests.faults.store import Store

HOME = Key(Page, name="home")

# -- the same entity ---------------------------------------------------------------------------------------------------


BY_KEY: dict[str, Callable[[Session], object]] = {
    "update": lambda session: session.update(HOME, {"text": "mine"}),
    "upsert": lambda session: session.upsert(HOME, {"text": "mine"}),
    "delete": lambda session: session.delete(HOME),
    "overwrite": lambda session: session.save(Page(name="home", text="mine"), overwrite=True),
    "restore": lambda session: session.restore(HOME, version=1),
}
"""Writes that read for themselves what they depend on."""


@pytest.mark.parametrize("races", [1, 3])
@pytest.mark.parametrize("write", BY_KEY)
def test_a_write_that_reads_repeats_a_lost_race(store: Store, write: str, races: int) -> None:
    other = store.line().session
    other.save(Page(name="home", text="first"))
    other.update(HOME, {"text": "second"})
    texts = iter(["theirs", "theirs too", "theirs again"])

    def race() -> None:
        other.update(HOME, {"text": next(texts)})

    operation = "PutItem" if write == "delete" else "TransactWriteItems"  # the tombstone alone
    races_at = (store.meanwhile(race, operation, at=number) for number in range(1, races + 1))
    session, _ = store.line(*races_at, retry=Retry(attempts=3))
    if races == 1:
        BY_KEY[write](session)
        found = session.get(HOME)
        assert (found and found.text) == {"restore": "first", "delete": None}.get(write, "mine")
    else:
        with pytest.raises(Contention):
            BY_KEY[write](session)
        assert session.get_one(HOME).text == "theirs again"


# -- keys, blocks, threads ---------------------------------------------------------------------------------------------


def test_threads_share_a_session_and_lose_nothing(moto: Store) -> None:
    """Each thread loads its own object; the engine answers one request at a time, in any order."""
    session = moto.line(retry=Retry(attempts=100)).session
    session.save(Page(name="home", text=""))

    def append(tx: Any) -> None:
        page = session.get_one(Page, name="home")
        page.text += "x"
        tx.save(page)

    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                session.run(append, attempts=100)
        except BaseException as failure:  # noqa: BLE001 - the test reports it, not the thread
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    page = session.get_one(Page, name="home")
    assert (page.text, inspect(page).version) == ("x" * 20, 21)
    assert [version.number for version in session.history(page)] == [*range(21, 0, -1)]
