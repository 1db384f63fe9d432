"""Constraints are accepted only if no value of one can have the guard item of another's."""

import types
from collections.abc import Iterator
from itertools import count, product
from typing import Annotated, Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Table, Unique
from dynaorm.entity.declare.catalog import constraint_at
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import DeclarationError, DynaormError

_numbers = count()
TEXTS = ["", "a", "b", "A#", "B#a", "a#", "first#", "second#b", "%23"]
BEGINNINGS = ["", "A#", "B#", "a", "first#", "second#"]
ENDINGS = ["", "#", "#x", "b"]
SPECS = ["", ":raw", ":upper"]


@st.composite
def uniques(draw: st.DrawFn, field: str) -> Unique:
    """The constraint of a field: under the key that dynaorm gives it, or under one of its own."""
    name = draw(st.sampled_from([None, None, "first", "second", "third"]))
    shared = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        return Unique(name, shared=shared)
    pk = f"{draw(st.sampled_from(BEGINNINGS))}{{{field}{draw(st.sampled_from(SPECS))}}}{draw(st.sampled_from(ENDINGS))}"
    return Unique(name, pk=pk, sk=draw(st.sampled_from(["x", "x", "y", pk])), shared=shared)


def declared(table: Table, name: str, bases: tuple[Any, ...], fields: dict[str, Unique]) -> type[Entity]:
    annotations: dict[str, Any] = {"id": str}
    annotations |= {field: Annotated[str | None, unique] for field, unique in fields.items()}
    space = {"__annotations__": annotations, "__module__": __name__, **dict.fromkeys(fields)}
    # Mapped where nothing else of the table can be.
    keywords = {} if bases != (Entity,) else {"table": table, "pk": f"-{name}-#{{id}}", "sk": "-"}
    made: type[Entity] = types.new_class(name, bases, keywords, lambda own: own.update(space))
    return made


def guards_of(mapping: EntityMapping) -> Iterator[tuple[str, Any]]:
    """The constraint and the guard's key of every value."""
    names = [name for name in ("first", "second") if name in mapping.fields]
    for texts in product([None, *TEXTS], repeat=len(names)):
        try:
            found = claims(mapping, mapping.subject({}, {"id": "1", **dict(zip(names, texts, strict=True))}))
        except DynaormError:
            continue  # a value that cannot be part of the key
        yield from ((name, key) for name, key, _ in found)


@settings(max_examples=75)
@given(
    first=uniques("first"),
    second=uniques("second"),
    layout=st.sampled_from(["one class", "a base and its subclass", "two subclasses", "two classes"]),
)
def test_what_is_accepted_cannot_meet(first: Unique, second: Unique, layout: str) -> None:
    table = Table(f"guards-{next(_numbers)}")
    try:
        if layout == "one class":
            kinds = [declared(table, "One", (Entity,), {"first": first, "second": second})]
        elif layout == "two classes":
            kinds = [
                declared(table, "One", (Entity,), {"first": first}),
                declared(table, "Other", (Entity,), {"second": second}),
            ]
        else:
            base = declared(table, "Base", (Entity,), {} if layout == "two subclasses" else {"first": first})
            kinds = [
                declared(table, "One", (base,), {"first": first}) if layout == "two subclasses" else base,
                declared(table, "Other", (base,), {"second": second}),
            ]
    except DeclarationError:
        event("refused")
        return
    event(f"{layout}: accepted")
    constraint_of: dict[Any, str] = {}
    for name, key in (one for kind in kinds for one in guards_of(mapping_of(kind))):
        assert constraint_of.setdefault(key, name) == name
        assert constraint_at(table, key.in_table(table)) == name
