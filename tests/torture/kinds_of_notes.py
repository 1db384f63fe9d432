"""More kinds of operations: a family of classes, plain writes without a token, no revisions, and what expires."""

import time
from datetime import UTC, datetime
from typing import Any, Final

from dynaorm import F, Key, Session
from tests.torture import entities as hot
from tests.torture.entities import Lease, Loose, Memo, Note, name_of, name_of_entity, shown
from tests.torture.journal import Effect
from tests.torture.operations import (
    Family,
    Operation,
    World,
    by_key,
    numbering,
)

PLAIN: Final = 0.6
"""How often a write is sent without a token."""


# -- notes: a family of classes under one key --------------------------------------------------------------------------


def note_name(world: World) -> str:
    return name_of("Note", {"id": world.id(hot.NOTES)})


def new_note(world: World) -> Note:
    key, text = world.id(hot.NOTES), world.pick(hot.NAMES)
    return Note(id=key, text=text) if world.chance.random() < 0.5 else Memo(id=key, text=text, topic="t")


notes: Final = Family(
    note_name,
    new_note,
    lambda world: {"text": world.pick(hot.NAMES)},
    plain_inserts=PLAIN,
    plain_deletes=PLAIN,
)


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
    new, is_once = world.pick(hot.NAMES), world.chance.random() >= PLAIN
    effect = Effect(name, "upsert", values={"text": new}, add={"seen": 1})

    def send(session: Session, key: Key[Any]) -> Any:
        return session.upsert(key, F.text.set(new), F.seen.add(1), exactly_once=is_once)

    return by_key("upsert", effect, send)


def number_note(world: World) -> Operation | None:
    """Count in a note, or create one whose number is the first."""
    return numbering(note_name(world), "seen", "upsert", is_plain=world.chance.random() < PLAIN)


# -- a table without revisions: writes are held to the values that were loaded -----------------------------------------


def loose_name(world: World) -> str:
    return name_of("Loose", {"id": world.id(hot.NOTES)})


loose: Final = Family(
    loose_name,
    lambda world: Loose(id=world.id(hot.NOTES), text=world.pick(hot.NAMES)),
    lambda _: {},
    plain_inserts=PLAIN,
    plain_deletes=PLAIN,
)


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


# -- leases: absent from a time on -------------------------------------------------------------------------------------
SECONDS = (1, 1, 2, 4)


def lease_name(world: World) -> str:
    return name_of("Lease", {"id": world.id(hot.NOTES)})


def soon(world: World) -> datetime:
    """A whole second, because that is what is stored."""
    return datetime.fromtimestamp(int(time.time()) + world.pick(SECONDS), UTC)


def lease_values(world: World) -> dict[str, Any]:
    changes = {"text": world.pick(hot.NAMES)}
    return changes | ({"until": soon(world)} if world.chance.random() < 0.3 else {})


leases: Final = Family(
    lease_name,
    lambda world: Lease(id=world.id(hot.NOTES), text=world.pick(hot.NAMES), until=soon(world)),
    lease_values,
    plain_inserts=PLAIN,
    plain_deletes=PLAIN,
)
"""A lease is created where nothing is stored, or what is stored has expired."""


def write_lease(world: World) -> Operation | None:
    new = world.pick(hot.NAMES)
    effect = Effect(lease_name(world), "change", values={"text": new})
    return by_key("write a lease", effect, lambda session, key: session.update(key, F.text.set(new)))
