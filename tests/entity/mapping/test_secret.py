"""An error about a secret has the problem, and never the value."""

import pickle

from pydantic import BaseModel, SecretStr

from dynaorm.entity.mapping.secret import masked, unsaid
from dynaorm.errors import InvalidValue


class Card(BaseModel):
    pin: SecretStr


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


"""Texts that stand in no sentence of ours."""


"""What a write turns into secrets, as constructing the entity does. Conditions compare with secrets only."""
