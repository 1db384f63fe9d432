"""What processes compete for in ``racer.py``: a lock, a lease, the jobs of a queue, and the answers to requests."""

from typing import Any

from dynaorm import Entity, F, Key, NumberRevision, Session, Table, inspect
from dynaorm.errors import AlreadyExists, ConditionFailed, StaleEntity

shared = Table("shared")
leases = Table("leases", revision_attribute=NumberRevision("counter"))


class Lock(Entity, table=shared, pk="LOCK#{name}", sk="LOCK"):
    """Nobody holds it while ``owner`` is empty."""

    name: str
    owner: str = ""
    fence: int = 0


class Fence(Entity, table=shared, pk="FENCE#{name}", sk="FENCE"):
    name: str
    number: int = 0


class Balance(Entity, table=shared, pk="BALANCE#{name}", sk="BALANCE"):
    """It is read and overwritten without a condition, so only who holds the lock may do that."""

    name: str
    amount: int = 0
    fence: int = 0


class Lease(Entity, table=leases, pk="LEASE#{shard}", sk="LEASE"):
    shard: str
    owner: str = ""
    host: str = ""


class Job(Entity, table=shared, pk="JOB#{number}", sk="JOB"):
    number: int
    receipt: str = ""


class Answer(Entity, table=shared, pk="ANSWER#{request}", sk="ANSWER"):
    request: str
    by: str
    text: str = ""


class Effect(Entity, table=shared, pk="EFFECT#{request}", sk="EFFECT"):
    request: str
    times: int = 0


LOCK, BALANCE, LEASE = Key(Lock, name="l"), Key(Balance, name="l"), Key(Lease, shard="s")


def lock(session: Session, me: str, rounds: int) -> list[int]:
    """Take a lock some times, and change what it guards; the fencing numbers of the times that it was held."""
    held: list[int] = []
    while len(held) < rounds:
        fence = session.next_number(Key(Fence, name="l"), "number")
        try:
            session.save(Lock(name="l", owner=me, fence=fence), replacing=F.owner == "")
        except ConditionFailed:
            continue
        balance = session.get(BALANCE, consistent=True)
        amount = 0 if balance is None else balance.amount
        session.save(Balance(name="l", amount=amount + 1, fence=fence), overwrite=True)
        session.update(LOCK, F.owner.set(""), condition=(F.owner == me) & (F.fence == fence))
        held.append(fence)
    return held


def lease(session: Session, me: str, rounds: int) -> list[int]:
    """Take a lease some times, renew it, and give it up; the numbers of its revision that this process wrote."""
    numbers: list[int] = []
    for _ in range(rounds):
        while True:
            found = session.get_one(LEASE, consistent=True)
            try:
                if found.owner:
                    continue
                is_same = F.counter == _number(found)
                taken = session.update(LEASE, F.owner.set(me), condition=is_same)
            except ConditionFailed:
                continue
            break
        numbers.append(_number(taken))
        numbers.append(_number(session.touch(taken)))
        numbers.append(_number(session.update(taken, F.owner.set(""))))
    return numbers


def _number(lease: Lease) -> int:
    return int(inspect(lease).revision or 0)


def work(session: Session, me: str) -> list[int]:
    """Do jobs until none is left; the numbers of those that this process did."""
    done: list[int] = []
    while jobs := session.scan(Job).consistent().all():
        for job in jobs:
            try:
                taken = session.update(job, {"receipt": me}, condition=F.receipt == "")
                session.delete(taken)
            except (ConditionFailed, StaleEntity):
                continue
            done.append(job.number)
    return done


def answer(session: Session, me: str, requests: int) -> list[str]:
    """Answer requests that every process gets; the answer to each, whoever gave it."""
    answers: list[str] = []
    for request in map(str, range(requests)):
        try:
            record = session.save(Answer(request=request, by=me))
        except AlreadyExists as there:
            record = there.stored
            while not record.text:
                record = session.get_one(Key(Answer, request=request), consistent=True)
        else:
            session.upsert(Key(Effect, request=request), F.times.add(1))
            record = session.update(record, {"text": f"{request} by {me}"})
        answers.append(record.text)
    return answers


def compete(racer: Any, me: str, rounds: int) -> dict[str, list[Any]]:
    """One after the other."""
    session = racer.session
    return {
        "lock": lock(session, me, rounds),
        "lease": lease(session, me, rounds),
        "jobs": work(session, me),
        "answers": answer(session, me, rounds),
    }
