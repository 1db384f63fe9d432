"""Law: what is stored stays as it is but for what changed, at every depth.

Random nested classes are written by others: with members that no class knows, and without members that have a default.
One value is changed, and the item that follows is compared with the stored one, literally.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import count
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from dynaorm import Attribute, Entity, F, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import state_of
from dynaorm.plan.edit import edited_image
from dynaorm.plan.values import apply_field_changes, changes_of
from tests.dynamodb_json import AttributeValue
from tests.laws.nested_values import AV, CASES, OLD, A, Address, B, m

Step = str | int


class Kind(NamedTuple):
    """A type, values of it as others store them, and the places of the numbers and text inside of such a value."""

    annotation: Any
    stored: Callable[[st.DrawFn], AttributeValue]
    leaves: Callable[[AttributeValue], Iterator[tuple[Step, ...]]]


def _leaf(annotation: type, values: st.SearchStrategy[AttributeValue]) -> Kind:
    return Kind(annotation, lambda draw: draw(values), lambda _: iter([()]))


NUMBER = _leaf(int, st.sampled_from(range(5)).map(lambda n: {"N": str(n)}))
TEXT = _leaf(str, st.sampled_from("abc").map(lambda text: {"S": text}))
UNKNOWN = st.sampled_from(
    [{"S": "kept"}, {"NULL": True}, {"M": {"x": {"SS": ["a"]}}}, {"L": [{"N": "1.50"}]}]
)


def listed(element: Kind) -> Kind:
    def stored(draw: st.DrawFn) -> AttributeValue:
        return {"L": [element.stored(draw) for _ in range(draw(st.integers(0, 3)))]}

    def leaves(value: AttributeValue) -> Iterator[tuple[Step, ...]]:
        for index, one in enumerate(value["L"]):
            yield from ((index, *rest) for rest in element.leaves(one))

    return Kind(list[element.annotation], stored, leaves)  # type: ignore[name-defined]  # it is drawn


def named(element: Kind) -> Kind:
    def stored(draw: st.DrawFn) -> AttributeValue:
        return {"M": {name: element.stored(draw) for name in draw(st.sets(st.sampled_from("xyz")))}}

    def leaves(value: AttributeValue) -> Iterator[tuple[Step, ...]]:
        for name, one in value["M"].items():
            yield from ((name, *rest) for rest in element.leaves(one))

    return Kind(dict[str, element.annotation], stored, leaves)  # type: ignore[name-defined]  # it is drawn


def nullable(kind: Kind) -> Kind:
    def stored(draw: st.DrawFn) -> AttributeValue:
        return {"NULL": True} if draw(st.booleans()) else kind.stored(draw)

    return Kind(
        kind.annotation | None, stored, lambda value: iter(()) if "NULL" in value else kind.leaves(value)
    )


def modelled(members: Mapping[str, tuple[Kind, bool]]) -> Kind:
    """A model with these members; those that say so have a default, and may be absent."""
    fields: Any = {
        name: (kind.annotation, ...) if required else (kind.annotation | None, None)
        for name, (kind, required) in members.items()
    }
    model = create_model("Drawn", __base__=BaseModel, **fields)

    def stored(draw: st.DrawFn) -> AttributeValue:
        found = {
            name: kind.stored(draw)
            for name, (kind, required) in members.items()
            if required or draw(st.booleans())
        }
        return {"M": {**found, **draw(st.dictionaries(st.sampled_from(["legacy", "old"]), UNKNOWN))}}

    def leaves(value: AttributeValue) -> Iterator[tuple[Step, ...]]:
        for name, (kind, _) in members.items():
            if name in value["M"]:
                yield from ((name, *rest) for rest in kind.leaves(value["M"][name]))

    return Kind(model, stored, leaves)


MODELS = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.sampled_from([NUMBER, TEXT]), st.booleans()))


def _around(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    members = st.dictionaries(st.sampled_from("pqrs"), st.tuples(inner, st.booleans()), min_size=1)
    return members.map(modelled) | inner.map(listed) | inner.map(named) | inner.map(nullable)


KINDS = st.recursive(MODELS.map(modelled), _around, max_leaves=5)
numbers = count()


def entity_of(kind: Kind) -> EntityMapping:
    """An entity class with one field of this type."""
    table = Table(f"nested-{next(numbers)}")

    class Holder(Entity, table=table, pk="HOLDER#{name}", sk="H"):
        name: str
        held: kind.annotation  # type: ignore[name-defined]  # it is drawn

    return mapping_of(Holder)


def loaded(mapping: EntityMapping, held: AttributeValue) -> Any:
    key: dict[str, AttributeValue] = {"PK": {"S": "HOLDER#n"}, "SK": {"S": "H"}, "_type": {"S": "Holder"}}
    return mapping.loader.hydrate({**key, "_rev": {"S": "1"}, "name": {"S": "n"}, "held": held})


def saved(mapping: EntityMapping, entity: Any) -> dict[str, AttributeValue]:
    """The item that saving an entity leaves."""
    state = state_of(entity)
    assert state is not None
    return apply_field_changes(mapping, state.item, changes_of(mapping, vars(entity), state), {})


def put(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """The Python value with one part replaced."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, BaseModel):
        setattr(value, str(step), put(getattr(value, str(step)), tuple(rest), new))
    else:
        value[step] = put(value[step], tuple(rest), new)
    return value


