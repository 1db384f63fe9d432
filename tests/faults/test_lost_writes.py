"""Lost answers and lost requests: what a session sends then, what is stored, and what the error says.

How a write ends, whatever others do meanwhile, is decided for every short sequence of events in ``worlds.py``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from dynaorm import Entity, F, Key, Retry, Session, Table, inspect
from dynaorm.errors import OutcomeUnknown, Unreachable, UsageError
from dynaorm.testing import Fault, lost_answer, lost_request
from tests.faults.entities import FOREVER, LIZ, Account, User, app
from tests.faults.store import Store

bare = Table("Bare", revision_attribute=None)


class Counter(Entity, table=bare, pk="COUNTER#{name}", sk="COUNTER"):
    """Without a revision, so that an item does not say who wrote it."""

    name: str
    visits: int = 0


A: Final = Key(Counter, name="a")
Stored = Mapping[str, int | None]
"""Partition key -> visits, of those that count them."""

BEFORE: Final[Stored] = {"ACCOUNT#liz": 0, "USER#1": None, "email#liz@x.org": None, "COUNTER#a": 0}


def seen(store: Store) -> Stored:
    return {
        item["PK"]["S"]: int(item["visits"]["N"]) if "visits" in item else None
        for item in [*store.items(app), *store.items(bare)]
    }


def without(*keys: str) -> Stored:
    return {key: visits for key, visits in BEFORE.items() if key not in keys}


def visited(one: Any) -> Any:
    one.visits += 1
    return one


PUT, UPDATE, DELETE, READ, TRANSACTION = (
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "GetItem",
    "TransactWriteItems",
)
DONE, UNKNOWN = "done", "unknown"
BOTH_DONE = (DONE, DONE)
IF_IT_CAN_BE_SEEN = (DONE, UNKNOWN)
"""It is not sent again, because that could count twice or undo what others did: it is looked for."""

ONE, NEW, ANEW = {"ACCOUNT#liz": 1}, {"ACCOUNT#bob": 0}, {"USER#2": None, "email#bob@x.org": None}
COUNTED, NEW_COUNTER = {"COUNTER#a": 1}, {"COUNTER#b": 0}

# Each write takes a session and the stored account, user and counter. Then: what is sent after the answer or the
# request was lost, how it ends after each, and what is stored once it was made.
WRITES: Final[Mapping[str, tuple[Callable[..., object], list[str], tuple[str, str], Stored]]] = {
    "insert": (lambda to, *_: to.save(Account(name="bob")), [PUT, PUT], BOTH_DONE, {**BEFORE, **NEW}),
    "insert once": (
        lambda to, *_: to.save(Account(name="bob"), exactly_once=True),
        [TRANSACTION] * 2, BOTH_DONE, {**BEFORE, **NEW},
    ),
    "guarded insert": (
        lambda to, *_: to.save(User(user_id="2", email="bob@x.org")),
        [TRANSACTION] * 2, BOTH_DONE, {**BEFORE, **ANEW},
    ),
    "save": (lambda to, one, *_: to.save(visited(one)), [UPDATE] * 2, BOTH_DONE, {**BEFORE, **ONE}),
    "update": (lambda to, one, *_: to.update(one, F.visits.add(1)), [UPDATE] * 2, BOTH_DONE, {**BEFORE, **ONE}),
    "delete": (lambda to, one, *_: to.delete(one), [DELETE] * 2, BOTH_DONE, without("ACCOUNT#liz")),
    "guarded delete": (
        lambda to, _, user, __: to.delete(user),
        [TRANSACTION] * 2, BOTH_DONE, without("USER#1", "email#liz@x.org"),
    ),
    "update by key": (
        lambda to, *_: to.update(LIZ, F.visits.add(1)), [UPDATE, READ], IF_IT_CAN_BE_SEEN, {**BEFORE, **ONE}
    ),
    "delete by key": (
        lambda to, *_: to.delete(LIZ), [DELETE, READ], IF_IT_CAN_BE_SEEN, without("ACCOUNT#liz")
    ),
    "update by key once": (
        lambda to, *_: to.update(LIZ, F.visits.add(1), exactly_once=True),
        [READ, TRANSACTION, TRANSACTION], BOTH_DONE, {**BEFORE, **ONE},
    ),
    "delete by key once": (
        lambda to, *_: to.delete(LIZ, exactly_once=True), [TRANSACTION] * 2, BOTH_DONE, without("ACCOUNT#liz")
    ),
    # Without a revision, an equal item may be another's.
    "insert without revision": (
        lambda to, *_: to.save(Counter(name="b")), [PUT, PUT], (UNKNOWN, DONE), {**BEFORE, **NEW_COUNTER}
    ),
    "save without revision": (
        lambda to, *others: to.save(visited(others[-1])),
        [UPDATE, READ], (UNKNOWN, UNKNOWN), {**BEFORE, **COUNTED},
    ),
    "update without revision": (
        lambda to, *_: to.update(A, F.visits.add(1)),
        [UPDATE, READ], (UNKNOWN, UNKNOWN), {**BEFORE, **COUNTED},
    ),
    "delete without revision": (
        lambda to, *others: to.delete(others[-1]), [DELETE, READ], IF_IT_CAN_BE_SEEN, without("COUNTER#a")
    ),
    "save once without revision": (
        lambda to, *others: to.save(visited(others[-1]), exactly_once=True),
        [TRANSACTION] * 2, BOTH_DONE, {**BEFORE, **COUNTED},
    ),
    "delete once without revision": (
        lambda to, *others: to.delete(others[-1], exactly_once=True),
        [TRANSACTION] * 2, BOTH_DONE, without("COUNTER#a"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
@pytest.mark.parametrize("name", WRITES)
def test_a_lost_write_is_sent_again_or_looked_for(
    store: Store, name: str, fault: Callable[..., Fault]
) -> None:
    write, sent, (after_answer, after_request), made = WRITES[name]
    seeds = Account(name="liz"), User(user_id="1", email="liz@x.org"), Counter(name="a")
    seed = store.line().session
    account, user, counter = (seed.save(one) for one in seeds)
    operations = {*sent} - {READ}
    session, wire = store.line(*(fault(operation=operation) for operation in operations))
    ending = DONE
    try:
        write(session, account, user, counter)
    except OutcomeUnknown:
        ending = UNKNOWN
    assert [call.operation for call in wire.calls] == sent
    first, *again = [call.request for call in wire.calls if call.operation in operations]
    assert all(one == first for one in again)
    assert all(call.request["ConsistentRead"] for call in wire.calls if call.operation == READ)
    assert ending == (after_answer if fault is lost_answer else after_request)
    assert seen(store) == (made if fault is lost_answer or ending == DONE else BEFORE)
    if ending == DONE and name in ("save", "update"):
        (item,) = [one for one in store.items(app) if one["PK"] == LIZ.primary_key["PK"]]
        assert (item["_rev"], inspect(account).changes) == ({"S": inspect(account).revision}, {})
    assert inspect(account).loaded is not (ending == DONE and name == "delete")


@pytest.mark.parametrize(("times", "ending"), [(9, DONE), (FOREVER, UNKNOWN)])
def test_a_write_sent_ten_times_keeps_its_plan_in_the_error(store: Store, times: int, ending: str) -> None:
    session, wire = store.line(lost_answer(times=times))
    user = User(user_id="1", email="liz@x.org")
    if ending == DONE:
        session.save(user)
    else:
        plan = store.unknown(lambda: session.save(user))
        assert plan.to_request() == wire.calls[0].request
    assert len(wire.calls) == 10
    assert inspect(user).loaded is (ending == DONE)
    assert len(store.items(app)) == 2


def test_a_write_that_was_never_sent_is_unreachable(store: Store) -> None:
    session, wire = store.line(lost_request(times=10, sent=False))
    account = Account(name="liz")
    with pytest.raises(Unreachable) as caught:
        session.save(account)
    assert (caught.value.operation, caught.value.attempts) == ("PutItem", 10)
    session.save(account)
    assert [call.operation for call in wire.calls[10:]] == ["PutItem"], "nothing had to be settled"


# -- what the error says -----------------------------------------------------------------------------------------------

EXPIRED = UsageError(problem="The credentials have expired", remedy="log in again")
NO_FILE = OSError("no file")


@pytest.mark.parametrize("trouble", [EXPIRED, NO_FILE], ids=["credentials", "another library"])
@pytest.mark.parametrize(
    ("write", "operation", "then"),
    [
        (lambda session: session.save(Account(name="bob")), PUT, PUT),
        (lambda session: session.save(User(user_id="1", email="a@x")), TRANSACTION, TRANSACTION),
        (lambda session: session.update(LIZ, F.visits.add(1)), UPDATE, READ),
        (lambda session: session.delete(LIZ), DELETE, READ),
    ],
    ids=["an insert", "a transaction", "an update by key", "a delete by key"],
)
def test_a_lost_write_that_cannot_be_repeated_names_the_reason(
    moto: Store, write: Callable[[Session], object], operation: str, then: str, trouble: Exception
) -> None:
    def fail() -> None:
        raise trouble

    moto.line().session.save(Account(name="liz"))
    at = 2 if then == operation else 1
    session, _ = moto.line(lost_answer(operation=operation), moto.meanwhile(fail, then, at=at))
    with pytest.raises(OutcomeUnknown) as unknown:
        write(session)
    assert unknown.value.__cause__ is trouble
    if trouble is EXPIRED:
        assert "The credentials have expired" in str(unknown.value)
        assert "log in again" in unknown.value.remedy
    if operation != UPDATE:
        assert session.resume(unknown.value.plan)


@pytest.mark.parametrize("name", ["update by key", "delete by key"])
def test_the_remedy_of_a_final_write_promises_no_repeat(moto: Store, name: str) -> None:
    moto.line().session.save(Account(name="liz"))
    session, wire = moto.line(lost_request(), lost_request(at=3), retry=Retry(attempts=1))
    with pytest.raises(OutcomeUnknown) as caught:
        WRITES[name][0](session)
    assert caught.value.remedy == (
        "it is not sent again, because that could undo what others did since; get the entity to see what is stored, "
        "and decide again. session.resume(error.plan) only reads the item again"
    )
    sent = len(wire.calls)
    with pytest.raises(OutcomeUnknown):
        session.resume(caught.value.plan)
    assert all(call.operation == READ for call in wire.calls[sent:])
