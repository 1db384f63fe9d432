"""What absence stands for is part of a resolved condition: as few guards as possible, and none where none is needed."""

import pytest

from dynaorm import F
from dynaorm.errors import UsageError
from dynaorm.item.condition import Condition, render
from dynaorm.item.path import Path, PathSource, Placeholders, Role
from dynaorm.item.resolve import resolve
from dynaorm.item.value import AttributeValue


class Defaults:
    """``n`` defaults to 5, ``none`` to None, ``s`` is an absent empty set, ``old`` has had another name."""

    def attribute(self, path: Path) -> Path:
        return path

    def sources(self, path: Path) -> tuple[PathSource, ...]:
        values: dict[str, AttributeValue] = {"n": {"N": "5"}, "none": {"NULL": True}, "s": {"L": []}}
        if path == ("old",):
            return PathSource(stored=path), PathSource(stored=("older",), missing=(path,))
        found = values.get(str(path[0]))
        absent = () if found is None else (PathSource(value=found, missing=(path,)),)
        return (PathSource(stored=path), *absent)

    def start(self, _: Path) -> AttributeValue | None:
        return None

    def refuse_other_form(self, path: Path, other: Path) -> None:
        pass

    def encode(self, path: Path, value: object, *, role: Role) -> AttributeValue:
        assert path
        assert role
        return {"NULL": True} if value is None else {"N": str(value)} if isinstance(value, int) else {"L": []}


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F.n < 9, "attribute_not_exists(#n0) OR #n0 < :v0"),
        (F.n < 5, "#n0 < :v0"),
        (F.n != 9, "#n0 <> :v0"),
        (F.n != 5, "attribute_exists(#n0) AND #n0 <> :v0"),
        (F.n.between(1, 9), "attribute_not_exists(#n0) OR #n0 BETWEEN :v0 AND :v1"),
        (F.n.is_in([5]), "attribute_not_exists(#n0) OR #n0 IN (:v0)"),
        (F.none == None, "attribute_not_exists(#n0) OR #n0 = :v0"),  # noqa: E711
        (F.none < 5, "#n0 < :v0"),
        (F.s == set(), "attribute_not_exists(#n0) OR #n0 = :v0"),
        (F.s.size() == 0, "attribute_not_exists(#n0) OR size(#n0) = :v0"),
        (F.n == F.other, "attribute_exists(#n0) AND #n0 = #n1 OR attribute_not_exists(#n0) AND #n1 = :v0"),
        (F.old == 1, "#n0 = :v0 OR attribute_not_exists(#n0) AND #n1 = :v1"),
        (F.n.exists(), "attribute_exists(#n0)"),
        (F.n.missing(), "attribute_not_exists(#n0)"),
        (~(F.n == 5), "NOT (attribute_not_exists(#n0) OR #n0 = :v0)"),
        (F.other == 1, "#n0 = :v0"),
        (F.other != 1, "#n0 <> :v0"),
    ],
    ids=repr,
)
def test_absence_is_asked_about_where_its_value_matches(condition: Condition, text: str) -> None:
    assert render(resolve(condition, Defaults()), Placeholders()) == text


@pytest.mark.parametrize(
    "condition",
    [
        F.n == F.n,
        F.n != F.n,
        F.other < F.other,
        F.other.contains(F.other),
        F.other.begins_with(F.other),
        F.other.between(F.other, 3),
        F.other.between(1, F.other),
        F.other.is_in([1, F.other]),
        F.a.b[0] == F.a.b[0],
        F.other.size() >= F.other.size(),
        ~(F.n == 5) & (F.a.b == 1) | (F.n == F.n),
    ],
    ids=repr,
)
def test_what_is_compared_with_itself_is_refused(condition: Condition) -> None:
    with pytest.raises(
        UsageError, match=r"^(n|other|a\.b\.0) is compared with itself, which DynamoDB refuses"
    ):
        resolve(condition, Defaults())


def test_an_attribute_may_be_compared_with_its_size() -> None:
    for condition in (F.other == F.other.size(), F.other.size() == F.other, F.other == F.other.part):
        assert render(resolve(condition, Defaults()), Placeholders())


def test_only_text_and_binary_have_a_beginning() -> None:
    with pytest.raises(UsageError, match="n begins with 5, which is stored as N; only text and binary"):
        resolve(F.n.begins_with(5), Defaults())
    with pytest.raises(UsageError, match="n begins with a size, which is a number; only text and binary"):
        resolve(F.n.begins_with(F.other.size()), Defaults())
