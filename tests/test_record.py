"""Records behave as frozen dataclasses with slots do: each claim is judged by a dataclass beside it."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.record import record, replace

T = TypeVar("T")


def declared(decorator: Callable[[type[Any]], type[Any]]) -> type[Any]:
    """The same class, made by one decorator or the other."""

    class Place:
        country: str
        limit: ClassVar[int] = 9
        city: "str | None" = None
        tags: list[str] = field(default_factory=list)
        secret: str = field(default="s3cret", repr=False)

        def shout(self) -> str:
            return self.country.upper()

    return decorator(Place)


Record = declared(record)
Peer = declared(dataclass(frozen=True, slots=True))
values = st.tuples(
    st.text(max_size=2), st.none() | st.text(max_size=1), st.lists(st.text(max_size=1), max_size=2)
)


@record
class Point:
    x: int
    y: int = 0


@record
class Named(Point):
    name: str = "origin"


@record(frozen=False)
class Counter:
    count: int = 0


@record(quick=True)
class Word:
    text: str


@record(eq=False)
class Code:
    run: Callable[[], int]


@record
class Box(Generic[T]):
    content: T


@record
class Own:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("below zero")

    def __repr__(self) -> str:
        return f"number {self.number}"


@record
class Nothing:
    pass


@record
class Square:
    side: int

    @cached_property
    def area(self) -> int:
        return self.side**2


@given(values, values)
def test_objects_are_equal_as_those_of_a_dataclass_are(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert (Record(*one) == Record(*other)) is (Peer(*one) == Peer(*other))
    assert Record(*one) != Peer(*one)
    assert Record(*one) == Record(*one)


@given(values)
def test_an_object_is_shown_as_that_of_a_dataclass_is(one: tuple[Any, ...]) -> None:
    assert repr(Record(*one)) == repr(Peer(*one))


@given(st.integers(), st.integers())
def test_equal_objects_have_one_hash(x: int, y: int) -> None:
    assert hash(Point(x, y)) == hash(Point(x, y))
    assert {Point(x, y): 1}[Point(x, y)] == 1


@pytest.mark.parametrize("cls", [Record, Peer], ids=["record", "dataclass"])
def test_what_both_have_in_common(cls: Any) -> None:
    one = cls("NL", tags=["a"])
    assert (one.country, one.city, one.tags, one.secret, one.limit) == ("NL", None, ["a"], "s3cret", 9)
    assert one.shout() == "NL"
    assert cls("NL").tags is not cls("NL").tags
    assert not hasattr(one, "__dict__")
    assert cls.__match_args__ == ("country", "city", "tags", "secret")
    assert list(inspect.signature(cls).parameters) == ["country", "city", "tags", "secret"]
    mistakes: list[tuple[Any, ...]] = [(), ("NL", None, [], "s", 5)]
    for mistake in mistakes:
        with pytest.raises(TypeError):
            cls(*mistake)
    with pytest.raises(TypeError):
        cls("NL", town="x")


@pytest.mark.parametrize("cls", [Record, Peer], ids=["record", "dataclass"])
def test_a_frozen_object_stays_as_it_is(cls: Any) -> None:
    one = cls("NL")
    with pytest.raises(FrozenInstanceError):
        one.country = "BE"
    with pytest.raises(FrozenInstanceError):
        del one.country
    assert one == cls("NL")


@pytest.mark.parametrize(
    "one", [Point(1, 2), Named(1, 2, "home"), Counter(3), Word("a"), Box([1]), Nothing()], ids=repr
)
def test_copies_and_pickles_are_equal(one: Any) -> None:
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert type(other) is type(one)


def test_a_deep_copy_shares_nothing() -> None:
    one = Box([1])
    copy.deepcopy(one).content.append(2)
    assert one == Box([1])


def test_a_record_has_the_fields_of_its_base_first() -> None:
    assert repr(Named(1)) == "Named(x=1, y=0, name='origin')"
    assert Named(1) != Point(1)
    assert isinstance(Named(1), Point)


def test_an_object_that_can_change_has_no_hash() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_a_quick_object_is_compared_as_a_frozen_one_is_and_only_type_checkers_guard_it() -> None:
    word = Word("a")
    assert word == Word("a")
    assert hash(word) == hash(Word("a"))
    word.text = "b"  # type: ignore[misc]  # the type checker refuses it
    assert word == Word("b")


def test_without_equality_an_object_is_equal_to_itself_alone() -> None:
    one = Code(lambda: 1)
    assert one == one  # noqa: PLR0124 - that is the claim
    assert one != Code(one.run)
    assert len({one, Code(one.run)}) == 2


def test_what_a_class_defines_itself_is_kept() -> None:
    assert repr(Own(1)) == "number 1"
    with pytest.raises(ValueError, match="below zero"):
        Own(-1)


def test_a_pattern_takes_an_object_apart() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_copy_with_changes_leaves_the_object_alone() -> None:
    one = Point(1, 2)
    assert replace(one, y=3) == Point(1, 3)
    assert one == Point(1, 2)
    with pytest.raises(TypeError):
        replace(one, z=3)
    with pytest.raises(ValueError, match="below zero"):
        replace(Own(1), number=-1)


def test_an_error_in_a_constructor_names_the_class() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def made_now() -> Any:
    @record
    class Pair:
        one: int
        other: int = 2

    return Pair


def is_compiled(cls: Any) -> bool:
    return bool(vars(cls)["__init__"].__code__.co_varnames == ("self", "one", "other"))


def test_a_constructor_is_compiled_once_there_are_many_objects() -> None:
    pair = made_now()
    made = [pair(number) for number in range(32)]
    assert not is_compiled(pair)
    assert pair(1) == pair(1, other=2) == made[1]
    assert is_compiled(pair)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"one": 1}), ((1,), {"town": 2}), ((), {"other": 1})],
    ids=repr,
)
def test_the_first_object_is_refused_as_any_other_is(values: tuple[int, ...], named: dict[str, int]) -> None:
    refusals = []
    for count in (0, 33):
        pair = made_now()
        for _ in range(count):
            pair(1)
        assert is_compiled(pair) is bool(count)
        with pytest.raises(TypeError) as refusal:
            pair(*values, **named)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


def test_the_objects_of_a_subclass_count_as_well() -> None:
    pair = made_now()

    class Twins(pair):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __init__(self, number: int) -> None:
            super().__init__(number, number)

    made = [Twins(number) for number in range(33)]
    assert is_compiled(pair)
    assert [(one.one, one.other) for one in made] == [(number, number) for number in range(33)]
    assert [*inspect.signature(Twins).parameters] == ["number"]


def test_a_signature_is_known_before_the_first_object_is_made() -> None:
    assert str(inspect.signature(made_now())) == "(one, other=2)"


def test_a_constructor_that_replaces_the_own_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = made_now()
    own, calls = vars(pair)["__init__"], list[int]()

    def counted(self: Any, *values: int) -> None:
        calls.append(len(values))
        own(self, *values)

    monkeypatch.setattr(pair, "__init__", counted)
    inspect.signature(pair)
    assert [pair(1, number).other for number in range(40)] == [*range(40)]
    assert calls == [2] * 40


def test_a_signature_is_compiled_once() -> None:
    pair = made_now()
    inspect.signature(pair)
    compiled = vars(pair)["__init__"]
    inspect.signature(pair)
    assert vars(pair)["__init__"] is compiled


def test_a_record_is_no_dataclass() -> None:
    assert not dataclasses.is_dataclass(Point)


def test_what_is_cached_is_computed_once_and_no_part_of_the_value() -> None:
    one, other = Square(3), Square(3)
    assert one.area == 9
    assert vars(one) == {"area": 9}
    assert one == other
    assert vars(other) == vars(copy.copy(one)) == {}
    with pytest.raises(FrozenInstanceError):
        one.side = 4  # type: ignore[misc]  # it is frozen
    with pytest.raises(FrozenInstanceError):
        one.corners = 4  # type: ignore[attr-defined]  # it has none
