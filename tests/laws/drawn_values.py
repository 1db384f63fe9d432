"""Random types of fields, and for each of them values that are right, that pydantic converts, and that are wrong.

A value is a *tree*: it is given as plain data (dicts in place of models), which the class takes as well as instances.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from hypothesis import strategies as st
from pydantic import AfterValidator, Field, ValidationInfo, create_model
from typing_extensions import TypedDict

Step = str | int
_typed_dict: Any = TypedDict  # a type checker wants the members to be written down
_numbers = count()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def _beside(value: int, info: ValidationInfo) -> int:
    """A rule that looks around: a number is not above a number ``limit`` beside it."""
    limit = (info.data or {}).get("limit")
    if isinstance(limit, int) and value > limit:
        raise ValueError("is above the limit")
    return value


@dataclass(frozen=True)
class Drawn:
    """A type, and trees for it.

    Attributes:
        annotation: the type.
        right: trees that are valid as they are.
        given: trees that may be valid, may be converted, or may be wrong.
        form: what it is: ``leaf``, ``set``, ``list``, ``dict``, ``record``, ``tuple`` or ``optional``.
        parts: the types of its parts, by name or index; of a list, dict, set or optional the only one.
    """

    annotation: Any
    right: st.SearchStrategy[Any]
    given: st.SearchStrategy[Any]
    form: str = "leaf"
    parts: "Mapping[Step, Drawn]" = field(default_factory=dict)

    @property
    def part(self) -> "Drawn":
        return next(iter(self.parts.values()))


def _leaf(annotation: Any, right: Sequence[Any], others: Sequence[Any]) -> Drawn:
    return Drawn(annotation, st.sampled_from(right), st.sampled_from([*right, *others]))


def _lower(text: str) -> str:
    return text.lower()


_NUMBER: Final = UUID(int=1), UUID(int=2)
_DAYS: Final = date(2024, 1, 1), date(2024, 1, 2)
_TIMES: Final = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, 3, tzinfo=UTC)

# Of these there are sets, too.
MEMBERS: Final = (
    _leaf(int, [1, 5, 7], ["7", 3.0, "x", None, [1], 2.5]),
    _leaf(str, ["a", "B", ""], [b"x", 5, None, ["a"]]),
    _leaf(float, [1.5, 2.0], ["2.5", 3, "x", None]),
    _leaf(Decimal, [Decimal(1), Decimal("2.5")], ["2.5", 7, "x", None]),
    _leaf(bytes, [b"a", b"b"], ["text", 5, None]),
    _leaf(UUID, _NUMBER, [str(_NUMBER[0]), "x", None, 5]),
    _leaf(date, _DAYS, ["2024-01-02", "x", None]),
    _leaf(Colour, [*Colour], ["red", "green", None]),
    _leaf(Literal["a", "b"], ["a", "b"], ["c", 1, None]),
    _leaf(Annotated[int, Field(ge=0, le=9)], [1, 9], ["7", -1, 10, None]),
    _leaf(Annotated[str, AfterValidator(_lower)], ["a", "b"], ["ABC", 5, None]),
)
LEAVES: Final = (
    *MEMBERS,
    _leaf(bool, [True, False], ["yes", 1, "x", None]),
    _leaf(datetime, _TIMES, ["2024-01-02T03:00:00Z", "x", None]),
    _leaf(int | str, [1, "a"], ["7", 2.5, None, [1]]),
    _leaf(Annotated[int, AfterValidator(_beside)], [1, 2], ["2", 50, "x"]),
)


def set_of(kind: Drawn) -> Drawn:
    members = st.lists(kind.right, max_size=3, unique_by=repr)
    given = st.lists(kind.given.filter(_is_hashable), max_size=2)
    return Drawn(set[kind.annotation], members, members | given, "set", {0: kind})  # type: ignore[name-defined]  # it is drawn


def _is_hashable(value: Any) -> bool:
    return not isinstance(value, list | dict)


def list_of(kind: Drawn) -> Drawn:
    right, given = st.lists(kind.right, max_size=3), st.lists(kind.given, max_size=2) | st.just("x")
    return Drawn(list[kind.annotation], right, given, "list", {0: kind})  # type: ignore[name-defined]  # it is drawn


def dict_of(kind: Drawn, *, numbered: bool = False) -> Drawn:
    names = st.sampled_from(["1", "2"])
    right, given = st.dictionaries(names, kind.right), st.dictionaries(names, kind.given) | st.just("x")
    key = int if numbered else str
    return Drawn(dict[key, kind.annotation], right, given, "dict", {"": kind})  # type: ignore[valid-type, name-defined]  # it is drawn


def optional(kind: Drawn) -> Drawn:
    return Drawn(
        kind.annotation | None, st.none() | kind.right, st.none() | kind.given, "optional", {0: kind}
    )


def tuple_of(kinds: Sequence[Drawn]) -> Drawn:
    right, given = (
        st.tuples(*(getattr(one, name) for one in kinds)).map(list) for name in ("right", "given")
    )
    annotation: Any = tuple[tuple(one.annotation for one in kinds)]  # type: ignore[misc]  # it is drawn
    return Drawn(annotation, right, given, "tuple", dict(enumerate(kinds)))


def record_of(parts: Mapping[str, Drawn], way: str) -> Drawn:
    """A model, dataclass or TypedDict with these members."""
    name, kinds = f"Drawn{next(_numbers)}", {one: kind.annotation for one, kind in parts.items()}
    if way == "model":
        annotation: Any = create_model(name, **{one: (kind, ...) for one, kind in kinds.items()})  # type: ignore[call-overload]  # it is drawn
    elif way == "dataclass":
        annotation = make_dataclass(name, kinds.items())
    else:
        annotation = _typed_dict(name, kinds)
    right, given = (
        st.fixed_dictionaries({one: getattr(kind, which) for one, kind in parts.items()})
        for which in ("right", "given")
    )
    return Drawn(annotation, right, given, "record", dict(parts.items()))


def _around(inner: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    members = st.dictionaries(st.sampled_from(["limit", "q", "r"]), inner, min_size=1)
    records = st.builds(record_of, members, st.sampled_from(["model", "dataclass", "typed dict"]))
    tuples = st.lists(inner, min_size=1, max_size=2).map(tuple_of)
    nullable = inner.filter(lambda kind: kind.form != "optional").map(optional)
    dicts = st.builds(dict_of, inner, numbered=st.booleans())
    return records | inner.map(list_of) | dicts | tuples | nullable


SETS: Final = st.sampled_from(MEMBERS).map(set_of)
KINDS: Final = st.recursive(st.sampled_from(LEAVES) | SETS, _around, max_leaves=4)


# -- trees -------------------------------------------------------------------------------------------------------------


def places(kind: Drawn, tree: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Drawn]]:
    """Every place in a tree, with its type; of a dict also one that is not stored."""
    yield path, kind
    if kind.form == "optional" and tree is not None:
        yield from ((found, one) for found, one in places(kind.part, tree, path) if found != path)
    elif kind.form in ("record", "tuple"):
        for step, part in kind.parts.items():
            yield from places(part, tree[step], (*path, step))
    elif kind.form == "list":
        for index, one in enumerate(tree):
            yield from places(kind.part, one, (*path, index))
    elif kind.form == "dict":
        for name, one in tree.items():
            yield from places(kind.part, one, (*path, name))
        yield (*path, "new"), kind.part


def bare(kind: Drawn) -> Drawn:
    """A type without its None."""
    return kind.part if kind.form == "optional" else kind


def at(tree: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else tree[step]
    return tree


def put(tree: Any, path: tuple[Step, ...], value: Any) -> Any:
    """A copy of a tree with another value at a place."""
    if not path:
        return deepcopy(value)
    found = deepcopy(tree)
    at(found, path[:-1])[path[-1]] = deepcopy(value)
    return found
