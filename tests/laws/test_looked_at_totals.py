"""Law 1 for totals: an increment, which nothing validates, never leaves a target that does not load.

Random target classes have every kind of code that may look at a total. A class whose total something looks at is
refused when it is declared. Any other loads after every write of what is counted, as Python makes it of its values.
"""

import types
from collections import Counter
from typing import Annotated, Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from dynaorm import LOADING, Aggregate, Entity, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.errors import DeclarationError
from dynaorm.transport import Call, Transport

NAME: Final = "looked-at-totals"
INDEXES: Final = (GlobalIndex("GSI1"),)
MOST: Final = 1


def _few(given: Any) -> None:
    if given.get("members", 0) > MOST:
        raise ValueError("there are too many members")


def _alone(value: Any) -> Any:
    return value


def _beside(value: Any, info: ValidationInfo) -> Any:
    _few(info.data)
    return value


def _after(self: Any) -> Any:
    _few(vars(self))
    return self


def _before(values: Any) -> Any:
    _few(values)
    return values


def _wrapped(values: Any, handler: Any) -> Any:
    found = handler(values)
    _few(vars(found))
    return found


def _label(self: Any) -> str:
    return f"{self.members}"


def _after_init(self: Any, context: Any) -> None:
    assert context is None or context is LOADING
    _few(vars(self))


class Plain(BaseModel):
    city: str = ""


class Inside(BaseModel):
    """A rule that looks inside the nested record only."""

    members: int = 0
    city: str = ""
    rule = field_validator("city")(_beside)


WRAPPING: Final[Any] = model_validator(mode="wrap")
# For each way to look: the type and the default of a field, and what else the class has.
LOOKS: Final[dict[str, tuple[Any, Any, dict[str, Any]]]] = {
    "nothing": (str, "", {}),
    "alone": (Annotated[str, AfterValidator(_alone)], "", {}),
    "after": (Annotated[str, AfterValidator(_beside)], Field(default="", validate_default=True), {}),
    "before": (Annotated[str, BeforeValidator(_beside)], Field(default="", validate_default=True), {}),
    "element": (list[Annotated[str, AfterValidator(_beside)]], ["x"], {}),
    "nested": (Plain, Plain(), {}),
    "inside": (Inside, Inside(), {}),
    "factory": (int, Field(default_factory=lambda data: 1 // (2 - data.get("members", 0))), {}),
    "model after": (str, "", {"rule": model_validator(mode="after")(_after)}),
    "model before": (str, "", {"rule": model_validator(mode="before")(staticmethod(_before))}),
    "model wrap": (str, "", {"rule": WRAPPING(staticmethod(_wrapped))}),
    "post init": (str, "", {"model_post_init": _after_init}),
    "unused": (str, "", {"label": computed_field(property(_label))}),
}
OF_CLASS: Final = ("model after", "model before", "model wrap", "post init")
BY_ORDER: Final = ("after", "before", "element", "factory")


class Spec(NamedTuple):
    """A target: what looks, whether it is declared behind the total, and what else is made of it."""

    look: str
    is_behind: bool
    is_guarded: bool
    is_indexed: bool


SPECS: Final = st.builds(Spec, st.sampled_from(sorted(LOOKS)), st.booleans(), st.booleans(), st.booleans())


def may_look(spec: Spec) -> bool:
    return spec.look in OF_CLASS or (spec.look in BY_ORDER and spec.is_behind)


def declare(spec: Spec) -> tuple[Any, Any]:
    """The target class and the class that is counted in it. Raises DeclarationError."""
    table = Table(NAME, indexes=INDEXES)
    annotation, default, more = LOOKS[spec.look]
    looking = {"looking": (annotation, default)}
    total = {"members": (int, 0)}
    both = {**total, **looking} if spec.is_behind else {**looking, **total}
    slug = Annotated[str | None, Unique()] if spec.is_guarded else str | None
    fields = {"group": (str, ...), "slug": (slug, None), **both}
    body: dict[str, Any] = {
        "__annotations__": {name: one for name, (one, _) in fields.items()},
        "__module__": __name__,
        **{name: one for name, (_, one) in fields.items() if one is not ...},
        **more,
    }
    if spec.is_indexed:
        body["by_slug"] = Index("GSI1", pk="{slug}", sk="{group}")
    keywords = {"table": table, "pk": "GROUP#{group}", "sk": "G"}
    target = types.new_class("Group", (Entity,), keywords, lambda space: space.update(body))

    class Member(Entity, table=table, pk="GROUP#{group}", sk="MEMBER#{name}"):
        group: str
        name: str
        in_group = Aggregate(target, count="members")

    return target, Member


@pytest.fixture(scope="module")
def tables(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Table(NAME, indexes=INDEXES))
    return engine


STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(["join", "join", "leave", "write"]), st.sampled_from("aab"), st.sampled_from("xyz")
    ),
    min_size=3,
    max_size=6,
)
# A value that is stored is validated when it is loaded. A default is not.
STORED: Final[dict[str, Any]] = {"element": ["y"], "inside": {"city": "rome"}, "nested": {"city": "rome"}}


@given(SPECS, STEPS)
def test_a_target_loads_after_increments_or_is_refused(
    tables: Transport, spec: Spec, steps: list[tuple[str, str, str]]
) -> None:
    if may_look(spec):
        with pytest.raises(DeclarationError, match=r"Group\.members is shown to"):
            declare(spec)
        return
    target, member = declare(spec)
    clear(tables)
    session = Session(transport=tables)
    counted = set[tuple[str, str]]()
    looking = {} if spec.look == "factory" else {"looking": STORED.get(spec.look, "y")}
    session.save(target(group="a", **looking))
    for do, name, who in steps:
        if do == "leave" and (name, who) in counted:
            session.delete(Key(member, group=name, name=who))
            counted.remove((name, who))
        else:
            with session.transaction() as tx:
                tx.save(member(group=name, name=who), overwrite=True)
                if do == "write":
                    tx.upsert(Key(target, group=name), {"slug": f"s{name}"})
            counted.add((name, who))
        loaded: list[Any] = session.scan(target).all()
        totals = {one.group: one.members for one in loaded if one.members}
        assert totals == Counter(name for name, _ in counted)


def clear(engine: Transport) -> None:
    for item in engine.call(Call("Scan", {"TableName": NAME, "ConsistentRead": True}))["Items"]:
        key = {name: item[name] for name in ("PK", "SK")}
        engine.call(Call("DeleteItem", {"TableName": NAME, "Key": key}))
