"""The kinds of operations: what users of a library do to their entities at the same time."""

from typing import Any, Final

from dynaorm import F, Key, Session, Transaction, detached
from tests.torture import entities as hot
from tests.torture import kinds_of_notes as notes
from tests.torture import kinds_of_things as things
from tests.torture import kinds_of_tokens as tokens
from tests.torture.entities import Document, User, name_of, name_of_entity, shown
from tests.torture.journal import Effect
from tests.torture.operations import (
    Family,
    Kind,
    Operation,
    World,
    by_key,
    changed,
    clash,
    deleting_by_key,
    effect_of,
    finding,
    numbering,
    pruning,
    purging,
    reading_version,
    saving_together,
    updating,
)

# -- users: unique values ----------------------------------------------------------------------------------------------


def user_name(world: World) -> str:
    return name_of("User", {"id": world.id(hot.USERS)})


def user_values(world: World) -> dict[str, Any]:
    return {
        "email": world.value(hot.EMAILS),
        "phone": world.value(hot.PHONES),
        "nick": world.pick(hot.NICKS),
        "team": None if (team := world.pick(hot.TEAMS)) is None else f"{team}@{world.epoch}",
        "name": world.pick(hot.NAMES),
    }


def some(world: World, values: dict[str, Any]) -> dict[str, Any]:
    """One or two of the values."""
    return {name: values[name] for name in world.chance.sample(sorted(values), world.chance.randint(1, 2))}


users: Final = Family(
    user_name,
    lambda world: User(id=world.id(hot.USERS), **user_values(world)),
    lambda world: some(world, user_values(world)),
    plain_deletes=0.5,
)


def update_user(world: World) -> Operation | None:
    user = world.live(user_name)
    return user and updating(user, some(world, user_values(world)))


def rename_user(world: World) -> Operation | None:
    """By key: the name is part of an index key, so dynaorm reads, and writes under the revision it read."""
    new = world.pick(hot.NAMES)
    effect = Effect(user_name(world), "change", values={"name": new})
    return by_key("rename", effect, lambda session, key: session.update(key, F.name.set(new)))


def count_visit(world: World) -> Operation | None:
    """By key, without a read."""
    effect = Effect(user_name(world), "change", add={"visits": 1})
    return by_key("count", effect, lambda session, key: session.update(key, F.visits.add(1)))


def count_visit_once(world: World) -> Operation | None:
    """The same with a token. The returned entity is read afterwards, and is not part of the update."""
    effect = Effect(user_name(world), "change", add={"visits": 1})

    def send(session: Session, key: Key[Any]) -> None:
        session.update(key, F.visits.add(1), exactly_once=True)

    return by_key("count exactly once", effect, send)


def count_visit_by_hand(world: World) -> Operation | None:
    """Read, count and save, again after StaleEntity. The effect is that of an addition."""
    effect = Effect(user_name(world), "change", add={"visits": 1})

    def send(session: Session, key: Key[Any]) -> User:
        def work(tx: Transaction) -> User:
            user: User = session.get_one(key, consistent=True)
            user.visits += 1
            return tx.save(user)

        return session.run(work, attempts=5)

    return by_key("count in a block", effect, send)


def number_visit(world: World) -> Operation | None:
    """By key, without a read; the number of each call is its own."""
    return numbering(user_name(world), "visits", "change", is_plain=world.chance.random() < 0.5)


def two_users(world: World) -> tuple[User, User] | None:
    one, two = world.live(user_name), world.live(user_name)
    return (one, two) if one is not None and two is not None and one.id != two.id else None


def swap_emails(world: World) -> Operation | None:
    pair = two_users(world)
    if pair is None or pair[0].email.casefold() == pair[1].email.casefold():
        return None
    one, two = pair
    one.email, two.email = two.email, one.email
    return saving_together("swap e-mails", (one, "save"), (two, "save"))


def rotate_values(world: World) -> Operation | None:
    """One user takes the values of another, who gets new ones."""
    pair = two_users(world)
    if pair is None:
        return None
    one, two = pair
    taken, given = {"email": two.email, "phone": two.phone}, {"email": world.value(hot.EMAILS), "phone": None}
    if not changed(one, taken) or not changed(two, given):
        return None
    if clash("User", shown(one), shown(two)):
        return None
    return saving_together("rotate values", (one, "save"), (two, "save"))


def save_beside(world: World) -> Operation | None:
    """Save one user, if another one is unchanged."""
    pair = two_users(world)
    if pair is None or not changed(pair[0], some(world, user_values(world))):
        return None
    user, witness = pair

    def send(session: Session) -> None:
        with session.transaction() as tx:
            tx.check(witness)
            tx.save(user)

    check = Effect(name_of_entity(witness), "check", effect_of(witness, "save").base)
    return Operation("save and check", (effect_of(user, "save"), check), send, {name_of_entity(user): user})


def hand_over(world: World) -> Operation | None:
    """Delete a user, and create one with its values, perhaps under the same key."""
    old = world.live(user_name)
    if old is None:
        return None
    new = detached(old, id=world.id(hot.USERS), visits=0)

    def send(session: Session) -> None:
        with session.transaction() as tx:
            tx.delete(old)
            tx.save(new)

    removed, added = (
        Effect(name_of_entity(old), "delete", effect_of(old, "save").base),
        effect_of(new, "insert"),
    )
    if removed.on == added.on:
        effects: tuple[Effect, ...] = (Effect(added.on, "save", removed.base, added.values),)
    else:
        effects = (removed, added)
    return Operation("delete and create", effects, send, {added.on: new}, is_of_objects=True)


