"""A separate process: ``racer.py ENDPOINT TABLE WORK ARGUMENTS``, with the arguments as JSON.

It prints ``ready`` when it is connected, waits for a line on stdin, works, and prints the result as JSON.
"""

import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dynaorm import (
    Aggregate,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Retry,
    Session,
    Table,
    Unique,
    inspect,
)
from dynaorm.errors import ConditionFailed, OutcomeUnknown, StaleEntity, UniqueViolation
from dynaorm.testing import faults
from dynaorm.testing.endpoint import transport_to
from dynaorm.testing.faults import Fault, FaultyTransport
from tests.faults.competing import compete, leases, shared

app = Table("app", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    phone: Annotated[str, Unique()]


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class Hits(Entity, table=app, pk="HITS#{page}", sk="H"):
    page: str
    count: int = 0


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="A", versioned=True):
    name: str
    balance: int = 100
    payers: set[str] = Field(default_factory=set)


class Desk(Entity, table=app, pk="DESK#{room}", sk="DESK"):
    room: str
    taken: int = 0
    free: int = 0


class Seat(Entity, table=app, pk="SEAT#{seat}", sk="SEAT"):
    """Somebody sits there while ``status`` is ``taken``; who sits there sits nowhere else."""

    seat: str
    status: str = "free"
    guest: Annotated[str, Unique(when=F.status == "taken")] = ""
    is_free = Index("GSI1", pk="FREE", sk="{seat}", when=F.status == "free")
    is_taken = Index("GSI1", pk="TAKEN", sk="{seat}", when=F.status == "taken")
    counts_taken = Aggregate(Desk, count="taken", key={"room": "room"}, when=F.status == "taken")
    counts_free = Aggregate(Desk, count="free", key={"room": "room"}, when=F.status == "free")
    room: str = "hall"


HOME = Key(Page, name="home")
IMPATIENT = Retry(attempts=200, base=0.002, cap=0.02)


class Racer:
    """What the works share: a session on the table, and new sessions with faults."""

    def __init__(self, endpoint: str, table: str) -> None:
        self._transport = transport_to(endpoint)
        self._names = dict.fromkeys((app.name, shared.name, leases.name), table)
        self.session = self.with_faults()

    def with_faults(self, *struck: Fault, retry: Retry = IMPATIENT) -> Session:
        transport = FaultyTransport(self._transport, *struck)
        return Session(transport=transport, table_names=self._names, retry=retry)


def create(racer: Racer, me: str, rounds: int) -> list[bool]:
    """Create users that all processes want to create; for each, whether this process did."""
    won = []
    for number in range(rounds):
        try:
            racer.session.save(
                User(user_id=f"{me}-{number}", email=f"{number}@x.org", phone=f"{me}-{number}")
            )
        except UniqueViolation as violation:
            if (violation.constraint, violation.value) != ("email", f"{number}@x.org"):
                raise
            won.append(False)
        else:
            won.append(True)
    return won


def upsert(racer: Racer, me: str, rounds: int) -> list[int]:
    """Count hits and pay into accounts that nobody created; return the counts that this process made.

    Accounts keep versions, so their items have to be read first.
    """
    pages = [Key(Hits, page=str(number)) for number in range(rounds) for _ in range(2)]
    counts = [racer.session.upsert(page, F.count.add(1)).count for page in pages]
    racer.session.upsert(Key(Account, name="one"), F.balance.add(1), F.payers.add({me}))
    return counts


def sit(racer: Racer, guests: list[str], seats: int) -> int:
    """Create seats that all create, let each guest sit down on every seat in turn and get up; return how often."""
    sat = 0
    for seat in (Key(Seat, seat=str(number)) for number in range(seats)):
        racer.session.upsert(seat)
        for guest in guests:
            try:
                racer.session.update(seat, {"status": "taken", "guest": guest}, condition=F.status == "free")
            except (ConditionFailed, UniqueViolation):
                continue
            sat += 1
            if seat.fields["seat"] != "0":
                racer.session.update(seat, F.status.set("free"), condition=F.guest == guest)
    return sat


def contend(racer: Racer, me: str, rounds: int, guests: list[str], seats: int) -> dict[str, Any]:
    """Both, one after the other."""
    return {"counts": upsert(racer, me, rounds), "sat": sit(racer, guests, seats)}


