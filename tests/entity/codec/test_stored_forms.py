"""What values are stored as, literally; what is refused, and where in a value the problem is."""

import contextlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum, auto
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pydantic
import pytest
from pydantic import NaiveDatetime, Secret, SecretBytes, SecretStr

from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.codec.value import inside

NAIVE = datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC).replace(tzinfo=None)
BERLIN = ZoneInfo("Europe/Berlin")
TWO = timezone(timedelta(hours=2))


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


class Slug(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int
    label: str = "origin"


ANY_OF_SEVERAL = Literal["a", 1, True, None]  # noqa: PYI061 (the None inside is the point)


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (str, "é", {"S": "é"}),
        (str, "", {"S": ""}),
        (int, -7, {"N": "-7"}),
        (int, 10**60, {"N": "1E+60"}),
        (float, -0.0, {"N": "0"}),
        (float, 5, {"N": "5"}),
        (Decimal, Decimal("1.50"), {"N": "1.5"}),
        (Decimal, 3, {"N": "3"}),
        (bool, True, {"BOOL": True}),
        (bytes, b"\x00", {"B": b"\x00"}),
        (UUID, UUID(int=1), {"S": "00000000-0000-0000-0000-000000000001"}),
        (date, date(2024, 2, 29), {"S": "2024-02-29"}),
        (NaiveDatetime, NAIVE, {"S": "2024-01-02T03:04:05.000006"}),
        (datetime, NAIVE.replace(tzinfo=BERLIN), {"S": "2024-01-02T02:04:05.000006Z"}),
        (time, time(1, 2), {"S": "01:02:00.000000"}),
        (time, time(1, 2, tzinfo=TWO), {"S": "01:02:00.000000+02:00"}),
        (timedelta, timedelta(seconds=-1, microseconds=5), {"N": "-0.999995"}),
        (None, None, {"NULL": True}),
        # Choices are stored by value, and loaded as the member.
        (Status, Status.OPEN, {"S": "open"}),
        (Level, Level.LOW, {"N": "1"}),
        (Mixed, Mixed.TEXT, {"S": "1"}),
        (Mixed, Mixed.RAW, {"B": b"raw"}),
        (Rights, Rights.READ | Rights.WRITE, {"N": "3"}),
        (ANY_OF_SEVERAL, True, {"BOOL": True}),
        (ANY_OF_SEVERAL, 1, {"N": "1"}),
        (ANY_OF_SEVERAL, None, {"NULL": True}),
        (Literal[Status.OPEN], Status.OPEN, {"S": "open"}),
        # Containers are lists, maps and sets; an empty set is an empty list, because DynamoDB has none.
        (list[int | None], [1, None], {"L": [{"N": "1"}, {"NULL": True}]}),
        (tuple[int, ...], (1,), {"L": [{"N": "1"}]}),
        (tuple[()], (), {"L": []}),
        (Point, Point(1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (set[str], {"b", "a"}, {"SS": ["a", "b"]}),
        (frozenset[int], frozenset({2}), {"NS": ["2"]}),
        (set[bytes], {b"x"}, {"BS": [b"x"]}),
        (AbstractSet[int], {1}, {"NS": ["1"]}),
        (dict[str, set[str]], {"a": {"b"}}, {"M": {"a": {"SS": ["b"]}}}),
        (dict[str, set[str] | None], {"a": set()}, {"M": {"a": {"L": []}}}),
        (dict[int, bool], {-1: True}, {"M": {"-1": {"BOOL": True}}}),
        (dict[date, str], {date(2024, 1, 1): ""}, {"M": {"2024-01-01": {"S": ""}}}),
        (Mapping[str, int], {}, {"M": {}}),
        # Classes that hold nothing but a text are stored by it.
        (SecretStr, SecretStr("s3cret"), {"S": "s3cret"}),
        (SecretBytes, SecretBytes(b"s3cret"), {"B": b"s3cret"}),
        (Secret[date], Secret[date](date(2024, 1, 1)), {"S": "2024-01-01"}),
        (pydantic.HttpUrl, pydantic.HttpUrl("http://a"), {"S": "http://a/"}),
        (pydantic.PostgresDsn, pydantic.PostgresDsn("postgres://u@h/d"), {"S": "postgres://u@h/d"}),
        (type(ip_address("::1")), ip_address("::1"), {"S": "::1"}),
        (pydantic.IPvAnyAddress, ip_address("10.0.0.1"), {"S": "10.0.0.1"}),
        (pydantic.IPvAnyInterface, ip_interface("10.0.0.1/8"), {"S": "10.0.0.1/8"}),
        (pydantic.IPvAnyNetwork, ip_network("10.0.0.0/8"), {"S": "10.0.0.0/8"}),
        (PurePosixPath, PurePosixPath("/a/b"), {"S": "/a/b"}),
        (pydantic.ByteSize, pydantic.ByteSize(5), {"N": "5"}),
        (Slug, Slug("a"), {"S": "a"}),
        (pydantic.PastDate, date(2024, 1, 1), {"S": "2024-01-01"}),
    ],
)
def test_a_value_has_one_attribute_value_and_comes_back(annotation: Any, value: Any, stored: Any) -> None:
    codec = codec_of(annotation)
    assert codec.encode(value) == stored
    found = codec.decode(stored)
    assert found == value
    assert type(found) is type(value) or annotation in {float, Decimal}
    assert stored.keys() <= codec.tags


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (str, 5, "is an int, not a str"),
        (str, "\ud800", "lone surrogate"),
        (int, "5", "is a str, not an int"),
        (int, 10**38 + 1, "39 significant digits"),
        (float, "x", "is a str, not a float"),
        (float, True, "is a bool, not a float"),
        (float, 2**63 + 1, "an int that no float equals"),
        (float, 1e300, "outside DynamoDB's range"),
        (Decimal, 0.1, "is a float, not a Decimal"),
        (Decimal, Decimal(10**38 + 1), "significant digits"),
        (bool, 1, "is an int, not a bool"),
        (bytes, "x", "is a str, not a bytes"),
        (NaiveDatetime, date(2024, 1, 1), "is a date, not a datetime"),
        (
            NaiveDatetime,
            NAIVE.replace(tzinfo=UTC),
            "is a datetime with a time zone, in a field declared Naive",
        ),
        (time, time(1, tzinfo=BERLIN), "no offset without a day"),
        (None, 5, "is 5, not None"),
        *((kind, value, "not a value of") for kind, value in [(Level, 2), (Level, True), (Level, "1")]),
        *((kind, value, "not a value of") for kind, value in [(Literal["a"], "b"), (Rights, 1), (Mixed, [])]),
        (list[int], (1,), "is a tuple, not a list"),
        (list[list[int]], [[1], [2, "a"]], r"at \[1\]\[1\]: is a str, not an int"),
        (tuple[int, ...], [1], "not a tuple"),
        (tuple[int, str], (1,), "has 1 member, not 2"),
        (tuple[int, str], (1, 2), r"at \[1\]: is an int"),
        (Point, (1, "a"), "not a Point"),
        (set[int], [1], "not a set"),
        (set[int], {"a"}, "is a str, not an int"),
        (dict[str, int], [], "not a dict"),
        (dict[str, list[int]], {"a": ["b"]}, r"at a\[0\]: is a str, not an int"),
        (dict[int, int], {"a": 1}, "has a key that is a str, not an int"),
        (SecretStr, "plain", ", not a "),
        (Secret[int], 5, ", not a "),
        (pydantic.HttpUrl, "http://a/", ", not an? "),
    ],
)
def test_a_value_of_another_type_is_refused_where_it_is(annotation: Any, value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).encode(value)


