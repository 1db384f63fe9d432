"""The classes whose stored items are damaged, one valid entity of each, and the values that damage them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, Field

from dynaorm import (
    Attribute,
    BinaryKey,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Table,
    Unique,
    Versioned,
)
from dynaorm.entity.mapping.mapping import mapping_of
from tests.dynamodb_json import AttributeValue, Item

mixed = Table("mixed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])
claims = Table("claims")
plain = Table(
    "plain",
    pk="device",
    sk=NumberKey("at"),
    type_attribute=None,
    revision_attribute=None,
    guard_table=claims,
)
packed = Table("packed", sk=BinaryKey("SK"), key_fields="in_key")
TABLES = (mixed, claims, plain, packed)

NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)
FAR = datetime(2100, 1, 1, tzinfo=UTC)


class Mood(Enum):
    GOOD = 1
    BAD = 2


class Address(BaseModel):
    city: str
    zip: int | None = None


class Person(Entity, table=mixed, pk="PERSON#{name}", sk="P{number:03d}", unique={"seat": ("hall", "place")}):
    name: str
    number: int
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    nick: Annotated[str | None, Unique(scope=("hall",), when=lambda person: person.mood is Mood.GOOD)] = None
    hall: str | None = None
    place: int | None = None
    mood: Mood = Mood.GOOD
    city: str | None = None
    seen: datetime | None = None
    by_city = Index("GSI1", pk="CITY#{city}#{number:shard2}", sk="{seen}")
    by_hall = Index("GSI2", pk="HALL#{hall}", sk="{place:04d}")


class Pilot(Person):
    planes: list[str] = Field(default_factory=list)


class Paper(Entity, table=mixed, pk="PAPER#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    pages: int = 1


class Audit(Entity, table=mixed, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    result: Annotated[str, Versioned()] = "new"
    note: str = ""


class Login(Entity, table=mixed, pk="LOGIN#{name}", sk="L"):
    name: str
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Label(Entity, table=mixed, pk="LABEL#{name}", sk="{day}"):
    name: str
    day: Annotated[date, InKey()]
    colour: Literal["red", "blue"] = "red"


class Chest(Entity, table=mixed, pk="CHEST#{name}", sk="C"):
    name: str
    flag: bool = True
    weight: float = 0.5
    price: Decimal = Decimal(1)
    length: timedelta = timedelta(seconds=1)
    ident: UUID | None = None
    blob: bytes = b""
    tags: set[str] = Field(default_factory=set)
    sizes: frozenset[int] = frozenset()
    pair: tuple[str, int] = ("a", 1)
    home: Address | None = None
    homes: list[Address] = Field(default_factory=list)
    book: dict[str, list[int]] = Field(default_factory=dict)
    either: str | int | None = None
    old: Annotated[str | None, Attribute("New", formerly=("Old",))] = None


class Reading(Entity, table=plain, pk="{device}", sk="{at}"):
    device: str
    at: int
    value: Decimal | None = None
    note: Annotated[str | None, Unique()] = None


class Blob(Entity, table=packed, pk="BLOB#{name}", sk="{digest}"):
    name: str
    digest: bytes
    text: str = ""


SOUND: tuple[Any, ...] = (
    Person(
        name="a", number=7, email="A@x", nick="n", hall="h", place=1, city="Bonn", seen=NOON, mood=Mood.GOOD
    ),
    Pilot(name="b", number=8, email="b@x", hall="h", place=2, planes=["x"]),
    Paper(name="a", text="t", slug="s"),
    Audit(name="a"),
    Login(name="a", alias="z", until=FAR),
    Label(name="a", day=NOON.date()),
    Chest(name="a", tags={"x"}, home=Address(city="Bonn"), book={"k": [1]}, either="e", old="o"),
    Reading(device="d", at=5, value=Decimal("1.5"), note="n"),
    Blob(name="a", digest=b"\x00\xff", text="t"),
)
"""One entity of each class."""


def _nested(value: dict[str, Any], depth: int) -> dict[str, Any]:
    for level in range(depth):
        value = {"L": [value]} if level % 2 else {"M": {"k": value}}
    return value


# -- what is put in place of an attribute ------------------------------------------------------------------------------

_TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "-1",
            "1.0",
            "a",
            "None",
            "true",
            "v0_TEXT",
            "v1_TEXT",
            "PERSON#a",
            "email#a@x",
            "sha256:00",
        ]
    ),
    st.sampled_from(["2024-05-17", "2024-05-17T12:00:00.000000Z", "2024-02-30", "9999-12-31T23:59:59-14:00"]),
    st.text(max_size=8).filter(lambda text: not any(0xD800 <= ord(one) <= 0xDFFF for one in text)),
)
_EXTREME = ("1E+20", "9.9E+125", "-9.9E+125", "1E-130", "9" * 38, "0.1234567890123456789")
_NUMBERS = st.sampled_from(
    (*("0", "1", "2", "-1", "1.5", "7", "1000", "253402300800", "1715947200000"), *_EXTREME)
)
_BLOBS = st.binary(max_size=4)
_FLAT: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda text: {"S": text}, _TEXTS),
    st.builds(lambda text: {"N": text}, _NUMBERS),
    st.builds(lambda blob: {"B": blob}, _BLOBS),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(
        lambda texts: {"SS": texts}, st.lists(_TEXTS.filter(bool), min_size=1, max_size=3, unique=True)
    ),
    st.builds(lambda texts: {"NS": texts}, st.lists(_NUMBERS, min_size=1, max_size=3, unique=True)),
    st.builds(
        lambda blobs: {"BS": blobs}, st.lists(_BLOBS.filter(bool), min_size=1, max_size=3, unique=True)
    ),
)
_NAMES = st.sampled_from(["city", "zip", "k", "PK", "SK", "owner", "x y", "é"])
VALUES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    _FLAT,
    st.recursive(
        _FLAT,
        lambda inner: st.one_of(
            st.builds(lambda found: {"L": found}, st.lists(inner, max_size=3)),
            st.builds(lambda found: {"M": found}, st.dictionaries(_NAMES, inner, max_size=3)),
        ),
        max_leaves=6,
    ),
    st.builds(_nested, _FLAT, st.integers(10, 30)),
)
"""Any attribute value that DynamoDB stores: at most 32 levels of nesting, numbers of at most 38 digits."""


_RESERVED = ("_type", "_rev", "version", "version_at", "deleted", "until", "owner", "Old", "unknown")
_FOREIGN = st.sampled_from([*(kind.__name__ for kind in map(type, SOUND)), "Nobody", "None", ""])


@st.composite
def spoiled(draw: st.DrawFn, item: Item, keys: frozenset[str]) -> dict[str, AttributeValue]:
    """A stored item with some attributes replaced, added or removed; the keys stay."""
    found = dict(item)
    others = [*sorted(item.keys() - keys), *_RESERVED]
    chosen = draw(st.lists(st.sampled_from(others), min_size=1, max_size=3, unique=True))
    for name in chosen:
        value = draw(st.one_of(st.none(), VALUES))
        if name == "_type" and draw(st.booleans()):
            value = {"S": draw(_FOREIGN)}
        if value is None:
            found.pop(name, None)
        elif not name.startswith("GSI"):
            found[name] = value
        else:
            found[name] = {"S": draw(_TEXTS.filter(bool))}
    return found


def key_of(entity: Any) -> Key[Any]:
    mapping = mapping_of(type(entity))
    return Key(type(entity), **{name: getattr(entity, name) for name in mapping.key_fields})


def key_names(table: Table) -> frozenset[str]:
    return frozenset(key.name for key in table.keys)


CHANGES: dict[type[Any], tuple[dict[str, Any], dict[str, Any]]] = {
    Person: ({"mood": Mood.BAD}, {"email": "new@x", "city": "Rome"}),
    Pilot: ({"planes": ["y"]}, {"email": "new@x", "hall": None}),
    Paper: ({"text": "new"}, {"slug": "new"}),
    Audit: ({"note": "new"}, {"result": "bad"}),
    Login: ({"alias": None}, {"until": None}),
    Label: ({"colour": "blue"}, {"colour": "blue"}),
    Chest: ({"flag": False}, {"tags": {"y"}, "home": None}),
    Reading: ({"value": Decimal(2)}, {"note": "new"}),
    Blob: ({"text": "new"}, {"text": ""}),
}
"""Two changes of an entity of each class."""
