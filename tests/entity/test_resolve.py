"""``F`` expressions resolved against a class: stored names, encoded values, and errors."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from math import log10
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel

from dynaorm import AnyValue, Attribute, Entity, ExpiresAt, F, InKey, Table
from dynaorm.codecs import EPOCH_SECONDS
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.item.condition import Condition, render
from dynaorm.item.path import Placeholders
from dynaorm.item.resolve import resolve
from dynaorm.item.update import AddTo, Change, resolve_changes


class Address(BaseModel):
    zip_code: Annotated[str, Attribute("zip")]


class Person(Entity, table=Table("app"), pk="PERSON#{slug}", sk="A"):
    slug: Annotated[str, InKey()]
    name: Annotated[str, Attribute("State#Name")]
    born: datetime
    homes: list[Address] = []  # noqa: RUF012
    labels: set[int] = set()  # noqa: RUF012
    notes: dict[str, str] = {}  # noqa: RUF012
    scores: dict[int, str] = {}  # noqa: RUF012
    age: int | None = None


def resolved(condition: Condition) -> str:
    """The condition's expression with names and values filled in."""
    placeholders = Placeholders()
    text = render(resolve(condition, FieldResolver(mapping_of(Person))), placeholders)
    for name, attribute in placeholders.names.items():
        text = text.replace(name, attribute)
    for name, value in placeholders.values.items():
        text = text.replace(name, str(dict(value)))
    return text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F.name == "Bo", "State#Name = {'S': 'Bo'}"),
        (F["name"].begins_with("B"), "begins_with(State#Name, {'S': 'B'})"),
        (F.born >= datetime(2024, 1, 1, tzinfo=UTC), "born >= {'S': '2024-01-01T00:00:00.000000Z'}"),
        (F.born.begins_with("2024-"), "begins_with(born, {'S': '2024-'})"),
        (F.homes[0].zip_code == "8000", "homes[0].zip = {'S': '8000'}"),
        (F.notes["a"] == "b", "notes.a = {'S': 'b'}"),
        (F.scores["1"] == "b", "scores.1 = {'S': 'b'}"),
        (F.scores[1] == "b", "scores.1 = {'S': 'b'}"),
        (F.labels.contains(5), "contains(labels, {'N': '5'})"),
        (F.age.is_in([1, 2]), "age IN ({'N': '1'}, {'N': '2'})"),
        (F.age < F.born, "age < born"),
        (F.homes.size() > 2, "size(homes) > {'N': '2'}"),
        (~F.age.exists(), "NOT attribute_exists(age)"),
    ],
    ids=str,
)
def test_paths_get_stored_names_and_values_field_types(condition: Condition, text: str) -> None:
    assert resolved(condition) == text


@pytest.mark.parametrize(
    ("condition", "kind", "message"),
    [
        (
            F.nmae == "Bo",
            UnknownField,
            "Person has no field 'nmae' that can be used here; did you mean 'name'?",
        ),
        (F.homes[0].zipcode == "8000", UnknownField, "Person.homes has no field 'zipcode'"),
        (F.name == 5, InvalidValue, "Person.name = 5: "),
        (F.age == "5", InvalidValue, "Person.age = '5': "),
        (
            F.name == None,  # noqa: E711
            InvalidValue,
            "Person.name = None: is None, which the field cannot be; ask for F.name.missing(), or give a value",
        ),
        (
            F.slug == "x",
            UsageError,
            "Person.slug lives in the key alone; a condition or change can only name fields stored as attributes",
        ),
        (
            F.name.first == "x",
            UsageError,
            "Person.name has no part 'first'; name a field of a nested model, ",
        ),
        (F.scores["x"] == "b", UsageError, "Person.scores has no part 'x'; "),
        (F.scores[cast(Any, 1.5)] == "b", UsageError, "Person.scores has no part 1.5; "),
        (
            F.homes[-1].exists(),
            UsageError,
            "Person.homes has no part -1; name a field of a nested model, a key of a dict, or an index of a list",
        ),
        (F.homes["x"].exists(), UsageError, "Person.homes has no part 'x'; "),
    ],
)
def test_a_condition_that_does_not_fit_the_class_is_refused(
    condition: Condition, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        resolved(condition)
    assert str(caught.value).startswith(message)


class Loose(Entity, table=Table("loose"), pk="LOOSE#{number}", sk="A"):
    number: int
    tree: AnyValue = None


def test_an_error_of_a_value_has_the_one_remedy_that_helps() -> None:
    with pytest.raises(InvalidValue) as caught:
        resolve(F.tree == set(), FieldResolver(mapping_of(Loose)))
    assert str(caught.value) == (
        "Loose.tree = set(): is an empty set, which DynamoDB does not have; give None"
    )


@pytest.mark.parametrize(
    ("value", "stored"), [("a", {"S": "a"}), (5, {"N": "5"}), ({"a": 1}, {"M": {"a": {"N": "1"}}})]
)
def test_a_field_that_may_be_a_list_is_asked_for_any_element(value: Any, stored: Any) -> None:
    assert FieldResolver(mapping_of(Loose)).encode(("tree",), value, role="element") == stored


def _stored_by(encode: Callable[[Any], Any]) -> Any:
    return Attribute(
        encode=lambda value: {"N": str(encode(value))}, decode=lambda stored: Decimal(stored["N"])
    )


class Meter(Entity, table=Table("meters"), pk="METER#{name}", sk="M"):
    name: str
    cents: Annotated[Decimal, _stored_by(lambda value: int(value * 100))] = Decimal(0)
    tenths: Annotated[float, _stored_by(lambda value: value * 10)] = 0.0
    square: Annotated[Decimal, _stored_by(lambda value: value * value)] = Decimal(0)
    kelvin: Annotated[Decimal | None, _stored_by(lambda value: value + 273)] = None
    level: Annotated[float, _stored_by(log10)] = 1.0
    seconds: Annotated[datetime | None, Attribute(codec=EPOCH_SECONDS)] = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    since: Annotated[datetime | None, _stored_by(datetime.timestamp)] = None
    ticks: Annotated[datetime | None, _stored_by(lambda value: value.timestamp())] = None


@pytest.mark.parametrize(
    ("change", "stored"), [(F.cents.add(Decimal("1.5")), "150"), (F.tenths.add(1.1), "11.0")]
)
def test_what_is_stored_by_a_linear_function_is_added(change: Change, stored: str) -> None:
    (found,) = resolve_changes([change], FieldResolver(mapping_of(Meter)))
    assert isinstance(found, AddTo)
    assert found.value == {"N": stored}


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "change",
    [
        F.square.add(Decimal(2)),
        F.kelvin.add(Decimal(2)),
        F.level.add(2.0),
        F.seconds.add(NOON),
        F.until.add(NOON),
        F.since.add(NOON),
        F.ticks.add(NOON),
    ],
    ids=str,
)
def test_what_does_not_add_up_as_stored_is_refused(change: Change) -> None:
    with pytest.raises(UsageError, match="does not add up as its values do; load the entity"):
        resolve_changes([change], FieldResolver(mapping_of(Meter)))
