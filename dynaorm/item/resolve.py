"""Resolves conditions: field names become attribute names, values are encoded, and absence means the default.

Rule 1. The resolved condition holds for an item if the given one holds for what loading the item would give.
Rule 2. A comparison with something that has no value is false, and ``<>`` is the negation of ``=``.
Rule 3. A condition on attributes that are always stored under one name is only translated. Where two attributes are
compared, it also asks whether one of them is stored, because emulators take two absent ones for equal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import product
from typing import Any, Final, TypeAlias

from dynaorm.errors import UsageError
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    IsIn,
    Missing,
    Not,
    Operand,
    Or,
    SizeOf,
    holds,
    size_of,
)
from dynaorm.item.path import Path, PathSource, Resolver, Role, dotted
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.record import record

_ORDERED: Final = frozenset({"S", "N", "B"})
_TURNED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NULL: Final[AttributeValue] = {"NULL": True}
# IN takes at most 100 values (Amazon DynamoDB Developer Guide, Condition expressions).
_MOST_PIECES: Final = 100


@record(quick=True)
class _Case:
    """An operand or a value, in the items that fulfil all guards."""

    guards: tuple[Condition, ...]
    side: Any

    @property
    def is_value(self) -> bool:
        return not isinstance(self.side, (Attr, SizeOf))


_Cases: TypeAlias = Sequence[_Case]


@singledispatch
def resolve(condition: Condition, resolver: Resolver) -> Condition:
    """The same condition on attribute names and attribute values, with the meaning that absence has for the class.

    Raises:
        UsageError: an operand is compared with itself, a size with something that is not a number, a value by order
            although its type has no order in DynamoDB, or a beginning is no text. Errors of the resolver are passed on.
    """
    raise TypeError(f"{condition!r} with {resolver!r} is not a condition; combine conditions of F")


@resolve.register
def _(condition: And, resolver: Resolver) -> Condition:
    return And(tuple(resolve(part, resolver) for part in condition.parts))


@resolve.register
def _(condition: Or, resolver: Resolver) -> Condition:
    return Or(tuple(resolve(part, resolver) for part in condition.parts))


@resolve.register
def _(condition: Not, resolver: Resolver) -> Condition:
    return Not(resolve(condition.part, resolver))


@resolve.register
def _(condition: Exists, resolver: Resolver) -> Condition:
    return _either((case.guards, Exists(case.side.path)) for case in _stored(condition.path, resolver))


@resolve.register
def _(condition: Missing, resolver: Resolver) -> Condition:
    stored = _stored(condition.path, resolver)
    if _is_plain(stored):
        return Missing(stored[0].side.path)
    return Not(resolve(Exists(condition.path), resolver))


@resolve.register
def _(condition: Compare, resolver: Resolver) -> Condition:
    _refuse_itself(condition.left, condition.right)
    left = _cases(condition.left, resolver)
    right = _cases_of_value(condition.right, condition.left, resolver)
    if condition.operator not in ("=", "<>"):
        _check_ordered(condition.right, right, condition.left)
    return _compared(left, condition.operator, right)


@resolve.register
def _(condition: Between, resolver: Resolver) -> Condition:
    _refuse_itself(condition.operand, condition.low, condition.high)
    operand = _cases(condition.operand, resolver)
    low, high = (
        _cases_of_value(bound, condition.operand, resolver) for bound in (condition.low, condition.high)
    )
    _check_ordered(condition.low, low, condition.operand)
    _check_ordered(condition.high, high, condition.operand)
    if not _are_simple(operand, low, high):
        return And((_compared(operand, ">=", low), _compared(operand, "<=", high)))
    return _where(operand, lambda one: Between(one, low[0].side, high[0].side))


@resolve.register
def _(condition: IsIn, resolver: Resolver) -> Condition:
    _refuse_itself(condition.operand, *condition.values)
    operand = _cases(condition.operand, resolver)
    values = [_cases_of_value(value, condition.operand, resolver) for value in condition.values]
    if not _are_simple(operand, *values):
        return Or(tuple(_compared(operand, "=", value) for value in values))
    return _where(operand, lambda one: IsIn(one, tuple(value[0].side for value in values)))


@resolve.register
def _(condition: BeginsWith, resolver: Resolver) -> Condition:
    return _searched(condition.path, condition.prefix, BeginsWith, resolver)


@resolve.register
def _(condition: Contains, resolver: Resolver) -> Condition:
    return _searched(condition.path, condition.value, Contains, resolver)


# -- the cases of an operand -------------------------------------------------------------------------------------------


def _cases(operand: Operand, resolver: Resolver) -> _Cases:
    found = [_case(source, type(operand)) for source in resolver.sources(operand.path)]
    return [case for case in found if case.side is not None]


def _case(source: PathSource, kind: type[Operand]) -> _Case:
    guards: list[Condition] = []
    if source.within is not None:
        guards.append(Exists(source.within))
        if source.not_null:
            # A path that leads through NULL has no value.
            guards.append(Compare(Attr(source.within), "<>", _NULL))
    guards += [Missing(path) for path in source.missing]
    if source.stored is not None:
        return _Case(tuple(guards), kind(source.stored))
    return _Case(tuple(guards), source.value if kind is Attr else size_of(source.value))


def _stored(path: Path, resolver: Resolver) -> _Cases:
    return [case for case in _cases(Attr(path), resolver) if not case.is_value]


def _cases_of_value(value: Any, subject: Operand, resolver: Resolver, role: Role = "bound") -> _Cases:
    if isinstance(value, (Attr, SizeOf)):
        if isinstance(value, Attr) and isinstance(subject, Attr):
            resolver.refuse_other_form(subject.path, value.path)
        return _cases(value, resolver)
    if isinstance(subject, Attr):
        return (_Case((), resolver.encode(subject.path, value, role=role)),)
    try:
        return (_Case((), {"N": number_text(value)}),)
    except ValueError as problem:
        raise UsageError(
            problem=f"the size of {dotted(subject.path)} is a number, but {problem}",
            remedy="compare .size() with an int",
        ) from problem


def _refuse_itself(subject: Operand, *others: Any) -> None:
    """DynamoDB refuses an expression if an operand equals the first one of its operator."""
    if any(isinstance(one, type(subject)) and one.path == subject.path for one in others):
        raise UsageError(
            problem=f"{dotted(subject.path)} is compared with itself, which DynamoDB refuses",
            remedy="compare it with a value or another field",
        )


def _check_ordered(given: Any, cases: _Cases, subject: Operand) -> None:
    if isinstance(given, (Attr, SizeOf)):
        return
    value = cases[0].side
    if not _is_ordered(value):
        path, tag = dotted(subject.path), next(iter(value))
        raise UsageError(
            problem=f"{path} is compared by order with {tag}, which has no order in DynamoDB",
            remedy="use == or !=; only text, numbers and binary have an order",
        )


def _is_plain(cases: _Cases) -> bool:
    return len(cases) == 1 and not cases[0].guards


def _are_simple(operand: _Cases, *others: _Cases) -> bool:
    """Whether one condition of DynamoDB's, asked of each case of the operand, can say it."""
    return all(map(_is_plain, others)) and (_is_plain(operand) or all(one[0].is_value for one in others))


