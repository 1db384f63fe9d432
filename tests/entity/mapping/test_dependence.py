"""What depends on what in a class: pydantic itself judges, by constructing entities that differ in one field."""

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from typing_extensions import TypeAliasType

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, Table, Unique
from dynaorm.entity.mapping.field import Dependence
from dynaorm.entity.mapping.mapping import mapping_of

INDEXES: Final = [GlobalIndex("GSI1"), GlobalIndex("GSI2")]


def dependence(entity: type[Entity]) -> Dependence:
    return mapping_of(entity).dependence


# -- random classes ----------------------------------------------------------------------------------------------------


def seen(info: ValidationInfo, value: Any) -> str:
    """A value that shows every value at which the validator may look."""
    return f"{value}<{''.join(map(str, info.data.values()))}>"


def _after(value: str, info: ValidationInfo) -> str:
    return seen(info, value)


def _wrap(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
    return seen(info, handler(value))


ALIASED: Final[Any] = TypeAliasType("ALIASED", Annotated[str, AfterValidator(_after)])
FIELDS: Final[Mapping[str, Callable[[], tuple[Any, Any]]]] = {
    "plain": lambda: (str, "d"),
    "own": lambda: (Annotated[str, AfterValidator(str.upper)], "d"),
    "after": lambda: (Annotated[str, AfterValidator(_after)], "d"),
    "before": lambda: (Annotated[str, BeforeValidator(_after)], "d"),
    "whole": lambda: (Annotated[str, PlainValidator(_after)], "d"),
    "wrap": lambda: (Annotated[str, WrapValidator(_wrap)], "d"),
    "alias": lambda: (ALIASED, "d"),
    "aliases": lambda: (list[ALIASED] | None, None),
    "factory": lambda: (str, Field(default_factory=lambda data: "".join(map(str, data.values())))),
    "validated": lambda: (Annotated[str, AfterValidator(_after)], Field(default="d", validate_default=True)),
}


def _joined(self: Any) -> Any:
    vars(self)["f0"] = "".join(map(str, vars(self).values()))
    return self


def _filled(values: Any) -> Any:
    return {**values, "f1": "".join(map(str, values.values()))}


RULES: Final[Mapping[str, Callable[[], Any]]] = {
    "after": lambda: model_validator(mode="after")(_joined),
    "before": lambda: model_validator(mode="before")(staticmethod(_filled)),
}


def make(kinds: list[str], rule: str) -> type[Entity]:
    made = {f"f{place}": FIELDS[kind]() for place, kind in enumerate(kinds)}
    members: dict[str, Any] = {
        "__annotations__": {"id": str, **{name: annotation for name, (annotation, _) in made.items()}},
        "__module__": __name__,
        **{name: default for name, (_, default) in made.items()},
    }
    if rule:
        members["rule"] = RULES[rule]()
    keywords = {"table": Table("random"), "pk": "{id}", "sk": "R"}
    return types.new_class("Random", (Entity,), keywords, lambda namespace: namespace.update(members))


@given(
    st.lists(st.sampled_from(sorted(FIELDS)), min_size=2, max_size=4),
    st.sampled_from(["", "", "", *RULES]),
    st.data(),
)
def test_a_change_changes_its_dependents_alone(kinds: list[str], rule: str, data: st.DataObject) -> None:
    assume(rule != "before" or kinds[1] != "aliases")  # the rule makes a text of f1
    entity: Any = make(kinds, rule)
    values: dict[str, Any] = {
        name: [name] if kind == "aliases" else name
        for name, kind in ((f"f{place}", kind) for place, kind in enumerate(kinds))
        if data.draw(st.booleans())
    }
    touched = data.draw(st.sampled_from([f"f{place}" for place in range(len(kinds))]))
    changed = {**values, touched: ["new"] if kinds[int(touched[1:])] == "aliases" else "new"}
    one, other = vars(entity(id="1", **values)), vars(entity(id="1", **changed))
    differing = {name for name in one if one[name] != other[name]}
    assert differing <= dependence(entity).dependents({touched})


@given(st.lists(st.sampled_from(sorted(FIELDS)), min_size=2, max_size=4), st.data())
def test_what_a_write_was_judged_by_decides_what_it_changes(kinds: list[str], data: st.DataObject) -> None:
    entity: Any = make(kinds, "")
    names = [f"f{place}" for place in range(len(kinds))]
    touched, judged = data.draw(st.sampled_from(names)), dependence(entity)
    relevant = judged.judged_by({touched})
    first = {name: [name] if kind == "aliases" else name for name, kind in zip(names, kinds, strict=True)}
    second = {
        name: value if name in relevant else ["else"] if isinstance(value, list) else "else"
        for name, value in first.items()
    }
    one, other = vars(entity(id="1", **first)), vars(entity(id="1", **second))
    assert [one[name] for name in sorted(judged.dependents({touched}))] == [
        other[name] for name in sorted(judged.dependents({touched}))
    ]


# -- what is shown to a validator --------------------------------------------------------------------------------------


# -- what is made of fields --------------------------------------------------------------------------------------------


class Total(Entity, table=Table("made", indexes=INDEXES), pk="TOTAL#{owner}", sk="TOTAL"):
    owner: str
    number: int = 0


class Made(Entity, table=Table("made", indexes=INDEXES), pk="MADE#{id}", sk="MADE"):
    id: str
    title: str = ""
    room: str = ""
    owner: str = ""
    size: int = 0
    kind: str = ""
    slug: Annotated[str, Unique(scope=("room",))] = Field(default_factory=lambda data: str(data["title"]))
    note: str = ""
    by_kind = Index("GSI1", pk="{kind}", sk="{id}", when=F.size > 1)
    counted = Aggregate(Total, count="number", when=F.note == "a")


def test_what_keys_guards_and_totals_are_made_of_is_judged_together() -> None:
    before_slug = {"id", "title", "room", "owner", "size", "kind"}
    found = dependence(Made)
    assert found.judged_by({"room"}) == {"slug", *before_slug}
    assert found.judged_by({"size"}) == {"slug", *before_slug}  # the factory of the slug may look at it
    assert found.judged_by({"note"}) == {"note", "owner"}
    assert mapping_of(Made).derived_fields == {"id", "room", "slug", "size", "kind", "owner", "note"}
