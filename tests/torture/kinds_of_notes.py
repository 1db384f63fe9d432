"""More kinds of operations: a family of classes, plain writes without a token, and a table without revisions."""

from typing import Any

from dynaorm import F, Key, Session
from tests.torture import entities as hot
from tests.torture.entities import Loose, Memo, Note, name_of, name_of_entity, shown
from tests.torture.journal import Effect
from tests.torture.operations import (
    Operation,
    World,
    by_key,
    deleting,
    deleting_by_key,
    inserting,
    overwriting,
    reading,
    saving,
)


def is_plain(world: World) -> bool:
    """Whether a write is sent without a token: then what a lost answer leaves open stays open."""
    return world.chance.random() < 0.6


# -- notes: a family of classes under one key --------------------------------------------------------------------------


def note_name(world: World) -> str:
    return name_of("Note", {"id": world.id(hot.NOTES)})


def new_note(world: World) -> Note:
    key, text = world.id(hot.NOTES), world.pick(hot.NAMES)
    return Note(id=key, text=text) if world.chance.random() < 0.5 else Memo(id=key, text=text, topic="t")


def create_note(world: World) -> Operation | None:
    return inserting(new_note(world), "insert a note", is_plain=is_plain(world))


def overwrite_note(world: World) -> Operation | None:
    """Whatever class is stored."""
    return overwriting(new_note(world), "overwrite a note")


def save_note(world: World) -> Operation | None:
    note = world.live(note_name)
    return note and saving(note, {"text": world.pick(hot.NAMES)}, "save a note")


def write_note(world: World) -> Operation | None:
    """By key of the base class: the stored type says what it is."""
    new = world.pick(hot.NAMES)
    effect = Effect(note_name(world), "change", values={"text": new}, add={"seen": 1})
    return by_key(
        "write a note", effect, lambda session, key: session.update(key, F.text.set(new), F.seen.add(1))
    )


def upsert_note(world: World) -> Operation | None:
    """Change the note of either class, or create one of its key."""
    return _upserting(note_name(world), world)


def _upserting(name: str, world: World) -> Operation:
    new, is_once = world.pick(hot.NAMES), not is_plain(world)
    effect = Effect(name, "upsert", values={"text": new}, add={"seen": 1})

    def send(session: Session, key: Key[Any]) -> Any:
        return session.upsert(key, F.text.set(new), F.seen.add(1), exactly_once=is_once)

    return by_key("upsert", effect, send)


def delete_note(world: World) -> Operation | None:
    note = world.live(note_name)
    return note and deleting(note)


def delete_note_by_key(world: World) -> Operation | None:
    return deleting_by_key(note_name(world), exactly_once=not is_plain(world))


def read_note(world: World) -> Operation | None:
    return reading(note_name(world))


# -- a table without revisions: writes are held to the values that were loaded -----------------------------------------


def loose_name(world: World) -> str:
    return name_of("Loose", {"id": world.id(hot.NOTES)})


def create_loose(world: World) -> Operation | None:
    entity = Loose(id=world.id(hot.NOTES), text=world.pick(hot.NAMES))
    return inserting(entity, "insert without revision", is_plain=is_plain(world))


def save_loose(world: World) -> Operation | None:
    """Only what changes has to be as it was loaded."""
    entity: Any = world.live(loose_name)
    if entity is None or entity.text == (text := world.pick(hot.NAMES)):
        return None
    name, where = name_of_entity(entity), {"text": entity.text}
    entity.text = text

    def send(session: Session) -> None:
        session.save(entity)

    effect = Effect(name, "change", values={"text": text}, where=where)
    return Operation("save without revision", (effect,), send, {name: entity}, shows_all=False)


def count_loose(world: World) -> Operation | None:
    effect = Effect(loose_name(world), "change", add={"seen": 1})
    return by_key("count without revision", effect, lambda session, key: session.update(key, F.seen.add(1)))


def upsert_loose(world: World) -> Operation | None:
    return _upserting(loose_name(world), world)


def delete_loose(world: World) -> Operation | None:
    """Everything has to be as it was loaded."""
    entity = world.live(loose_name)
    if entity is None:
        return None

    def send(session: Session) -> None:
        session.delete(entity)

    effect = Effect(name_of_entity(entity), "delete", where=shown(entity))
    return Operation("delete without revision", (effect,), send)


def delete_loose_by_key(world: World) -> Operation | None:
    return deleting_by_key(loose_name(world), exactly_once=not is_plain(world))


def read_loose(world: World) -> Operation | None:
    return reading(loose_name(world))
