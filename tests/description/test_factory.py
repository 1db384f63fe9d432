"""A factory builds valid entities that can be stored side by side."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import (
    AwareDatetime,
    BaseModel,
    Field,
    NaiveDatetime,
    SecretStr,
    StringConstraints,
    field_validator,
)

from dynaorm import Entity, ExpiresAt, Ksuid, KsuidMs, Session, Table, Unique
from dynaorm.errors import UnknownField, UsageError
from dynaorm.testing import factory
from dynaorm.transport import Transport

app = Table("app")


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    city: str
    floor: int = 0


class Thing(Entity, table=app, pk="THING#{name}", sk="{number:06d}"):
    name: str
    number: Annotated[int, Field(ge=5)]
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    code: Annotated[str, StringConstraints(min_length=4, max_length=6)]
    price: Decimal
    size: Annotated[float, Field(gt=0, le=3)]
    even: Annotated[int, Field(multiple_of=2)]
    at: datetime
    day: date
    id: UUID
    colour: Colour
    kind: Literal["a", "b"]
    secret: SecretStr
    place: Place
    tags: Annotated[set[str], Field(min_length=2)]
    pair: tuple[int, str]
    links: dict[str, int]
    note: str = "none"
    blob: bytes
    made: Ksuid
    sent: KsuidMs


class Coded(Entity, table=app, pk="CODE#{code}", sk="C"):
    code: Annotated[str, Field(alias="theCode")]
    ssn: SecretStr = SecretStr("0")

    @field_validator("code")
    @classmethod
    def _begins_with_a(cls, value: str) -> str:
        if not value.startswith("A"):
            raise ValueError("begins with A")
        return value


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Shelf(
    Entity, table=app, pk="SHELF#{size}", sk="{side}#{is_high!s}#{day:%Y-%m}", unique={"rank": ("rank",)}
):
    size: Size
    side: Literal["left", "right"] | None
    is_high: bool
    day: date
    rank: Annotated[int, Field(le=4)]
    until: Annotated[datetime | None, ExpiresAt()]


def test_entities_of_a_factory_can_be_stored_side_by_side(moto: Transport) -> None:
    make = factory(Thing)
    things = [make() for _ in range(12)]
    with Session(transport=moto) as session:
        session.create_table(app)
        session.save_many(things)
        assert len(session.scan(Thing).all()) == 12
    assert len({thing.name for thing in things}) == len({thing.email for thing in things}) == 12
    assert things[0].note == "none"
    assert type(things[0].place) is Place


def test_values_can_be_given_once_for_one_entity_or_as_functions() -> None:
    make = factory(Thing, note="all", code=lambda n: f"C{n:03d}")
    first, second = make(), make(note="one", email=None)
    assert [(one.note, one.code) for one in (first, second)] == [("all", "C001"), ("one", "C002")]
    assert first.email is not None
    assert second.email is None


def test_values_of_a_key_take_turns_where_a_type_has_few() -> None:
    make = factory(Shelf, rank=lambda n: n)
    first, second = make(), make()
    assert (first.size, first.side, first.is_high) == (Size.SMALL, "left", False)
    assert (second.size, second.side, second.is_high) == (Size.LARGE, "right", True)


def test_a_key_or_a_unique_value_is_made_once() -> None:
    make = factory(Shelf, rank=lambda n: n)
    make(), make()
    with pytest.raises(UsageError, match=r"has the same size, side, is_high, day; give it .* size=lambda n"):
        make()
    assert make(day=date(2024, 2, 1)).rank == 4
    ranked = factory(Shelf, day=lambda n: date(2000 + n, 1, 1))
    assert [ranked().rank for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(UsageError, match="an earlier one has the same rank"):
        ranked()


def test_a_key_that_is_given_may_be_that_of_an_earlier_entity() -> None:
    make = factory(Coded, code="A1")
    assert make() == make()


def test_an_entity_of_a_factory_has_not_expired() -> None:
    until = factory(Shelf)().until
    assert until is not None
    assert until >= datetime(2100, 1, 1, tzinfo=UTC)


def test_what_cannot_be_built_says_which_value_to_give() -> None:
    with pytest.raises(
        UsageError, match=r"factory\(Coded\) cannot build one: code: .*begins with A; give the field"
    ):
        factory(Coded)()
    assert factory(Coded, code=lambda n: f"A{n}")().code == "A1"


def test_an_entity_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(UsageError, match=r"cannot build one: Thing\.price"):
        factory(Thing, price=Decimal("1e200"))()


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(UnknownField, match="did you mean 'name'"):
        factory(Thing, nam="x")
    with pytest.raises(UnknownField, match="did you mean 'name'"):
        factory(Thing)(nam="x")


def test_a_class_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="not an entity class"):
        factory(dict)


class Hours(Entity, table=Table("hours"), pk="HOURS#{shop}", sk="{opens}"):
    shop: str
    opens: NaiveDatetime
    changed: AwareDatetime


def test_a_wall_time_is_built_without_a_zone_and_an_instant_with_one() -> None:
    build = factory(Hours)
    one, other = build(), build()
    assert (one.opens.tzinfo, one.changed.tzinfo) == (None, UTC)
    assert one.opens != other.opens
