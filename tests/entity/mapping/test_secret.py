"""Which types hold secrets, and texts that quote one. Errors are in ``declare/declarations/secrets.txt``."""

import dataclasses
import pickle
from dataclasses import dataclass
from typing import Annotated, Any, NewType, TypedDict

import pytest
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr

from dynaorm.entity.mapping.secret import holds_secret, masked, unsaid
from dynaorm.errors import InvalidValue


class Card(BaseModel):
    pin: SecretStr


@dataclass
class Box:
    card: Card | None = None


class Unshown(BaseModel):
    pin: str = Field(repr=False)


@dataclass
class UnshownBox:
    pin: str = dataclasses.field(repr=False)


class Typed(TypedDict):
    pin: Secret[int]


PIN = NewType("PIN", SecretStr)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (SecretStr, True),
        (Secret[int], True),
        (list[Annotated[SecretBytes, Field()]] | None, True),
        (dict[str, Card], True),
        (Box, True),
        (Typed, True),
        (PIN, True),
        (Unshown, True),
        (list[UnshownBox], True),
        (str, False),
        (list[int] | None, False),
        (Any, False),
    ],
)
def test_a_type_with_a_secret_anywhere_inside_holds_one(annotation: Any, expected: bool) -> None:
    assert holds_secret(annotation) is expected


def test_a_type_that_refers_to_itself_is_looked_into_once() -> None:
    assert not holds_secret(Tree)
    assert holds_secret(SecretTree)


class Tree(BaseModel):
    branches: list["Tree"] = []


class SecretTree(BaseModel):
    branches: list["SecretTree"] = []
    leaf: SecretStr | None = None


def test_a_masked_value_can_still_be_had_and_pickled() -> None:
    error = InvalidValue(entity="V", field="token", value=masked("abc"), problem="is wrong")
    copy = pickle.loads(pickle.dumps(error))
    assert copy.value.get_secret_value() == "abc"
    assert "abc" not in f"{copy}{copy!r}"
    assert masked(None) is None


def test_a_problem_is_said_unless_it_quotes_the_value() -> None:
    assert unsaid("is a list, not a SecretStr", ["xyz"]) == "is a list, not a SecretStr"
    assert "xyz" not in unsaid("xyz is wrong", {"a": Card(pin=SecretStr("xyz"))})
    for secret in ("x\ny", 'it\'s "x"', b"\xffx", "\u200b"):
        assert "x" not in unsaid(f"{secret!r} is x", [secret])
