"""More kinds of operations: leases that expire while processes use them."""

import time
from datetime import UTC, datetime

from dynaorm import F
from tests.torture import entities as hot
from tests.torture.entities import Lease, name_of
from tests.torture.journal import Effect
from tests.torture.kinds_of_notes import is_plain
from tests.torture.operations import (
    Operation,
    World,
    by_key,
    deleting,
    deleting_by_key,
    inserting,
    reading,
    saving,
)

SECONDS = (1, 1, 2, 4)


def lease_name(world: World) -> str:
    return name_of("Lease", {"id": world.id(hot.NOTES)})


def soon(world: World) -> datetime:
    """A whole second, because that is what is stored."""
    return datetime.fromtimestamp(int(time.time()) + world.pick(SECONDS), UTC)


def create_lease(world: World) -> Operation | None:
    """Where nothing is stored, or what is stored has expired."""
    lease = Lease(id=world.id(hot.NOTES), text=world.pick(hot.NAMES), until=soon(world))
    return inserting(lease, "insert a lease", is_plain=is_plain(world))


def save_lease(world: World) -> Operation | None:
    lease = world.live(lease_name)
    changes = {"text": world.pick(hot.NAMES)} | (
        {"until": soon(world)} if world.chance.random() < 0.3 else {}
    )
    return lease and saving(lease, changes, "save a lease")


def write_lease(world: World) -> Operation | None:
    new = world.pick(hot.NAMES)
    effect = Effect(lease_name(world), "change", values={"text": new})
    return by_key("write a lease", effect, lambda session, key: session.update(key, F.text.set(new)))


def delete_lease(world: World) -> Operation | None:
    """Also one that has expired since it was loaded."""
    lease = world.live(lease_name)
    return lease and deleting(lease)


def delete_lease_by_key(world: World) -> Operation | None:
    return deleting_by_key(lease_name(world), exactly_once=not is_plain(world))


def read_lease(world: World) -> Operation | None:
    return reading(lease_name(world))
