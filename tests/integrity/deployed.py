"""A worker of one version of a service: ``deployed.py ENDPOINT TABLE VERSION SEED``.

It writes users until its standard input ends, and then prints how often. What is refused ends it with an error, but for
an object that another worker changed meanwhile.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from dynaorm import F, Key, Retry, Session
from dynaorm.errors import AlreadyExists, EntityNotFound, StaleEntity
from dynaorm.transport import DirectTransport
from tests.integrity.shop import OldUser, User

VERSIONS: dict[str, type[Any]] = {"old": OldUser, "new": User}
USERS = 8


def write(session: Session, kind: type[Any], chance: Random) -> None:
    """Something that a service does. Addresses are of one user alone, so none of them is ever taken."""
    name = str(chance.randrange(USERS))
    key: Key[Any] = Key(kind, user_id=name)
    email = f"{name}-{chance.randrange(3)}@x"
    team = chance.choice(["a", "b", None])
    works: list[Callable[[], object]] = [
        lambda: session.save(kind(user_id=name, email=email, team=team)),
        lambda: session.update(key, {"email": email, "team": team}),
        lambda: session.update(key, F.hours.add(chance.randrange(3))),
        lambda: session.delete(key),
        lambda: change(session, key, email),
    ]
    with suppress(StaleEntity, AlreadyExists, EntityNotFound):
        chance.choices(works, [3, 4, 2, 1, 2])[0]()


def change(session: Session, key: Key[Any], email: str) -> None:
    if (user := session.get(key)) is not None:
        user.email = email
        session.save(user)


def main(endpoint: str, table: str, version: str, seed: str) -> None:
    over, chance, done = threading.Event(), Random(seed), 0

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    session = Session(
        transport=DirectTransport(endpoint=endpoint),
        table_names=lambda _: table,
        retry=Retry(attempts=60, base=0.001, cap=0.05),
    )
    while not over.is_set() or done < 20:
        write(session, VERSIONS[version], chance)
        done += 1
        if done == 1:
            sys.stdout.write("writing\n")
            sys.stdout.flush()
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