# -- conditions on cases -----------------------------------------------------------------------------------------------

_Outcome: TypeAlias = tuple[tuple[Condition, ...], Condition | bool]
"""Some guards, and what decides where they hold."""


def _either(outcomes: Iterable[_Outcome]) -> Condition:
    """The condition that the outcome of the case that applies is true. What guards alone decide comes first."""
    decided: list[Condition] = []
    asked: list[Condition] = []
    for guards, outcome in outcomes:
        if isinstance(outcome, Condition):
            asked.append(_every((*guards, outcome)))
        elif outcome:
            decided.append(_every(guards))
    found = (*decided, *asked)
    return Or(found) if len(found) > 1 else found[0]


def _every(parts: tuple[Condition, ...]) -> Condition:
    return And(parts) if len(parts) > 1 else parts[0]


def _where(operand: _Cases, condition_on: Callable[[Any], Condition]) -> Condition:
    """A condition on an operand; decided here in the cases where that is a value."""
    return _either(
        (case.guards, holds(condition_on(case.side), {}) if case.is_value else condition_on(case.side))
        for case in operand
    )


def _compared(left: _Cases, operator: str, right: _Cases) -> Condition:
    if operator == "<>" and not (_is_plain(left) and _is_plain(right) and right[0].is_value):
        return _unequal(left, right)
    return _either(
        ((*one.guards, *other.guards, *_presence(operator, one, other)), _comparison(one, operator, other))
        for one, other in product(left, right)
    )


