"""Law: an item has expired exactly when DynamoDB's TTL would delete it, for every read, every write and every tool.

Amazon DynamoDB Developer Guide, "Before you start using TTL": the attribute is a number of epoch seconds that is over,
and for not longer than five years.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from dynaorm import Call, Entity, ExpiresAt, F, Key, Session, Table, Transport, Unique
from dynaorm.entity.codec.expiry import expired, is_expired
from dynaorm.errors import (
    AlreadyExists,
    DecodeError,
    EntityNotFound,
    UniqueViolation,
)
from dynaorm.item.evaluate import holds
from dynaorm.item.value import AttributeValue
from dynaorm.testing import FakeClock

FIVE_YEARS: Final = 5 * 365 * 86_400
NOW: Final = 1_700_000_000
app = Table("expiry-of-every-age")


class Mark(Entity, table=app, pk="MARK#{id}", sk="MARK"):
    id: str
    slug: Annotated[str | None, Unique()] = None
    n: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


def would_delete(stored: AttributeValue | None, now: Decimal, margin: int = 0) -> bool:
    """What DynamoDB does, once more, by whole seconds. Within the margin of either end, clocks may differ."""
    if stored is None or "N" not in stored:
        return False
    second = Decimal(stored["N"]) // 1
    return second > 0 and now + margin - FIVE_YEARS <= second <= now - margin


ROWS: Final = count()
NOWS: Final = st.sampled_from([Decimal(NOW), Decimal(NOW) + Decimal("0.25"), Decimal(NOW) + Decimal("0.999")])
_AGES: Final = st.sampled_from([0, 60, FIVE_YEARS - 60, FIVE_YEARS, 6 * FIVE_YEARS, -86_400]) | st.integers(
    -(10**8), 2 * FIVE_YEARS
)
_NUMBERS: Final = st.builds(
    lambda age, second, fraction: Decimal(NOW) - age + second + fraction,
    _AGES,
    st.integers(-2, 2),
    st.sampled_from([Decimal(0), Decimal(0), Decimal("0.5")]),
) | st.sampled_from(
    [Decimal(text) for text in ("0", "-1", "1", "0.5", "-0.5", "1.5", "1700000000000", "-1E9")]
)
TTLS: Final = (
    st.none()
    | _NUMBERS.map(lambda number: {"N": str(number)})
    | st.sampled_from(
        [{"S": str(NOW - 100)}, {"L": [{"N": str(NOW - 100)}]}, {"NULL": True}, {"NS": [str(NOW - 100)]}]
    )
)


@given(ttl=TTLS, now=NOWS, margin=st.sampled_from([0, 60]))
def test_the_condition_and_the_function_agree_with_the_rule(
    ttl: AttributeValue | None, now: Decimal, margin: int
) -> None:
    wanted = would_delete(ttl, now, margin)
    item = {} if ttl is None else {"until": ttl}
    assert is_expired(item.get("until"), float(now), margin) is wanted
    assert holds(expired("until", float(now), margin), item) is wanted
    assert holds(~expired("until", float(now), margin), item) is not wanted


class World:
    """A session at a time, over rows that another program wrote."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.at(Decimal(NOW)).create_table(app)

    def at(self, now: Decimal) -> Session:
        self.session = Session(transport=self.transport, clock=FakeClock(float(now)))
        return self.session

    def row(self, ttl: AttributeValue | None, *, guarded: bool = True) -> str:
        """The id of a new row, which holds the slug of that name."""
        name, until = str(next(ROWS)), {} if ttl is None else {"until": ttl}
        key = {"PK": {"S": f"MARK#{name}"}, "SK": {"S": "MARK"}}
        fields = {"id": {"S": name}, "slug": {"S": name}, "n": {"N": "41"}}
        self.put({**key, "_type": {"S": "Mark"}, "_rev": {"S": "r"}, **fields, **until})
        if guarded:
            guard = {"S": f"slug#{name}"}
            self.put({"PK": guard, "SK": guard, "owner": {"M": key}, **until})
        return name

    def put(self, item: Mapping[str, Any]) -> None:
        self.transport.call(Call("PutItem", {"TableName": app.name, "Item": item}))

    def remove_all(self) -> None:
        for item in self.transport.call(Call("Scan", {"TableName": app.name}))["Items"]:
            key = {"PK": item["PK"], "SK": item["SK"]}
            self.transport.call(Call("DeleteItem", {"TableName": app.name, "Key": key}))


