"""Two sessions that interfere, step by step: one wins, the other gets an error, and nothing is half done."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Key, Retry, Session, inspect
from dynaorm.errors import (
    AlreadyExists,
    Contention,
    StaleEntity,
)
from tests.faults.entities import Page, User, app
from tests.faults.store import Store

HOME = Key(Page, name="home")

# -- the same entity ---------------------------------------------------------------------------------------------------


def test_of_two_updates_of_one_entity_the_second_is_stale_and_leaves_no_trace(store: Store) -> None:
    session = store.line().session
    winner = session.save(User(user_id="1", email="a@x.org"))
    loser = store.line().session.get_one(User, user_id="1")
    winner.full_name = "Winner"
    session.save(winner)
    items, before = store.items(app), inspect(loser).revision
    loser.full_name, loser.email = "Loser", "b@x.org"
    with pytest.raises(StaleEntity) as caught:
        session.save(loser)
    assert caught.value.key == Key(User, user_id="1")
    assert (caught.value.expected, caught.value.found) == (before, inspect(winner).revision)
    assert store.items(app) == items
    assert (loser.full_name, loser.email, inspect(loser).revision) == ("Loser", "b@x.org", before)


def test_a_holder_from_before_a_delete_and_recreation_is_stale(store: Store) -> None:
    """The new entity may be equal in every field, but it is another one."""
    session = store.line().session
    session.save(User(user_id="1", email="a@x.org"))
    holder = store.line().session.get_one(User, user_id="1")
    session.delete(Key(User, user_id="1"))
    session.save(User(user_id="1", email="a@x.org"))
    items = store.items(app)
    holder.full_name = "From another life"
    for stale_write in (session.save, session.delete):
        with pytest.raises(StaleEntity):
            stale_write(holder)
    assert store.items(app) == items


def test_versions_tell_a_recreated_entity_from_the_deleted_one(store: Store) -> None:
    session = store.line().session
    session.save(Page(name="home", text="one"))
    holder = store.line().session.get_one(Page, name="home")
    session.delete(Key(Page, name="home"))
    session.save(Page(name="home", text="one"))
    holder.text = "two"
    with pytest.raises(StaleEntity):
        session.save(holder)
    assert store.keys(app) == ["PAGE#home v0_TEXT", "PAGE#home v1_TEXT", "PAGE#home v2_TEXT"]


def test_a_creation_that_was_overtaken_writes_no_version(store: Store) -> None:
    def first() -> None:
        store.line().session.save(Page(name="home", text="first"))

    session, _ = store.line(store.meanwhile(first, "TransactWriteItems"))
    with pytest.raises(AlreadyExists):
        session.save(Page(name="home", text="second"))
    assert store.keys(app) == ["PAGE#home v0_TEXT", "PAGE#home v1_TEXT"]


@pytest.mark.parametrize("write", ["save", "update", "delete", "move", "check"])
def test_what_was_deleted_meanwhile_is_not_brought_back(store: Store, write: str) -> None:
    session = store.line().session
    user = session.save(User(user_id="1", email="a@x.org"))
    store.line().session.delete(Key(User, user_id="1"))

    def work() -> None:
        if write == "update":
            session.update(user, {"full_name": "Back"})
        elif write == "check":
            with session.transaction() as tx:
                tx.check(user)
                tx.save(User(user_id="2", email="b@x.org"))
        else:
            setattr(user, "user_id" if write == "move" else "full_name", "9")
            getattr(session, write)(user)

    with pytest.raises(StaleEntity) as caught:
        work()
    assert caught.value.found is None
    assert store.items(app) == []


def test_work_that_was_overtaken_runs_again_from_what_is_stored(store: Store) -> None:
    store.line().session.save(Page(name="home", text="a"))

    def append(text: str) -> None:
        session = store.line().session
        page = session.get_one(Page, name="home")
        page.text += text
        session.save(page)

    session, _ = store.line(
        store.meanwhile(lambda: append("b"), "TransactWriteItems"),
        store.meanwhile(lambda: append("c"), "TransactWriteItems", at=2),
    )

    def work(tx: Any) -> int:
        page = session.get_one(Page, name="home")
        page.text += "!"
        tx.save(page)
        return len(page.text)

    assert session.run(work) == 4
    assert session.get_one(Page, name="home").text == "abc!"
    assert [version.number for version in session.history(Key(Page, name="home"))] == [4, 3, 2, 1]


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
def test_a_write_that_reads_for_itself_repeats_a_lost_race_and_is_never_stale(
    store: Store, write: str, races: int
) -> None:
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
    """Each thread loads its own object; strict moto answers one request at a time, in any order."""
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
