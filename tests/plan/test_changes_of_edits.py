"""What an edit does to its item: the bounds it carries, and what comes first where it cannot be made."""

from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Entity, F, Key, Table
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import ConditionFailed, InvalidValue
from dynaorm.item.condition import Condition
from dynaorm.item.value import Item
from dynaorm.plan.changes import change_of
from dynaorm.plan.intent import Edit
from dynaorm.plan.item_change import ItemChange, ItemCheck
from dynaorm.plan.merge_intents import merge_intents
from dynaorm.plan.reads import NOTHING_READ, Reads
from dynaorm.plan.unit_of_work import UnitOfWork
from tests.plan.compiling import NOW

UNIT = UnitOfWork(NOW, "w2", str)

app = Table("changes-of-edits")


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    size: Annotated[int, Field(le=9)] = 0
    note: str = ""


SHELF: Item = {
    "PK": {"S": "SHELF#a"}, "SK": {"S": "S"}, "_type": {"S": "Shelf"}, "_rev": {"S": "w1"},
    "name": {"S": "a"}, "size": {"N": "9"}, "note": {"S": "full"},
}  # fmt: skip


def shelf_changes(edit: Edit, *, reads: Reads = NOTHING_READ) -> ItemChange | None:
    (one,) = merge_intents([edit], NOW)
    return change_of(one, reads, UNIT)


READ_SHELF = Reads({ident_of(app, SHELF): SHELF})


@pytest.mark.parametrize(
    ("condition", "error"),
    [(None, InvalidValue), (F.note == "full", InvalidValue), (F.note == "empty", ConditionFailed)],
)
def test_the_callers_condition_comes_before_a_rule_that_the_outcome_breaks(
    condition: Condition | None, error: type[Exception]
) -> None:
    edit = Edit(Key(Shelf, name="a"), (F.size.add(1),), condition)
    with pytest.raises(error) as refusal:
        shelf_changes(edit, reads=READ_SHELF)
    if isinstance(refusal.value, ConditionFailed):
        assert refusal.value.key == Key(Shelf, name="a")


def test_the_condition_of_a_loaded_entity_is_not_judged_by_what_it_was_loaded_with() -> None:
    shelf = mapping_of(Shelf).hydrate(SHELF)
    with pytest.raises(InvalidValue):
        shelf_changes(Edit(shelf, (F.size.add(1),), F.note == "empty"))


def test_an_edit_that_changes_nothing_checks_its_condition_and_knows_what_it_named() -> None:
    shelf = mapping_of(Shelf).hydrate(SHELF)
    change = shelf_changes(Edit(shelf, (F.note.set("full"),), F.size > 3))
    assert isinstance(change, ItemCheck)
    assert change.loaded is not None
    assert (change.loaded.entity is shelf, change.image, change.edited) == (
        True,
        SHELF,
        frozenset({"note"}),
    )
