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

from dynaorm import Entity, ExpiresAt, F, Key, Session, Table, Unique, tools
from dynaorm.entity.expiry import Expiry, Unit
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import (
    AlreadyExists,
    DecodeError,
    EntityNotFound,
    UniqueViolation,
)
from dynaorm.item.condition import holds
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import AttributeValue

FIVE_YEARS: Final = 5 * 365 * 86_400
NOW: Final = 1_700_000_000
UNITS: Final[tuple[Unit, ...]] = ("s", "ms")
app = Table("expiry-of-every-age")


class Mark(Entity, table=app, pk="MARK#{id}", sk="MARK"):
    id: str
    slug: Annotated[str | None, Unique()] = None
    n: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Instant(Entity, table=Table("expiry-in-milliseconds"), pk="MARK#{id}", sk="MARK", name="Mark"):
    """The same where a program keeps milliseconds."""

    id: str
    slug: Annotated[str | None, Unique()] = None
    n: int = 0
    until: Annotated[datetime | None, ExpiresAt(unit="ms")] = None


def has_expired(stored: AttributeValue | None, now: Decimal, margin: int, unit: str) -> bool:
    """Whether an item with this time has expired."""
    if unit == "s":
        return would_delete(stored, now, margin)
    return stored is not None and "N" in stored and 0 < Decimal(stored["N"]) // 1 <= (now - margin) * 1000


def in_unit(stored: AttributeValue | None, unit: str) -> AttributeValue | None:
    """A time in seconds as a program stores it that counts in a unit."""
    if stored is None or "N" not in stored or unit == "s":
        return stored
    return {"N": str(Decimal(stored["N"]) * 1000)}


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


@given(ttl=TTLS, now=NOWS, margin=st.sampled_from([0, 60]), unit=st.sampled_from(UNITS))
def test_the_condition_and_the_function_agree_with_the_rule(
    ttl: AttributeValue | None, now: Decimal, margin: int, unit: Unit
) -> None:
    stored, expiry = in_unit(ttl, unit), Expiry("until", unit)
    wanted = has_expired(stored, now, margin, unit)
    item = {} if stored is None else {"until": stored}
    assert expiry.is_over(item, float(now), margin) is wanted
    assert holds(expiry.condition(float(now), margin), item) is wanted
    assert holds(~expiry.condition(float(now), margin), item) is not wanted


class World:
    """A session at a time, over rows that another program wrote."""

    def __init__(self, transport: Transport, unit: Unit) -> None:
        self.transport, self.unit = transport, unit
        self.kind: Any = Mark if unit == "s" else Instant
        self.table = app if unit == "s" else mapping_of(Instant).table
        self.at(Decimal(NOW)).create_table(self.table)

    def at(self, now: Decimal) -> Session:
        self.session = Session(transport=self.transport, clock=FakeClock(float(now)))
        return self.session

    def row(self, ttl: AttributeValue | None, *, guarded: bool = True) -> str:
        """The id of a new row, which holds the slug of that name."""
        stored = in_unit(ttl, self.unit)
        name, until = str(next(ROWS)), {} if stored is None else {"until": stored}
        key = {"PK": {"S": f"MARK#{name}"}, "SK": {"S": "MARK"}}
        fields = {"id": {"S": name}, "slug": {"S": name}, "n": {"N": "41"}}
        self.put({**key, "_type": {"S": "Mark"}, "_rev": {"S": "r"}, **fields, **until})
        if guarded:
            guard = {"S": f"slug#{name}"}
            self.put({"PK": guard, "SK": guard, "owner": {"M": key}, **until})
        return name

    def put(self, item: Mapping[str, Any]) -> None:
        self.transport.call(Call("PutItem", {"TableName": self.table.name, "Item": item}))

    def remove_all(self) -> None:
        for item in self.transport.call(Call("Scan", {"TableName": self.table.name}))["Items"]:
            key = {"PK": item["PK"], "SK": item["SK"]}
            self.transport.call(Call("DeleteItem", {"TableName": self.table.name, "Key": key}))

    def has_expired(self, ttl: AttributeValue | None, now: Decimal, margin: int = 0) -> bool:
        return has_expired(in_unit(ttl, self.unit), now, margin, self.unit)


def _finds(read: Callable[[World, str], object]) -> Callable[[World, str], bool]:
    def keeps(world: World, name: str) -> bool:
        try:
            return bool(read(world, name))
        except DecodeError:  # it is there, and its TTL is no time
            return True

    return keeps


