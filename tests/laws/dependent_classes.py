"""Random entity classes whose fields depend on each other: by validators, factories, rules of the class, and more."""

import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple

from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    computed_field,
    model_validator,
)

from dynaorm import Aggregate, CreatedAt, Entity, ExpiresAt, F, GlobalIndex, Index, Table, Unique, UpdatedAt

INDEXES: Final = (GlobalIndex("GSI1"), GlobalIndex("GSI2"))
NAME: Final = "dependent"
SOON: Final = datetime(2100, 1, 1, tzinfo=UTC)


class Home(BaseModel):
    city: str = "rome"
    zip: str | None = None


class Spec(NamedTuple):
    """What distinguishes a class.

    Attributes:
        slug: how the slug follows from the title and the number.
        end: how the end looks at the start.
        rule: a rule of the class.
        home: the type of a nested value.
        derived: what is made of the slug.
        condition: on what the claim of the slug depends, too.
        label: a computed field in an index or a constraint.
    """

    slug: str
    end: str
    rule: str
    home: str
    derived: frozenset[str]
    condition: str
    label: str
    versioned: bool
    counted: bool
    expires: bool
    times: bool
    typed: bool
    revised: bool


def _slug(title: str, number: int) -> str:
    return f"{title.lower()}-{min(number, 2)}"


def _made(_: Any, info: ValidationInfo) -> str:
    return _slug(info.data.get("title", ""), info.data.get("number", 0))


