"""Ctrl-C at any line: an object has what was written, or settles it before its next write, which is not refused."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import pytest

from dynaorm import F, Key, Session, inspect
from dynaorm.entity.state import unsettled_of
from tests.faults.entities import Account, Page, User, app
from tests.faults.interrupting import Interrupting
from tests.faults.store import Store

TABLE: Final = app

# Where objects learn of their writes. What only computes values need not be interrupted at each of its lines.
ENDINGS: Final = ("flow", "session", "plan/plan.py", "entity/state.py")

WRITES: Final = ("UpdateItem", "TransactWriteItems")
LATEST: Final = {"ACCOUNT", "PROFILE", "v0_TEXT"}


class Write(NamedTuple):
    """Objects, and a write of them."""

    objects: Sequence[Any]
    make: Callable[[Session], object]


def update(before: Session, name: str) -> Write:
    account = before.save(Account(name=name))
    return Write([account], lambda session: session.update(account, F.visits.add(1)))


def restore(before: Session, name: str) -> Write:
    page = before.save(Page(name=name, text="one"))
    page.text = "two"
    before.save(page)
    return Write([page], lambda session: session.restore(page, version=1))


def block(before: Session, name: str) -> Write:
    user, page = before.save(User(user_id=name, email=f"{name}@x.org")), Page(name=name, text="one")
    user.email = f"{name}@y.org"

    def make(session: Session) -> None:
        with session.transaction() as tx:
            tx.save(user)
            tx.save(page)

    return Write([user, page], make)


def interrupted(
    moto: Store, prepare: Callable[[Session, str], Write], *modules: str, after: Sequence[str] = ()
) -> Iterator[tuple[Session, Sequence[Any]]]:
    """A session and objects whose write was interrupted at the first line, then others at the second, and so on."""
    before = moto.line().session
    for at in count():
        wire = Interrupting(moto.transport, *modules, at=at, after=after)
        session = Session(transport=wire, clock=moto.clock)
        write = prepare(before, f"{at:05d}")
        try:
            with wire.watching():
                write.make(session)
        except KeyboardInterrupt:
            assert wire.is_interrupted
        if not wire.is_interrupted:
            break
        yield session, write.objects
        for item in moto.items(app):
            moto.remove(app, item["PK"]["S"], item["SK"]["S"])
    assert at > 2


def revisions(moto: Store) -> set[str]:
    return {item["_rev"]["S"] for item in moto.items(app) if item["SK"]["S"] in LATEST}


@pytest.mark.parametrize("prepare", [update, restore, block])
def test_after_an_answer_an_object_knows_what_was_written(
    moto: Store, prepare: Callable[[Session, str], Write]
) -> None:
    for session, objects in interrupted(moto, prepare, *ENDINGS, after=WRITES):
        for one in objects:
            assert inspect(one).revision in revisions(moto) or unsettled_of(one) is not None
            session.save(one)
            assert inspect(one).revision in revisions(moto)


def test_no_interrupt_leaves_a_block_open(moto: Store) -> None:
    for session, objects in interrupted(moto, block, "session/transaction.py"):
        session.save_many(objects)
        assert all(inspect(one).loaded for one in objects)


def refresh(before: Session, name: str) -> Write:
    account = before.save(Account(name=name))
    before.update(Key(Account, name=name), F.city.set("Basel"))
    return Write([account], lambda session: session.refresh(account))


def test_an_interrupted_refresh_leaves_old_or_new_values(moto: Store) -> None:
    for _, (account,) in interrupted(moto, refresh, "flow/entity.py", after=["GetItem"]):
        assert account in (Account(name=account.name), Account(name=account.name, city="Basel"))