@pytest.mark.parametrize(
    ("annotation", "stored", "problem"),
    [
        (str, {"N": "5"}, "is stored as N, not as S"),
        (int, {"N": "1.5"}, "is stored as '1.5', which is not an int"),
        (float, {"N": "x"}, "which is not a float"),
        (Decimal, {"N": "x"}, "which is not a Decimal"),
        (bool, {"S": "true"}, "not as BOOL"),
        (bytes, {"B": "eA=="}, "not bytes"),
        (UUID, {"S": "x"}, "which is not a UUID"),
        (datetime, {"S": "yesterday"}, "which is not a datetime"),
        (None, {"S": ""}, "not as NULL"),
        (Level, {"N": "2"}, "which is not a value of"),
        (Level, {"S": "1"}, "which is not a value of"),
        (Literal["a"], {"S": "b"}, "which is not a value of"),
        (Rights, {"S": "x"}, "which is not a value of"),
        (Rights, {"N": "99"}, "which is not a value of"),
        (list[int], {"L": [{"N": "1"}, {"S": "a"}]}, r"at \[1\]: is stored as S, not as N"),
        (tuple[int, str], {"L": []}, "has 0 members, not 2"),
        (tuple[int, str], {"L": [{"N": "1"}, {"S": "a"}, {"S": "b"}]}, "has 3 members, not 2"),
        (Point, {"L": []}, "has 0 members, not 2"),
        (set[int], {"L": [{"N": "1"}]}, "is stored as L, not as NS"),
        (dict[str, int], {"M": {"a": {"S": ""}}}, "at a: is stored as S"),
        (dict[UUID, int], {"M": {"a": {"N": "1"}}}, "has a key that is stored as 'a', which is not a UUID"),
    ],
)
def test_what_encode_never_makes_is_refused_where_it_is(annotation: Any, stored: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).decode(stored)


