"""Absent means the default: of classes, rows and conditions drawn at random.

Python over the loaded entity, the resolved condition evaluated here, and the filter of an engine have to agree. A field
with a ``default_factory`` has no value while its attribute is absent.

moto takes an absent attribute for NULL and for equal to another absent one, and refuses the size of one. So it is not
asked about these, but ministack is.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from dynaorm import Attribute, Entity, F, Key, Session, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import ConditionFailed, UsageError
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.condition import Condition, render
from dynaorm.item.evaluate import holds
from dynaorm.item.path import Path, value_at
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.resolve import resolve
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue
from dynaorm.plan.image import new_image
from dynaorm.record import record
from dynaorm.testing.endpoint import transport_to

NOTHING: Final = object()
"""The value of what has none."""


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
SAMPLES: Final[Mapping[Any, tuple[Any, ...]]] = {
    int: (0, 5, 50, -1),
    str: ("", "a", "ab", "b"),
    bool: (False, True),
    Decimal: (Decimal(0), Decimal("1.5")),
    float: (0.0, 2.5),
    bytes: (b"", b"a", b"ab"),
    datetime: (NOON, datetime(2023, 1, 1, tzinfo=UTC)),
    date: (date(2024, 1, 1), date(2023, 1, 1)),
    Colour: (Colour.RED, Colour.BLUE),
    list[int]: ([], [1], [1, 2]),
    list[str]: ([], ["a"], ["ab", "a"]),
    set[str]: (set(), {"a"}, {"a", "b"}),
    set[int]: (set(), {1}),
    dict[str, int]: ({}, {"k": 1}, {"k": 2, "j": 1}),
}
ORDERED: Final = frozenset({int, str, Decimal, float, bytes, datetime, date})
SIZED: Final = frozenset({str, bytes, list[int], list[str], set[str], set[int], dict[str, int]})
SIGNS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# -- random classes ----------------------------------------------------------------------------------------------------


@record
class FieldSpec:
    """A field of a random class: its type, whether it may be None, and what its absence means.

    Attributes:
        kind: a type of ``SAMPLES``, or the fields of a nested model.
        absence: ``required``, ``default`` or ``factory``.
        default: the value of either.
        formerly: it has had another attribute name.
    """

    name: str
    kind: Any
    nullable: bool
    absence: str
    default: Any
    formerly: bool

    @property
    def may_be_absent(self) -> bool:
        is_set = self.kind in (set[str], set[int])
        return self.absence != "required" or self.nullable or is_set


@st.composite
def fields(draw: st.DrawFn, depth: int = 0) -> tuple[FieldSpec, ...]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([*SAMPLES, "model", "model"] if depth < 2 else [*SAMPLES]))
        if kind == "model":
            kind = draw(fields(depth + 1))
        nullable, absence = (
            draw(st.booleans()),
            draw(st.sampled_from(["required", "default", "default", "factory"])),
        )
        spec = FieldSpec(f"{'fgh'[depth]}{number}", kind, nullable, absence, None, draw(st.booleans()))
        default = draw(values(spec)) if absence != "required" else None
        found.append(FieldSpec(spec.name, kind, nullable, absence, default, spec.formerly))
    return tuple(found)


def values(spec: FieldSpec) -> st.SearchStrategy[Any]:
    """Values of a field; those of nested models as dicts."""
    if isinstance(spec.kind, tuple):
        plain: st.SearchStrategy[Any] = st.fixed_dictionaries({one.name: values(one) for one in spec.kind})
    else:
        plain = st.sampled_from(SAMPLES[spec.kind])
    return st.none() | plain if spec.nullable else plain


def declared(specs: tuple[FieldSpec, ...], base: type[BaseModel] | None = None, **options: Any) -> Any:
    found: dict[str, Any] = {"row": (str, ...)} if base is not None else {}
    for spec in specs:
        kind = declared(spec.kind) if isinstance(spec.kind, tuple) else spec.kind
        default = (
            kind(**spec.default)
            if isinstance(spec.default, dict) and isinstance(spec.kind, tuple)
            else spec.default
        )
        annotation = kind | None if spec.nullable else kind
        if spec.formerly:
            annotation = Annotated[
                annotation, Attribute(spec.name, formerly=(f"old_{spec.name}", f"older_{spec.name}"))
            ]
        if spec.absence == "required":
            found[spec.name] = (annotation, ...)
        elif spec.absence == "default":
            found[spec.name] = (annotation, default)
        else:
            found[spec.name] = (annotation, Field(default_factory=lambda default=default: default))
    if base is None:
        return create_model("Nested", **found)
    return create_model("Thing", __base__=base, __cls_kwargs__=options, **found)


# -- random rows -------------------------------------------------------------------------------------------------------


def _thinned(draw: st.DrawFn, stored: dict[str, Any], specs: tuple[FieldSpec, ...]) -> dict[str, Any]:
    """The attributes without some that may be absent, and some under former names."""
    found = dict(stored)
    for spec in specs:
        if spec.name not in found:
            if (
                spec.nullable
                and not (spec.absence == "default" and spec.default is not None)
                and draw(st.booleans())
            ):
                found[spec.name] = {"NULL": True}
            continue
        value = found.pop(spec.name)
        if spec.may_be_absent and draw(st.integers(0, 2)):
            continue
        if isinstance(spec.kind, tuple) and "M" in value:
            value = {"M": _thinned(draw, value["M"], spec.kind)}
        name = (
            draw(st.sampled_from([spec.name, f"old_{spec.name}", f"older_{spec.name}"]))
            if spec.formerly
            else spec.name
        )
        found[name] = value
    return found


# -- random conditions -------------------------------------------------------------------------------------------------


@record
class Asked:
    """A condition for dynaorm, and the same in Python: a function of what a path's value is, and of the row."""

    condition: Condition
    python: Callable[[Callable[[Path], Any], Callable[[Path], bool]], bool]
    text: str


