"""Enum and Literal: stored by value, decoded to the member."""

from enum import Enum, Flag, IntEnum, StrEnum, auto
from typing import Any, Literal

import pytest

from dynaorm.entity.codec.of_type import Unstorable, codec_of


class Status(StrEnum):
    OPEN = "open"
    UNKNOWN = "?"

    @classmethod
    def _missing_(cls, value: object) -> "Status | None":
        return cls.UNKNOWN if isinstance(value, str) else None


class Level(IntEnum):
    LOW = 1


class Mixed(Enum):
    ONE = 1
    TEXT = "1"
    RAW = b"raw"


class Rights(Flag):
    READ = auto()
    WRITE = auto()


ANY_OF_SEVERAL = Literal["a", 1, True, None]  # noqa: PYI061 (the None inside is the point)


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (Status, Status.OPEN, {"S": "open"}),
        (Level, Level.LOW, {"N": "1"}),
        (Mixed, Mixed.TEXT, {"S": "1"}),
        (Mixed, Mixed.RAW, {"B": b"raw"}),
        (Rights, Rights.READ | Rights.WRITE, {"N": "3"}),
        (ANY_OF_SEVERAL, True, {"BOOL": True}),
        (ANY_OF_SEVERAL, 1, {"N": "1"}),
        (ANY_OF_SEVERAL, None, {"NULL": True}),
        (Literal[Status.OPEN], Status.OPEN, {"S": "open"}),
    ],
)
def test_a_choice_is_stored_by_value(annotation: Any, value: Any, stored: Any) -> None:
    codec = codec_of(annotation)
    assert codec.encode(value) == stored
    assert codec.decode(stored) is value or codec.decode(stored) == value
    assert type(codec.decode(stored)) is type(value)


def test_a_stored_value_of_no_member_is_left_to_missing() -> None:
    assert codec_of(Status).decode({"S": "from the future"}) is Status.UNKNOWN


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Level, 2), (Level, True), (Level, "1"), (Literal["a"], "b"), (Rights, 1), (Mixed, [])],
)
def test_what_is_no_choice_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="not a value of"):
        codec_of(annotation).encode(value)


@pytest.mark.parametrize(
    ("annotation", "stored"),
    [
        (Level, {"N": "2"}),
        (Level, {"S": "1"}),
        (Literal["a"], {"S": "b"}),
        (Rights, {"S": "x"}),
        (Rights, {"N": "99"}),
    ],
)
def test_a_stored_value_of_no_choice_is_refused(annotation: Any, stored: Any) -> None:
    with pytest.raises(ValueError, match="which is not a value of"):
        codec_of(annotation).decode(stored)


def test_members_without_a_text_have_no_codec() -> None:
    class Pair(Enum):
        ORIGIN = (0, 0)

    with pytest.raises(
        Unstorable, match=r"the value \(0, 0\) of Pair cannot be stored; give its members str or int values"
    ):
        codec_of(Pair)


def test_members_stored_alike_have_no_codec() -> None:
    with pytest.raises(Unstorable, match="have the same attribute value; give them different values"):
        codec_of(Literal["open", Status.OPEN])
