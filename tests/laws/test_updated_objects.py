"""Law 1 for objects: after an update of an object, it is what its item loads as, and saving it sends nothing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import F, inspect
from dynaorm.errors import InvalidValue
from dynaorm.item.update import Change
from dynaorm.plan.intent import Edit, Save
from tests.laws.defaults import Case, cases, values
from tests.laws.test_writes import exact
from tests.plan.compiling import committed, plan_of


def changes_of(case: Case, draw: Any) -> tuple[Change, ...]:
    """Fields that are removed, and fields that are set."""
    found: list[Change] = []
    for spec in case.specs:
        kind = draw(st.sampled_from(["", "set", "remove"]))
        if kind == "set":
            found.append(F[spec.name].set(draw(values(spec))))
        elif kind == "remove" and spec.may_be_absent:
            found.append(F[spec.name].remove())
    return tuple(found)


@given(cases(), st.data())
def test_an_updated_object_is_what_its_item_loads_as(case: Case, data: st.DataObject) -> None:
    for row in case.rows:
        entity: Any = case.mapping.loader.hydrate(row)
        changes = changes_of(case, data.draw)
        try:
            plan = plan_of(Edit(entity, changes))
        except InvalidValue:
            continue
        committed(plan)
        after = row if not plan.actions else plan.actions[0].after
        assert after is not None
        assert inspect(entity).changes == {}
        assert exact(vars(entity)) == exact(vars(case.mapping.loader.hydrate(after)))
        assert plan_of(Save(entity)).actions == ()
