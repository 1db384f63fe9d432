"""Random classes in which every pair of declarations meets, of one table.

``spec_of`` draws a ``Spec``: one setting for each declaration. ``make`` declares the classes. ``mixed_items`` says
which items a table must hold for entities that are given as plain values: it renders keys, indexes, guards and
attributes by itself, and knows nothing of dynaorm but the formats that the documentation promises.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field, computed_field

from dynaorm import (
    Aggregate,
    AnyValue,
    Attribute,
    BinaryKey,
    Computed,
    CreatedAt,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    LocalIndex,
    NumberKey,
    NumberRevision,
    OneOf,
    Stored,
    Table,
    Unique,
    UpdatedAt,
    Versioned,
)
from dynaorm.codecs import EPOCH_MILLISECONDS, ISO_MILLISECONDS, ISO_SECONDS, PYNAMODB_JSON, PYNAMODB_UTC

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Takes one of several."""

Values: TypeAlias = dict[str, Any]
"""The values of an entity by its fields."""

TABLE: Final = "mixed"
GUARDS: Final = "mixed-guards"
TOTALS: Final = "mixed-totals"


class Long(str):
    """A long text with a short repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Long({len(self)})"


class Info(BaseModel):
    city: str = "rome"
    floor: int = 0
    seen: Annotated[datetime | None, Attribute("seenAt", codec=ISO_SECONDS)] = None


class Spec(NamedTuple):
    """One setting for each declaration. Each is a text, and an empty text is the plain case.

    ``formerly`` may also be ``was``: the class and its field ``note`` have the names that they had formerly.
    """

    sort: str
    key: str
    in_key: str
    typed: str
    revision: str
    escape: str
    guards: str
    versioned: str
    expires: str
    unique: tuple[str, ...]
    indexes: tuple[str, ...]
    counted: str
    totals: str
    computed: str
    times: str
    codec: str
    formerly: str
    subclass: str


CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "sort": ("S", "S", "S", "N", "B", ""),
    "key": ("", "", "desc", "computed", "nested", "one of"),
    "in_key": ("", "", "field", "table"),
    "typed": ("own", "own", "none", "field"),
    "revision": ("text", "text", "", "number", "start"),
    "escape": ("yes", "yes", "no"),
    "guards": ("", "", "apart"),
    "versioned": ("", "", "", "all", "some", "padded", "template"),
    "expires": ("", "", "s", "ms"),
    "counted": ("", "", "plain", "restrict", "when", "function"),
    "totals": ("", "apart"),
    "computed": ("", "plain", "told", "stored", "stored told"),
    "times": ("", "two", "many"),
    "codec": ("", "iso", "ms", "pynamodb", "milliseconds"),
    "formerly": ("", "yes"),
    "subclass": ("", "yes"),
}
UNIQUES: Final = ("plain", "normalize", "scope", "when", "function", "template", "composite", "computed")
INDEXES: Final = (
    "places", "functions", "fields", "native", "local", "shard", "one of", "times", "nested", "computed", "inverted",
)  # fmt: skip


def spec_of(pick: Pick) -> Spec:
    """Any settings that may stand together."""
    chosen: dict[str, Any] = {name: pick(options) for name, options in CHOICES.items()}
    for name, options in (("unique", UNIQUES), ("indexes", INDEXES)):
        chosen[name] = tuple(sorted({pick(options) for _ in range(pick((0, 1, 2, 3)))}))
    return fitting(Spec(**chosen))


def fitting(spec: Spec) -> Spec:
    """The same without what contradicts it. Which of two gives way depends on the settings alone."""
    if spec.sort != "S":
        kept = {"S": spec.versioned, "B": "all" if spec.versioned == "template" else spec.versioned}
        key = "one of" if spec.key == "one of" else ""
        spec = spec._replace(key=key, guards="apart", totals="apart", versioned=kept.get(spec.sort, ""))
    if spec.versioned:
        spec = _without_indexes(spec._replace(expires=""), "fields")
        spec = spec._replace(typed="own" if spec.typed == "field" else spec.typed)
    if spec.expires:
        spec = spec._replace(counted="")
    if spec.typed != "own":
        spec = spec._replace(subclass="")
    is_odd = (spec.sort != "S" or spec.key != "") and spec.in_key == "field"
    spec = spec._replace(in_key="" if is_odd or spec.key in ("computed", "nested") else spec.in_key)
    computed = () if spec.computed else ("computed",)
    spec = spec._replace(unique=tuple(one for one in spec.unique if one not in computed))
    return _without_indexes(spec, *_unfit(spec))


def _unfit(spec: Spec) -> list[str]:
    """The indexes that a class with the other settings cannot have."""
    found = [] if spec.sort == "S" else ["inverted"]
    found += [] if spec.sort else ["local"]
    found += [] if spec.computed else ["computed"]
    found += [] if spec.times else ["times"]
    return [*found, "functions"] if "places" in spec.indexes else found


def _without_indexes(spec: Spec, *names: str) -> Spec:
    return spec._replace(indexes=tuple(one for one in spec.indexes if one not in names))


# -- classes -----------------------------------------------------------------------------------------------------------

SMALL: Final = 3
CODECS: Final[Mapping[str, Any]] = {
    "iso": ISO_SECONDS,
    "ms": EPOCH_MILLISECONDS,
    "pynamodb": PYNAMODB_UTC,
    "milliseconds": ISO_MILLISECONDS,
}
REVISIONS: Final[Mapping[str, Any]] = {
    "text": "_rev",
    "": None,
    "number": NumberRevision("changes"),
    "start": NumberRevision("changes", start=-1),
}


class Classes(NamedTuple):
    """What a spec declares."""

    spec: Spec
    table: Table
    thing: Any
    special: Any
    total: Any
    tables: tuple[Table, ...]


def make(
    spec: Spec,
    *,
    without: frozenset[str] = frozenset(),
    places: Mapping[str, Any] = MappingProxyType({}),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Classes:
    """Declare the classes of a spec, without some fields, with other places in indexes, and with other defaults."""
    guards = Table(GUARDS, type_attribute=None, revision_attribute=None) if spec.guards else None
    table = _table_of(spec, guards)
    apart = Table(TOTALS) if spec.counted and spec.totals else None
    total = _total_of(apart or table) if spec.counted else None
    declared = {name: one for name, one in _declared(spec).items() if name not in without}
    space = {name: default for name, (_, default) in declared.items() if default is not ...} | {**defaults}
    space |= {**_places(spec), **places, **_computed(spec), **_counts(spec, total)}
    annotations = {name: one for name, (one, _) in declared.items()}
    space |= {"__annotations__": annotations, "__module__": __name__}
    thing = types.new_class("Thing", (Entity,), _keywords(spec, table), lambda own: own.update(space))
    special = None
    if spec.subclass:
        more = {"__annotations__": {"more": int}, "more": 0, "__module__": __name__}
        special = types.new_class("Special", (thing,), {}, lambda own: own.update(more))
    return Classes(spec, table, thing, special, total, (table, *(one for one in (apart, guards) if one)))


def _table_of(spec: Spec, guards: Table | None) -> Table:
    indexes: dict[str, Any] = {
        "places": GlobalIndex("GSI1"),
        "functions": GlobalIndex("GSI1"),
        "fields": GlobalIndex("Own", pk="state", sk=NumberKey("num")),
        "native": GlobalIndex("Nat", pk=("NatPK1", "NatPK2"), sk=("NatSK1", NumberKey("NatSK2"))),
        "local": LocalIndex("LSI1"),
        "shard": GlobalIndex("GSI3", projection="KEYS_ONLY"),
        "one of": GlobalIndex("GSI4", sk=NumberKey("GSI4SK")),
        "times": GlobalIndex("GSI5"),
        "nested": GlobalIndex("GSI6", sk=None),
        "computed": GlobalIndex("GSI7", projection=("state",)),
        "inverted": GlobalIndex("Inverted", pk="SK", sk="PK"),
    }
    sorts: dict[str, Any] = {"S": "SK", "N": NumberKey("SK"), "B": BinaryKey("SK"), "": None}
    return Table(
        TABLE,
        sk=sorts[spec.sort],
        indexes=[indexes[one] for one in spec.indexes],
        type_attribute={"own": "_type", "none": None, "field": "kind"}[spec.typed],
        revision_attribute=REVISIONS[spec.revision],
        guard_table=guards,
        escape=spec.escape == "yes",
        key_fields="in_key" if spec.in_key == "table" else "stored",
    )


def _keywords(spec: Spec, table: Table) -> dict[str, Any]:
    partition = "THING#{group}"
    if spec.key == "one of":
        partition += "#{shard}"
    found: dict[str, Any] = {"table": table, "pk": partition if spec.sort else partition + "#{n:03d}"}
    if spec.sort:
        number = {"desc": "{n:03d:desc}", "computed": "{bucket}#{n:03d}", "nested": "{info.city}#{n:03d}"}
        texts = {"S": "T#" + number.get(spec.key, "{n:03d}"), "N": "{n}", "B": "{blob}"}
        found["sk"] = texts[spec.sort]
    versioned = {"": False, "template": "V{version}_{sk}"}.get(spec.versioned, True)
    said = {
        "versioned": versioned,
        "version_padding": 4 if spec.versioned == "padded" else 0,
        "formerly": ("Former",) if spec.formerly == "yes" and spec.typed == "own" else (),
        "unique": {"pair": ("text", "num")} if "composite" in spec.unique else {},
    }
    found |= {name: value for name, value in said.items() if value}
    names = {"field": None, **({"own": "Former"} if spec.formerly == "was" else {})}
    return found | ({"name": names[spec.typed]} if spec.typed in names else {})


def _uniques(spec: Spec) -> dict[str, Unique]:
    """The constraints by their fields."""
    small: Any = (lambda one: one.num < SMALL) if "function" in spec.unique else F.num < SMALL
    found = {
        "plain": ("text", Unique()),
        "normalize": ("nick", Unique(normalize=str.casefold)),
        "scope": ("slug", Unique(scope="group")),
        "when": ("mail", Unique(when=small)),
        "function": ("mail", Unique(when=small)),
        "template": ("tag", Unique(pk="_u#{tag}", sk="_u#")),
    }
    return dict(found[one] for one in spec.unique if one in found)


def _declared(spec: Spec) -> dict[str, tuple[Any, Any]]:
    """The fields: annotations and defaults; ``...`` for none."""
    uniques = _uniques(spec)

    def marked(name: str) -> Any:
        return Annotated[str | None, uniques[name]] if name in uniques else str | None

    is_shard = spec.key == "one of" or "one of" in spec.indexes
    bounds = Field(ge=0, le=9)
    noted = {"yes": Attribute(formerly="remark"), "was": Attribute("remark")}.get(spec.formerly)
    at: Any = Annotated[datetime, Attribute("when", codec=CODECS[spec.codec])] if spec.codec else datetime
    found: dict[str, tuple[Any, Any]] = {
        "group": (str, ...),
        "n": (Annotated[int, InKey()] if spec.in_key == "field" else int, ...),
        "blob": (bytes, b""),
        "shard": (Annotated[int, OneOf((1, 2, 3))] if is_shard else int, 1),
        **{name: (marked(name), None) for name in ("text", "nick", "slug", "mail", "tag")},
        "num": (
            Annotated[int, bounds, Versioned()] if spec.versioned == "some" else Annotated[int, bounds],
            0,
        ),
        "state": (str, "open"),
        "info": (Info, Info()),
        "at": (at, NOON),
        "tags": (set[str], Field(default_factory=set)),
        "extra": (AnyValue, None),
        "doc": (Annotated[dict[str, int], Attribute(codec=PYNAMODB_JSON)], {}),
        "note": (Annotated[str | None, noted] if noted else str | None, None),
    }
    return found | _kept(spec)


def _kept(spec: Spec) -> dict[str, tuple[Any, Any]]:
    """The fields for which the table or the session has a meaning."""
    found: dict[str, tuple[Any, Any]] = {}
    if spec.expires:
        unit: Any = spec.expires
        found["until"] = Annotated[datetime | None, ExpiresAt(unit=unit)], None
    if spec.times:
        found["created"] = Annotated[datetime | None, CreatedAt()], None
        found["changed"] = Annotated[datetime | None, UpdatedAt()], None
    if spec.times == "many":
        ms, iso = Attribute(codec=EPOCH_MILLISECONDS), Attribute("changedAt", codec=ISO_SECONDS)
        found["created_ms"] = Annotated[datetime | None, CreatedAt(), ms], None
        found["changed_iso"] = Annotated[datetime | None, UpdatedAt(), iso], None
    if spec.typed == "field":
        found["kind"] = Literal["x", "y"], "x"
    return found


def _places(spec: Spec) -> dict[str, Any]:
    small: Any = F.num < SMALL if "places" in spec.indexes else (lambda one: one.num < SMALL)
    large: Any = F.num >= SMALL if "places" in spec.indexes else (lambda one: one.num >= SMALL)
    found: dict[str, Any] = {
        "fields": {"by_own": Index("Own")},
        "native": {"by_native": Index("Nat", pk=("{state}", "{group}"), sk=("{text}", "{num}"))},
        "local": {"by_local": Index("LSI1", sk="{text}")},
        "shard": {"by_shard": Index("GSI3", pk="S#{state}#{n:shard3}", sk="{text}")},
        "one of": {"by_choice": Index("GSI4", pk="C#{shard}", sk="{n}")},
        "times": {"by_time": Index("GSI5", pk="ALL", sk="{changed}")},
        "nested": {"by_city": Index("GSI6", pk="CITY#{info.city}")},
        "computed": {"by_label": Index("GSI7", pk="L#{label}", sk="{n:03d}")},
        "inverted": {"inverted": Index("Inverted")},
    }
    found["places"] = found["functions"] = {
        "small": Index("GSI1", pk="SMALL#{state}", sk="{n:03d}", when=small),
        "large": Index("GSI1", pk="LARGE#{text}", sk="{n:03d}", when=large),
    }
    return {name: place for one in spec.indexes for name, place in found[one].items()}


def label(self: Any) -> str | None:
    """A computed field, of two fields."""
    return None if self.text is None else f"{self.num}:{self.text}"


def _computed(spec: Spec) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if spec.computed:
        kind: Any = str | None
        if "stored" in spec.computed:
            kind = Annotated[kind, Stored("theLabel")]
        if "told" in spec.computed:
            kind = Annotated[kind, Computed(of=("num", "text"))]
        if "computed" in spec.unique:
            kind = Annotated[kind, Unique("claim")]

        def labelled(self: Any) -> Any:
            return label(self)

        labelled.__annotations__["return"] = kind
        found["label"] = computed_field(property(labelled))
    if spec.key == "computed":

        def bucket(self: Any) -> Any:
            return f"b{self.n % 2}"

        bucket.__annotations__["return"] = Annotated[str, Computed(of="n")]
        found["bucket"] = computed_field(property(bucket))
    return found


def _total_of(table: Table) -> Any:
    keywords: dict[str, Any] = {"table": table, "pk": "TOTAL#{of}", "sk": "TOTAL"}
    annotations = {"of": str, "things": int, "sum": int, "memo": str}
    space = {"__annotations__": annotations, "things": 0, "sum": 0, "memo": "m", "__module__": __name__}
    return types.new_class("Total", (Entity,), keywords, lambda own: own.update(space))


def _counts(spec: Spec, total: Any) -> dict[str, Any]:
    if total is None:
        return {}
    when: Any = {"when": F.num < SMALL, "function": lambda one: one.num < SMALL}.get(spec.counted)
    aggregate = Aggregate(
        total,
        count="things",
        sum={"num": "sum"},
        key={"of": "state"},
        when=when,
        restrict=spec.counted == "restrict",
    )
    return {"is_counted": aggregate}


# -- values ------------------------------------------------------------------------------------------------------------

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
LATER: Final = datetime(2100, 1, 1, 0, 0, 0, 123_456, UTC)
YESTERDAY: Final = datetime(2023, 12, 30, tzinfo=UTC)

VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "shard": (1, 2, 3),
    "text": (None, "x", "y", "x#%y"),
    "nick": (None, "Bob", "bob", "BO#b"),
    "slug": (None, "s", "s#"),
    "mail": (None, "m", "M"),
    "tag": (None, "t", "u"),
    "num": (0, 1, 3, 5, 9),
    "state": ("open", "closed", "o#"),
    "info": (
        Info(),
        Info(city="oslo", floor=1),
        Info(city="o#lo"),
        Info(seen=NOON + timedelta(milliseconds=5)),
    ),
    "at": (NOON, NOON + timedelta(milliseconds=5), NOON + timedelta(seconds=61)),
    "tags": (set(), {"a"}, {"a", "b"}),
    "extra": (None, "e", {"a": [1, None]}, {"big": Long("z" * 1500)}),
    "doc": ({}, {"a": 1}),
    "note": (None, "n1", "n2"),
    "until": (None, None, LATER, YESTERDAY),
    "kind": ("x", "y"),
    "more": (0, 1),
}


def groups_of(spec: Spec) -> tuple[str, ...]:
    is_bare = spec.escape == "no" and ("#" in _keywords(spec, None)["pk"].removeprefix("THING#"))  # type: ignore[arg-type]
    return ("a", "b") if is_bare else ("a", "b#%")


def value_of(spec: Spec, name: str, pick: Pick) -> Any:
    options = VALUES[name]
    if spec.escape == "no":  # a value with the literal after its field is refused
        options = [one for one in options if "#" not in str(one)]
    found = pick(options)
    return type(found)(found) if isinstance(found, set | dict) else found
