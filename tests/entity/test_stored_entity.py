"""An item that a program has in its hands becomes an entity, or an error that says what it is."""

from base64 import b64encode
from typing import Annotated, Any

import pytest
from pydantic import SecretStr

from dynaorm import Entity, Table, Unique, entity_of, inspect
from dynaorm.errors import DecodeError, UsageError

app = Table("app")
shaped = Table("shaped", type_attribute=None)


class Pet(Entity, table=app, pk="PET#{name}", sk="P"):
    name: str
    photo: bytes = b""


class Cat(Pet):
    lives: int = 9


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    chip: Annotated[SecretStr | None, Unique()] = None


class Stone(Entity, table=shaped, pk="STONE#{name}", sk="S"):
    name: str


CAT: Any = {
    "PK": {"S": "PET#Tom"},
    "SK": {"S": "P"},
    "_type": {"S": "Cat"},
    "_rev": {"S": "r1"},
    "name": {"S": "Tom"},
    "photo": {"B": b"\x00"},
    "lives": {"N": "7"},
    "unknown": {"S": "stays"},
}


@pytest.mark.parametrize("source", [app, Pet, Cat])
def test_the_type_attribute_names_the_class(source: Any) -> None:
    cat = entity_of(CAT, source)
    assert cat == Cat(name="Tom", photo=b"\x00", lives=7)
    assert (inspect(cat).loaded, inspect(cat).revision, inspect(cat).changes) == (True, "r1", {})


@pytest.mark.parametrize("source", [shaped, Stone])
def test_without_a_type_the_key_names_the_class(source: Any) -> None:
    item = {"PK": {"S": "STONE#a"}, "SK": {"S": "S"}, "name": {"S": "a"}}
    assert entity_of(item, source) == Stone(name="a")


def test_binary_values_may_be_base64() -> None:
    item = {**CAT, "photo": {"B": b64encode(b"\x00\xff").decode()}}
    assert entity_of(item, Pet).photo == b"\x00\xff"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"PK": {"S": "chip#1"}, "SK": {"S": "chip#1"}}, "a guard item"),
        ({"PK": {"S": "#token#t"}, "SK": {"S": "#token#t"}}, "a token item"),
        ({"PK": {"S": "AUDIT#a"}, "SK": {"S": "v1_A"}}, "a version item"),
        ({"PK": {"S": "AUDIT#a"}, "SK": {"S": "v0_A"}, "deleted": {"BOOL": True}}, "the tombstone"),
        ({"PK": {"S": "X"}, "SK": {"S": "X"}, "_type": {"S": "Dog"}}, "no class .*: its _type is 'Dog'"),
        ({"PK": {"S": "X"}, "SK": {"S": "X"}}, r"no class of Table\('app'\)"),
        ({"PK": {"S": "PET#Tom"}}, "no SK of type S, which"),
        ({"PK": {"S": "PET#Tom"}, "SK": {"N": "1"}}, "no SK of type S, which"),
    ],
)
def test_the_error_says_what_the_item_is(item: Any, words: str) -> None:
    with pytest.raises(DecodeError, match=rf"(?m)^  - it .*{words}"):
        entity_of(item, app)
    with pytest.raises(DecodeError, match=words):
        entity_of(item, Audit)


def test_an_entity_of_another_class_is_refused() -> None:
    with pytest.raises(DecodeError, match="it is a Cat"):
        entity_of(CAT, Audit)
    pet = {**CAT, "_type": {"S": "Pet"}}
    with pytest.raises(DecodeError, match="it is a Pet"):
        entity_of(pet, Cat)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({}, "it is empty"),
        ([], "it is not a dict"),
        ({"PK": "secret"}, "'PK' is not an attribute value"),
        ({"PK": {"S": "secret"}, "SK": {"N": 7}}, "'SK' is not an attribute value"),
        ({"PK": {"B": "!"}}, "not base64"),
    ],
)
def test_what_is_not_dynamodb_json_is_a_usage_error(item: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        entity_of(item, app)
    assert "secret" not in str(caught.value)


def test_too_deep_an_item_is_a_usage_error() -> None:
    value: Any = {"S": "x"}
    for _ in range(10_000):
        value = {"L": [value]}
    with pytest.raises(UsageError, match="too deeply"):
        entity_of({"PK": value}, app)


def test_the_key_of_a_secret_guard_is_not_shown() -> None:
    with pytest.raises(DecodeError) as caught:
        entity_of({"PK": {"S": "chip#4711"}, "SK": {"S": "chip#4711"}}, app)
    assert "4711" not in str(caught.value)
    assert "4711" not in repr(caught.value)
