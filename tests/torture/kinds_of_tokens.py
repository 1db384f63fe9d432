"""Operations under tokens of the caller's own: every process runs the same blocks, and each is to be applied once."""

from datetime import timedelta
from typing import Any

from dynaorm import F, Key, Session
from tests.torture import entities as hot
from tests.torture.entities import Purse, Receipt, Till
from tests.torture.journal import Effect
from tests.torture.operations import Operation, Results, World

AN_HOUR = timedelta(hours=1)


def pay(world: World) -> Operation | None:
    """Run the block of a token, for the first time or again, or another block under its token."""
    token, purse = _token(world), world.epoch
    amount = world.chance.choices(hot.AMOUNTS, (9, 1))[0]
    for key, one in ((token, Till(id=token)), (purse, Purse(id=purse))):
        if key not in world.opened and world.perform(opening(one)) is not None:
            world.opened.add(key)
    return paying(token, purse, amount)


def paying(token: str, purse: str, amount: int) -> Operation:
    """The block of a token: it counts in the till of the token and in a purse, and inserts a receipt."""

    def send(session: Session) -> Results:
        remember = AN_HOUR if token[-1] in hot.FOR_AN_HOUR else None
        with session.transaction(token=token, remember=remember) as tx:
            tx.update(Key(Till, id=token), F.runs.add(amount))
            tx.update(Key(Purse, id=purse), F.total.add(amount))
            tx.save(Receipt(id=token, amount=amount))
        return {}

    return Operation("pay", (Effect(token, "pay", number=amount, text=purse),), send, is_repeated=True)


def write_over_till(world: World) -> Operation | None:
    """Write over the revisions by which the block of a token could be recognised."""
    token, note = _token(world), world.pick(hot.NAMES)

    def send(session: Session) -> Results:
        session.update(Key(Till, id=token), F.note.set(note))
        return {}

    return Operation("write over a till", (), send)


def write_over_purse(world: World) -> Operation | None:
    def send(session: Session) -> Results:
        session.update(Key(Purse, id=world.epoch), F.note.set(world.pick(hot.NAMES)))
        return {}

    return Operation("write over a purse", (), send)


def shred_receipt(world: World) -> Operation | None:
    token = _token(world)

    def send(session: Session) -> Results:
        session.delete(Key(Receipt, id=token))
        return {}

    return Operation("shred a receipt", (), send)


def _token(world: World) -> str:
    return f"{world.run}-{world.id(hot.TOKENS)}"


def opening(entity: Any) -> Operation:
    """Insert a till or a purse, unless it is stored."""

    def send(session: Session) -> Results:
        if session.get(Key(type(entity), id=entity.id), consistent=True) is None:
            session.save(entity, exactly_once=True)
        return {}

    return Operation("open", (), send)
