"""An error about a secret has the problem, and never the value."""

import dataclasses
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NewType, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr, field_validator

from dynaorm import Attribute, Entity, F, Key, Session, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.secret import holds_secret, masked, unsaid
from dynaorm.entity.mapping.validate import values_in
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.testing import ScriptedTransport

app = Table("secrets")


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


class Vault(Entity, table=app, pk="VAULT#{vault_id}", sk="V"):
    vault_id: str
    token: SecretStr = Field(min_length=3, default=SecretStr("none"))
    raw: SecretBytes | None = None
    number: Secret[int] | None = None
    card: Card | None = None
    many: list[SecretStr] = Field(default_factory=list)
    named: dict[str, SecretStr] = Field(default_factory=dict)
    open: str = ""

    @field_validator("token")
    @classmethod
    def refused(cls, token: SecretStr) -> SecretStr:
        if token.get_secret_value().endswith("bad"):
            raise ValueError(f"{token.get_secret_value()} is bad")
        return token


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


SECRETS = st.text("QWXYZ", min_size=8, max_size=12)
"""Texts that stand in no sentence of ours."""

WRONG: list[Callable[[str], dict[str, Any]]] = [
    lambda secret: {"token": secret + "bad"},
    lambda secret: {"token": SecretStr(secret + "bad")},
    lambda secret: {"token": [secret]},
    lambda secret: {"number": secret},
    lambda secret: {"number": Secret(secret)},
    lambda secret: {"card": {"pin": [secret]}},
    lambda secret: {"card": [secret]},
    lambda secret: {"many": secret},
    lambda secret: {"named": {1: SecretStr(secret)}},
]

CONVERTED: list[Callable[[str], dict[str, Any]]] = [
    lambda secret: {"token": secret},
    lambda secret: {"raw": secret.encode()},
    lambda secret: {"raw": secret},
    lambda secret: {"many": [secret]},
    lambda secret: {"named": {"a": secret}},
]
"""What a write turns into secrets, as constructing the entity does. Conditions compare with secrets only."""


def said(work: Callable[[], object], *errors: type[Exception]) -> str:
    """Everything that a log of the error could show."""
    with pytest.raises(errors) as caught:
        work()
    return f"{caught.value}{caught.value!r}" + "".join(traceback.format_exception(caught.value))


def session() -> Any:
    return Session(transport=ScriptedTransport())


@pytest.mark.parametrize("place", range(len(CONVERTED)))
@settings(max_examples=settings().max_examples // 10)
@given(secret=SECRETS)
def test_no_error_of_a_condition_shows_a_secret(place: int, secret: str) -> None:
    ((name, value),) = CONVERTED[place](secret).items()
    key, field = Key(Vault, vault_id="1"), F[name]
    for text in (
        said(lambda: session().delete(key, condition=field == value), InvalidValue),
        said(lambda: session().scan(Vault).filter(field == value).all(), InvalidValue),
    ):
        assert secret not in text
        assert f"Vault.{name} = " in text


@pytest.mark.parametrize("place", range(len(WRONG)))
@settings(max_examples=settings().max_examples // 10)
@given(secret=SECRETS)
def test_no_error_of_a_write_or_condition_shows_a_secret(place: int, secret: str) -> None:
    given = WRONG[place](secret)
    ((name, value),) = given.items()
    vault = Vault(vault_id="1")
    vars(vault)[name] = value
    key, field = Key(Vault, vault_id="1"), F[name]
    texts = [
        said(lambda: session().save(vault), InvalidValue),
        said(lambda: session().update(key, given), InvalidValue),
    ]
    if not isinstance(value, SecretStr):  # to compare with what could not be saved is allowed
        texts += [
            said(lambda: session().delete(key, condition=field == value), InvalidValue),
            said(lambda: session().scan(Vault).filter(field == value).all(), InvalidValue),
        ]
    assert not any(secret in text for text in texts)
    assert all(f"Vault.{name} = " in text for text in texts)


STORED: list[Callable[[str], dict[str, Any]]] = [
    lambda secret: {"token": {"L": [{"S": secret}]}},
    lambda secret: {"token": {"S": secret + "bad"}},
    lambda secret: {"token": {"M": {"a": {"S": secret}}}},
    lambda secret: {"raw": {"S": secret}},
    lambda secret: {"number": {"S": secret}},
    lambda secret: {"card": {"S": secret}},
    lambda secret: {"card": {"M": {"pin": {"B": secret.encode()}}}},
    lambda secret: {"many": {"L": [{"L": [{"S": secret}]}]}},
    lambda secret: {"named": {"M": {"a": {"SS": [secret]}}}},
]


@pytest.mark.parametrize("place", range(len(STORED)))
@settings(max_examples=settings().max_examples // 10)
@given(secret=SECRETS)
def test_no_error_of_a_load_shows_a_secret(place: int, secret: str) -> None:
    item = {"PK": {"S": "VAULT#1"}, "SK": {"S": "V"}, "vault_id": {"S": "1"}, **STORED[place](secret)}
    transport = ScriptedTransport({"Item": item})
    text = said(lambda: Session(transport=transport).get(Vault, vault_id="1"), DecodeError)
    assert secret not in text


@pytest.mark.parametrize("place", range(len(STORED)))
@settings(max_examples=settings().max_examples // 10)
@given(secret=SECRETS)
def test_no_error_of_a_field_that_is_read_alone_shows_a_secret(place: int, secret: str) -> None:
    stored = STORED[place](secret)
    item = {"PK": {"S": "VAULT#1"}, "SK": {"S": "V"}, "vault_id": {"S": "1"}, **stored}
    text = said(lambda: values_in(mapping_of(Vault), item, [*stored]), DecodeError)
    assert secret not in text


def test_other_values_are_shown_with_their_cause() -> None:
    text = said(lambda: session().save(Vault.model_construct(vault_id="1", open=17)), InvalidValue)
    assert "Vault.open = 17" in text


def test_a_stored_secret_is_stored_as_it_is() -> None:
    class Plain(Entity, table=Table("plain", sk=None), pk="{name}"):
        name: str
        token: Annotated[SecretStr, Attribute("t")]

    plan = session().plan(Plain(name="n", token=SecretStr("abc")))
    assert plan.to_request()["Item"]["t"] == {"S": "abc"}
    assert "abc" not in plan.explain()


def test_a_secret_without_its_type_is_masked_in_the_repr() -> None:
    vault = Vault(vault_id="1", card=Card(pin=SecretStr("abc")), many=[SecretStr("abc")])
    assert "card=Card(pin=SecretStr('**********'))" in repr(vault)
    changed = vault.model_copy(update={"token": "abc", "many": ["abc"], "named": {"a": "abc"}})
    assert "abc" not in repr(changed)