def _leaf_paths(specs: tuple[FieldSpec, ...], before: Path = ()) -> Iterator[tuple[Path, FieldSpec]]:
    for spec in specs:
        yield (*before, spec.name), spec
        if isinstance(spec.kind, tuple):
            yield from _leaf_paths(spec.kind, (*before, spec.name))


def _f(path: Path) -> Any:
    found: Any = F
    for step in path:
        found = found[step]
    return found


def _compared(sign: str, left: Any, right: Any) -> bool:
    if left in (None, NOTHING) or right in (None, NOTHING):
        return False
    return SIGNS[sign](left, right)


def _equal(left: Any, right: Any) -> bool:
    return left is not NOTHING and right is not NOTHING and bool(left == right)


def _length(value: Any) -> Any:
    return NOTHING if value is None or value is NOTHING else len(value)


@st.composite
def leaves(draw: st.DrawFn, specs: tuple[FieldSpec, ...]) -> Asked:
    paths = list(_leaf_paths(specs))
    path, spec = draw(st.sampled_from(paths))
    is_model = isinstance(spec.kind, tuple)
    value = None if is_model else draw(values(spec))
    other = None if is_model else draw(st.sampled_from(SAMPLES[spec.kind]))
    some = st.just(None) if is_model else st.sampled_from(SAMPLES[spec.kind])
    alike = [one for one, its in paths if its.kind == spec.kind and not is_model]
    choices = ["exists", "missing"]
    if spec.nullable:
        choices += ["none", "not none"]
    if not is_model:
        choices += ["==", "==", "!=", "!=", "in", "== path", "!= path"]
        choices += ["<", "between", "< path"] if spec.kind in ORDERED else []
        choices += ["size", "size !="] if spec.kind in SIZED else []
        choices += ["begins", "begins path"] if spec.kind in (str, bytes) else []
        choices += ["contains"] if spec.kind in (str, bytes, list[int], list[str], set[str], set[int]) else []
    choice = draw(st.sampled_from(choices))
    f, sign, number = _f(path), draw(st.sampled_from([*SIGNS])), draw(st.integers(0, 2))
    text = f"{choice} {path} {value!r} {other!r} {sign} {number}"

    def made(condition: Condition, python: Callable[..., bool]) -> Asked:
        return Asked(condition, python, text)

    match choice:
        case "exists":
            return made(f.exists(), lambda _, stored: stored(path))
        case "missing":
            return made(f.missing(), lambda _, stored: not stored(path))
        case "none":
            return made(f == None, lambda get, _: _equal(get(path), None))  # noqa: E711
        case "not none":
            return made(f != None, lambda get, _: not _equal(get(path), None))  # noqa: E711
        case "==":
            return made(f == value, lambda get, _: _equal(get(path), value))
        case "!=":
            return made(f != value, lambda get, _: not _equal(get(path), value))
        case "in":
            wanted = draw(st.lists(some, max_size=3)) + ([None] if spec.nullable and number else [])
            return made(f.is_in(wanted), lambda get, _: any(_equal(get(path), one) for one in wanted))
        case "<":
            return made(SIGNS[sign](f, other), lambda get, _: _compared(sign, get(path), other))
        case "between":
            low, high = other, draw(some)
            return made(
                f.between(low, high),
                lambda get, _: _compared(">=", get(path), low) and _compared("<=", get(path), high),
            )
        case "size":
            return made(
                SIGNS[sign](f.size(), number), lambda get, _: _compared(sign, _length(get(path)), number)
            )
        case "size !=":
            return made(f.size() != number, lambda get, _: not _equal(_length(get(path)), number))
        case "begins":
            return made(
                f.begins_with(other),
                lambda get, _: get(path) not in (None, NOTHING) and get(path).startswith(other),
            )
        case "contains":
            piece = draw(st.sampled_from([1, 5])) if spec.kind in (list[int], set[int]) else "a"
            piece = b"a" if spec.kind is bytes else piece
            return made(
                f.contains(piece), lambda get, _: get(path) not in (None, NOTHING) and piece in get(path)
            )
    second = draw(st.sampled_from(alike))
    g = _f(second)
    text += f" {second}"
    match choice:
        case "== path":
            return made(f == g, lambda get, _: _equal(get(path), get(second)))
        case "!= path":
            return made(f != g, lambda get, _: not _equal(get(path), get(second)))
        case "< path":
            return made(SIGNS[sign](f, g), lambda get, _: _compared(sign, get(path), get(second)))
    return made(
        f.begins_with(g),
        lambda get, _: (
            NOTHING not in (get(path), get(second))
            and None not in (get(path), get(second))
            and get(path).startswith(get(second))
        ),
    )


