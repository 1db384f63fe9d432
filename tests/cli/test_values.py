"""Values as they are written on the command line, for fields of every type."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import new_class
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from pydantic import AwareDatetime, BaseModel, NaiveDatetime, SecretStr, StringConstraints, computed_field
from typing_extensions import TypeAliasType

from dynaorm import AnyValue, Entity, Table
from dynaorm.cli.values import assignment, bound_of, moment_of, value_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import UsageError

table = Table("values-of-commands")


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Inner(BaseModel):
    city: str
    floor: int = 0


class Every(Entity, table=table, pk="E#{name}", sk="E"):
    """A field of every type."""

    name: str
    number: int = 0
    share: float = 0.0
    exact: Decimal = Decimal(0)
    flag: bool = False
    nick: str | None = None
    size: Size | None = None
    level: Literal["low", "high"] = "low"
    ident: UUID | None = None
    raw: bytes = b""
    day: date | None = None
    at: datetime | None = None
    aware: AwareDatetime | None = None
    naive: NaiveDatetime | None = None
    hour: time | None = None
    span: timedelta | None = None
    secret: SecretStr | None = None
    upper: Annotated[str, StringConstraints(to_upper=True)] = ""
    inner: Inner | None = None
    tags: frozenset[str] = frozenset()
    props: dict[str, str] | None = None
    anything: AnyValue = None

    @computed_field
    def double(self) -> int:
        return 2 * self.number


MAPPING = mapping_of(Every)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def read(given: str) -> Any:
    return value_of(MAPPING, assignment(given))


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("name=u1", "u1"),
        ("name=", ""),
        ("name=a=b:=c", "a=b:=c"),
        ("name=007", "007"),
        ("name=null", "null"),
        ("nick=null", "null"),
        ("nick:=null", None),
        ('name:="x"', "x"),
        ("number=5", 5),
        ("number=-5", -5),
        ("number:=5", 5),
        ("share=0.5", 0.5),
        ("exact=0.10", Decimal("0.10")),
        ("flag=true", True),
        ("flag=no", False),
        ("size=l", Size.LARGE),
        ("level=high", "high"),
        ("ident=00000000-0000-0000-0000-000000000007", UUID(int=7)),
        ("raw=abc", b"abc"),
        ("day=2026-01-31", date(2026, 1, 31)),
        ("at=2026-01-31T12:00:00Z", NOON),
        ("at=2026-01-31T12:00", NOON),
        ("at=2026-01-31T13:00+01:00", NOON),
        ("aware=2026-01-31T12:00Z", NOON),
        ("naive=2026-01-31T12:00", NOON.replace(tzinfo=None)),
        ("hour=12:30", time(12, 30)),
        ("span=PT1H", timedelta(hours=1)),
        ("upper=abc", "ABC"),
        ('inner:={"city": "Oslo"}', Inner(city="Oslo")),
        ("inner.city=Oslo", "Oslo"),
        ("inner.floor=3", 3),
        ('tags:=["a"]', frozenset({"a"})),
        ("double=4", 4),
        ("anything=5", "5"),
        ("anything:=[1, null]", [1, None]),
    ],
)
def test_a_text_becomes_a_value_of_the_type(given: str, value: Any) -> None:
    found = read(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "given",
    [
        "number=x",
        "number=1.5",
        "flag=maybe",
        "size=m",
        "level=mid",
        "day=2026-02-30",
        "at=2026",
        "tags=a",
        "number:=x",
    ],
)
def test_what_does_not_fit_is_refused_with_the_field_and_how_to_write_it(given: str) -> None:
    name = given.partition("=")[0].rstrip(":")
    with pytest.raises(UsageError) as caught:
        read(given)
    assert name in caught.value.problem
    assert caught.value.remedy


def midnight(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-01", (2026, 1, 1), (2026, 2, 1)),
        ("2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2024-02-29", (2024, 2, 29), (2024, 3, 1)),
        ("2026-12-31", (2026, 12, 31), (2027, 1, 1)),
    ],
)
def test_a_span_of_time_bounds_from_its_beginning_or_up_to_its_end(
    text: str, begin: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    made = {
        "at": midnight,
        "aware": midnight,
        "naive": datetime,
        "day": date,
    }
    for name, make in made.items():
        expected = {"ge": ("ge", begin), "lt": ("lt", begin), "gt": ("ge", end), "le": ("lt", end)}
        if name == "day" and text.count("-") == 2:  # it is a value of the field
            expected = {operator: (operator, begin) for operator in expected}
        for operator, (found, bound) in expected.items():
            assert bound_of(MAPPING, operator, f"{name}={text}") == (found, name, make(*bound))


@pytest.mark.parametrize("text", ["2026-13", "2026-00-01", "2026-02-30", "0000"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        bound_of(MAPPING, "ge", f"at={text}")
    with pytest.raises(UsageError, match="is not a time"):
        moment_of("--as-of", text)


def test_a_moment_is_in_utc_unless_it_says_otherwise() -> None:
    for text in ("2026-01-31T12:00", "2026-01-31T12:00Z", "2026-01-31T14:00+02:00"):
        assert moment_of("--as-of", text) == NOON
    assert moment_of("--as-of", "2026") == midnight(2026, 1, 1)
    assert moment_of("--as-of", "2026-02-03") == midnight(2026, 2, 3)


@dataclass
class Spot:
    shelf: int


WRITTEN: list[Callable[[Any], Any]] = [
    lambda kind: TypeAliasType("Named", kind),
    lambda kind: TypeAliasType("Named", kind | None),
    lambda kind: NewType("Named", kind),
    lambda kind: Annotated[kind, "a note"] | None,
]


@pytest.mark.parametrize("written", range(len(WRITTEN)))
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (datetime, "it=2026-01-31T12:00"),
        (datetime, "it=2026"),
        (datetime, "it=2026-01"),
        (AwareDatetime, "it=2026"),
        (NaiveDatetime, "it=2026-01"),
        (date, "it=2026-01"),
        (Inner, "it.city=Oslo"),
        (Inner, "it.floor=3"),
    ],
)
def test_a_type_under_another_name_is_read_as_that_type(kind: Any, given: str, written: int) -> None:
    def mapped(annotation: Any) -> EntityMapping:
        declared = {"__annotations__": {"name": str, "it": annotation}, "__module__": __name__}
        own = Table("values-of-names")
        made = new_class(
            "It", (Entity,), {"table": own, "pk": "IT#{name}", "sk": "IT"}, lambda at: at.update(declared)
        )
        return mapping_of(made)

    def found(mapping: EntityMapping) -> list[Any]:
        try:
            value = value_of(mapping, assignment(given))
        except UsageError as problem:
            value = problem.problem
        return [value, *(bound_of(mapping, operator, given) for operator in ("le", "gt"))]

    assert found(mapped(WRITTEN[written](kind))) == found(mapped(kind))


def test_a_field_of_a_nested_dataclass_has_its_type() -> None:
    class Stored(Entity, table=Table("values-of-dataclasses"), pk="S#{name}", sk="S"):
        name: str
        spot: Spot | None = None

    assert value_of(mapping_of(Stored), assignment("spot.shelf=3")) == 3


@pytest.mark.parametrize("name", ["props.owner", "props.owner.name"])
def test_a_member_of_a_dict_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        value_of(mapping_of(Every), assignment(f"{name}=liz"))
    assert str(caught.value) == (
        f"{name} is a member of the dict Every.props, and the command line names fields; "
        "write the whole dict, props:=JSON, or use a program: F.props['owner']"
    )