def _finds(read: Callable[[Session, str], object]) -> Callable[[World, str], bool]:
    def keeps(world: World, name: str) -> bool:
        try:
            return bool(read(world.session, name))
        except DecodeError:  # it is there, and its TTL is no time
            return True

    return keeps


def _refused(
    error: type[Exception], write: Callable[[Session, str], object], *, refused: bool
) -> Callable[[World, str], bool]:
    """A write that is refused by this error if the item is there, or if it is not."""

    def keeps(world: World, name: str) -> bool:
        try:
            write(world.session, name)
        except error:
            return refused
        except DecodeError:
            return True
        return not refused

    return keeps


def _in_block(session: Session, name: str) -> None:
    with session.transaction() as tx:
        tx.update(Key(Mark, id=name), F.n.add(1))
        tx.save(Mark(id=f"beside {name}"))


def _checked(session: Session, name: str) -> None:
    with session.transaction() as tx:
        tx.check(Key(Mark, id=name), F.n == 41)
        tx.save(Mark(id=f"beside {name}"))


def _upserted(session: Session, name: str) -> bool:
    return session.upsert(Key(Mark, id=name), F.n.add(1)).n == 42


DECISIONS: Final[Mapping[str, Callable[[World, str], bool]]] = {
    "get": _finds(lambda session, name: session.get(Mark, id=name)),
    "get_by": _finds(lambda session, name: session.get_by(Mark, slug=name)),
    "get_many": _finds(lambda session, name: session.get_many([Key(Mark, id=name)])[0]),
    "exists": _finds(lambda session, name: session.exists(Mark, id=name)),
    "snapshot": _finds(lambda session, name: session.snapshot([Key(Mark, id=name)])[0]),
    "query": _finds(lambda session, name: session.query(Mark, id=name).all()),
    "count": _finds(lambda session, name: session.query(Mark, id=name).count()),
    "filter": _finds(lambda session, name: session.query(Mark, id=name).filter(F.n == 41).all()),
    "insert": _refused(AlreadyExists, lambda session, name: session.save(Mark(id=name)), refused=True),
    "update": _refused(
        EntityNotFound, lambda session, name: session.update(Key(Mark, id=name), F.n.add(1)), refused=False
    ),
    "update that reads": _refused(
        EntityNotFound,
        lambda session, name: session.update(Key(Mark, id=name), {"slug": None}),
        refused=False,
    ),
    "update in a block": _refused(EntityNotFound, _in_block, refused=False),
    "check": _refused(EntityNotFound, _checked, refused=False),
    "upsert": _finds(_upserted),
}


@pytest.fixture(scope="module")
def world(transport: Transport) -> World:
    return World(transport)


def of_every_age(examples: int) -> Callable[[Callable[..., None]], Any]:
    """Run a test with TTLs of every age and type, the ends of what DynamoDB deletes among them."""

    def decorate(test: Callable[..., None]) -> Any:
        for ttl in (0, NOW - FIVE_YEARS - 1, NOW - FIVE_YEARS + 100):
            test = example(ttl={"N": str(ttl)}, now=Decimal(NOW))(test)
        return settings(max_examples=examples)(given(ttl=TTLS, now=NOWS)(test))

    return decorate


@of_every_age(examples=8)
def test_every_read_and_every_write_decide_as_dynamodb(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    wanted = not would_delete(ttl, now)
    event(f"kept: {wanted}")
    world.at(now)
    assert {way: keeps(world, world.row(ttl)) for way, keeps in DECISIONS.items()} == dict.fromkeys(
        DECISIONS, wanted
    )


@of_every_age(examples=12)
def test_a_value_is_free_a_minute_after_its_guard_expired_and_otherwise_taken(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.at(now)
    name = world.row(ttl)
    claims = _refused(
        UniqueViolation, lambda s, slug: s.save(Mark(id=f"another {slug}", slug=slug)), refused=True
    )
    assert claims(world, name) is not would_delete(ttl, now, margin=60)


@of_every_age(examples=12)
def test_verify_expects_a_guard_of_what_dynamodb_keeps(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.remove_all()
    session = world.at(now)
    world.row(ttl, guarded=False)
    assert bool(list(session.verify(app))) is not would_delete(ttl, now)


@of_every_age(examples=6)
def test_whatever_has_expired_or_not_can_be_deleted(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.remove_all()
    session = world.at(now)
    name = world.row(ttl)
    session.delete(Key(Mark, id=name))
    assert world.transport.call(Call("Scan", {"TableName": app.name}))["Items"] == []
