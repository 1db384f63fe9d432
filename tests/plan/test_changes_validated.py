"""What of an entity is validated when it is saved: all of a new one, and of a loaded one what changed."""

from typing import Annotated

import pytest
from pydantic import AfterValidator, Field, ValidationInfo

from dynaorm import Entity, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import LOADING
from dynaorm.errors import InvalidValue
from dynaorm.item.value import Item
from dynaorm.plan.intent import Move, Save
from tests.plan.compiling import plan_of

app = Table("nets-validated")


def _lower_unless_stored(text: str, info: ValidationInfo) -> str:
    if info.context is not LOADING and not text.islower():
        raise ValueError("new codes are in lower case")
    return text


class Measured(Entity, table=app, pk="MEASURED#{name}", sk="M"):
    name: str
    size: Annotated[int, Field(ge=0)] = 0
    code: Annotated[str, AfterValidator(_lower_unless_stored)] = "a"
    note: str = ""


MEASURED: Item = {
    "PK": {"S": "MEASURED#a"}, "SK": {"S": "M"}, "_type": {"S": "Measured"}, "_rev": {"S": "w1"},
    "name": {"S": "a"}, "size": {"N": "1"}, "code": {"S": "OLD"}, "note": {"S": ""},
}  # fmt: skip


def measured() -> Measured:
    found: Measured = mapping_of(Measured).hydrate(MEASURED)
    return found


def test_what_was_loaded_and_stays_may_break_a_rule_for_new_values() -> None:
    old, moved = measured(), measured()
    old.note, moved.name = "n", "b"
    (saved,) = plan_of(Save(old)).actions
    assert saved.after == {**MEASURED, "note": {"S": "n"}, "_rev": {"S": "w2"}}
    _, there = plan_of(Move(moved)).actions
    assert there.after == {**MEASURED, "PK": {"S": "MEASURED#b"}, "name": {"S": "b"}, "_rev": {"S": "w2"}}


def test_a_moved_entity_is_validated_where_it_changed_besides_its_key() -> None:
    moved = measured()
    moved.name, moved.size = "b", -1
    with pytest.raises(InvalidValue, match=r"Measured\.size = -1"):
        plan_of(Move(moved))