def put_stored(value: AttributeValue, path: tuple[Step, ...], new: AttributeValue) -> AttributeValue:
    """The attribute value with one part replaced."""
    if not path:
        return new
    ((tag, content),) = deepcopy(dict(value)).items()
    content[path[0]] = put_stored(content[path[0]], path[1:], new)
    return {tag: content}


@given(st.data(), KINDS)
def test_an_unchanged_nested_entity_has_no_changes(data: Any, kind: Kind) -> None:
    mapping = entity_of(kind)
    entity = loaded(mapping, kind.stored(data.draw))
    state = state_of(entity)
    assert state is not None
    assert changes_of(mapping, vars(entity), state) == {}


@given(st.data(), KINDS)
def test_a_save_of_one_nested_value_changes_nothing_else(data: Any, kind: Kind) -> None:
    mapping, held = entity_of(kind), kind.stored(data.draw)
    places = [*kind.leaves(held)]
    if not places:
        return
    path = data.draw(st.sampled_from(places))
    entity = loaded(mapping, held)
    is_number = "N" in leaf_at(held, path)
    entity.held = put(entity.held, path, 9 if is_number else "new")
    expected = put_stored(held, path, {"N": "9"} if is_number else {"S": "new"})
    assert saved(mapping, entity)["held"] == expected


@given(st.data(), KINDS)
def test_an_update_of_a_nested_value_keeps_what_a_save_keeps(data: Any, kind: Kind) -> None:
    mapping, held = entity_of(kind), kind.stored(data.draw)
    places = [*kind.leaves(held)]
    if not places:
        return
    path = data.draw(st.sampled_from(places))
    entity = loaded(mapping, held)
    state = state_of(entity)
    assert state is not None
    entity.held = put(entity.held, path, 9 if "N" in leaf_at(held, path) else "new")
    image, _ = edited_image(mapping, state.item, (F.held.set(entity.held),))
    assert image == saved(mapping, entity)


@given(st.data(), KINDS, KINDS)
def test_whatever_a_nested_value_becomes_is_what_loads(data: Any, kind: Kind, other: Kind) -> None:
    mapping = entity_of(kind)
    entity, now = (loaded(mapping, kind.stored(data.draw)) for _ in range(2))
    entity.held = now.held
    again = mapping.loader.hydrate(saved(mapping, entity))
    assert again.held == entity.held


ELEMENTS = st.lists(st.integers(0, 9), unique=True, max_size=6)


@given(ELEMENTS, ELEMENTS)
def test_a_moved_list_element_keeps_its_unknown_members(before: list[int], after: list[int]) -> None:
    kind = listed(modelled({"n": (NUMBER, True)}))
    mapping = entity_of(kind)
    entity = loaded(mapping, {"L": [{"M": {"n": {"N": str(n)}, "legacy": {"S": f"of {n}"}}} for n in before]})
    by_number = {one.n: one for one in entity.held}
    model = type(next(iter(by_number.values()))) if by_number else None
    entity.held = [by_number[n] if n in by_number else model(n=n) for n in after] if model else []
    found = saved(mapping, entity)["held"]["L"]
    kept = {one["M"]["n"]["N"]: one["M"].get("legacy") for one in found}
    assert {n: kept[str(n)] for n in after if n in before and model} == {
        n: {"S": f"of {n}"} for n in after if n in before
    }


def leaf_at(value: AttributeValue, path: tuple[Step, ...]) -> AttributeValue:
    for step in path:
        ((_, content),) = value.items()
        value = content[step]
    return value


@pytest.mark.parametrize(("annotation", "held", "change", "expected"), CASES.values(), ids=CASES.keys())
def test_what_did_not_change_in_a_value_with_parts_is_as_stored(
    annotation: Any, held: AV, change: Callable[[Any], Any], expected: AV
) -> None:
    mapping = entity_of(Kind(annotation, lambda _: held, lambda _: iter(())))
    entity = loaded(mapping, held)
    entity.held = change(entity.held)
    found = saved(mapping, entity)
    assert found["held"] == expected
    assert mapping.loader.hydrate(found).held == entity.held


def test_a_changed_value_with_own_encoding_is_stored_encoded() -> None:
    def encode(value: Address) -> AttributeValue:
        return {"M": {"city": {"S": value.city}}}

    own = Attribute(encode=encode, decode=lambda stored: Address(city=stored["M"]["city"]["S"]))
    mapping = entity_of(Kind(Annotated[Address, own], lambda _: {}, lambda _: iter(())))
    entity = loaded(mapping, m(city=A, old=OLD))
    assert saved(mapping, entity)["held"] == m(city=A, old=OLD)
    entity.held = Address(city="b")
    assert saved(mapping, entity)["held"] == m(city=B)