def _wrapped(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
    return _made(handler(value), info)


def _completed(value: Any, info: ValidationInfo) -> Any:
    return value or _made(value, info)


def _factory(data: Mapping[str, Any]) -> str:
    return _slug(data.get("title", ""), data.get("number", 0))


VALIDATED: Final[Any] = Field(default="", validate_default=True)
SLUGS: Final[Mapping[str, tuple[Any, Any]]] = {
    "own": (str, ""),
    "after": (Annotated[str, AfterValidator(_made)], VALIDATED),
    "before": (Annotated[str, BeforeValidator(_made)], VALIDATED),
    "plain": (Annotated[str, PlainValidator(_made)], VALIDATED),
    "wrap": (Annotated[str, WrapValidator(_wrapped)], VALIDATED),
    "completed": (Annotated[str, AfterValidator(_completed)], VALIDATED),
    "factory": (str, Field(default_factory=_factory)),
}


def _ordered(value: int, info: ValidationInfo) -> int:
    if "start" in info.data and value < info.data["start"]:
        raise ValueError("it ends before it starts")
    return value


def _late(value: Any, info: ValidationInfo) -> Any:
    """An expiry that follows from another field."""
    return SOON + timedelta(days=info.data.get("start", 0))


def _fits(self: Any) -> Any:
    if self.number > 4 and self.start > 2:
        raise ValueError("both are large")
    return self


def _filled(values: Any) -> Any:
    return {**values, "note": f"n{values.get('start', 0)}"} if isinstance(values, dict) else values


RULES: Final[Mapping[str, Callable[[], Any]]] = {
    "fits": lambda: model_validator(mode="after")(_fits),
    "filled": lambda: model_validator(mode="before")(staticmethod(_filled)),
}
HOMES: Final[Mapping[str, tuple[Any, Any]]] = {
    "model": (Home, Home()),
    "optional": (Home | None, None),
    "list": (list[Home], []),
    "dict": (dict[str, Home], {}),
}

_ANY: Final = st.builds(
    Spec,
    slug=st.sampled_from(sorted(SLUGS)),
    end=st.sampled_from(["", "", "ordered"]),
    rule=st.sampled_from(["", "", "", "", "", *RULES]),
    home=st.sampled_from(sorted(HOMES)),
    derived=st.frozensets(st.sampled_from(["unique", "index"])),
    condition=st.sampled_from(["", "", "condition", "function", "normalize"]),
    label=st.sampled_from(["", "", "index", "unique"]),
    versioned=st.sampled_from([False, False, False, True]),
    counted=st.sampled_from([False, False, True]),
    expires=st.sampled_from([False, False, True]),
    times=st.booleans(),
    typed=st.booleans(),
    revised=st.booleans(),
)


def _blind(spec: Spec) -> Spec:
    return spec._replace(rule="", label="", versioned=False, counted=False, condition="")


SPECS: Final = _ANY | _ANY.map(_blind)
"""Classes of all kinds, and as often those of which few updates by key read anything."""


def table_of(spec: Spec) -> Table:
    settings: dict[str, Any] = {}
    if not spec.typed:
        settings["type_attribute"] = None
    if not spec.revised:
        settings["revision_attribute"] = None
    return Table(NAME, indexes=INDEXES, **settings)


def _unique(spec: Spec) -> Unique:
    when: Any = None
    if spec.condition == "condition":
        when = F.start < 3
    elif spec.condition == "function":
        when = _is_claimed
    return Unique("slug", when=when, normalize=str.upper if spec.condition == "normalize" else None)


def _is_claimed(entity: Any) -> bool:
    return bool(entity.start < 3)


def claim_of(spec: Spec, entity: Any) -> str | None:
    """The unique slug that an entity claims."""
    if "unique" not in spec.derived or (
        spec.condition in ("condition", "function") and not _is_claimed(entity)
    ):
        return None
    return str(entity.slug.upper() if spec.condition == "normalize" else entity.slug)


def label_of(entity: Any) -> str:
    return f"{entity.slug}+{entity.note}"


def make(spec: Spec) -> type[Entity]:
    """A class on a table of its own, which is named by its settings."""
    table, fields = table_of(spec), _fields(spec)
    members = {
        "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
        "__module__": __name__,
        **{name: default for name, (_, default) in fields.items() if default is not ...},
        **_made_of(spec, table),
    }
    keywords: dict[str, Any] = {"table": table, "pk": "DOC#{id}", "sk": "D"}
    if spec.versioned:
        keywords["versioned"] = True
    return types.new_class("Doc", (Entity,), keywords, lambda namespace: namespace.update(members))


def _fields(spec: Spec) -> dict[str, tuple[Any, Any]]:
    """The annotations and the defaults of the fields."""
    slug, default = SLUGS[spec.slug]
    found: dict[str, tuple[Any, Any]] = {
        "id": (str, ...),
        "title": (str, "a"),
        "number": (Annotated[int, Field(ge=0)], 0),
        "slug": (Annotated[slug, _unique(spec)] if "unique" in spec.derived else slug, default),
        "start": (int, 0),
        "end": (Annotated[int, AfterValidator(_ordered)] if spec.end else int, 9),
    }
    if spec.expires and not (spec.versioned or spec.counted):
        until = Annotated[datetime | None, BeforeValidator(_late), ExpiresAt()]
        found["until"] = until, Field(default=SOON, validate_default=True)
    found |= {
        "note": (str | None, None),
        "home": HOMES[spec.home],
        "tags": (set[str], Field(default_factory=set)),
        "lines": (list[str], Field(default_factory=list)),
        "mark": (str, Field(default_factory=lambda: "m")),
    }
    if spec.times:
        found["created"] = Annotated[datetime | None, CreatedAt()], None
        found["changed"] = Annotated[datetime | None, UpdatedAt()], None
    return found


def _made_of(spec: Spec, table: Table) -> dict[str, Any]:
    """What is made of the fields, and the rule of the class."""
    found: dict[str, Any] = {}
    if "index" in spec.derived:
        found["by_slug"] = Index("GSI1", pk="SLUG#{slug}", sk="{id}")
    if spec.label:
        found["label"] = computed_field(property(_labelled(spec)))
    if spec.label == "index":
        found["by_label"] = Index("GSI2", pk="LABEL#{label}", sk="{id}")
    if spec.counted:
        found["counted"] = _counted(table)
    if spec.rule:
        found["rule"] = RULES[spec.rule]()
    return found


def _labelled(spec: Spec) -> Callable[[Any], Any]:
    def label(self: Any) -> Any:
        return label_of(self)

    label.__annotations__["return"] = Annotated[str, Unique("label")] if spec.label == "unique" else str
    return label


def _counted(table: Table) -> Aggregate:
    class Total(Entity, table=table, pk="TOTAL#{slug}", sk="TOTAL"):
        slug: str
        docs: int = 0
        starts: int = 0

    return Aggregate(Total, count="docs", sum={"start": "starts"})
