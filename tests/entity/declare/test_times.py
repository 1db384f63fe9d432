"""The fields that cannot hold a time that sessions keep."""

from datetime import date, datetime
from typing import Annotated

from dynaorm import Attribute, CreatedAt, Entity, ExpiresAt, Table, UpdatedAt
from dynaorm.codecs import EPOCH_MILLISECONDS
from dynaorm.entity.mapping.mapping import mapping_of
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[]] = Refusals("Thing")
app = Table("kept")


def test_the_fields_that_a_session_keeps_are_known() -> None:
    class Thing(Entity, table=Table("app"), pk="THING#{name}", sk="T"):
        name: str
        made: Annotated[datetime | None, CreatedAt()] = None
        seen: Annotated[datetime | None, UpdatedAt()] = None
        born: Annotated[datetime | None, CreatedAt()] = None

    assert [*mapping_of(Thing).kept] == ["made", "born", "seen"]


@refused(
    "made: CreatedAt() needs a time that is None before the first write; "
    "write Annotated[datetime | None, CreatedAt()] = None"
)
def a_required_time() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
        name: str
        made: Annotated[datetime, CreatedAt()]


@refused(
    "seen: UpdatedAt() needs a time that is None before the first write; "
    "write Annotated[datetime | None, UpdatedAt()] = None"
)
def a_date() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
        name: str
        seen: Annotated[date | None, UpdatedAt()] = None


@refused(
    "made: CreatedAt() is set by the write, so the primary key cannot be made of it; "
    "use a field with a default_factory there"
)
def a_time_in_the_primary_key() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T#{made}"):
        name: str
        made: Annotated[datetime | None, CreatedAt()] = None


@refused(
    "made: CreatedAt() and ExpiresAt() exclude each other; use a field for each",
    "made: CreatedAt() and UpdatedAt() exclude each other; use a field for each",
    "made: UpdatedAt() and ExpiresAt() exclude each other; use a field for each",
)
def a_time_of_everything() -> None:
    class Thing(Entity, table=Table("kept2"), pk="THING#{name}", sk="T"):
        name: str
        made: Annotated[datetime | None, CreatedAt(), UpdatedAt(), ExpiresAt()] = None


@refused('until: ExpiresAt(unit=\'minutes\') is no unit of time; give "s" or "ms"')
def an_unknown_unit() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
        name: str
        until: Annotated[datetime | None, ExpiresAt(unit="minutes")] = None


@refused("until: ExpiresAt() says how it is stored; drop codec=")
def an_expiry_with_a_codec() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
        name: str
        until: Annotated[datetime | None, ExpiresAt(unit="ms"), Attribute(codec=EPOCH_MILLISECONDS)] = None


@refused(
    "until: ExpiresAt() is not stored exactly, so the primary key cannot be made of it; use another field there"
)
def an_expiry_in_the_key() -> None:
    class Thing(Entity, table=app, pk="THING#{name}", sk="T#{until}"):
        name: str
        until: Annotated[datetime, ExpiresAt(unit="ms")]


@refused(
    "Table('in-seconds') already expires items by seconds, and its guard items have one unit; "
    "declare the field ExpiresAt(unit='s'), or the class in a table of its own"
)
def another_unit_in_one_table() -> None:
    shared = Table("in-seconds")

    class Other(Entity, table=shared, pk="OTHER#{name}", sk="T"):
        name: str
        until: Annotated[datetime | None, ExpiresAt()] = None

    class Thing(Entity, table=shared, pk="THING#{name}", sk="T"):
        name: str
        until: Annotated[datetime | None, ExpiresAt(unit="ms")] = None


@refused.each
def test_a_field_that_cannot_be_kept_is_refused(case: Refusal[[]]) -> None:
    case.check()
