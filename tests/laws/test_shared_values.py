"""A constraint that two classes share: its values are unique among the live entities of both, whatever else they are.

The classes are in one table, or in two that have one guard table. One of them may have got the constraint later, with
``backfill``. A model says which writes are refused, and which entity a value finds.
"""

import os
import types
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, ExpiresAt, F, Key, Session, Table, Unique, tools
from dynaorm.errors import AlreadyExists, UniqueViolation
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.laws.mixed_classes import LATER, NOON, YESTERDAY, Pick, Values

Place: TypeAlias = tuple[int, str, int]
"""The number of a class, and the values of the key."""

SMALL: Final = 3


class Shared(NamedTuple):
    """What two classes declare. ``versioned`` and ``expires`` name those that are and do."""

    tables: int
    is_apart: bool
    kind: str | None
    revision: str | None
    unique: Mapping[str, Any]
    versioned: frozenset[int]
    expires: frozenset[int]


def shared_of(pick: Pick) -> Shared:
    unique: dict[str, Any] = {}
    unique |= {"normalize": str.casefold} if pick((False, True)) else {}
    unique |= {"when": F.n < SMALL} if pick((False, True)) else {}
    unique |= {"scope": ("group",)} if pick((False, True)) else {}
    is_apart = pick((False, True))
    versioned = frozenset(one for one in (0, 1) if pick((False, False, True)))
    expires = frozenset(one for one in (0, 1) if one not in versioned and pick((False, True)))
    kind, revision = pick(("_type", None)), pick(("_rev", None))
    return Shared(pick((1, 2)) if is_apart else 1, is_apart, kind, revision, unique, versioned, expires)


def declare(shared: Shared, *, both: bool) -> list[Any]:
    """The two classes; the second one without the constraint, unless both have it."""
    guards = Table("shared-guards", type_attribute=None, revision_attribute=None) if shared.is_apart else None
    more: dict[str, Any] = {"type_attribute": shared.kind, "revision_attribute": shared.revision}
    tables = [Table(f"shared-{number}", guard_table=guards, **more) for number in range(shared.tables)]
    found = []
    for number, name in enumerate(("A", "B")):
        mail: Any = str | None
        if both or number == 0:
            mail = Annotated[str | None, Unique("mail", shared=True, **shared.unique)]
        annotations: dict[str, Any] = {"group": str, "k": int, "n": int, "mail": mail}
        space: dict[str, Any] = {"__annotations__": annotations, "__module__": __name__, "n": 0, "mail": None}
        if number in shared.expires:
            annotations["until"] = Annotated[datetime | None, ExpiresAt()]
            space["until"] = None
        keywords: dict[str, Any] = {"table": tables[number % shared.tables], "pk": f"{name}#{{group}}"}
        keywords |= {"sk": f"{name}#{{k:02d}}"} | ({"versioned": True} if number in shared.versioned else {})
        found.append(
            types.new_class(name, (Entity,), keywords, lambda own, space=space: own.update(space))  # type: ignore[misc]
        )
    return found


def is_live(values: Values) -> bool:
    until = values.get("until")
    return until is None or until > NOON