def find_user(world: World) -> Operation | None:
    return finding(world, User, "email", {"email": world.value(hot.EMAILS)})


# -- documents: versions -----------------------------------------------------------------------------------------------


def document_name(world: World) -> str:
    return name_of("Document", {"id": world.id(hot.DOCUMENTS)})


def document_values(world: World) -> dict[str, Any]:
    return {"text": world.pick(hot.NAMES), "slug": world.value(hot.SLUGS)}


documents: Final = Family(
    document_name,
    lambda world: Document(id=world.id(hot.DOCUMENTS), **document_values(world)),
    lambda world: some(world, document_values(world)),
)
"""A document that is created again after a delete continues its numbers."""


def write_document(world: World) -> Operation | None:
    """By key: a version depends on it, so dynaorm reads first."""
    new = world.pick(hot.NAMES)
    effect = Effect(document_name(world), "change", values={"text": new})
    return by_key("write by key", effect, lambda session, key: session.update(key, F.text.set(new)))


def delete_document_by_key(world: World) -> Operation | None:
    name = document_name(world)
    if world.chance.random() < 0.5:  # to be purged
        name = name_of("Document", {"id": world.id(hot.PURGED)})
    return deleting_by_key(name, exactly_once=False)


def prune_document(world: World) -> Operation | None:
    return pruning(document_name(world), world.chance.randint(1, 3))


def purge_document(world: World) -> Operation | None:
    return purging(name_of("Document", {"id": world.id(hot.PURGED)}))


def restore_document(world: World) -> Operation | None:
    """Restore an early version of a document that is live or deleted."""
    name, number = document_name(world), world.chance.randint(1, 4)
    if name.endswith(hot.PURGED):
        return None
    found = world.perform(reading_version(name, number))
    version = None if found is None else found.get(name)
    if version is None:
        return None
    effect = Effect(name, "restore", values=shown(version), number=number)
    return by_key("restore", effect, lambda session, key: session.restore(key, version=number))


def read_old_document(world: World) -> Operation | None:
    return reading_version(document_name(world), world.chance.randint(1, 6))


def find_document(world: World) -> Operation | None:
    slug = world.value(hot.SLUGS)
    return None if slug is None else finding(world, Document, "slug", {"slug": slug})


def sign_document(world: World) -> Operation | None:
    """A user and a document in one transaction."""
    user, document = world.live(user_name), world.live(document_name)
    if user is None or document is None:
        return None
    text = f"signed by {user.id}, {user.visits}"
    if not changed(document, {"text": text}) or not changed(user, {"name": world.pick(hot.NAMES)}):
        return None
    return saving_together("sign", (user, "save"), (document, "save"))


KINDS: Final[dict[Kind, int]] = {
    users.create: 9, users.save: 8, update_user: 3, users.overwrite: 2, rename_user: 3, count_visit: 7,
    count_visit_once: 2, count_visit_by_hand: 3, users.delete: 2, users.delete_by_key: 2, swap_emails: 12,
    rotate_values: 4, save_beside: 3, hand_over: 4, find_user: 5, users.read: 4,
    documents.create: 6, documents.save: 8, write_document: 3, documents.overwrite: 1, documents.delete: 2,
    delete_document_by_key: 1, restore_document: 5,
    prune_document: 3, purge_document: 4, documents.read: 3, read_old_document: 2, find_document: 2,
    sign_document: 3, users.touch: 3, users.remove: 1, number_visit: 4, documents.remove: 1,
    things.create_parcel: 5, things.parcels.save: 3, things.move_parcel: 8, things.swap_parcels: 5,
    things.parcels.delete: 2, things.weigh_parcel: 4, things.parcels.read: 2,
    things.groups.create: 2, things.members.create: 7, things.join_in_two: 2, things.members.save: 4,
    things.work_hours: 4,
    things.members.overwrite: 2, things.change_groups: 5, things.members.delete: 3, things.members.delete_by_key: 2,
    things.rename_group: 2, things.groups.save: 2, things.groups.overwrite: 1, things.rename_and_join: 2,
    things.delete_empty_group: 2, things.groups.read: 4, things.members.read: 1,
    notes.notes.create: 7, notes.notes.overwrite: 1, notes.notes.save: 4, notes.write_note: 4, notes.upsert_note: 5,
    notes.notes.delete: 3, notes.upsert_loose: 4,
    notes.notes.touch: 3, notes.notes.take: 5, notes.notes.remove: 3, notes.number_note: 4,
    notes.leases.touch: 4, notes.leases.take: 6, notes.leases.remove: 2, notes.loose.remove: 2,
    notes.notes.delete_by_key: 4, notes.notes.read: 3, notes.loose.create: 6, notes.save_loose: 5, notes.count_loose: 3,
    notes.delete_loose: 3, notes.loose.delete_by_key: 3, notes.loose.read: 3,
    notes.leases.create: 6, notes.leases.save: 4, notes.write_lease: 4, notes.leases.delete: 2,
    notes.leases.delete_by_key: 2, notes.leases.read: 5,
    tokens.pay: 12, tokens.write_over_till: 2, tokens.write_over_purse: 2, tokens.shred_receipt: 2,
}  # fmt: skip
"""How often each is drawn, relative to the others."""
