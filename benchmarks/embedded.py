"""Measure the CPU time of calls in tests: on the embedded engine, and on moto under botocore.

Run: python -m benchmarks.embedded [memory] [moto] [--calls 300]

``moto`` is what ``strict_moto`` answers to a session that sends through botocore. With another checkout of dynaorm
first on PYTHONPATH, it measures the moto of that one. ``suite`` is 200 small tests: each creates a table in an engine
of its own, saves two entities, reads, queries and changes them.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Annotated, Final

from dynaorm import Entity, Session, Table, Unique
from dynaorm.testing import strict_moto

app = Table("app")
_ROUNDS: Final = 5
_TESTS: Final = 200
_STORED: Final = 600
_PROJECTS: Final = {0: "tiny"} | dict.fromkeys(range(1, 11), "small")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    name: str = "Ada"


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    title: str = "a title of some length"


@contextmanager
def opened(engine: str) -> Iterator[Session]:
    """A session on an empty engine with the table."""
    with ExitStack() as stack:
        if engine == "memory":
            session = stack.enter_context(Session(endpoint="memory:"))
        else:
            stack.enter_context(strict_moto())
            session = stack.enter_context(Session(region="us-east-1"))
        session.create_table(app)
        yield session


def small_test(engine: str) -> None:
    """What a test of a service does."""
    with opened(engine) as session:
        user = session.save(User(user_id="1", email="a@x"))
        session.save(Ticket(project="p", number=1))
        assert session.get_by(User, email="a@x") == user
        user.email = "b@x"
        session.save(user)
        assert [one.number for one in session.query(Ticket, project="p")] == [1]
        assert session.get(User, user_id="1") == user


def cpu(call: Callable[[], object], calls: int) -> float:
    """Microseconds of CPU a call, after some calls that are not measured: the best of five rounds."""
    for _ in range(3):
        call()
    gc.collect()
    rounds = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        for _ in range(max(1, calls // _ROUNDS)):
            call()
        rounds.append((time.process_time() - start) / max(1, calls // _ROUNDS))
    return min(rounds) * 1e6


def measured(engine: str, calls: int) -> dict[str, float]:
    """Microseconds of CPU for each kind of call."""
    numbers = count()

    def save(session: Session) -> None:
        number = next(numbers)
        session.save(User(user_id=str(number), email=f"{number}@x"))

    with opened(engine) as session:
        for number in range(_STORED):
            session.save(Ticket(project=_PROJECTS.get(number % 60, "large"), number=number))
        save(session)
        found = {
            "get": cpu(lambda: session.get(User, user_id="0"), calls),
            "query of 10 of 600": cpu(lambda: session.query(Ticket, project="tiny").all(), calls),
            "query of 100 of 600": cpu(lambda: session.query(Ticket, project="small").all(), calls),
            "save with a unique value": cpu(lambda: save(session), calls),
        }
    tests = _TESTS if engine == "memory" else _TESTS // 10
    return {**found, f"suite of {_TESTS} small tests": cpu(lambda: small_test(engine), tests) * _TESTS}


def main(arguments: list[str]) -> None:
    """Print a line for each engine and kind of call."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    calls = 300
    if "--calls" in arguments:
        position = arguments.index("--calls")
        calls = int(arguments[position + 1])
        arguments = [*arguments[:position], *arguments[position + 2 :]]
    for engine in arguments or ["memory", "moto"]:
        for name, microseconds in measured(engine, calls).items():
            print(f"{engine:8}{name:32}{microseconds:14,.1f} us of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
