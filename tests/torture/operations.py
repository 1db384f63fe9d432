"""An operation: its intended effects, which are written down before it is sent, and a function that sends it.

A kind of operation is a function of a ``World``. It looks at what is stored (each look is an operation of its own, and
journaled), decides, and returns an operation, or None if there is nothing to do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from random import Random
from typing import Any, TypeAlias, TypeVar

from dynaorm import Entity, F, Key, Session, inspect, tools
from dynaorm.errors import StoreError, UsageError
from tests.torture.cancelling import use
from tests.torture.entities import NAMES, base_of, claims, key_of, kind_of, name_of_entity, shown
from tests.torture.journal import Effect

T = TypeVar("T")

FROM_MEMORY = 0.75
"""How often an entity is taken as it was last seen, if it was seen."""

Results: TypeAlias = Mapping[str, Any]
"""What was returned: an entity's name to the entity, to some of its values, or None if it is absent."""

Send: TypeAlias = Callable[[Session], Results | None]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation to be sent.

    Attributes:
        name: its kind.
        effects: its intended effects.
        send: sends it; returns the entities that were returned, or None if they are in ``subjects``.
        subjects: the entity objects that are written: name afterwards to object.
        is_repeated: without a known outcome it is sent again, under its token, and not resumed.
        shows_all: the objects are afterwards as what is stored, also in fields that the operation does not write.
        is_of_objects: all that it writes are entity objects, which find out about a cancelled write before the next.
    """

    name: str
    effects: tuple[Effect, ...]
    send: Send
    subjects: Mapping[str, Entity] = field(default_factory=dict)
    is_repeated: bool = False
    shows_all: bool = True
    is_of_objects: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """What a kind of operation decides from: random numbers, the epoch, and what is stored.

    Attributes:
        chance: the random numbers.
        epoch: which keys and values are used.
        perform: sends an operation; returns its result, or None if it failed.
        held: entities that earlier operations returned, and that other processes may have changed since.
        run: the name of the run, which makes tokens unique.
        opened: the tills and purses that are known to be stored.
    """

    chance: Random
    epoch: str
    perform: Callable[[Operation], Results | None]
    held: Mapping[str, Entity]
    run: str = ""
    opened: set[str] = field(default_factory=set)

    def pick(self, pool: Sequence[T]) -> T:
        return self.chance.choice(pool)

    def id(self, pool: Sequence[str]) -> str:
        """A key value of this epoch."""
        return f"{self.epoch}-{self.pick(pool)}"

    def value(self, pool: Sequence[str | None]) -> str | None:
        """A unique value of this epoch, or None."""
        one = self.pick(pool)
        return one if one is None else f"{one}@{self.epoch}"

    def look(self, name: str) -> Any | None:
        """The entity of this name, by a strongly consistent read. None also if no answer came."""
        found = self.perform(reading(name))
        return None if found is None else found.get(name)

    def live(self, draw: Callable[["World"], str]) -> Any | None:
        """An entity whose name is drawn, if one is found within three draws. Half of them come from memory."""
        for name in dict.fromkeys(draw(self) for _ in range(3)):
            held = self.held.get(name)
            if held is not None and self.chance.random() < FROM_MEMORY and not inspect(held).changes:
                return held
            if (found := self.look(name)) is not None:
                return found
        return None


Kind: TypeAlias = Callable[[World], Operation | None]


def revision_of(entity: Entity) -> str | None:
    return inspect(entity).revision


def reading(name: str) -> Operation:
    def send(session: Session) -> Results:
        return {name: session.get(key_of(name), consistent=True)}

    return Operation("read", (Effect(name, "read"),), send)


def reading_version(name: str, number: int) -> Operation:
    def send(session: Session) -> Results:
        return {name: session.get(key_of(name), version=number)}

    return Operation("read version", (Effect(name, "read version", number=number),), send)


def finding(world: World, entity: type[Any], constraint: str, fields: Mapping[str, Any]) -> Operation:
    """Find the entity that has a unique value."""
    kind = entity.__name__
    effect = Effect(f"{kind} {world.epoch}-?", "find", text=claims(kind, fields)[constraint])

    def send(session: Session) -> Results:
        found = session.get_by(entity, **fields)
        return {effect.on: None} if found is None else {name_of_entity(found): found}

    return Operation("find", (effect,), send)


def inserting(entity: Entity, name: str = "insert", *, is_plain: bool = False) -> Operation:
    """Insert an entity: exactly once, or by a plain Put, which may come back after another process deleted the item."""

    def send(session: Session) -> None:
        session.save(entity, exactly_once=not is_plain)

    operation = _of_one(name, entity, "insert", send)
    (effect,) = operation.effects
    return replace(operation, effects=(replace(effect, plain=is_plain),))


def overwriting(entity: Entity, name: str = "overwrite") -> Operation:
    """Overwrite an entity, exactly once: where nothing is stored, this is an insert."""

    def send(session: Session) -> None:
        session.save(entity, overwrite=True, exactly_once=True)

    return _of_one(name, entity, "replace", send)


def saving(entity: Entity, changes: Mapping[str, Any], name: str = "save") -> Operation | None:
    """Change a loaded entity and save it; None if nothing would change."""
    if not changed(entity, changes):
        return None

    def send(session: Session) -> None:
        session.save(entity)

    return _of_one(name, entity, "save", send)


def saving_together(name: str, *entities: tuple[Entity, str]) -> Operation:
    """Save several entities in one transaction; each comes with what the save does to it."""

    def send(session: Session) -> None:
        with session.transaction() as tx:
            for entity, _ in entities:
                tx.save(entity)

    effects = tuple(effect_of(entity, do) for entity, do in entities)
    subjects = {name_of_entity(entity): entity for entity, _ in entities}
    return Operation(name, effects, send, subjects, is_of_objects=True)


def updating(entity: Entity, changes: Mapping[str, Any]) -> Operation | None:
    """The same through ``update``, under the revision of the loaded entity."""
    before = shown(entity)
    values = {**before, **changes}
    values = {field: value for field, value in values.items() if value is not None}
    if values == before:
        return None
    effect = Effect(name_of_entity(entity), "save", revision_of(entity), values)

    def send(session: Session) -> None:
        session.update(entity, changes)

    return Operation("update", (effect,), send, {effect.on: entity}, is_of_objects=True)


def touching(entity: Entity) -> Operation:
    """Write a new revision of a loaded entity, and nothing else; of a versioned one, a version, too."""

    def send(session: Session) -> None:
        session.touch(entity)

    return _of_one("touch", entity, "save", send)


def taking(entity: Entity, where: Mapping[str, Any], *, is_plain: bool) -> Operation:
    """Insert an entity, or replace one that has these values."""

    def send(session: Session) -> None:
        conditions = [F[name] == value for name, value in where.items()]
        session.save(entity, replacing=reduce(and_, conditions), exactly_once=not is_plain)

    operation = _of_one("take", entity, "take", send)
    (effect,) = operation.effects
    return replace(operation, effects=(replace(effect, plain=is_plain, where=where),))


def numbering(name: str, field_name: str, do: str, *, is_plain: bool) -> Operation:
    """Count by one, and return the number."""

    def send(session: Session) -> Results:
        number = session.next_number(key_of(name), field_name, exactly_once=not is_plain)
        return {name: {field_name: number}}

    return Operation("number", (Effect(name, do, add={field_name: 1}),), send)


def deleting_and_returning(name: str, *, is_plain: bool) -> Operation:
    """Delete whatever is stored under a key, and return it."""

    def send(session: Session) -> Results:
        return {name: session.delete(key_of(name), returning=True, exactly_once=not is_plain)}

    return Operation("delete and return", (Effect(name, "delete"),), send)


def deleting(entity: Entity) -> Operation:
    """Delete a loaded entity, under its revision."""
    effect = Effect(name_of_entity(entity), "delete", revision_of(entity))

    def send(session: Session) -> None:
        session.delete(entity)

    return Operation("delete", (effect,), send, is_of_objects=True)


def deleting_by_key(name: str, *, exactly_once: bool) -> Operation:
    """Delete whatever is stored under a key."""

    def send(session: Session) -> None:
        session.delete(key_of(name), exactly_once=exactly_once)

    return Operation("delete by key", (Effect(name, "delete"),), send)


class NotDeleted(StoreError):
    """A document is not deleted, so it is not purged."""

    name: str
    problem: str = "{name} is not deleted"


def purging(name: str) -> Operation:
    """Delete the tombstone and all versions of a deleted entity."""

    def send(session: Session) -> Results:
        try:
            use(tools.purge, session, key_of(name))
        except UsageError as refusal:
            raise NotDeleted(name=name) from refusal
        return {}

    return Operation("purge", (Effect(name, "purge"),), send)


def pruning(name: str, keep: int) -> Operation:
    """Delete all versions but the newest ones."""

    def send(session: Session) -> Results:
        use(tools.prune, session, key_of(name), keep=keep)
        return {}

    return Operation("prune", (Effect(name, "prune", number=keep),), send)


def moving(entity: Entity, changes: Mapping[str, Any]) -> Operation | None:
    """Change fields of a loaded entity, including those of its key, and move it."""
    old, base = name_of_entity(entity), revision_of(entity)
    if not changed(entity, changes) or name_of_entity(entity) == old:
        return None
    new = name_of_entity(entity)

    def send(session: Session) -> None:
        session.move(entity)

    effects = (Effect(old, "delete", base), Effect(new, "insert", values=shown(entity)))
    return Operation("move", effects, send, {new: entity}, is_of_objects=True)


def effect_of(entity: Entity, do: str) -> Effect:
    """The effect of writing an entity as it is now."""
    base = revision_of(entity) if do == "save" else None
    return Effect(name_of_entity(entity), do, base, shown(entity))


def changed(entity: Entity, changes: Mapping[str, Any]) -> bool:
    """Set fields of an entity, and return whether anything is different now."""
    before = shown(entity)
    for field_name, value in changes.items():
        setattr(entity, field_name, value)
    return shown(entity) != before


def clash(kind: str, *values: Mapping[str, Any]) -> bool:
    """Whether entities of one transaction would claim the same value, which is refused before anything is sent."""
    texts = [text for one in values for text in claims(kind, one).values()]
    return len(set(texts)) < len(texts)


def by_key(name: str, effect: Effect, send: Callable[[Session, Key[Any]], Any]) -> Operation:
    """An operation on whatever is stored under a key, which returns it."""

    def run(session: Session) -> Results:
        found = send(session, key_of(effect.on))
        return {} if found is None else {effect.on: found}

    return Operation(name, (effect,), run)


def _of_one(name: str, entity: Entity, do: str, send: Send) -> Operation:
    effect = effect_of(entity, do)
    assert kind_of(effect.on) == base_of(type(entity).__name__)
    # An overwrite that was made is made again, as another version, and a take is refused by what it made.
    return Operation(name, (effect,), send, {effect.on: entity}, is_of_objects=do not in ("replace", "take"))


@dataclass(frozen=True, slots=True)
class Family:
    """What is done to one entity of any class.

    Attributes:
        draw: draws the name of an entity.
        make: makes a new one, under a key that it draws.
        values: draws new values of some of its fields.
        plain_inserts, plain_deletes: how often these are sent without a token: then what a lost answer leaves open
            stays open.
    """

    draw: Callable[[World], str]
    make: Callable[[World], Any]
    values: Callable[[World], Mapping[str, Any]]
    plain_inserts: float = 0
    plain_deletes: float = 1

    def create(self, world: World) -> Operation | None:
        return inserting(self.make(world), is_plain=world.chance.random() < self.plain_inserts)

    def save(self, world: World) -> Operation | None:
        entity = world.live(self.draw)
        return entity and saving(entity, self.values(world))

    def overwrite(self, world: World) -> Operation | None:
        """Whatever is stored there."""
        return overwriting(self.make(world))

    def delete(self, world: World) -> Operation | None:
        """Also what has expired since it was loaded."""
        entity = world.live(self.draw)
        return entity and deleting(entity)

    def touch(self, world: World) -> Operation | None:
        entity = world.live(self.draw)
        return entity and touching(entity)

    def take(self, world: World) -> Operation | None:
        """Create one, or replace one of some text."""
        where = {"text": world.pick(NAMES)}
        return taking(self.make(world), where, is_plain=world.chance.random() < self.plain_inserts)

    def remove(self, world: World) -> Operation | None:
        is_plain = world.chance.random() < self.plain_deletes
        return deleting_and_returning(self.draw(world), is_plain=is_plain)

    def delete_by_key(self, world: World) -> Operation | None:
        return deleting_by_key(self.draw(world), exactly_once=world.chance.random() >= self.plain_deletes)

    def read(self, world: World) -> Operation | None:
        return reading(self.draw(world))