@pytest.mark.parametrize(
    ("annotation", "stored", "value"),
    [
        (int, {"N": "1E+2"}, 100),
        (Status, {"S": "from the future"}, Status.UNKNOWN),
        (Point, {"L": [{"N": "1"}]}, Point(1, "origin")),
    ],
)
def test_what_others_or_older_classes_wrote_is_read(annotation: Any, stored: Any, value: Any) -> None:
    assert repr(codec_of(annotation).decode(stored)) == repr(value)


@pytest.mark.parametrize(
    ("kind", "value"), [(Status, Status.OPEN), (Status, "open"), (Slug, Slug("open"))], ids=repr
)
def test_a_text_is_stored_as_plain_text_whatever_its_class(kind: Any, value: str) -> None:
    for annotation in (kind, str):
        stored = codec_of(annotation).encode(value)
        assert (stored, type(stored["S"])) == ({"S": "open"}, str)


@pytest.mark.parametrize("key", [Level, int | float, int, float, Decimal, timedelta, date, UUID], ids=str)
@pytest.mark.parametrize("text", ["", "x", "1e", "sNaN", "Infinity", "\x00"])
def test_a_stored_key_is_decoded_or_a_value_error(key: Any, text: str) -> None:
    """A map's keys are text whatever their type, so unlike numbers they may be anything."""
    kinds: Any = dict
    with contextlib.suppress(ValueError):
        codec_of(kinds[key, str]).decode({"M": {text: {"S": ""}}})


def test_values_of_a_set_that_have_one_text_are_refused() -> None:
    """Two readings of one moment in different ambiguous hours are unequal to Python, and one text."""

    class Unequal(datetime):
        def __eq__(self, other: object) -> bool:
            return self is other

        __hash__ = object.__hash__

    moment, other = datetime(2024, 1, 1, tzinfo=TWO), Unequal(2024, 1, 1, tzinfo=TWO)
    with pytest.raises(ValueError, match="same text"):
        codec_of(set[datetime]).encode({moment, other})
    with pytest.raises(ValueError, match="same text"):
        codec_of(dict[datetime, int]).encode({moment: 1, other: 2})


def test_the_path_to_a_problem_grows_from_the_inside() -> None:
    problem = inside("address", inside(2, inside("city", ValueError("is 5, not a str"))))
    assert str(problem) == "at address[2].city: is 5, not a str"
    assert problem.path == ("address", 2, "city")
