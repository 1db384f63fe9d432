"""Law 1 for writes by key: what depends on a changed field is that of the entity that loads, whoever looks at it.

Random classes have validators that look at other fields, factories that take them, rules of the class, computed fields,
``normalize`` and ``when``. Plain Python judges: after every acknowledged write, the stored item loads as constructing
the entity from the same values gives; guards, index keys, versions and totals are those of the loaded values; what no
class knows is still there; and nothing was made up that was not stored before.
"""

import os
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.errors import DynaormError, InvalidValue, UniqueViolation
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.laws.dependent_classes import INDEXES, NAME, SPECS, Home, Spec, claim_of, label_of, make
from tests.laws.test_writes import exact, plain
from tests.laws.ways import WAYS

IDS: Final = ("1", "2", "3")
GEO: Final = {"S": "of another program"}


@pytest.fixture(scope="module")
def with_table(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Table(NAME, indexes=INDEXES))
    return engine


def own(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values without the times that the session keeps."""
    return {name: value for name, value in values.items() if name not in ("created", "changed")}


def constructed(kind: type[Entity], values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values that a write of these must store; None if it must be refused."""
    try:
        return own(vars(kind(**plain(dict(values)))))
    except ValidationError:
        return None


class World:
    """A class, its stored entities, some of them written by others, and what is checked after each write."""

    def __init__(self, spec: Spec, engine: Transport, draw: Any) -> None:
        self.spec, self.kind, self.engine, self.draw = spec, make(spec), engine, draw
        self.clock = FakeClock()
        self.session = Session(transport=engine, clock=self.clock)
        for item in self.raw():
            self.delete(item)
        for number, name in enumerate(IDS[:2]):
            given = {"slug": f"s{name}"} if spec.slug == "own" else {}
            drawn: Any = self.kind
            self.session.save(drawn(id=name, title="ab"[number], start=number, **given))
            self.age(name)
        self.check_derived()

    def raw(self) -> list[Item]:
        found = self.engine.call(Call("Scan", {"TableName": NAME, "ConsistentRead": True}))["Items"]
        return sorted(found, key=repr)

    def main(self, name: str) -> Item | None:
        key = {"PK": {"S": f"DOC#{name}"}, "SK": {"S": "v0_D" if self.spec.versioned else "D"}}
        found: Item | None = self.engine.call(
            Call("GetItem", {"TableName": NAME, "Key": key, "ConsistentRead": True})
        ).get("Item")
        return found

    def delete(self, item: Item) -> None:
        key = {name: item[name] for name in ("PK", "SK")}
        self.engine.call(Call("DeleteItem", {"TableName": NAME, "Key": key}))

    def age(self, name: str) -> None:
        """Make an item as an older program or another one writes it: with more than the class has, and with less."""
        item: dict[str, Any] = dict(self.main(name) or {})
        item["other"] = GEO
        for attribute in ("created", "mark", "note"):
            if self.draw(st.booleans()):
                item.pop(attribute, None)
        derived = self.spec.derived or self.spec.label or self.spec.counted or self.spec.versioned
        if self.spec.slug == "factory" and not derived:
            item.pop("slug")
        geo = {"M": {"city": {"S": "oslo"}, "geo": GEO}}
        if self.draw(st.booleans()):
            item["home"] = {"list": {"L": [geo]}, "dict": {"M": {"k": geo}}}.get(self.spec.home, geo)
        self.engine.call(Call("PutItem", {"TableName": NAME, "Item": item}))

    def loaded(self) -> dict[str, Any]:
        found: list[Any] = self.session.scan(self.kind).all()
        return {one.id: one for one in found}

    # -- what must hold ------------------------------------------------------------------------------------------------

    def check_derived(self) -> None:
        """Guards, index keys, versions and totals are those of the values that load."""
        items, loaded = self.raw(), self.loaded()
        mains = {name: main for name in IDS if (main := self.main(name)) is not None}
        assert loaded.keys() == mains.keys()
        claims = {
            f"slug#{claim}" for one in loaded.values() if (claim := claim_of(self.spec, one)) is not None
        }
        if self.spec.label == "unique":
            claims |= {f"label#{label_of(one)}" for one in loaded.values()}
        guards = {str(one["PK"]["S"]): one for one in items if "owner" in one}
        assert guards.keys() == claims
        for name, one in loaded.items():
            main = mains[name]
            if "index" in self.spec.derived:
                assert main["GSI1PK"] == {"S": f"SLUG#{one.slug}"}
            if self.spec.label == "index":
                assert main["GSI2PK"]["S"].replace("%2B", "+") == f"LABEL#{label_of(one)}"
            held = [claim for claim in (claim_of(self.spec, one),) if claim is not None]
            for claim in held:
                guard = guards[f"slug#{claim}"]
                assert guard["owner"]["M"] == {part: main[part] for part in ("PK", "SK")}
                assert guard.get("until") == main.get("until")
            if self.spec.versioned:
                (version,) = [
                    one
                    for one in items
                    if one["PK"] == main["PK"] and one["SK"] == {"S": f"v{main['version']['N']}_D"}
                ]
                assert version.get("slug") == main.get("slug")
        if self.spec.counted:
            counts: Counter[str] = Counter(one.slug for one in loaded.values())
            totals = {
                str(one["slug"]["S"]): int(one["docs"]["N"])
                for one in items
                if str(one["PK"]["S"]).startswith("TOTAL#") and int(one.get("docs", {"N": 0})["N"])
            }
            assert totals == counts

    def check_kept(self, name: str, before: Item, changed: set[str]) -> None:
        """What no class knows is as it was, and what was not stored was not made up."""
        after = self.main(name)
        assert after is not None
        assert after["other"] == before["other"]
        if "home" not in changed or repr(after.get("home", {})).count("city") >= repr(
            before.get("home", {})
        ).count("city"):
            assert repr(after.get("home")).count("geo") == repr(before.get("home")).count("geo")
        for attribute in {"created", "mark"} - changed:
            assert after.get(attribute) == before.get(attribute)


# -- changes -----------------------------------------------------------------------------------------------------------

VALUES: Final[Mapping[str, tuple[Any, ...]]] = {
    "title": ("a", "b", "B", "c"), "number": (0, 1, 5, -1), "slug": ("a-0", "x", ""), "start": (0, 1, 3, 7),
    "end": (2, 5, 9), "note": ("n", None), "tags": ({"t"}, set()), "lines": (["l"], []), "mark": ("k",),
}  # fmt: skip


def home_of(spec: Spec, city: str) -> Any:
    home = Home(city=city)
    return {"list": [home], "dict": {"k": home}}.get(spec.home, home)


def home_change(spec: Spec, entity: Any, draw: Any) -> tuple[Any, str, Any]:
    """A change of the nested value or of a part of it."""
    city, held = draw(st.sampled_from(["bern", "lima"])), entity.home
    if not held or draw(st.booleans()):
        value = home_of(spec, city)
        return F.home.set(value), "home", value
    part = {"list": F.home[0], "dict": F.home["k"]}.get(spec.home, F.home)
    after = deepcopy(held)
    inner = after[0] if spec.home == "list" else after["k"] if spec.home == "dict" else after
    inner.city = city
    return part.city.set(city), "home", after


def change_for(spec: Spec, entity: Any, draw: Any) -> tuple[Any, str, Any]:
    """A change, the field that it names, and the value that it makes of the loaded one."""
    kind = draw(st.sampled_from(["set"] * 6 + ["add", "remove", "missing", "append", "tags", "home", "home"]))
    if kind == "home":
        return home_change(spec, entity, draw)
    if kind == "add":
        name, by = draw(st.sampled_from(["number", "start", "end"])), draw(st.sampled_from([1, 3, -1]))
        return F[name].add(by), name, vars(entity)[name] + by
    if kind == "remove":
        name = draw(st.sampled_from(["title", "number", "slug", "start", "note", "mark"]))
        return F[name].remove(), name, ...
    if kind == "append":
        return F.lines.append("m"), "lines", [*entity.lines, "m"]
    if kind == "tags":
        if draw(st.booleans()):
            return F.tags.discard("t"), "tags", entity.tags - {"t"}
        return F.tags.add({"u"}), "tags", entity.tags | {"u"}
    name = draw(st.sampled_from(["title", "start", *sorted(VALUES)]))
    value = deepcopy(draw(st.sampled_from(VALUES[name])))
    if kind == "missing" and value not in (None, -1):  # a value is refused whether it is needed or not
        return F[name].set_if_missing(value), name, ("missing", value)
    return F[name].set(value), name, value


def expected_of(world: World, entity: Any, name: str, value: Any) -> dict[str, Any] | None:
    """The values that the entity must have after the change."""
    given, stored = dict(vars(entity)), world.main(entity.id) or {}
    for one in given.keys() & {"slug"} if world.spec.slug == "factory" else ():
        if one not in stored:
            del given[one]
    if isinstance(value, tuple) and value[0] == "missing":
        value = given.get(name, ...) if name in stored else value[1]
    if value is ...:
        given.pop(name, None)
    else:
        given[name] = value
    return constructed(world.kind, given)


def one_write(world: World) -> None:
    draw, loaded = world.draw, world.loaded()
    entity = loaded[draw(st.sampled_from(sorted(loaded)))]
    change, name, value = change_for(world.spec, entity, draw)
    expected = expected_of(world, entity, name, value)
    before, item = world.raw(), dict(world.main(entity.id) or {})
    way = draw(st.sampled_from(WAYS))
    world.clock.advance(1)
    refusal: DynaormError | None = None
    try:
        returned = way(world, Key(world.kind, id=entity.id), change)
    except (InvalidValue, UniqueViolation) as error:
        refusal = error
    if refusal is not None:
        assert world.raw() == before
        # Whose value is taken already is not what the model knows.
        assert expected is None or isinstance(refusal, UniqueViolation), f"{way.__name__} {change}: {refusal}"
        return
    assert expected is not None, f"{way.__name__} of {change} was accepted"
    after = world.loaded()[entity.id]
    assert exact(own(vars(after))) == exact(expected)
    if returned is not None:
        assert exact(vars(returned)) == exact(vars(after))
    world.check_derived()
    world.check_kept(entity.id, item, {name})


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "50")))
@given(spec=SPECS, data=st.data())
def test_what_depends_on_a_changed_field_is_that_of_what_loads(
    spec: Spec, data: st.DataObject, with_table: Transport
) -> None:
    world = World(spec, with_table, data.draw)
    for _ in range(data.draw(st.integers(1, 4))):
        one_write(world)
