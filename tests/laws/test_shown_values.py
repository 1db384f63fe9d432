"""A value has one text, whether it is shown as the field of an entity or as an attribute of an item."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from dynaorm import Entity, Table, entity_of, item_of
from dynaorm.cli.values import EntityFormatter, fields_of
from dynaorm.description import classify, describe
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.text import printable
from dynaorm.layout import view_of

shown = Table("shown")


class Size(Enum):
    LARGE = "large"
    TENTH = "10"


class Place(BaseModel):
    city: str
    seen: datetime


class Thing(Entity, table=shown, pk="THING#{name}", sk="T"):
    name: str
    text: str | None = None
    number: int = 0
    amount: Decimal = Decimal(0)
    at: datetime | None = None
    day: date = date(2024, 1, 1)
    hour: time = time(12)
    wait: timedelta = timedelta()
    is_new: bool = True
    size: Size = Size.LARGE
    kind: Literal["a", "1"] = "a"
    code: UUID = UUID(int=0)
    blob: bytes = b""
    place: Place | None = None
    texts: list[str | None] = Field(default_factory=list)
    tags: frozenset[str] = frozenset()
    sizes: dict[str, Decimal] = Field(default_factory=dict)
    password: SecretStr | None = None


_TEXTS = st.sampled_from(
    ["", "a", "12", "-1.5e3", "true", "null", " a", "'", "'a'", "2024-06-01T09:30:00Z", "\x1b[31m", "{a: b}"]
) | st.text(max_size=5)
_TIMES = st.datetimes(timezones=st.just(UTC), allow_imaginary=False)
_AMOUNTS = st.decimals(-1000, 1000, places=2)


@st.composite
def things(draw: st.DrawFn) -> Thing:
    """Entities with values of every type."""
    values: dict[str, Any] = {
        "text": st.none() | _TEXTS,
        "number": st.integers(-99, 99),
        "amount": _AMOUNTS,
        "at": st.none() | _TIMES,
        "day": st.dates(),
        "hour": st.times(),
        "wait": st.timedeltas(timedelta(0), timedelta(days=30)),
        "is_new": st.booleans(),
        "size": st.sampled_from(Size),
        "kind": st.sampled_from(["a", "1"]),
        "code": st.uuids(),
        "blob": st.binary(max_size=4),
        "place": st.none() | st.builds(Place, city=_TEXTS, seen=_TIMES),
        "texts": st.lists(st.none() | _TEXTS, max_size=3),
        "tags": st.frozensets(_TEXTS.filter(bool), max_size=3),
        "sizes": st.dictionaries(_TEXTS.filter(bool), _AMOUNTS, max_size=2),
        "password": st.none() | st.builds(SecretStr, _TEXTS.filter(bool)),
    }
    return Thing(name="x", **{name: draw(one) for name, one in values.items()})


@given(things())
def test_a_field_and_its_attribute_have_one_text(thing: Thing) -> None:
    item = item_of(thing)
    loaded = entity_of(item, shown)
    (row,) = view_of(describe(shown), [classify(item, shown)]).rows
    stored = {one.field: printable(one.text) for one in row.attributes if one.field}
    fields = EntityFormatter().texts(mapping_of(Thing), fields_of(loaded))
    assert {name: fields[name] for name in stored} == stored
    assert {fields[name] for name in fields.keys() - stored.keys()} <= {"null", "{}"}
