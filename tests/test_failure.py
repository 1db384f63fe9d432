"""What all errors have in common."""

import pickle
from dataclasses import field
from typing import Any

import pytest

from dynaorm.failure import DynaormError, RedactedDict, counted, nearest, shown, texts_of, with_article


class TooHigh(DynaormError):
    floor: int
    plan: object = field(default=None, repr=False)
    problem: str = "floor {floor} is too high"
    remedy: str = "take the stairs"


def test_the_message_names_the_fields_and_ends_with_the_remedy() -> None:
    error = TooHigh(floor=7, plan="secret")
    assert str(error) == "floor 7 is too high; take the stairs"
    assert (error.floor, error.plan) == (7, "secret")
    assert repr(error) == "TooHigh(problem='floor 7 is too high', remedy='take the stairs', floor=7)"


def test_words_of_the_caller_are_taken_as_they_are() -> None:
    assert str(TooHigh(floor=7, problem="no {floor}")) == "no {floor}; take the stairs"


class TooSlow(DynaormError):
    attempts: int
    problem: str = "no floor after {counted attempts}"
    remedy: str = "take the stairs"


def test_a_number_and_its_noun_agree() -> None:
    assert [counted(number, "item") for number in (0, 1, 2)] == ["0 items", "1 item", "2 items"]
    assert counted(1.0, "unit") == "1 unit"
    assert counted(0.5, "unit") == "0.5 units"
    assert counted(2, "class", "classes") == "2 classes"
    assert TooSlow(attempts=1).problem == "no floor after 1 attempt"
    assert TooSlow(attempts=2).problem == "no floor after 2 attempts"


@pytest.mark.parametrize("given", [{}, {"floor": 1, "roof": 2}, {"roof": 2}])
def test_a_field_too_few_or_too_many_is_a_type_error(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"TooHigh misses \[.*\], and has no \[.*\]"):
        TooHigh(**given)


def test_a_value_in_a_message_is_shortened() -> None:
    assert shown("x") == "'x'"
    assert len(shown("x" * 1000)) == 200
    assert len(shown([["x" * 1000] * 9] * 9)) == 200
    assert shown(10**5000) == "<int>"


@pytest.mark.parametrize(("name", "named"), [("Cat", "a Cat"), ("Address", "an Address"), ("UUID", "a UUID")])
def test_a_name_in_a_message_has_its_article(name: str, named: str) -> None:
    assert with_article(name) == named


def test_the_word_that_was_probably_meant() -> None:
    assert nearest("emial", ["phone", "email", "e"]) == "email"
    assert nearest("emial", ["phone"]) is None
    assert nearest("emial", []) is None


def test_a_hidden_value_is_masked_and_still_there() -> None:
    hiding = RedactedDict({"pin": "s3cret", "tag": "t"}, frozenset({"pin"}))
    copy = pickle.loads(pickle.dumps(hiding))
    assert repr(hiding) == repr(copy) == "{'pin': **********, 'tag': 't'}"
    assert hiding == copy == {"pin": "s3cret", "tag": "t"}
    assert texts_of(hiding, str) == {"pin": "**********", "tag": "t"}
