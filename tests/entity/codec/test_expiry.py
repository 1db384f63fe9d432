"""Expiry: stored in whole epoch seconds, read whatever number of seconds is stored."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Annotated, Any, Optional

import pytest
from pydantic import AwareDatetime
from typing_extensions import TypeAliasType

from dynaorm import Entity, ExpiresAt, Table
from dynaorm.entity.codec.expiry import EXPIRY, is_expiry
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.resolve import FieldResolver

Until = TypeAliasType("Until", Annotated[datetime | None, ExpiresAt()])


class Lock(Entity, table=Table("app"), pk="LOCK#{slug}", sk="A"):
    slug: str
    until: Until = None


@pytest.mark.parametrize(
    "annotation",
    [datetime, datetime | None, Optional[datetime], Annotated[datetime, 1] | None, AwareDatetime, Until],  # noqa: UP045
    ids=str,
)
def test_a_datetime_can_say_when_an_item_expires_however_it_is_spelled(annotation: Any) -> None:
    assert is_expiry(annotation)


@pytest.mark.parametrize("annotation", [str, int, date, datetime | str, list[datetime]], ids=str)
def test_nothing_else_can(annotation: Any) -> None:
    assert not is_expiry(annotation)


def test_a_time_is_stored_in_whole_seconds() -> None:
    at = datetime(1970, 1, 2, 1, tzinfo=timezone(timedelta(hours=1))) + timedelta(microseconds=999_999)
    assert EXPIRY.encode(at) == {"N": "86400"}
    assert EXPIRY.decode({"N": "86400"}) == datetime(1970, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (datetime(2024, 1, 1), "is a datetime without a time zone; give it one"),  # noqa: DTZ001
        (1_700_000_000, "is 1700000000, not a datetime; give one with a time zone"),
    ],
)
def test_what_is_no_moment_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        EXPIRY.encode(value)


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ({"S": "tomorrow"}, "is stored as {'S': 'tomorrow'}, not as a number of epoch seconds"),
        ({"N": "1700000000000"}, "which is not a time in epoch seconds; is it in milliseconds"),
        ({"N": "1" + "0" * 30}, "which is not a time in epoch seconds; is it in milliseconds"),
    ],
)
def test_what_is_stored_as_no_moment_is_refused(stored: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        EXPIRY.decode(stored)


def test_a_time_to_compare_with_is_exact() -> None:
    """Stored times are whole seconds: half a second later is later than what is stored."""
    at = datetime(1970, 1, 2, tzinfo=UTC) + timedelta(microseconds=500_000)
    assert FieldResolver(mapping_of(Lock)).encode(("until",), at, role="bound") == {"N": "86400.5"}
    assert FieldResolver(mapping_of(Lock)).encode(("until",), at, role="value") == {"N": "86400"}
