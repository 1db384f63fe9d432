"""A value of another type in a key or a query is converted as constructing the entity does it, or refused."""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Final
from uuid import UUID

import pytest
from pydantic import NaiveDatetime, SecretStr, ValidationError, computed_field

from dynaorm import Computed, Entity, Key, NumberKey, Session, Table, Unique, any_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


VALUES: Final[tuple[Any, ...]] = (
    1, 0, -5, True, 1.0, 1.5, Decimal(1), Decimal(-5), "1", "true", "red", "01:00:00", "2024-01-01", "1.1.1.1",
    "2024-01-01T00:00:00Z", "2024-01-01T00:00:00", str(UUID(int=1)), UUID(int=1), b"1", UUID(int=1).bytes, Colour.RED,
    Level.LOW, date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), time(1), timedelta(seconds=1),
    datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None), SecretStr("1"), ipaddress.ip_address("1.1.1.1"), [],
)  # fmt: skip
TYPES: Final = (
    str, int, bool, Decimal, float, timedelta, UUID, datetime, NaiveDatetime, date, time, bytes, Colour, Level,
    SecretStr, ipaddress.IPv4Address,
)  # fmt: skip


def declared(kind: Any) -> Any:
    number = kind in (int, Decimal, float, timedelta, Level)
    table = Table("kept", sk=NumberKey("SK"), guard_table=Table("kept-guards")) if number else Table("kept")

    class Kept(Entity, table=table, pk="P#{first}", sk="{second}" if number else "S#{second}"):
        first: Annotated[kind, None]
        second: Annotated[kind, None]
        third: Annotated[kind, Unique()]

    return Kept


@contextmanager
def opened(entity: Any) -> Iterator[tuple[Session, list[str]]]:
    sent: list[str] = []
    with Session(endpoint="memory:", on_attempt=lambda attempt: sent.append(attempt.operation)) as session:
        session.create_table(mapping_of(entity).table)
        yield session, sent


def calls(session: Session, entity: Any, value: Any, right: Any) -> dict[str, Callable[[], Any]]:
    """Every call that finds the entity under a value. ``right``: the value that it has."""

    def query() -> Any:
        return session.query(entity, first=right)

    return {
        "get": lambda: session.get(entity, first=value, second=value),
        "Key": lambda: session.get(Key(entity, first=value, second=right)),
        "get_by": lambda: session.get_by(entity, third=value),
        "query": lambda: session.query(entity, first=value, second=value).all()[0],
        "any_of": lambda: session.query(entity, first=any_of(value, right), second=right).all()[0],
        "ge": lambda: query().ge(second=value).all()[0],
        "le": lambda: query().le(second=value).all()[0],
        "between": lambda: query().between(second=(value, right)).all()[0],
        "collection": lambda: session.collection(entity, first=value).all()[0],
    }


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_key_takes_what_constructing_takes(kind: Any) -> None:
    entity, taken = declared(kind), 0
    for value in VALUES:
        with opened(entity) as (session, sent):
            try:
                kept = entity(first=value, second=value, third=value)
                session.save(kept)
            except (ValidationError, InvalidValue):
                sent.clear()
                for name, call in calls(session, entity, value, value).items():
                    with pytest.raises(InvalidValue):
                        pytest.fail(f"{name}({value!r}) gives {call()!r}")
                assert sent == []
                continue
            taken += 1
            for name, call in calls(session, entity, value, kept.first).items():
                assert call() == kept, f"{name}({value!r})"
            assert Key(entity, first=value, second=value) == Key(entity, first=kept.first, second=kept.second)
    assert taken


class Month(Entity, table=Table("months"), pk="M#{month}", sk="{at}"):
    at: datetime

    @computed_field  # type: ignore[prop-decorator]  # mypy does not know decorated properties
    @property
    def month(self) -> Annotated[str, Computed(of=("at",))]:
        return f"{self.at:%Y-%m}"


def test_functions_of_key_parts_are_shown_converted_values() -> None:
    key = Key(Month, at="2024-01-01T00:00:00Z")
    assert key.primary_key == {"PK": {"S": "M#2024-01"}, "SK": {"S": "2024-01-01T00:00:00.000000Z"}}
    with pytest.raises(InvalidValue):
        Key(Month, at="yesterday")


def test_the_beginning_of_a_text_is_no_value_of_the_field() -> None:
    with opened(Month) as (session, sent):
        sent.clear()
        with pytest.raises(InvalidValue, match="is an int, not a str"):
            session.query(Month, month="2024-01").begins_with(at=5).all()
        assert sent == []


@pytest.mark.parametrize("stores_values", [False, True])
@pytest.mark.parametrize("value", [Colour.RED, "red"])
def test_a_shard_of_an_enum_is_read_by_member_and_by_value(stores_values: bool, value: Any) -> None:
    class Car(
        Entity, table=Table("cars"), pk="CARS#{colour:shard4}", sk="{name}", use_enum_values=stores_values
    ):
        name: str
        colour: Colour

    with opened(Car) as (session, _):
        car = session.save(Car(name="a", colour=Colour.RED))
        assert session.query(Car, colour=value).all() == [car]
        assert session.query(Car, colour=any_of(value)).keys().all() == [Key(Car, colour=value, name="a")]