def conditions(specs: tuple[FieldSpec, ...]) -> st.SearchStrategy[Asked]:
    return st.recursive(
        leaves(specs),
        lambda inner: st.one_of(
            st.builds(
                lambda one, two: Asked(
                    one.condition & two.condition,
                    lambda get, stored: one.python(get, stored) and two.python(get, stored),
                    f"({one.text} & {two.text})",
                ),
                inner,
                inner,
            ),
            st.builds(
                lambda one, two: Asked(
                    one.condition | two.condition,
                    lambda get, stored: one.python(get, stored) or two.python(get, stored),
                    f"({one.text} | {two.text})",
                ),
                inner,
                inner,
            ),
            st.builds(
                lambda one: Asked(
                    ~one.condition, lambda get, stored: not one.python(get, stored), f"~({one.text})"
                ),
                inner,
            ),
        ),
        max_leaves=3,
    )


# -- the law -----------------------------------------------------------------------------------------------------------


@record
class Case:
    """A class, rows of it, and conditions on them."""

    specs: tuple[FieldSpec, ...]
    rows: tuple[dict[str, Any], ...]
    asked: tuple[Asked, ...]
    mapping: EntityMapping = field(repr=False)


numbers = count()


@st.composite
def cases(draw: st.DrawFn) -> Case:
    specs = draw(fields())
    table = Table(f"defaults-{next(numbers)}")
    entity = declared(specs, Entity, table=table, pk="ROW#{row}", sk="R")
    mapping = mapping_of(entity)
    rows = []
    for number in range(draw(st.integers(1, 4))):
        given = {one.name: draw(values(one)) for one in specs}
        one = entity(row=str(number), **given)
        key = mapping.primary_key(vars(one))
        rows.append(_thinned(draw, new_image(mapping, key, vars(one)), specs))
    asked = draw(st.lists(conditions(specs), min_size=1, max_size=4))
    return Case(specs, tuple(rows), tuple(asked), mapping)


def _spec_at(specs: tuple[FieldSpec, ...], path: Path) -> FieldSpec:
    spec = next(one for one in specs if one.name == path[0])
    return _spec_at(spec.kind, path[1:]) if len(path) > 1 else spec


def _stored_under(spec: FieldSpec, attributes: Mapping[str, AttributeValue]) -> AttributeValue | None:
    names = (spec.name, f"old_{spec.name}", f"older_{spec.name}") if spec.formerly else (spec.name,)
    return next((attributes[name] for name in names if name in attributes), None)


