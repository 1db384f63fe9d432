"""Two versions of a service that write entities of one table, and a model of what they have acknowledged."""

import copy
from collections.abc import Callable, Iterator, Mapping
from random import Random
from threading import Lock
from typing import Any, Final

from dynaorm import F, Key, Retry, Session
from dynaorm.errors import AlreadyExists, UniqueViolation
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Reply, Transport
from tests.laws.changed_classes import Earlier, earlier, make_earlier
from tests.laws.mixed_classes import (
    GUARDS,
    LATER,
    NOON,
    TABLE,
    YESTERDAY,
    Info,
    Pick,
    Values,
    groups_of,
    make,
    spec_of,
    value_of,
)
from tests.laws.mixed_items import Expected, cut
from tests.laws.mixed_world import Place, place_of, raw_items

KEPT: Final = ("created", "changed", "created_ms", "changed_iso")
UNIQUE: Final = ("text", "nick", "slug", "mail", "tag")
DEFAULTS: Final[Mapping[str, Any]] = {
    **dict.fromkeys((*UNIQUE, "extra", "note", "until")),
    "shard": 1, "num": 0, "state": "open", "info": Info(), "at": NOON, "tags": set(), "doc": {},
}  # fmt: skip
OLD, NEW = "old", "new"


class Killed(BaseException):
    """The process of a tool has ended."""


class Line:
    """What a tool sends by: other programs write before some of its requests, and it may end at one of them.

    Attributes:
        last: the number of the request at which the tool ends; 0 if it does not.
        is_sent: that request is still sent.
        moments: the requests before which ``meanwhile`` is called, by their numbers since the beginning.
    """

    def __init__(self, inner: Transport, meanwhile: Callable[[], object]) -> None:
        self._inner, self._meanwhile = inner, meanwhile
        self.last, self.is_sent = 0, False
        self.moments: frozenset[int] = frozenset()
        self._all = self._own = 0

    def live(self, last: int = 0, *, is_sent: bool = False) -> None:
        """Let the tool begin again, and say when it ends."""
        self._own, self.last, self.is_sent = 0, last, is_sent

    def call(self, call: Call, /) -> Reply:
        self._all, self._own = self._all + 1, self._own + 1
        is_last = self._own == self.last
        if self._all in self.moments:
            self._meanwhile()
        if is_last and not self.is_sent:
            raise Killed
        reply = self._inner.call(call)
        if is_last:
            raise Killed
        return reply


