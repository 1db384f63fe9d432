"""A separate process: ``racer.py ENDPOINT TABLE WORK ARGUMENTS``, with the arguments as JSON.

It prints ``ready`` when it is connected, waits for a line on stdin, works, and prints the result as JSON.
"""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from dynaorm import Entity, GlobalIndex, Key, Retry, Session, Table, Unique, inspect
from dynaorm.errors import OutcomeUnknown, UniqueViolation
from dynaorm.testing import Fault, FaultyTransport, faults
from dynaorm.testing.ministack import transport_to
from tests.faults.competing import compete, leases, shared

app = Table("app", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    phone: Annotated[str, Unique()]


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


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


def register(racer: Racer, token: str, fault: str | None = None) -> str | None:
    """Run an equal transaction in every process, under one token."""
    session = racer.with_faults(getattr(faults, fault)()) if fault else racer.session
    with session.transaction(token=token) as tx:
        user = tx.save(User(user_id="one", email="one@x.org", phone="1"))
        tx.save(Page(name="home", text="Hi"))
    return inspect(user).revision


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
        compete,
        register,
        crash,
        finish,
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
