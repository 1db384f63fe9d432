"""Law: a dict whose members are attributes is a dict like any other.

Two classes differ only in that. Random calls of both have the same outcome, and what they store differs only in where
the members are.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Annotated, Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dynaorm import Attribute, Entity, F, Key, Session, Table, Versioned, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError
from dynaorm.flow.call import Call
from dynaorm.item.condition import Condition
from dynaorm.item.value import Item
from dynaorm.record import record
from dynaorm.testing import FakeClock
from dynaorm.transport import Transport
from tests.laws.drawn_values import KINDS, Drawn, dict_of, places

PREFIX: Final = "p."
KEPT: Final = {"S": "kept"}
"""An attribute that no class knows."""

Write = Callable[[Session, Any], Any]


@record
class Spec:
    """What the two classes have in common.

    Attributes:
        held: the type of the dict.
        required: it has no default.
        versioned: the classes keep versions.
        by_field: only a change of the dict makes a version.
        revision: the items have a revision.
        typed: the items have a type.
    """

    held: Drawn
    required: bool
    versioned: bool
    by_field: bool
    revision: bool
    typed: bool


SPECS: Final = st.builds(
    Spec,
    held=KINDS.map(dict_of),
    required=st.booleans(),
    versioned=st.booleans(),
    by_field=st.booleans(),
    revision=st.booleans(),
    typed=st.booleans(),
)
_numbers = count()


def declared(spec: Spec, prefix: str | None) -> type[Entity]:
    table = Table(
        f"twins-{next(_numbers)}",
        type_attribute="_type" if spec.typed else None,
        revision_attribute="_rev" if spec.revision or spec.versioned else None,
    )
    marks: list[Any] = [Attribute(prefix=prefix) if prefix is not None else Attribute("held")]
    marks += [Versioned()] if spec.versioned and spec.by_field else []
    kind: Any = spec.held.annotation
    for mark in marks:
        kind = Annotated[kind, mark]

    class Twin(Entity, table=table, pk="TWIN#{name}", sk="T", versioned=spec.versioned):
        name: str
        number: int = 0
        held: kind = ... if spec.required else {}

    return Twin


# -- calls -------------------------------------------------------------------------------------------------------------


def _key(kind: type[Entity]) -> Key[Any]:
    return Key(kind, name="a")


@record
class Said:
    """What is said of a member: an operator, and a value."""

    steps: tuple[Any, ...]
    operator: str
    value: Any

    def __call__(self) -> Any:
        path: Any = F.held
        for step in self.steps:
            path = path[step]
        return OPERATORS[self.operator](path, self.value)


OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "exists": lambda path, _: path.exists(),
    "missing": lambda path, _: path.missing(),
    "==": lambda path, value: path == value,
    "!=": lambda path, value: path != value,
    "not ==": lambda path, value: ~(path == value),
    "in": lambda path, value: path.is_in([value]),
    "set": lambda path, value: path.set(value),
    "remove": lambda path, _: path.remove(),
    "set_if_missing": lambda path, value: path.set_if_missing(value),
    "add": lambda path, value: path.add(value),
    "append": lambda path, value: path.append(value),
}
CONDITIONS: Final = ("exists", "missing", "==", "!=", "not ==", "in")
CHANGES: Final = ("set", "set", "remove", "set_if_missing", "add", "append")


@st.composite
def members(draw: st.DrawFn, spec: Spec) -> tuple[tuple[Any, ...], Drawn]:
    """A path to a member of the dict, or into one."""
    tree = draw(spec.held.right)
    return draw(st.sampled_from([one for one in places(spec.held, tree) if one[0]]))


@st.composite
def conditions(draw: st.DrawFn, spec: Spec) -> Said:
    steps, kind = draw(members(spec))
    return Said(steps, draw(st.sampled_from(CONDITIONS)), draw(kind.right))


@st.composite
def changes(draw: st.DrawFn, spec: Spec) -> Said:
    if not draw(st.integers(0, 3)):
        # An empty dict of attributes is no attribute, so there is nothing to remove, and it is missing.
        return Said((), "set", draw(spec.held.given))
    steps, kind = draw(members(spec))
    return Said(steps, draw(st.sampled_from(CHANGES)), draw(kind.given))


@st.composite
def writes(draw: st.DrawFn, spec: Spec) -> tuple[Any, Write]:
    tree, number = draw(spec.held.given), draw(st.integers(0, 2))
    change, condition = draw(changes(spec)), draw(conditions(spec))

    def new(kind: Any) -> Any:
        return kind(name="a", number=number, held=tree)

    def changed(session: Session, kind: Any) -> Any:
        one: Any = session.get_one(_key(kind))
        one.held, one.number = tree, number
        return session.save(one)

    def emptied(session: Session, kind: Any) -> Any:
        one: Any = session.get_one(_key(kind))
        one.held.pop(next(iter(one.held), ""), None)
        return session.save(one)

    def in_block(session: Session, kind: Any) -> Any:
        with session.transaction() as tx:
            tx.update(_key(kind), change(), condition=condition())

    def restored(session: Session, kind: Any) -> Any:
        return session.restore(_key(kind), version=1)

    calls: Mapping[str, Write] = {
        "insert": lambda session, kind: session.save(new(kind)),
        "overwrite": lambda session, kind: session.save(new(kind), overwrite=True),
        "change": changed,
        "empty": emptied,
        "update": lambda session, kind: session.update(_key(kind), change()),
        "update if": lambda session, kind: session.update(_key(kind), change(), condition=condition()),
        "update loaded": lambda session, kind: session.update(session.get_one(_key(kind)), change()),
        "upsert": lambda session, kind: session.upsert(_key(kind), change()),
        "block": in_block,
        "delete": lambda session, kind: session.delete(_key(kind), returning=True),
        "restore": restored,
    }
    # What a required map would be made of, nothing says; attributes need no map.
    name = draw(st.sampled_from([one for one in calls if one != "upsert" or not spec.required]))
    return (name, tree, change, condition), calls[name]


def outcome_of(work: Callable[[], Any]) -> Any:
    """What a call returns, or the type of the error that it raises."""
    try:
        found = work()
    except (DynaormError, ValidationError) as error:
        return type(error)
    return vars(found) if isinstance(found, Entity) else found


# -- the law -----------------------------------------------------------------------------------------------------------


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "12")))
@given(data=st.data())
def test_a_dict_of_attributes_is_a_dict_like_any_other(engine: Transport, data: st.DataObject) -> None:
    spec = data.draw(SPECS, label="spec")
    twins = Twins(spec, engine)
    try:
        held = data.draw(spec.held.right, label="first")
        twins.make(("first", held), lambda session, kind: session.save(kind(name="a", held=held)))
        twins.put_strangers()
        for _ in range(data.draw(st.integers(1, 6), label="calls")):
            twins.make(*data.draw(writes(spec), label="write"))
            twins.check(data.draw(conditions(spec), label="condition"))
    finally:
        twins.drop()


class Twins:
    """A class with a plain dict, and the same class with a dict of attributes."""

    def __init__(self, spec: Spec, engine: Transport) -> None:
        self.kinds = declared(spec, None), declared(spec, PREFIX)
        self.tables = [mapping_of(kind).table for kind in self.kinds]
        self.engine = engine
        self.session = Session(transport=engine, clock=FakeClock())
        for table in self.tables:
            self.session.create_table(table)

    def make(self, name: Any, write: Write) -> None:
        """Make a call of both."""
        left, right = (outcome_of(partial(write, self.session, kind)) for kind in self.kinds)
        event(f"{name[0]}: {left.__name__ if isinstance(left, type) else 'done'}")
        assert left == right, name

    def check(self, condition: Callable[[], Condition]) -> None:
        """Whatever both read is the same, and so is what they store."""
        session = self.session
        reads: list[Callable[[Any], Any]] = [
            lambda kind: session.get(_key(kind)),
            lambda kind: [vars(one) for one in session.query(kind, name="a").filter(condition())],
            lambda kind: [vars(one) for one in session.scan(kind)],
            lambda kind: [tuple(one) for one in session.query(kind, name="a").values("held", "number")],
            lambda kind: [(one.number, one.values) for one in session.history(_key(kind))],
        ]
        for read in reads:
            left, right = (outcome_of(partial(read, kind)) for kind in self.kinds)
            assert left == right
        plain, prefixed = map(self.items, self.tables)
        assert [scattered(one) for one in plain] == [_comparable(one) for one in prefixed]
        for table in self.tables:
            assert list(tools.verify(session, table)) == []

    def items(self, table: Table) -> list[Item]:
        found = self.engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]
        return sorted(found, key=lambda one: repr((one["PK"], one["SK"])))

    def put_strangers(self) -> None:
        """Give every item an attribute that no class knows."""
        for table in self.tables:
            for item in self.items(table):
                self.engine.call(
                    Call("PutItem", {"TableName": table.name, "Item": {**item, "stranger": KEPT}})
                )

    def drop(self) -> None:
        for table in self.tables:
            self.engine.call(Call("DeleteTable", {"TableName": table.name}))


def scattered(item: Item) -> dict[str, Any]:
    """An item of the plain class as one of the other class."""
    members = item.get("held", {"M": {}})["M"]
    return {**_comparable(item), **{f"{PREFIX}{name}": value for name, value in members.items()}}


def _comparable(item: Item) -> dict[str, Any]:
    """An item without what differs in each write, and without a plain dict."""
    return {name: value for name, value in item.items() if name not in ("_rev", "held")}