def by_python(case: Case, asked: Asked, row: Mapping[str, Any]) -> bool:
    entity = case.mapping.hydrate(row)

    def get(path: Path) -> Any:
        value: Any = entity
        stored: AttributeValue | None = {"M": row}
        for place, step in enumerate(path):
            if value is None:
                return NOTHING
            spec = _spec_at(case.specs, path[: place + 1])
            value = getattr(value, str(step))
            if stored is not None:
                stored = _stored_under(spec, stored["M"]) if "M" in stored else None
                is_set = spec.kind in (set[str], set[int])
                if stored is None and spec.absence == "factory" and not is_set:
                    return NOTHING
        return value

    def stored(path: Path) -> bool:
        found: AttributeValue | None = {"M": row}
        for place in range(len(path)):
            if found is None or "M" not in found:
                return False
            found = _stored_under(_spec_at(case.specs, path[: place + 1]), found["M"])
        return found is not None

    return asked.python(get, stored)


def by_engine(transport: Transport, table: str, condition: Condition, *, is_moto: bool) -> set[str] | None:
    placeholders = Placeholders()
    request: dict[str, Any] = {"TableName": table, "FilterExpression": render(condition, placeholders)}
    request["ExpressionAttributeNames"] = placeholders.names
    if placeholders.values:
        request["ExpressionAttributeValues"] = placeholders.values
    text, null = request["FilterExpression"], {"NULL": True}
    if is_moto and (null in placeholders.values.values() or re.search(r"size\(|[=<>] #", text)):
        return None
    return {item["PK"]["S"] for item in transport.call(Call("Scan", request))["Items"]}


