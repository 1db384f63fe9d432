"""Every way to write stores what validation makes of the values, and checks the rules of the class."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dynaorm import AnyValue, Entity, F, Key, Session, Table, inspect
from dynaorm.entity.marker import ExpiresAt, Unique
from dynaorm.errors import InvalidValue, UniqueViolation
from dynaorm.testing import FaultyTransport

app = Table("validation")
NOON = datetime(2100, 1, 1, 12, 0, 0, 654_321, UTC)


class Colour(Enum):
    RED = "red"


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, AfterValidator(str.lower), Unique()]
    nick: Annotated[str, StringConstraints(to_lower=True), Unique()]
    colour: Colour = Colour.RED
    age: int = 0
    parts: tuple[str, ...] = ()


class Booking(Entity, table=app, pk="BOOKING#{name}", sk="S"):
    name: Annotated[str, AfterValidator(str.lower)]
    start: int = 0
    end: int = 10

    @model_validator(mode="after")
    def in_order(self) -> "Booking":
        if self.start > self.end:
            raise ValueError("start is after end")
        return self


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="A"):
    name: str
    balance: Annotated[int, Field(ge=0)] = 0
    notes: Annotated[list[str], Field(max_length=2)] = Field(default_factory=list)
    tags: Annotated[set[str], Field(max_length=2)] = Field(default_factory=set)
    until: Annotated[datetime | None, ExpiresAt()] = None
    growing: Annotated[str, AfterValidator(lambda text: text if len(text) > 2 else f"{text}!")] = "abc"


class Ranged(Entity, table=app, pk="RANGED#{name}", sk="R"):
    name: str
    low: int = 0
    high: int = 10

    @field_validator("high")
    @classmethod
    def not_below(cls, high: int, info: ValidationInfo) -> int:
        return max(high, int(info.data.get("low", high)))


class Sample(Entity, table=app, pk="SAMPLE#{name}", sk="S"):
    name: str
    ratio: float = 1.0
    exact: Decimal = Decimal(7)
    label: str | None = "old"
    notes: AnyValue = None


class Draft(Entity, table=app, pk="DRAFT#{name}", sk="D"):
    name: str
    slug: Annotated[str | None, Unique()] = None
    tags: list[str] = Field(default_factory=list)
    names: dict[str, str] = Field(default={})


class Frozen(Entity, table=app, pk="FROZEN#{name}", sk="F", frozen=True):
    name: str
    text: Annotated[str, AfterValidator(str.lower)] = ""


def users(session: Session) -> tuple[User, User]:
    bob = session.save(User(user_id="1", email="bob@x", nick="bob"))
    return bob, session.save(User(user_id="2", email="liz@x", nick="liz"))


@pytest.mark.parametrize("change", [{"email": "BOB@x"}, {"nick": "BOB"}])
def test_a_value_that_its_validator_changes_is_claimed_as_it_is_stored(
    session: Session, change: dict[str, Any]
) -> None:
    _, liz = users(session)
    writes: list[Callable[[], object]] = [
        lambda: session.save(liz.model_copy(update=change)),
        lambda: session.update(Key(User, user_id="2"), change),
        lambda: session.update(liz, change),
    ]
    for write in writes:
        with pytest.raises(UniqueViolation):
            write()
    liz.email, liz.nick = "Liz@Y", "LIZ"
    session.save(liz)
    assert (liz.email, liz.nick, inspect(liz).changes) == ("liz@y", "liz", {})
    assert session.get_by(User, email="liz@y") == liz


def test_a_rule_of_the_class_is_checked_before_every_write(session: Session, wire: FaultyTransport) -> None:
    booking = session.save(Booking(name="a"))
    booking.start = 99
    writes: list[Callable[[], object]] = [
        lambda: session.save(booking),
        lambda: session.update(booking, {"start": 99}),
        lambda: session.update(Key(Booking, name="a"), F.start.add(99)),
        lambda: session.move(booking),
    ]
    for write in writes:
        with pytest.raises(InvalidValue, match=r"Booking: .*start is after end"):
            write()
    assert session.get_one(Booking, name="a").start == 0


def test_a_validator_that_looks_at_other_fields_sees_the_stored_ones(session: Session) -> None:
    session.save(Ranged(name="a", low=5))
    assert session.update(Key(Ranged, name="a"), {"high": 3}).high == 5


def test_an_object_holds_what_is_stored_once_it_is_saved(session: Session) -> None:
    bob, _ = users(session)
    vars(bob).update(colour="red", age="5", parts=["a"])
    account = session.save(Account(name="a", until=NOON))
    session.save(bob)
    assert (bob.colour, bob.age, bob.parts) == (Colour.RED, 5, ("a",))
    assert account.until == NOON.replace(microsecond=0)
    frozen = session.save(Frozen(name="f"))
    copy = session.save(frozen.model_copy(update={"text": "ABC"}))
    assert (copy.text, session.get(Frozen, name="f")) == ("abc", copy)


def test_an_entity_moves_under_the_key_that_its_validated_values_render(session: Session) -> None:
    booking = session.save(Booking(name="a"))
    booking.name = "B"
    session.move(booking)
    assert (booking.name, session.get(Booking, name="b"), session.get(Booking, name="a")) == (
        "b",
        booking,
        None,
    )


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


UNSTORABLE: dict[str, tuple[str, Any]] = {
    "not a number": ("ratio", float("nan")),
    "infinity": ("ratio", float("inf")),
    "too many digits": ("exact", Decimal("1." + "3" * 60)),
    "half a surrogate pair": ("label", "\ud800"),
    "no value of DynamoDB": ("notes", object()),
    "a key that is no text": ("notes", {1: 2}),
    "an empty set": ("notes", [set()]),
    "half a surrogate pair in anything": ("notes", ["\ud800"]),
    "half a surrogate pair in a name": ("notes", {"\ud800": 1}),
    "300 levels": ("notes", nested(300)),
    "3000 levels": ("notes", nested(3000)),
}


def move(session: Session, entity: Sample) -> None:
    entity.name = "b"
    session.move(entity)


def update(session: Session, kind: type[Draft], *changes: Any) -> object:
    return session.update(Key(kind, name="a"), *changes)
