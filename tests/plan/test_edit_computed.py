"""Partial updates of values that others are computed from, and of fields whose validators look at others."""

from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationInfo, computed_field, field_validator

from dynaorm import Entity, F, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue, KeyChanged
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue
from dynaorm.plan.edit import edited_image
from tests.plan.compiling import stored
from tests.plan.parcels import Parcel, Size

app = Table("edit-computed", indexes=[GlobalIndex("GSI1")])


class Person(Entity, table=app, pk="PERSON#{slug}", sk="P"):
    name: Annotated[str, Field(max_length=5)]
    nick: Annotated[str, Field(min_length=1)] = "n"
    note: str = ""
    by_initial = Index("GSI1", pk="INITIAL#{initial}", sk="{nick}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def slug(self) -> str:
        return self.name.lower()

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def initial(self) -> str:
        if self.nick == "?":
            raise ValueError("no initial")
        return self.nick[0]


PERSON = stored(Person(name="Liz"))


def test_a_partial_update_leaves_the_key_that_is_computed_as_it_is() -> None:
    made, _ = edited_image(mapping_of(Person), PERSON, (F.name.set("LIZ"),))
    assert made == {**PERSON, "name": {"S": "LIZ"}}
    with pytest.raises(KeyChanged) as caught:
        edited_image(mapping_of(Person), PERSON, (F.name.set("Bob"),))
    assert (
        repr((caught.value.before, caught.value.after))
        == "(Key(Person, slug='liz'), Key(Person, slug='bob'))"
    )
    assert caught.value.fields == ("slug",)
    assert str(caught.value) == (
        "this update would change the primary key of Key(Person, slug='liz') to that of Key(Person, slug='bob'); "
        "load the entity, change its fields and call session.move(entity)"
    )


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ((F.nick.set(""),), InvalidValue, "Person.nick = ''"),
        ((F.nick.set("?"), F.name.set("Elizabeth")), InvalidValue, "Person.name = 'Elizabeth'"),
        ((F.nick.set("?"), F.name.set("Bob")), KeyChanged, "Person"),
        (
            (F.nick.set("?"),),
            InvalidValue,
            "Person.initial: cannot be computed (ValueError: no initial); correct the function, or the fields",
        ),
    ],
    ids=["its own rule", "the rule of another field", "another key", "no rule"],
)
def test_a_value_that_nothing_can_be_computed_from_is_refused_by_the_rule_that_it_breaks(
    changes: tuple[Change, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        edited_image(mapping_of(Person), PERSON, changes)
    assert said in str(caught.value)


# -- validators that look at other fields ------------------------------------------------------------------------------


class Order(Entity, table=app, pk="ORDER#{number}", sk="O"):
    number: int
    most: int = 5
    least: int = 0
    count: int = 0
    kind: str = "k"
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{number:06d}")

    @field_validator("least")
    @classmethod
    def at_most_the_most(cls, least: int, info: ValidationInfo) -> int:
        most: int = info.data["most"]
        return min(least, most)


ORDER = stored(Order(number=1))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((F.least.set("3"), F.count.add(1)), {"least": {"N": "3"}, "count": {"N": "1"}}),
        ((F.least.set("8"), F.most.set(7)), {"least": {"N": "7"}, "most": {"N": "7"}}),
        ((F.least.set_if_missing("8"), F.count.set(2)), {"count": {"N": "2"}}),
    ],
)
def test_a_value_is_converted_and_corrected_by_a_validator_that_looks_at_other_fields(
    changes: tuple[Change, ...], expected: dict[str, AttributeValue]
) -> None:
    made, _ = edited_image(mapping_of(Order), ORDER, changes)
    assert made == {**ORDER, **expected}


def test_an_absent_default_that_an_index_key_is_made_of_stays_absent() -> None:
    before = {name: value for name, value in ORDER.items() if name != "kind"}
    made, names = edited_image(mapping_of(Order), before, (F.count.set(1),))
    assert made == {**before, "count": {"N": "1"}}
    assert names == {"count"}


def test_what_is_stored_in_a_strict_class_is_validated_as_leniently_as_it_loads() -> None:
    before: dict[str, Any] = stored(Parcel(name="a", size=Size(2, 3)))
    made, _ = edited_image(mapping_of(Parcel), before, (F.size.width.set(4),))
    assert made == {**before, "size": {"M": {"width": {"N": "4"}, "height": {"N": "3"}}}}
