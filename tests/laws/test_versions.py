"""A version that is read by its number or by a time is what was stored then, whatever has been written since."""

import os
import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from dynaorm import Entity, F, Key, Session, Table, detached, inspect
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.laws.classes import NOON


class Place(BaseModel):
    city: str = "x"
    zip: str | None = None


VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "text": st.sampled_from(["", "a", "é"]),
    "number": st.sampled_from([0, 7, -1]),
    "tags": st.frozensets(st.sampled_from("ab"), max_size=2).map(set),
    "maybe": st.sampled_from([None, 5]),
    "place": st.builds(Place, city=st.sampled_from("xy"), zip=st.sampled_from([None, "1"])),
}
ANNOTATIONS: Mapping[str, Any] = {
    "text": str,
    "number": int,
    "tags": set[str],
    "maybe": int | None,
    "place": Place,
}
_numbers = count()


@st.composite
def versioned_classes(draw: st.DrawFn) -> type[Entity]:
    """A versioned class, or a subclass of one."""
    table = Table(
        f"versions-{next(_numbers)}",
        type_attribute=(has_type := draw(st.sampled_from(["_type", "_type", None]))),
        revision_attribute=draw(st.sampled_from(["_rev", None])),
    )
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True))
    keywords = {
        "table": table,
        "pk": "DOCUMENT#{name}",
        "sk": draw(st.sampled_from(["D", "PART#{part}", "{part}#D"])),
        "versioned": draw(st.sampled_from([True, "v{version}_{sk}", "{sk}#v{version}"])),
        "version_padding": draw(st.sampled_from([0, 4])),
    }
    space = {
        "__annotations__": {"name": str, "part": str, **{name: ANNOTATIONS[name] for name in names}},
        "__module__": __name__,
        "maybe": None,
    }
    space = {
        name: value for name, value in space.items() if name in ("__annotations__", "__module__", *names)
    }
    made: type[Entity] = types.new_class("Document", (Entity,), keywords, lambda own: own.update(space))
    if has_type is None or draw(st.booleans()):
        return made
    more = {"__annotations__": {"more": str}, "more": "m", "__module__": __name__}
    return types.new_class("Letter", (made,), {}, lambda own: own.update(more))


@dataclass(slots=True)
class Written:
    """What became of a document at one time: a version, or None for its deletion."""

    at: float
    number: int | None
    entity: Any


def fields_of(kind: type[Entity]) -> list[str]:
    return [name for name in VALUES if name in kind.model_fields]


def write(
    session: Session, key: Key[Any], last: Any | None, history: list[Written], data: st.DataObject
) -> Any:
    """One random write. Returns the document as it is now; None if it is deleted."""
    kind: Any = key.entity
    values = {name: data.draw(VALUES[name], label=name) for name in fields_of(kind)}
    if last is None:
        numbers = [one.number for one in history if one.number is not None]
        is_restored: bool = data.draw(st.booleans(), label="restore")
        if numbers and is_restored:
            return session.restore(key, version=data.draw(st.sampled_from(numbers), label="version"))
        return session.save(kind(name="a", part="p", **values))
    step = data.draw(st.sampled_from(["save", "save", "update", "delete", "restore"]), label="step")
    if step == "delete":
        session.delete(last)
        return None
    if step == "restore":
        number = data.draw(st.sampled_from([one.number for one in history if one.number]), label="version")
        return session.restore(last, version=number)
    if step == "update":
        name = data.draw(st.sampled_from(sorted(values)), label="field")
        return session.update(key, F[name].set(values[name]))
    return session.save(last.model_copy(update=values))


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "12")))
@given(kind=versioned_classes(), data=st.data())
def test_a_version_is_what_was_stored_then(
    engine: Transport, kind: type[Entity], data: st.DataObject
) -> None:
    clock = FakeClock(NOON.timestamp())
    session = Session(transport=engine, clock=clock)
    table = mapping_of(kind).table
    session.create_table(table)
    own = {"name": "a", "part": "p"}
    key: Key[Any] = Key(kind, **{name: own[name] for name in mapping_of(kind).key_fields})
    history: list[Written] = []
    last: Any | None = None
    for _ in range(data.draw(st.integers(1, 6), label="writes")):
        before = inspect(last).version if last is not None else None
        last = write(session, key, last, history, data)
        number = inspect(last).version if last is not None else None
        if number is None or number != before:
            history.append(Written(clock.now(), number, detached(last) if last is not None else None))
        clock.advance(data.draw(st.sampled_from([0.5, 1, 60]), label="seconds"))
    event(f"{len(history)} versions and deletions")
    check(session, key, history)
    engine.call(Call("DeleteTable", {"TableName": table.name}))


def check(session: Session, key: Key[Any], history: list[Written]) -> None:
    numbers = [one.number for one in history if one.number is not None]
    assert numbers == sorted(set(numbers))
    assert session.get(key) == history[-1].entity
    for one in history:
        if one.number is not None:
            assert session.get(key, version=one.number) == one.entity
    assert session.get(key, version=max(numbers, default=0) + 1) is None
    assert [(one.number, one.entity) for one in session.history(key)] == [
        (one.number, one.entity) for one in reversed(history) if one.number is not None
    ]
    for seconds in {one.at + step for one in history for step in (-0.25, 0, 0.25)}:
        was = [one for one in history if one.at <= seconds]
        expected = was[-1].entity if was else None
        assert session.get(key, as_of=datetime.fromtimestamp(seconds, UTC)) == expected


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "12")))
@given(fields=st.lists(st.sets(st.sampled_from(sorted(VALUES))), min_size=2, max_size=3), data=st.data())
def test_a_diff_names_every_field_and_is_the_mirror_of_its_back(
    engine: Transport, fields: list[set[str]], data: st.DataObject
) -> None:
    """The versions are of several classes of one family."""
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    base = types.new_class(
        "Base",
        (Entity,),
        {"table": Table(f"versions-{next(_numbers)}"), "pk": "DOCUMENT#{name}", "sk": "D", "versioned": True},
        lambda own: own.update({"__annotations__": {"name": str}, "__module__": __name__}),
    )
    kinds = [_with_fields(base, f"Kind{number}", names) for number, names in enumerate(fields)]
    session.create_table(mapping_of(base).table)
    key: Key[Any] = Key(base, name="a")
    stored = []
    for _ in range(data.draw(st.integers(2, 4), label="versions")):
        kind = data.draw(st.sampled_from([base, *kinds]), label="class")
        values = {name: data.draw(VALUES[name], label=name) for name in fields_of(kind)}
        stored.append({"name": "a", **values})
        session.delete(session.save(kind(name="a", **values)))
    for first, before in enumerate(stored, 1):
        for second, after in enumerate(stored, 1):
            expected = {
                name: (before.get(name), after.get(name))
                for name in before.keys() | after.keys()
                if before.get(name) != after.get(name)
            }
            assert session.diff(key, first, second) == expected
    session.delete_table(mapping_of(base).table, name=mapping_of(base).table.name)


def _with_fields(base: type[Entity], title: str, names: set[str]) -> type[Entity]:
    space = {"__annotations__": {name: ANNOTATIONS[name] for name in sorted(names)}, "__module__": __name__}
    return types.new_class(title, (base,), {}, lambda own: own.update(space))
