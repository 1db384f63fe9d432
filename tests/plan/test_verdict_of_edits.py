"""A refused edit by key: what is planned again with the item that was found, and what is the caller's to know."""

from typing import Annotated

import pytest
from pydantic import Field

from dynaorm import Entity, F, Key
from dynaorm.entity.ident import ident_of
from dynaorm.errors import ConditionFailed, UnexpectedRefusal
from dynaorm.item.update import AddTo
from dynaorm.plan.intent import Deletion, Edit
from dynaorm.plan.kinds.own_item import ItemPurpose, is_as_expected
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import FailedAction, StaleKnowledge
from dynaorm.plan.verdict import verdict
from tests.plan.compiling import NOW, plan_of, saved
from tests.plan.test_verdict import BLIND, BLIND_DELETE, CHECK, INSERT, Loose, app, item, judged, rev


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    size: Annotated[int, Field(le=9)] = 0
    note: str = ""


NOWHERE = "The document path provided in the update expression is invalid for update"
OTHER_TYPE = "An operand in the update expression has an incorrect data type"
NO_LIST = (
    "Incorrect operand type for operator or function; operator or function: list_append, operand type: SS"
)


@pytest.mark.parametrize("code", ["ValidationError", "ValidationException"])
@pytest.mark.parametrize("message", [NOWHERE, OTHER_TYPE, NO_LIST])
def test_an_update_that_does_not_fit_the_item_is_planned_again_with_it(code: str, message: str) -> None:
    (edit,) = BLIND.actions
    assert verdict([FailedAction(edit, code, message, None)], NOW) == StaleKnowledge(unread=(edit,))


@pytest.mark.parametrize(
    ("plan", "code", "message"),
    [
        (BLIND, "ValidationError", "Nesting Levels have exceeded supported limits"),
        (BLIND, "ItemCollectionSizeLimitExceeded", NOWHERE),
        (CHECK, "ValidationError", NOWHERE),
        (BLIND_DELETE, "ValidationError", NOWHERE),
        (INSERT, "ValidationError", NOWHERE),
    ],
)
def test_nothing_else_that_is_invalid_is_planned_again(plan: Plan, code: str, message: str) -> None:
    assert isinstance(verdict([FailedAction(plan.actions[0], code, message, None)], NOW), UnexpectedRefusal)


def test_an_update_that_broke_the_bounds_of_a_field_is_planned_again_with_the_item() -> None:
    plan = plan_of(Edit(Key(Shelf, name="a"), (AddTo(("size",), 2),), F.note == "x"))
    full, other = item("Shelf", size={"N": "8"}), item("Shelf", size={"N": "7"})
    assert judged(plan, {ItemPurpose.UPDATE: full}) == StaleKnowledge({ident_of(app, full): full})
    assert isinstance(judged(plan, {ItemPurpose.UPDATE: other}), ConditionFailed)


def test_a_revision_of_another_library_is_met_with_the_item() -> None:
    counted = item("Stock", _rev={"N": "3"}, left={"N": "9"})
    assert judged(BLIND, {ItemPurpose.UPDATE: counted}) == StaleKnowledge({ident_of(app, counted): counted})
    for unknown in (item("Stock", left={"N": "9"}), item("Stock", _rev=rev("w1"), left={"N": "9"})):
        assert isinstance(judged(BLIND, {ItemPurpose.UPDATE: unknown}), ConditionFailed)


def test_a_table_without_revisions_has_none_of_another_library() -> None:
    plan = plan_of(Edit(Key(Loose, name="a"), (AddTo(("left",), 1),), F.left < 9))
    assert isinstance(judged(plan, {ItemPurpose.UPDATE: item("Loose", left={"N": "9"})}), ConditionFailed)


def test_nothing_is_not_what_a_plan_expects() -> None:
    (planned,) = plan_of(Deletion(saved(Shelf(name="a")))).actions
    assert not is_as_expected(planned, None)
    assert is_as_expected(planned, planned.before)