class World:
    """The two classes, and the values of their entities as a model knows them."""

    def __init__(self, engine: Transport, pick: Pick) -> None:
        self.pick, self.shared, self.both = pick, shared_of(pick), pick((True, True, False))
        self.classes = declare(self.shared, both=self.both)
        self.session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
        self.known: dict[Place, Values] = {}
        self.log: list[str] = [repr(self.shared), f"both {self.both}"]

    @property
    def tables(self) -> list[Table]:
        return list(dict.fromkeys(one.__dynaorm_mapping__.table for one in self.classes))

    def claim(self, place: Place, values: Values) -> Any:
        """The value that an entity holds; None for none."""
        unique = self.shared.unique
        is_held = self.both or place[0] == 0
        if not is_held or values["mail"] is None or ("when" in unique and values["n"] >= SMALL):
            return None
        mail = values["mail"].casefold() if "normalize" in unique else values["mail"]
        return (place[1], mail) if "scope" in unique else mail

    def holders(self) -> dict[Any, list[Place]]:
        found: dict[Any, list[Place]] = {}
        for place, values in self.known.items():
            if is_live(values) and (claim := self.claim(place, values)) is not None:
                found.setdefault(claim, []).append(place)
        return found

    def key(self, place: Place) -> Key[Any]:
        return Key(self.classes[place[0]], group=place[1], k=place[2])

    def write(self) -> None:
        place = (self.pick((0, 1)), self.pick(("p", "q")), self.pick((1, 2)))
        values: Values = {"n": self.pick((0, 1, 5)), "mail": self.pick(("x", "X", "y", None))}
        if place[0] in self.shared.expires:
            values["until"] = self.pick((None, None, LATER, YESTERDAY))
        stood = self.known.get(place)
        is_there = stood is not None and is_live(stood)
        verb = self.pick(("insert", "update", "save", "delete") if is_there else ("insert",))
        others = [one for one in self.holders().get(self.claim(place, values), []) if one != place]
        self.log.append(f"{verb} {place} {values}")
        owners = None
        try:
            self._do(verb, place, values)
        except AlreadyExists:
            assert is_there
            return
        except UniqueViolation as error:
            owners = [one.owner for one in error.violations]
        is_refused = verb != "delete" and bool(others)
        assert owners == ([self.key(one) for one in others] if is_refused else None)
        if is_refused:
            return
        assert verb != "insert" or not is_there
        self.known.pop(place, None)
        self.known |= {} if verb == "delete" else {place: values}

    def _do(self, verb: str, place: Place, values: Values) -> None:
        key = self.key(place)
        if verb == "insert":
            self.session.save(self.classes[place[0]](group=place[1], k=place[2], **values))
        elif verb == "update":
            self.session.update(key, values)
        elif verb == "delete":
            self.session.delete(self.pick((key, self.session.get_one(key, consistent=True))))
        else:
            found = self.session.get_one(key, consistent=True)
            for name, value in values.items():
                setattr(found, name, value)
            self.session.save(found)

    def check(self) -> None:
        """Every value finds the one entity that holds it, by its class alone."""
        assert list(tools.verify(self.session, *self.tables)) == []
        assert [one for kind in self.classes for one in tools.verify(self.session, kind)] == []
        for place in (one for places in self.holders().values() for one in places):
            asked = {"mail": self.known[place]["mail"]}
            asked |= {"group": place[1]} if "scope" in self.shared.unique else {}
            own, other = (self.classes[place[0]], self.classes[1 - place[0]])
            found = self.session.get_by(own, **asked)
            assert found is not None
            assert (found.group, found.k) == place[1:]
            assert not self.both or self.session.get_by(other, **asked) is None


def share_later(world: World) -> bool:
    """Let the second class have the constraint, too. Returns whether no value is held twice."""
    world.classes, world.both = declare(world.shared, both=True), True
    list(tools.backfill(world.session, *world.tables))
    twice = [one for one in world.holders().values() if len(one) > 1]
    found = list(tools.verify(world.session, *world.tables))
    assert [one.kind for one in found] == [FindingKind.DUPLICATE] * len(twice)
    return not twice


def program(engine: Transport, pick: Pick) -> None:
    world = World(engine, pick)
    try:
        for table in world.tables:
            world.session.create_table(table)
        for _ in range(10):
            world.write()
        world.check()
        if not world.both and share_later(world):
            for _ in range(5):
                world.write()
            world.check()
    except BaseException as error:
        error.add_note("\n".join(world.log))
        raise
    finally:
        for name in engine.call(Call("ListTables", {}))["TableNames"]:
            engine.call(Call("DeleteTable", {"TableName": name}))


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20")))
@given(data=st.data())
def test_a_shared_value_has_one_holder_among_both_classes(engine: Transport, data: st.DataObject) -> None:
    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    program(engine, pick)
