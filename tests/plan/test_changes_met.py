"""What upserts, overwrites and checks do with the item or the class that they meet."""

from typing import Annotated

import pytest
from pydantic import AfterValidator

from dynaorm import Entity, F, Key, Table, inspect
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import AlreadyExists, ConditionFailed
from dynaorm.plan.intent import Check, Edit, Save
from dynaorm.plan.reads import Reads
from tests.plan.compiling import committed, loaded, plan_of, reads_of, saved, stored

app = Table("changes-met")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    note: Annotated[str, AfterValidator(str.upper)] = ""


class Fragile(Stock):
    padding: int = 0


def upsert(kind: type[Stock], condition: bool = False) -> Edit:
    asked = F.left == 9 if condition else None
    return Edit(Key(kind, sku="a"), (F.left.set(1),), asked, creates=True, read_first=True)


def test_an_upsert_of_a_derived_class_does_not_replace_an_entity_of_its_base() -> None:
    with pytest.raises(AlreadyExists) as caught:
        plan_of(upsert(Fragile), reads=reads_of(app, stored(Stock(sku="a"))))
    assert caught.value.key == Key(Fragile, sku="a")


def test_an_upsert_whose_condition_nothing_meets_names_the_entity() -> None:
    nothing = Reads({ident_of(app, Key(Stock, sku="a").primary_key): None})
    with pytest.raises(ConditionFailed) as caught:
        plan_of(upsert(Stock, condition=True), reads=nothing)
    assert caught.value.key == Key(Stock, sku="a")


def test_a_check_with_a_condition_does_not_say_of_which_class_an_edit_by_key_is() -> None:
    fragile = loaded(Fragile(sku="a"))
    (action,) = plan_of(Edit(Key(Stock, sku="a"), (F.left.set(1),)), Check(fragile, F.left == 2)).actions
    assert (action.mapping, action.before) == (mapping_of(Stock), None)


def test_a_save_that_stores_nothing_gives_the_object_what_validation_makes_of_it() -> None:
    one = saved(Stock(sku="a", note="N"))
    one.note = "n"
    plan = plan_of(Save(one))
    assert plan.actions == ()
    committed(plan)
    assert (one.note, inspect(one).loaded, inspect(one).revision) == ("N", True, "w1")
