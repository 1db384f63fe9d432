"""Every way to change one entity by its key: each takes a world with a ``session``, the key, and a change."""

from typing import Any, Final

from dynaorm import Key


def update(world: Any, key: Key[Any], change: Any) -> Any:
    return world.session.update(key, change)


def update_once(world: Any, key: Key[Any], change: Any) -> Any:
    return world.session.update(key, change, exactly_once=True)


def upsert(world: Any, key: Key[Any], change: Any) -> Any:
    return world.session.upsert(key, change)


def upsert_once(world: Any, key: Key[Any], change: Any) -> Any:
    return world.session.upsert(key, change, exactly_once=True)


def block(world: Any, key: Key[Any], change: Any) -> Any:
    with world.session.transaction() as tx:
        tx.update(key, change)


def upsert_block(world: Any, key: Key[Any], change: Any) -> Any:
    with world.session.transaction() as tx:
        tx.upsert(key, change)


def update_loaded(world: Any, key: Key[Any], change: Any) -> Any:
    return world.session.update(world.session.get_one(key), change)


def run(world: Any, key: Key[Any], change: Any) -> Any:
    world.session.run(lambda tx: tx.update(key, change))


WAYS: Final = (update, update, upsert, block, update_once, upsert_once, upsert_block, update_loaded, run)
