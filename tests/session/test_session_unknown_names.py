"""A value under a name of no field, as ``model_copy(update=...)`` may give it, is refused and never dropped."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from dynaorm import Entity, Session, Table, item_of
from dynaorm.errors import BulkError, UnknownField
from dynaorm.testing import FaultyTransport

app = Table("app")


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    name: str
    full_name: str = ""

    @cached_property
    def initials(self) -> str:
        return self.full_name[:1]


def in_block(session: Session, user: User) -> None:
    with session.transaction() as tx:
        tx.save(user)


WRITES: dict[str, Callable[[Session, User], Any]] = {
    "save": lambda session, user: session.save(user),
    "overwrite": lambda session, user: session.save(user, overwrite=True),
    "move": lambda session, user: session.move(user),
    "block": in_block,
    "plan": lambda session, user: session.plan(user),
    "item_of": lambda _, user: item_of(user),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", ["fullName", "full_nam"], ids=["an alias", "misspelt"])
def test_a_value_under_another_name_is_refused(
    session: Session, wire: FaultyTransport, write: str, name: str
) -> None:
    user = session.save(User(name="liz")).model_copy(update={name: "Liz"})
    wire.calls.clear()
    with pytest.raises(UnknownField, match=f"User has no field '{name}'.* did you mean 'full_name'"):
        WRITES[write](session, user)
    assert wire.calls == []


def test_bulk_load_says_so_for_each_entity(session: Session, wire: FaultyTransport) -> None:
    with pytest.raises(BulkError) as caught:
        session.bulk_load([User(name="liz").model_copy(update={"fullName": "Liz"})])
    assert [type(error) for _, error in caught.value.failures] == [UnknownField]
    assert wire.calls == []


def test_a_new_entity_with_such_a_value_is_refused(session: Session, wire: FaultyTransport) -> None:
    with pytest.raises(UnknownField, match="did you mean 'full_name'"):
        session.save(User(name="liz").model_copy(update={"fullName": "Liz"}))
    assert wire.calls == []


def test_cached_and_private_values_are_no_fields(session: Session) -> None:
    user = session.save(User(name="liz", full_name="Liz"))
    assert user.initials == "L"
    user = user.model_copy(update={"full_name": "Bob", "_note": "of a library"})
    session.save(user)
    assert session.get_one(User, name="liz").full_name == "Bob"
