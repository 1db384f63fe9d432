"""Entity: class keywords, and the snapshot that copies and pickles keep."""

import copy
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, computed_field

from dynaorm import Attribute, Entity, Session, Table, Unique, detached, inspect
from dynaorm.entity.base import Entity as Base
from dynaorm.errors import AlreadyExists, InvalidValue, StaleEntity, UnknownField
from dynaorm.item.value import Item
from tests.entity.stored import items

APP = Table("app")


class User(Entity, table=APP, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    tags: list[str] = Field(default_factory=list)
    note: Annotated[str | None, Attribute("Note")] = None


def user() -> User:
    return User(user_id="u1", email="bobby@example.com", tags=["a"])


COPIES: dict[str, Callable[[User], User]] = {
    "model_copy": lambda entity: entity.model_copy(),
    "model_copy deep": lambda entity: entity.model_copy(deep=True),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
}
NEW: dict[str, Callable[[User], User]] = {
    "constructor": lambda entity: User(**entity.model_dump()),
    "model_validate": lambda entity: User.model_validate(entity.model_dump()),
    "model_validate_json": lambda entity: User.model_validate_json(entity.model_dump_json()),
    "model_construct": lambda entity: User.model_construct(**entity.model_dump()),
    "detached": detached,
}


def user_item(session: Session) -> Item:
    return next(one for one in items(session, APP) if one["PK"] == {"S": "USER#u1"})


def test_an_entity_adds_no_public_name_to_a_pydantic_model() -> None:
    """So that every field name is free."""
    assert {name for name in dir(Base) if not name.startswith("_")} == {
        name for name in dir(BaseModel) if not name.startswith("_")
    }
    added = set(vars(Base)) - set(vars(BaseModel))
    assert {name for name in added if not name.startswith("__")} == set()


@pytest.mark.parametrize("how", COPIES)
def test_copies_carry_the_loaded_state(session: Session, how: str) -> None:
    entity = session.save(user())
    twin = COPIES[how](entity)
    assert inspect(twin) == inspect(entity)
    twin.note = "n"
    session.save(twin)
    assert user_item(session)["Note"] == {"S": "n"}
    entity.note = "m"
    with pytest.raises(StaleEntity):
        session.save(entity)


@pytest.mark.parametrize("how", NEW)
def test_what_is_made_from_values_is_new(session: Session, how: str) -> None:
    entity = session.save(user())
    twin = NEW[how](entity)
    assert twin == entity
    assert not inspect(twin).loaded
    with pytest.raises(AlreadyExists):
        session.save(twin)
    assert inspect(entity).loaded


def test_detached_checks_names_and_values() -> None:
    with pytest.raises(UnknownField) as unknown:
        detached(user(), emial="x")
    assert str(unknown.value) == "User has no field 'emial' that can be used here; did you mean 'email'?"
    with pytest.raises(InvalidValue) as invalid:
        detached(user(), tags="x")
    assert str(invalid.value) == (
        "User.tags = 'x': Input should be a valid list; give the field a value that its declaration allows"
    )


def test_the_schema_of_entity_itself_is_built_when_it_is_used() -> None:
    assert "defer_build" not in Entity.model_config
    assert User.__pydantic_complete__
    assert Entity.model_json_schema()["properties"] == {}
    assert Entity() == Entity.model_validate({})


def test_what_a_cached_property_made_of_the_old_values_is_not_in_a_detached_copy() -> None:
    class Event(Entity, table=Table("app"), pk="EVENT#{name}", sk="E"):
        name: str

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @cached_property
        def title(self) -> str:
            return self.name.title()

    event = Event(name="liz")
    assert event.title == "Liz"
    assert detached(event, name="bob").model_dump() == {"name": "bob", "title": "Bob"}
    assert event.title == "Liz"


def test_the_loaded_state_takes_no_part_in_what_pydantic_shows_and_compares(session: Session) -> None:
    loaded, new = session.save(user()), user()
    assert loaded == new
    assert repr(loaded) == repr(new) == "User(user_id='u1', email='bobby@example.com', tags=['a'], note=None)"
    assert loaded.model_dump() == new.model_dump()
    assert loaded.model_dump_json() == new.model_dump_json()
    assert vars(loaded) == vars(new)
    assert list(User.model_fields) == list(User.model_json_schema()["properties"])
    assert loaded.model_fields_set == new.model_fields_set
