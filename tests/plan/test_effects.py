"""An object becomes what its update returned, except for what it holds and did not save."""

from typing import Annotated, Any

import pytest
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from dynaorm import Attribute, Entity, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import DecodeError
from dynaorm.plan.plan import Effect, hydrated, take_returned

app = Table("returned", type_attribute=None)


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    text: Annotated[str, Attribute("text", formerly=("body",))] = ""
    stars: int = 0
    size: int = Field(default_factory=lambda data: len(data["text"]))
    label: str = ""

    @field_validator("label")
    @classmethod
    def starred(cls, value: str, info: ValidationInfo) -> str:
        return f"{value.rstrip('*')}{'*' * info.data['stars']}"


class Frozen(Entity, table=app, pk="FROZEN#{name}", sk="F"):
    model_config = ConfigDict(frozen=True)
    name: str
    text: str = ""
    stars: int = 0


KEY = {"PK": {"S": "NOTE#a"}, "SK": {"S": "N"}, "name": {"S": "a"}}
MINE = {**KEY, "text": {"S": "mine"}, "label": {"S": "x"}}


def taken(note: Any, item: dict[str, Any]) -> Any:
    take_returned(Effect(note, state_of(note)), mapping_of(type(note)), item)
    return note


def loaded(item: dict[str, Any], kind: type[Entity] = Note) -> Any:
    return mapping_of(kind).loader.hydrate(item)


def test_what_is_not_saved_is_kept_with_what_it_was_loaded_as_and_without_a_revision() -> None:
    note = loaded(MINE)
    note.text = "unsaved"
    rest = {**KEY, "label": {"S": "x"}, "stars": {"N": "1"}, "_rev": {"S": "r"}}
    assert taken(note, {**rest, "body": {"S": "theirs"}}).text == "unsaved"
    found = state_of(note)
    assert found is not None
    assert found.item == {**MINE, "stars": {"N": "1"}}


def test_a_frozen_object_that_was_spared_stays_as_it_is() -> None:
    item = {"PK": {"S": "FROZEN#a"}, "SK": {"S": "F"}, "name": {"S": "a"}}
    note, other = loaded(item, Frozen), loaded({**item, "text": {"S": "saved"}}, Frozen)
    state = state_of(note)
    take_returned(Effect(note, state_of(other)), mapping_of(Frozen), {**item, "stars": {"N": "1"}})
    assert (note.stars, state_of(note)) == (0, state)


def test_an_item_that_does_not_load_is_said_to_be_written() -> None:
    with pytest.raises(DecodeError, match=r"(?s)^The item was written, but it does not load: .*stars"):
        hydrated(mapping_of(Note), {**MINE, "stars": {"S": "many"}})
