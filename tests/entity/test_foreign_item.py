"""What holds a key in the place of an entity."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, ExpiresAt, Key, Table
from dynaorm.entity.foreign_item import foreign_item, not_found
from dynaorm.entity.mapping.mapping import mapping_of

app = Table("holders", pk="id", sk=None)
NOW = datetime(2024, 1, 1, tzinfo=UTC).timestamp()


class User(Entity, table=app):
    id: str


class Admin(User):
    pass


class Login(Entity, table=app):
    id: Annotated[str, Field(repr=False)]
    until: Annotated[datetime | None, ExpiresAt()] = None


def item(kind: str | None, **attributes: Any) -> dict[str, Any]:
    return {"id": {"S": "1"}, **({} if kind is None else {"_type": {"S": kind}}), **attributes}


@pytest.mark.parametrize("kind", ["User", "Admin", None])
def test_an_entity_of_the_class_or_a_subclass_is_nobody_elses(kind: str | None) -> None:
    assert foreign_item(mapping_of(User), item(kind)) is None
    error = not_found(mapping_of(User), Key(User, id="1"), item(kind), NOW)
    assert error.problem == "nothing is stored under Key(User, id='1')"


def test_an_entity_of_another_class_is_named_by_its_own_key() -> None:
    other = foreign_item(mapping_of(Login), item("Admin"))
    assert other is not None
    assert (other.said, other.key, other.is_related) == ("an item of Admin", Key(Admin, id="1"), False)
    base = foreign_item(mapping_of(Admin), item("User"))
    assert base is not None
    assert (base.key, base.is_related) == (Key(User, id="1"), True)


def test_a_key_with_a_secret_is_masked_in_the_advice() -> None:
    said = str(not_found(mapping_of(User), Key(User, id="1"), item("Login"), NOW))
    assert said.endswith("name it by Key(Login, id=**********), or check the fields of the key")