def _refused(
    error: type[Exception], write: Callable[[World, str], object], *, refused: bool
) -> Callable[[World, str], bool]:
    """A write that is refused by this error if the item is there, or if it is not."""

    def keeps(world: World, name: str) -> bool:
        try:
            write(world, name)
        except error:
            return refused
        except DecodeError:
            return True
        return not refused

    return keeps


def _in_block(world: World, name: str) -> None:
    with world.session.transaction() as tx:
        tx.update(Key(world.kind, id=name), F.n.add(1))
        tx.save(world.kind(id=f"beside {name}"))


def _checked(world: World, name: str) -> None:
    with world.session.transaction() as tx:
        tx.check(Key(world.kind, id=name), F.n == 41)
        tx.save(world.kind(id=f"beside {name}"))


def _upserted(world: World, name: str) -> bool:
    return bool(world.session.upsert(Key(world.kind, id=name), F.n.add(1)).n == 42)


DECISIONS: Final[Mapping[str, Callable[[World, str], bool]]] = {
    "get": _finds(lambda world, name: world.session.get(world.kind, id=name)),
    "get_by": _finds(lambda world, name: world.session.get_by(world.kind, slug=name)),
    "get_many": _finds(lambda world, name: world.session.get_many([Key(world.kind, id=name)])[0]),
    "exists": _finds(lambda world, name: world.session.exists(world.kind, id=name)),
    "snapshot": _finds(lambda world, name: world.session.snapshot([Key(world.kind, id=name)])[0]),
    "query": _finds(lambda world, name: world.session.query(world.kind, id=name).all()),
    "count": _finds(lambda world, name: world.session.query(world.kind, id=name).count()),
    "filter": _finds(lambda world, name: world.session.query(world.kind, id=name).filter(F.n == 41).all()),
    "insert": _refused(
        AlreadyExists, lambda world, name: world.session.save(world.kind(id=name)), refused=True
    ),
    "update": _refused(
        EntityNotFound,
        lambda world, name: world.session.update(Key(world.kind, id=name), F.n.add(1)),
        refused=False,
    ),
    "update that reads": _refused(
        EntityNotFound,
        lambda world, name: world.session.update(Key(world.kind, id=name), {"slug": None}),
        refused=False,
    ),
    "update in a block": _refused(EntityNotFound, _in_block, refused=False),
    "check": _refused(EntityNotFound, _checked, refused=False),
    "upsert": _finds(_upserted),
}


@pytest.fixture(scope="module", params=UNITS)
def world(transport: Transport, request: pytest.FixtureRequest) -> World:
    return World(transport, request.param)


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
    wanted = not world.has_expired(ttl, now)
    event(f"kept: {wanted}")
    world.at(now)
    assert {way: keeps(world, world.row(ttl)) for way, keeps in DECISIONS.items()} == dict.fromkeys(
        DECISIONS, wanted
    )


@of_every_age(examples=12)
def test_a_value_is_free_a_minute_after_its_guard_expired(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.at(now)
    name = world.row(ttl)
    claims = _refused(
        UniqueViolation,
        lambda world, slug: world.session.save(world.kind(id=f"another {slug}", slug=slug)),
        refused=True,
    )
    assert claims(world, name) is not world.has_expired(ttl, now, margin=60)


@of_every_age(examples=12)
def test_verify_expects_a_guard_of_what_dynamodb_keeps(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.remove_all()
    session = world.at(now)
    world.row(ttl, guarded=False)
    assert bool(list(tools.verify(session, world.table))) is not world.has_expired(ttl, now)


@of_every_age(examples=6)
def test_whatever_has_expired_or_not_can_be_deleted(
    world: World, ttl: AttributeValue | None, now: Decimal
) -> None:
    world.remove_all()
    session = world.at(now)
    name = world.row(ttl)
    session.delete(Key(world.kind, id=name))
    assert world.transport.call(Call("Scan", {"TableName": world.table.name}))["Items"] == []


def test_an_insert_over_an_expired_entity_leaves_a_free_guard(world: World) -> None:
    world.remove_all()
    session = world.at(Decimal(NOW))
    name = world.row({"N": str(NOW - 3600)})
    session.save(world.kind(id=name, slug=f"new {name}"))
    assert session.get_by(world.kind, slug=name) is None
    assert list(tools.verify(session, world.table)) == []
    other = session.save(world.kind(id="other", slug=name))
    assert session.get_by(world.kind, slug=name) == other
