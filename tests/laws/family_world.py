"""Histories of families of classes, what is stored of them, and damage to it."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

from dynaorm import Key, Session
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    EntityNotFound,
    NotVersioned,
    SameItemTwice,
    UniqueViolation,
)
from dynaorm.transport import Call, Transport
from tests.laws.classes import NOON
from tests.laws.family_classes import Classes, Pick

Item: TypeAlias = dict[str, Any]
Raw: TypeAlias = dict[tuple[str, str], Item]
"""Each stored item by its table and its key."""


def raw_items(engine: Transport, classes: Classes) -> Raw:
    found: Raw = {}
    for table in classes.tables:
        for item in engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]:
            found[table.name, place_of(item)] = item
    return found


def scopes_of(classes: Classes, pick: Pick, pairs: int) -> list[tuple[Any, ...]]:
    """Each class, each table with classes, and some pairs."""
    tables = {mapping_of(kind).table.name: mapping_of(kind).table for kind in classes.everything}
    single: list[Any] = [*classes.everything, *tables.values()]
    both = [*combinations(single, 2)]
    return [*((one,) for one in single), *(pick(both) for _ in range(pairs))]


def values_for(kind: Any, pick: Pick) -> dict[str, Any]:
    found: dict[str, Any] = {"team": pick("pq"), "note": pick(("", "n")), "mail": pick((None, "x", "y", "z"))}
    for name in kind.model_fields:
        if name.startswith("tag"):
            found[name] = pick((None, "x", "y"))
    if "until" in kind.model_fields:
        found["until"] = pick((None, NOON + timedelta(days=9)))
    return found


def family_of(kind: Any, classes: Classes) -> list[Any]:
    """The classes whose entities may be stored under the keys of a class."""
    root = mapping_of(kind).root
    return [one for one in classes.everything if mapping_of(one).root is root]


REFUSALS = (AlreadyExists, BulkError, EntityNotFound, NotVersioned, SameItemTwice, UniqueViolation)
"""What the stored items and the classes of a history can forbid. Any other error is a fault."""


class History:
    """Writes at random. What is refused is part of it."""

    made: ClassVar[Counter[str]] = Counter()
    refused: ClassVar[Counter[str]] = Counter()

    def __init__(self, session: Session, classes: Classes, pick: Pick) -> None:
        self.session, self.classes, self.pick = session, classes, pick
        for kind in classes.targets:
            for team in "pq":
                if pick((True, True, False)):
                    self.attempt(lambda kind=kind, team=team: session.save(kind(team=team)))

    def attempt(self, write: Any) -> Any:
        verb = write.__qualname__.split(".")[1]
        try:
            found = write()
        except REFUSALS:
            self.refused[verb] += 1
            return None
        self.made[verb] += 1
        return found

    def key(self, kind: Any) -> Any:
        return Key(self.pick(family_of(kind, self.classes)), id=self.pick("ab"))

    def step(self) -> None:
        verb = self.pick((self.save, self.save, self.save, self.update, self.update, self.change, self.delete,
                          self.move, self.restore, self.together, self.retarget, self.many))  # fmt: skip
        verb()

    def new(self) -> Any:
        kind = self.pick(self.classes.kinds)
        return kind(id=self.pick("ab"), **values_for(kind, self.pick))

    def save(self, to: Any = None) -> None:
        overwrite, entity = self.pick((True, False)), self.new()
        self.attempt(lambda: (to or self.session).save(entity, overwrite=overwrite))

    def update(self, to: Any = None) -> None:
        key = self.key(self.pick(self.classes.kinds))
        values = values_for(key.entity, self.pick)
        name = self.pick([*values])
        self.attempt(lambda: (to or self.session).update(key, {name: values[name]}))

    def change(self, to: Any = None) -> None:
        entity = self.attempt(lambda: self.session.get(self.key(self.pick(self.classes.kinds))))
        if entity is not None:
            for name, value in values_for(type(entity), self.pick).items():
                if self.pick((True, False)):
                    setattr(entity, name, value)
            self.attempt(lambda: (to or self.session).save(entity))

    def delete(self, to: Any = None) -> None:
        key = self.key(self.pick(self.classes.kinds))
        self.attempt(lambda: (to or self.session).delete(key))

    def move(self, to: Any = None) -> None:
        entity = self.attempt(lambda: self.session.get(self.key(self.pick(self.classes.kinds))))
        if entity is not None and mapping_of(type(entity)).versioning is None:
            entity.id = self.pick("ab")
            self.attempt(lambda: (to or self.session).move(entity))

    def restore(self) -> None:
        versioned = [kind for kind in self.classes.kinds if mapping_of(kind).versioning is not None]
        if versioned:
            key, version = self.key(self.pick(versioned)), self.pick((1, 2))
            self.attempt(lambda: self.session.restore(key, version=version))

    def many(self) -> None:
        entities = [self.new() for _ in range(2)]
        self.attempt(lambda: self.session.save_many(entities))

    def together(self) -> None:
        def work() -> None:
            with self.session.transaction() as to:
                for _ in range(2):
                    self.pick((self.save, self.update, self.delete, self.change))(to)

        self.attempt(work)

    def retarget(self) -> None:
        kind, team = self.pick(self.classes.targets), self.pick("pq")
        self.attempt(lambda: self.session.save(kind(team=team)))


def place_of(key: Mapping[str, Any]) -> str:
    return f"{key['PK']['S']} {key['SK']['S']}"


def family_below(kind: Any, classes: Classes) -> list[Any]:
    """A class and those that derive from it and have its keys."""
    return [one for one in family_of(kind, classes) if issubclass(one, kind)]


def damaged(engine: Transport, raw: Raw, pick: Pick) -> str:
    """Change or delete one stored item as another program could. Returns what was done."""
    if not raw:
        return ""
    (table, key) = pick([*raw])
    item = dict(raw[table, key])
    own = {name: item[name] for name in ("PK", "SK")}
    if pick((True, False)):
        engine.call(Call("DeleteItem", {"TableName": table, "Key": own}))
        return f"delete {table} {key}"
    name = pick(sorted(item.keys() - own.keys()) or ["added"])
    if pick((True, False)):
        item.pop(name, None)
        said = f"remove {name}"
    else:
        item[name] = _other(item.get(name), raw, pick)
        said = f"{name} = {item[name]}"
    engine.call(Call("PutItem", {"TableName": table, "Item": item}))
    return f"{table} {key}: {said}"


def _other(value: Any, raw: Raw, pick: Pick) -> Any:
    if value is not None and "N" in value:
        return {"N": str(int(value["N"]) + pick((-1, 1, 5)))}
    if value is not None and "M" in value:
        return pick([one["owner"] for one in raw.values() if "owner" in one] + [{"M": {}}])
    return {"S": pick(("x", "y", "p", "q", "other"))}
