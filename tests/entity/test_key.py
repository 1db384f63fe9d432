"""Keys of stored items, and equal keys. What a key refuses is in ``declare/declarations/tables.txt``."""

import pickle
from copy import copy
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import BinaryKey, Entity, InKey, Key, NumberKey, Table
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import found_key, identity, stored_key
from dynaorm.entity.mapping.mapping import mapping_of

APP = Table("app")


class Ticket(Entity, table=APP, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    title: str = ""


class Audit(Entity, table=APP, pk="AUDIT#{slug}", sk="Audit", versioned=True):
    slug: str


class Person(Entity, table=APP, pk="PERSON#{name:upper}", sk="A"):
    name: str


TEMPLATES = (
    "{a}",
    "{a:upper}",
    "{a:lower}#{b}",
    "{b:casefold}",
    "{at:%Y-%m}",
    "{b}#{at:%Y}",
    "{n:03d}",
    "{a!s}",
)
NUMBERS = count()


@cache
def class_of(pk: str, sk: str) -> type[Any]:
    """A class with such a key. Fields that a template maps together cannot be read back from it."""

    class Lossy(Entity, table=Table(f"lossy-{next(NUMBERS)}"), pk=f"P#{pk}", sk=f"S#{sk}"):
        a: str
        b: str
        n: int
        at: datetime

    return Lossy


class Event(
    Entity, table=Table("events", pk=BinaryKey("h"), sk=NumberKey("t")), pk="{digest}", sk="{at:epoch}"
):
    digest: Annotated[bytes, InKey()]
    at: datetime


def test_a_key_pickles() -> None:
    key = Key(Event, digest=b"\x00", at=datetime(2024, 1, 1, tzinfo=UTC))
    twin = pickle.loads(pickle.dumps(key))
    assert (twin, dict(twin.fields), hash(twin)) == (key, dict(key.fields), hash(key))


def test_the_key_of_an_item_has_the_fields_of_its_templates() -> None:
    key = stored_key(mapping_of(Ticket), {"PK": {"S": "PROJECT#p%231"}, "SK": {"S": "TICKET#000007"}})
    assert key == Key(Ticket, project="p#1", number=7)
    assert repr(key) == "Key(Ticket, project='p#1', number=7)"
    lossy = stored_key(mapping_of(Person), {"PK": {"S": "PERSON#BO"}, "SK": {"S": "A"}})
    assert repr(lossy) == "Key(Person, PK='PERSON#BO', SK='A')"
    assert lossy == Key(Person, name="Bo")


def test_an_item_s_class_is_found_by_the_shape_of_its_key() -> None:
    found = found_key(catalog_of(APP).mappings, {"PK": {"S": "AUDIT#x"}, "SK": {"S": "v0_Audit"}})
    assert (found, found.entity) == (Key(Audit, slug="x"), Audit)
    stranger = found_key(catalog_of(APP).mappings, {"PK": {"S": "AUDIT#x"}, "SK": {"S": "?"}})
    assert (stranger.entity, repr(stranger)) == (None, "Key(PK='AUDIT#x', SK='?')")


def test_a_key_identity_ignores_the_order_of_attributes() -> None:
    assert identity({"A": {"S": "x"}, "B": {"N": "1"}}) == identity({"B": {"N": "1"}, "A": {"S": "x"}})
    assert identity({"A": {"S": "1"}}) != identity({"A": {"N": "1"}})


VALUES = st.fixed_dictionaries(
    {
        "a": st.sampled_from(["a", "A", "b", "ß", "SS"]),
        "b": st.sampled_from(["a", "A", "b", "ß", "SS"]),
        "n": st.integers(0, 3),
        "at": st.sampled_from([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)]),
    }
)


@given(pk=st.sampled_from(TEMPLATES), sk=st.sampled_from(TEMPLATES), one=VALUES, other=VALUES)
def test_keys_of_items_look_alike_only_if_they_are_equal(
    pk: str, sk: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    mapping = mapping_of(class_of(pk, sk))
    keys = [stored_key(mapping, mapping.primary_key.of(values)) for values in (one, other)]
    assert (keys[0] == keys[1]) is (repr(keys[0]) == repr(keys[1])) is (str(keys[0]) == str(keys[1]))
    assert list(map(repr, map(copy, keys))) == list(map(repr, keys))


def test_a_secret_that_cannot_be_read_back_is_masked() -> None:
    class Hidden(Entity, table=Table(f"lossy-{next(NUMBERS)}"), pk="H#{name:upper}", sk="{part:upper}"):
        name: Annotated[str, Field(repr=False)]
        part: str

    mapping = mapping_of(Hidden)
    key = stored_key(mapping, mapping.primary_key.of({"name": "secret", "part": "p"}))
    assert repr(key) == "Key(Hidden, PK=**********, SK='P')"
