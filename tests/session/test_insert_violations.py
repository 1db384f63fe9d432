"""An insert whose key and unique value are taken names both, on every call."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, Session, Table, Unique
from dynaorm.errors import AlreadyExists, BulkError

app = Table("insert-violations")


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    email: Annotated[str, Unique()]


def save(session: Session, user: User) -> None:
    session.save(user)


def save_many(session: Session, user: User) -> None:
    try:
        session.save_many([user])
    except BulkError as error:
        raise error.failures[0][1] from error


def block(session: Session, user: User) -> None:
    with session.transaction() as tx:
        tx.save(user)


def block_of_two(session: Session, user: User) -> None:
    with session.transaction() as tx:
        tx.save(user)
        tx.save(User(name="liz", email="free"))


def run(session: Session, user: User) -> None:
    session.run(lambda tx: tx.save(user))


@pytest.mark.parametrize("call", [save, save_many, block, block_of_two, run])
def test_an_insert_lists_its_taken_key_and_its_taken_value(call: Any) -> None:
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        session.save(User(name="ann", email="ann@x"))
        session.save(User(name="liz", email="liz@x"))
        with pytest.raises(AlreadyExists) as caught:
            call(session, User(name="ann", email="liz@x"))
    assert [(one.constraint, one.value) for one in caught.value.violations] == [("email", "liz@x")]