def register(racer: Racer, token: str, fault: str | None = None) -> str | None:
    """Run an equal transaction in every process, under one token."""
    session = racer.with_faults(getattr(faults, fault)()) if fault else racer.session
    with session.transaction(token=token) as tx:
        user = tx.save(User(user_id="one", email="one@x.org", phone="1"))
        tx.save(Page(name="home", text="Hi"))
    return inspect(user).revision


def lossy(racer: Racer, me: str, rounds: int) -> int:
    """Append while every third answer and every fourth request is lost; return how many appends certainly succeeded."""
    lost = [faults.lost_answer(at=at) for at in range(2, 1000, 3)]
    lost += [faults.lost_request(at=at) for at in range(1, 1000, 4)]
    session = racer.with_faults(*lost)
    saved = 0
    while saved < rounds:
        page = session.get_one(HOME, consistent=True)
        page.text += me
        try:
            session.save(page)
        except StaleEntity:
            continue
        except OutcomeUnknown as unknown:
            if not _is_in_effect(session, unknown):
                continue
        saved += 1
    return saved


def _is_in_effect(session: Session, unknown: OutcomeUnknown) -> bool:
    while True:
        try:
            return session.resume(unknown.plan)
        except StaleEntity:
            return False
        except OutcomeUnknown:
            continue


def crash(racer: Racer, fault: str, write: str) -> None:
    """Make one write, and crash before or after DynamoDB carried it out."""
    WRITES[write](racer.with_faults(getattr(faults, fault)(operation="TransactWriteItems")))


def finish(racer: Racer, write: str) -> None:
    """Make the same write again from what is stored, as a restarted process would."""
    WRITES[write](racer.session)


def _create_user(session: Session) -> None:
    if session.get(Key(User, user_id="new"), consistent=True) is None:
        session.save(User(user_id="new", email="new@x.org", phone="new"))


def _change_user(session: Session) -> None:
    user = session.get_one(Key(User, user_id="one"), consistent=True)
    user.email, user.phone = "changed@x.org", "changed"
    session.save(user)


def _delete_user(session: Session) -> None:
    user = session.get(Key(User, user_id="one"), consistent=True)
    if user is not None:
        session.delete(user)


def _change_page(session: Session) -> None:
    page = session.get_one(HOME, consistent=True)
    page.text = "changed"
    session.save(page)


WRITES: dict[str, Callable[[Session], None]] = {
    "create": _create_user, "change": _change_user, "delete": _delete_user, "version": _change_page,
}  # fmt: skip


def churn(racer: Racer, rounds: int) -> None:
    """Change a user and write a new version of a page in one transaction, until killed; print each success."""
    for number in range(rounds):
        user = racer.session.get_one(Key(User, user_id="one"), consistent=True)
        page = racer.session.get_one(HOME, consistent=True)
        with racer.session.transaction() as tx:
            user.email, user.phone = f"{os.getpid()}-{number}@x.org", f"{os.getpid()}-{number}"
            page.text = user.phone
            tx.save(user)
            tx.save(page)
        print(number, flush=True)  # noqa: T201 - the parent reads it


def lose(racer: Racer, path: str) -> None:
    """Save without ever getting an answer, and pickle the plan into a file."""
    session = racer.with_faults(faults.lost_answer(), retry=Retry(attempts=1))
    try:
        session.save(User(user_id="new", email="new@x.org", phone="new"))
    except OutcomeUnknown as unknown:
        Path(path).write_bytes(pickle.dumps(unknown))


def resume(racer: Racer, path: str) -> bool:
    """Settle the plan in a file."""
    unknown = pickle.loads(Path(path).read_bytes())
    return racer.session.resume(unknown.plan)


WORKS: dict[str, Callable[..., Any]] = {
    work.__name__: work
    for work in (
        create,
        contend,
        compete,
        register,
        lossy,
        crash,
        finish,
        churn,
        lose,
        resume,
    )
}


def main(endpoint: str, table: str, work: str, arguments: str) -> None:
    racer = Racer(endpoint, table)
    racer.session.get(HOME)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    outcome = WORKS[work](racer, **json.loads(arguments))
    print(json.dumps(outcome), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
