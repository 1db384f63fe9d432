"""Filters find a field wherever an item has it: under its present name, or a former one."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.condition import Condition, holds
from dynaorm.query.filter import canonical, filter_of
from dynaorm.query.query_spec import queried

app = Table("app", indexes=[GlobalIndex("GSI1")])


class Page(Entity, table=app, pk="SITE#{site}", sk="PAGE#{name}"):
    site: str
    name: str
    visits: Annotated[int | None, Attribute("visits", formerly=("hits", "count"))] = None
    author: Annotated[str, Attribute("author", formerly=("writer",))] = "nobody"
    title: str = ""
    by_title = Index("GSI1", pk="TITLE#{title}", sk="{name}")


def filtered(*conditions: Condition) -> Condition:
    spec = queried(Page, {"site": "s"})
    found = filter_of(spec.filtered(conditions))
    assert found is not None
    assert found.server == found.condition
    return found.condition


numbers = st.integers(-2, 2)
stored_items = st.fixed_dictionaries(
    {},
    optional={
        "visits": numbers.map(lambda number: {"N": str(number)}),
        "hits": numbers.map(lambda number: {"N": str(number)}),
        "count": numbers.map(lambda number: {"N": str(number)}),
        "author": st.sampled_from([{"S": "a"}, {"S": "b"}]),
        "writer": st.sampled_from([{"S": "a"}, {"S": "b"}]),
    },
)


@given(stored_items, numbers, st.sampled_from(["a", "b"]))
def test_a_filter_judges_the_value_that_a_read_gives(item: dict[str, Any], number: int, author: str) -> None:
    fields = mapping_of(Page).fields
    visits = fields["visits"].stored_in(item)
    who = fields["author"].stored_in(item)
    assert holds(filtered(F.visits >= number), item) is (visits is not None and int(visits["N"]) >= number)
    assert holds(filtered(F.visits.missing()), item) is (visits is None)
    assert holds(filtered(~(F.author == author)), item) is (who != {"S": author})
    both = (visits is not None and int(visits["N"]) == number) or who == {"S": author}
    assert holds(filtered((F.visits == number) | (F.author == author)), item) is both


def test_a_condition_has_one_form_whatever_the_order_of_its_parts_and_values() -> None:
    first = filtered((F.title.is_in(["a", "b", "a"]) & (F.visits > 1)) | (F.author == "x"))
    second = filtered((F.author == "x") | ((F.visits > 1) & F.title.is_in(["b", "a"])))
    assert canonical(first) == canonical(second)
    assert canonical(first) != canonical(filtered((F.author == "x") & (F.visits > 1)))
    assert canonical(~first) != canonical(first)


@pytest.mark.parametrize(
    ("condition", "is_never"),
    [
        (F.title.is_in([]), True),
        (F.title.is_in([]) & (F.visits > 1), True),
        (F.title.is_in([]) | (F.visits > 1), False),
        (~F.title.is_in([]) & (F.visits > 1), False),
        (~(F.title.is_in([]) | F.author.is_in([])), False),
        (~~F.title.is_in([]), True),
    ],
)
def test_a_filter_that_nothing_matches_is_known(condition: Condition, is_never: bool) -> None:
    found = filter_of(queried(Page, {"site": "s"}).filtered([condition]))
    assert found is not None
    assert found.is_never is is_never