def _presence(operator: str, one: _Case, other: _Case) -> tuple[Condition, ...]:
    """That the first of two attributes is stored."""
    are_attributes = isinstance(one.side, Attr) and isinstance(other.side, Attr)
    # Rule 3.
    return (Exists(one.side.path),) if operator == "=" and are_attributes else ()


def _comparison(one: _Case, operator: str, other: _Case) -> Condition | bool:
    if one.is_value and other.is_value:
        return holds(Compare(one.side, operator, other.side), {})
    if one.is_value:
        return _comparison(other, _TURNED[operator], one)
    if other.guards and operator not in ("=", "<>") and not _is_ordered(other.side):
        return False  # DynamoDB would refuse the value
    return Compare(one.side, operator, other.side)


def _unequal(left: _Cases, right: _Cases) -> Condition:
    stored = [case for case in left if not case.is_value]
    if len(stored) != 1 or stored[0].guards or not _is_plain(right) or not right[0].is_value:
        # Rule 2.
        return Not(_compared(left, "=", right))
    # DynamoDB's <> holds for an absent attribute, too, so only the cases that are equal have to be excluded.
    equal = [case for case in left if case.is_value and holds(Compare(case.side, "=", right[0].side), {})]
    excluded = tuple(_negated(case.guards) for case in equal)
    return _every((*excluded, Compare(stored[0].side, "<>", right[0].side)))


def _negated(guards: tuple[Condition, ...]) -> Condition:
    first = guards[0]
    return Exists(first.path) if len(guards) == 1 and isinstance(first, Missing) else Not(_every(guards))


def _searched(path: Path, given: Any, kind: type[BeginsWith | Contains], resolver: Resolver) -> Condition:
    _refuse_itself(Attr(path), given)
    subjects = _cases(Attr(path), resolver)
    pieces = _cases_of_value(given, Attr(path), resolver, "text" if kind is BeginsWith else "element")
    if kind is BeginsWith:
        _refuse_number(path, given, pieces[0])
    return _either(
        ((*subject.guards, *piece.guards), _search(subject, piece, kind, path))
        for subject, piece in product(subjects, pieces)
    )


def _refuse_number(path: Path, given: Any, piece: _Case) -> None:
    """Raises UsageError for a prefix that is neither text nor binary."""
    if isinstance(given, SizeOf):
        found = "a size, which is a number"
    elif not isinstance(given, Attr) and not _is_text(piece.side):
        found = f"{given!r}, which is stored as {next(iter(piece.side))}"
    else:
        return
    raise UsageError(
        problem=f"{dotted(path)} begins with {found}",
        remedy="only text and binary have a beginning; use ==, >= or .between(...)",
    )


def _search(subject: _Case, piece: _Case, kind: type[BeginsWith | Contains], path: Path) -> Condition | bool:
    if not subject.is_value:
        if piece.guards and piece.is_value and kind is BeginsWith and not _is_text(piece.side):
            return False  # DynamoDB would refuse the value
        return kind(subject.side.path, piece.side)
    if piece.is_value:
        return holds(kind(("value",), piece.side), {"value": subject.side})
    # DynamoDB searches attributes only. So the attribute searched for has to be one of the pieces of the value.
    pieces = tuple(_pieces(subject.side, kind))
    if len(pieces) > _MOST_PIECES:
        raise UsageError(
            problem=f"{dotted(path)} has a default with more than {_MOST_PIECES} parts to compare with a field",
            remedy=f"add F.{dotted(path)}.exists(), or compare with a value",
        )
    return IsIn(piece.side, pieces) if pieces else False


def _pieces(value: AttributeValue, kind: type[BeginsWith | Contains]) -> Iterator[AttributeValue]:
    """All that a value begins with or contains."""
    ((tag, content),) = value.items()
    if tag in ("S", "B"):
        starts = range(len(content) + 1) if kind is Contains else (0,)
        found = {content[start:end] for start in starts for end in range(start, len(content) + 1)}
        yield from ({tag: piece} for piece in sorted(found))
    elif kind is Contains and tag == "L":
        yield from content
    elif kind is Contains and tag in ("SS", "NS", "BS"):
        yield from ({tag[0]: element} for element in content)


def _is_ordered(side: Any) -> bool:
    return isinstance(side, (Attr, SizeOf)) or not side.keys().isdisjoint(_ORDERED)


def _is_text(value: AttributeValue) -> bool:
    return not value.keys().isdisjoint({"S", "B"})