def check(case: Case, transport: Transport | None, *, is_moto: bool = False) -> None:
    table = f"defaults-{next(numbers)}"
    if transport is not None:
        keys = [("PK", "HASH"), ("SK", "RANGE")]
        transport.call(
            Call(
                "CreateTable",
                {
                    "TableName": table,
                    "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
                    "AttributeDefinitions": [
                        {"AttributeName": name, "AttributeType": "S"} for name, _ in keys
                    ],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
        )
        for row in case.rows:
            transport.call(Call("PutItem", {"TableName": table, "Item": row}))
    for asked in case.asked:
        condition = resolve(asked.condition, FieldResolver(case.mapping))
        expected = {row["PK"]["S"] for row in case.rows if by_python(case, asked, row)}
        here = {row["PK"]["S"] for row in case.rows if holds(condition, row)}
        assert here == expected, (asked.text, case.specs, case.rows)
        if transport is not None:
            found = by_engine(transport, table, condition, is_moto=is_moto)
            assert found in (expected, None), (asked.text, case.specs, case.rows)
    if transport is not None:
        transport.call(Call("DeleteTable", {"TableName": table}))


@pytest.fixture(scope="module")
def server(ministack_endpoint: str) -> Iterator[Transport]:
    transport = transport_to(ministack_endpoint)
    yield transport
    transport.close()


@given(cases())
@settings(max_examples=200)
def test_a_condition_means_what_python_says_of_the_loaded_entity(case: Case) -> None:
    check(case, None)


@given(case=cases())
@settings(max_examples=25)
def test_a_strict_moto_finds_what_python_finds(engine: Transport, case: Case) -> None:
    check(case, engine, is_moto=True)


@given(case=cases())
@settings(max_examples=15)
def test_ministack_finds_what_python_finds(server: Transport, case: Case) -> None:
    check(case, server)


# -- what users see ----------------------------------------------------------------------------------------------------

app = Table("defaults")


class Limits(BaseModel):
    quota: int = 50
    label: str | None = None


class Folder(Entity, table=app, pk="FOLDER#{name}", sk="F"):
    name: str
    files: int = 0
    quota: int = 50
    opt: int | None = 5
    tags: set[str] = set()  # noqa: RUF012
    marks: set[str] | None = None
    steps: list[int] = [1, 2]  # noqa: RUF012
    counts: dict[str, int] = {}  # noqa: RUF012
    limits: Limits = Limits()
    bound: Limits | None = None
    made: list[int] = Field(default_factory=lambda: [7])


BARE: Final = Key(Folder, name="bare")


@pytest.fixture
def session(server: Transport) -> Iterator[Session]:
    """A session whose table holds one folder, with no attribute but its name."""
    with Session(transport=server) as session:
        session.create_table(app)
        bare = {**BARE.primary_key, "_type": {"S": "Folder"}, "name": {"S": "bare"}}
        server.call(Call("PutItem", {"TableName": "defaults", "Item": bare}))
        yield session


def stored(server: Transport, name: str) -> AttributeValue | None:
    item = server.call(Call("GetItem", {"TableName": "defaults", "Key": BARE.primary_key}))["Item"]
    return value_at(item, (name,))


FOUND: Final = [
    F.files == 0,
    F.files < 5,
    ~(F.files != 0),
    F.quota.between(40, 60),
    F.quota.is_in([1, 50]),
    F.opt == 5,
    F.tags == frozenset(),
    F.tags.size() == 0,
    ~F.tags.contains("a"),
    F.marks == None,  # noqa: E711
    F.steps.contains(2),
    F.counts.size() < 1,
    F.limits.quota == 50,
    F.limits.label == None,  # noqa: E711
    F.quota == F.limits.quota,
    F.quota.missing(),
    F.made.missing(),
    ~(F.made.size() == 1),
]
PASSED_OVER: Final = [
    F.files != 0,
    F.files > 0,
    F.files.is_in([]),
    F.opt == None,  # noqa: E711
    F.tags != set(),
    F.marks != None,  # noqa: E711
    F.marks == {"a"},
    F.bound.quota == 50,
    F.quota.exists(),
    F.made == [7],
    F.made.contains(7),
]


@pytest.mark.parametrize("condition", FOUND, ids=repr)
def test_a_filter_and_a_check_accept_what_absence_means(session: Session, condition: Condition) -> None:
    assert [one.name for one in session.scan(Folder).filter(condition).all()] == ["bare"]
    with session.transaction() as tx:
        tx.check(BARE, condition)


@pytest.mark.parametrize("condition", PASSED_OVER, ids=repr)
def test_a_filter_and_a_check_refuse_what_absence_does_not_mean(
    session: Session, condition: Condition
) -> None:
    assert session.scan(Folder).filter(condition).all() == []
    with pytest.raises(ConditionFailed), session.transaction() as tx:
        tx.check(BARE, condition)


def test_what_dynaorm_saves_is_found_by_its_defaults(session: Session) -> None:
    session.save(Folder(name="saved"))
    for condition in [*FOUND[:15], F.made == [7], F.made.size() == 1]:
        assert "saved" in {one.name for one in session.scan(Folder).filter(condition).all()}, condition
    session.delete(Key(Folder, name="saved"))


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        (F.files.add(1), "files", {"N": "1"}),
        (F.quota.add(10), "quota", {"N": "60"}),
        (F.quota.add(-50), "quota", {"N": "0"}),
        (F.opt.add(1), "opt", {"N": "6"}),
        (F.tags.add({"a"}), "tags", {"SS": ["a"]}),
        (F.tags.discard("a"), "tags", None),
        (F.steps.append(3), "steps", {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}),
        (F.steps.prepend(0), "steps", {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}),
        (F.steps[0].set(9), "steps", {"L": [{"N": "9"}, {"N": "2"}]}),
        (F.counts["k"].set(1), "counts", {"M": {"k": {"N": "1"}}}),
        (F.counts["k"].add(1), "counts", {"M": {"k": {"N": "1"}}}),
        (F.limits.quota.set(1), "limits", {"M": {"quota": {"N": "1"}}}),
        (F.limits.quota.add(1), "limits", {"M": {"quota": {"N": "51"}}}),
    ],
    ids=repr,
)
def test_a_change_starts_from_what_absence_means(
    session: Session, server: Transport, change: Change, name: str, expected: AttributeValue | None
) -> None:
    session.update(BARE, change)
    found = stored(server, name)
    if found is not None and "M" in found:
        found = {"M": {member: value for member, value in found["M"].items() if member != "label"}}
    assert found == expected


def test_a_change_inside_of_a_stored_map_is_one_request(session: Session) -> None:
    session.update(BARE, F.counts["k"].set(1))
    changed = session.update(BARE, F.counts["k"].add(1))
    assert changed.counts == {"k": 2}
    with session.transaction() as tx:
        tx.update(BARE, F.counts["j"].add(1))
    assert session.get_one(Folder, name="bare").counts == {"k": 2, "j": 1}


def test_a_transaction_changes_a_part_of_an_absent_map(session: Session, server: Transport) -> None:
    with session.transaction() as tx:
        tx.update(BARE, F.counts["k"].add(1))
        tx.save(Folder(name="other"))
    assert stored(server, "counts") == {"M": {"k": {"N": "1"}}}
    session.delete(Key(Folder, name="other"))


def test_a_part_of_nothing_is_not_changed(session: Session) -> None:
    with pytest.raises(UsageError, match="Folder cannot be changed so: the path leads through 'bound'"):
        session.update(BARE, F.bound.quota.set(1))
