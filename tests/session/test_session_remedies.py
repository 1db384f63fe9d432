"""An error about a value ends with what to do: the remedy of the rule that it breaks, or the general one."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from dynaorm import AnyValue, Entity, Session, Table
from dynaorm.errors import InvalidValue

app = Table("remedies")
NOON = datetime(2100, 1, 1, 12, 0, 0, 654_321, UTC)


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even; odd ones are for guests")
    return number


class Guest(Entity, table=app, pk="GUEST#{at}", sk="G"):
    at: datetime = NOON
    number: Annotated[int, AfterValidator(even)] = 0
    pair: Annotated[str, Field(pattern="^a; b$")] = "a; b"
    extra: AnyValue = None


DEFAULT = "give the field a value that its declaration allows"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("number", 1, f"= 1: Value error, must be even; odd ones are for guests; {DEFAULT}"),
        ("pair", "x", f"= 'x': String should match pattern '^a; b$'; {DEFAULT}"),
        ("extra", set(), "= set(): is an empty set, which DynamoDB does not have; give None"),
        ("extra", [{"x": set()}], ": at [0].x: is an empty set, which DynamoDB does not have; give None"),
        (
            "at",
            NOON.replace(tzinfo=None),
            ": is a datetime without a time zone; give it one (datetime.now(UTC))",
        ),
    ],
)
def test_an_invalid_value_has_its_own_remedy_or_the_general_one(
    session: Session, field: str, value: object, message: str
) -> None:
    guest = Guest()
    object.__setattr__(guest, field, value)
    with pytest.raises(InvalidValue) as caught:
        session.save(guest)
    assert str(caught.value).endswith(message)
    assert message.endswith(f"; {caught.value.remedy}")