class ChangedWorld:
    """A table whose class changes, and what is known of its entities: their class and values by their places."""

    def __init__(self, engine: Transport, pick: Pick) -> None:
        self.engine, self.pick = engine, pick
        self.spec = spec_of(pick)
        self.was: Earlier = earlier(self.spec, pick)
        self.classes = {OLD: make_earlier(self.was), NEW: make(self.spec, defaults=dict(self.was.defaults))}
        named: dict[str, Any] = {"clock": FakeClock(NOON.timestamp()), "retry": Retry(attempts=4)}
        self.session = Session(transport=engine, **named)
        self.line = Line(engine, self._meanwhile)
        self._chance, self._lock = Random(pick(range(100))), Lock()
        self.tool = Session(transport=self.line, **named)
        self.known: dict[Place, tuple[str, Values]] = {}
        self.expired: set[Place] = set()
        self.defaults = {**DEFAULTS, **dict(self.was.defaults)}
        self.log: list[str] = [repr(self.spec), repr(self.was)]
        self._bare = Expected(self.spec._replace(versioned=""))

    @property
    def becomes_versioned(self) -> bool:
        """The new class does not find an entity before it has moved to its new key."""
        return bool(self.spec.versioned) and not self.was.spec.versioned

    def writer(self) -> str:
        """Which version writes. The old one has gone where it cannot read what the new one writes."""
        was = self.was.spec
        changes = ("revision", "guards", "in_key")
        is_gone = (
            self.becomes_versioned
            or was.formerly == "was"
            or any(getattr(was, name) != getattr(self.spec, name) for name in changes)
        )
        return NEW if is_gone else self.pick((OLD, NEW))

    def _meanwhile(self) -> None:
        """A write that comes between. Requests may be sent in other threads, where nothing is drawn for an example."""
        with self._lock:
            self.pick, drawn = self._chance.choice, self.pick
            self.write(self.writer())
            self.pick = drawn

    def create(self) -> None:
        """Make the table as it was, and that of the totals."""
        for one in (*self.classes[OLD].tables, *self.classes[NEW].tables[1:]):
            if one.name != GUARDS:  # it is made with its table
                self.session.create_table(one)

    def drop(self) -> None:
        for name in self.engine.call(Call("ListTables", {}))["TableNames"]:
            self.engine.call(Call("DeleteTable", {"TableName": name}))

    def raw(self) -> Any:
        return raw_items(self.engine, self.classes[NEW])

    # -- writes --------------------------------------------------------------------------------------------------------

    def write(self, version: str) -> None:
        """One version of the service writes something, and the model knows it. What a value is refused for, is well."""
        places = [
            one for one, (kind, _) in sorted(self.known.items()) if self._model(version, kind) is not None
        ]
        verb = self.pick((self._insert, self._update, self._save, self._delete))
        try:
            if verb == self._insert or not places:
                self._insert(version, "")
            else:
                verb(version, self.pick(places))
        except UniqueViolation:
            self.log.append("  a value is taken")

    def key(self, place: Place, version: str = NEW) -> Key[Any]:
        kind, values = self.known[place]
        found: Values = {"group": values["group"]}
        found |= {"blob": values["blob"]} if self.spec.sort == "B" else {"n": values["n"]}
        found |= {"shard": values["shard"]} if self.spec.key == "one of" else {}
        found |= {"info.city": values["info"].city} if self.spec.key == "nested" else {}
        return Key(self._model(version, kind), **found)

    def _model(self, version: str, kind: str) -> Any:
        found = self.classes[version]
        return found.thing if kind == "Thing" else found.special

    def _insert(self, version: str, _: Place) -> None:
        kinds = (
            ("Thing", "Special")
            if all(one.special for one in self.classes.values()) or (version == NEW and self.spec.subclass)
            else ("Thing",)
        )
        kind, n, spec = self.pick(kinds), self.pick((1, 2, 3)), self.classes[version].spec
        model = self._model(version, kind)
        values: Values = {
            "group": self.pick(groups_of(self.spec)),
            "n": n,
            "blob": bytes([n]) if spec.sort == "B" else b"z",
        }
        values |= {
            name: self._value(version, name) for name in model.model_fields if name not in {*values, *KEPT}
        }
        place = place_of(self._bare.key({**self.defaults, **values}))
        if place in self.known:
            return
        self.log.append(f"  {version} inserts {kind} {values}")
        try:
            self.session.save(model(**copy.deepcopy(values)))
        except AlreadyExists:
            if place not in self.expired:  # an old writer does not know that it has expired
                raise
            return
        self._keep(version, place, kind, {**self.defaults, **values})

    def _changes(self, version: str, place: Place) -> Values:
        of_key = {"one of": "shard", "nested": "info"}.get(self.spec.key)
        kind, _ = self.known[place]
        fixed = {"group", "n", "blob", of_key, *KEPT}
        names = [name for name in self._model(version, kind).model_fields if name not in fixed]
        return {
            name: self._value(version, name)
            for name in {self.pick(names) for _ in range(self.pick((1, 2, 3)))}
        }

    def _found(self, version: str, place: Place) -> Any:
        """The entity at a place, which only an entity that has not moved may not be."""
        found = self.session.get(self.key(place, version))
        assert found is not None or (self.becomes_versioned and version == NEW), ("lost", place)
        return found

    def _update(self, version: str, place: Place) -> None:
        changes = self._changes(version, place)
        if self._found(version, place) is not None:
            self.log.append(f"  {version} updates {place} {changes}")
            given = [F[name].set(copy.deepcopy(value)) for name, value in changes.items()]
            self.session.update(self.key(place, version), *given)
            self._keep(version, place, self.known[place][0], {**self.known[place][1], **changes})

    def _save(self, version: str, place: Place) -> None:
        changes = self._changes(version, place)
        if (found := self._found(version, place)) is not None:
            self.log.append(f"  {version} saves {place} {changes}")
            for name, value in changes.items():
                setattr(found, name, copy.deepcopy(value))
            self.session.save(found)
            self._keep(version, place, self.known[place][0], {**self.known[place][1], **changes})

    def _delete(self, version: str, place: Place) -> None:
        if self._found(version, place) is not None:
            self.log.append(f"  {version} deletes {place}")
            self.session.delete(self.key(place, version))
            del self.known[place]

    def _value(self, version: str, name: str) -> Any:
        if name == "until":
            return self.pick((None, None, LATER, YESTERDAY))
        return value_of(self.classes[version].spec, name, self.pick)

    def _keep(self, version: str, place: Place, kind: str, values: Values) -> None:
        """Know an entity as it was written."""
        spec, found = self.classes[version].spec, dict(values)
        found["at"] = cut(found["at"], spec.codec)
        if found["info"].seen is not None:
            found["info"] = found["info"].model_copy(update={"seen": cut(found["info"].seen, "iso")})
        if found["until"] is not None and spec.expires:
            found["until"] = cut(found["until"], spec.expires)
        self.known.pop(place, None)
        if spec.expires and found["until"] == YESTERDAY:
            self.expired.add(place)
        else:
            self.known[place] = kind, found

    # -- what must be stored -------------------------------------------------------------------------------------------

    def claims(self) -> dict[str, list[Place]]:
        """Who holds each unique value, by the partition key of its guard item."""
        found: dict[str, list[Place]] = {}
        for place, (_, values) in sorted(self.known.items()):
            for claim in {claim for claim, _ in Expected(self.spec).claims(values)}:
                found.setdefault(claim, []).append(place)
        return found

    def check_entities(self) -> None:
        """Nothing that was acknowledged is lost, and nothing else is there."""
        for place, (kind, values) in self.known.items():
            found = self.session.get_one(self.key(place), consistent=True)
            assert type(found).__name__ == kind
            stored = {name: value for name, value in vars(found).items() if name not in KEPT}
            # What moves to its new key is stored as it loads.
            exact = (
                values["at"]
                if stored["at"] == values["at"] or not self.becomes_versioned
                else cut(values["at"], self.spec.codec)
            )
            wanted = {"kind": "x", "more": 0, **values, "at": exact}
            names = {name for name in stored if stored[name] != wanted[name]}
            assert not names, (place, {name: (stored[name], wanted[name]) for name in names})
        assert len(self.session.scan(self.classes[NEW].thing).all()) == len(self.known)

    def check_items(self) -> None:
        """Index keys, guard items and totals are those of the entities."""
        raw, expected = self.raw(), Expected(self.spec)
        for _, values in self.known.values():
            item = raw[TABLE][place_of(expected.key(values))]
            # The time of a change is not known here.
            keys = expected.index_keys({**values, "changed": None})
            assert {name: item.get(name) for name in keys} == keys
        guards = {one["PK"]["S"]: one for items in raw.values() for one in items.values() if "owner" in one}
        for claim, (place, *more) in self.claims().items():
            owner = dict(guards[claim]["owner"]["M"])
            owner.pop("table", None)
            assert not more
            assert owner == expected.key(self.known[place][1])
        if self.classes[NEW].total is not None:
            assert {
                one.of: (one.things, one.sum)
                for one in self.session.scan(self.classes[NEW].total)
                if one.things
            } == dict(self._totals())

    def _totals(self) -> Iterator[tuple[str, tuple[int, int]]]:
        counted = [one for _, one in self.known.values() if Expected(self.spec).is_counted(one)]
        for state in {one["state"] for one in counted}:
            numbers = [one["num"] for one in counted if one["state"] == state]
            yield state, (len(numbers), sum(numbers))
