"""Conditions as trees: built on field names, resolved to attribute names and attribute values, then rendered.

Rule 1. A tree is a value. Resolving returns a new tree, and only a resolved tree can be rendered.
Rule 2. A condition has no truth value, because ``a and b`` would silently mean ``b``.
Rule 3. Parentheses are written only where they are needed, because DynamoDB refuses redundant ones.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from functools import cache, singledispatch
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.item.path import EXPRESSION_LIMIT, Path, Placeholders, value_at
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.record import FIELDS, record

# DynamoDB Developer Guide, "Service, account, and table quotas": operands of IN, and operators of an expression.
_IN_LIMIT: Final = 100
_OPERATORS_LIMIT: Final = 300
_OPERATOR: Final = re.compile(r"\b(?:AND|OR|NOT|IN|BETWEEN)\b|[<>=]+|\b[a-z_]+\(")

_OR, _AND, _NOT, _ATOM = range(4)


@record
class Attr:
    """The attribute at a path, as an operand."""

    path: Path


@record
class SizeOf:
    """The size of the attribute at a path: characters, bytes or elements."""

    path: Path


Operand: TypeAlias = Attr | SizeOf


class Condition:
    """A condition on an item. Combine conditions with ``&``, ``|`` and ``~``."""

    # No ABC, of which every isinstance would be a call.
    __slots__ = ("_expression",)
    _expression: tuple[str, dict[str, str], dict[str, AttributeValue]]  # kept by item/action.py
    _rank: ClassVar[int] = _ATOM

    def __and__(self, other: Condition) -> Condition:
        return And(_joined(And, (self, other)))

    def __or__(self, other: Condition) -> Condition:
        return Or(_joined(Or, (self, other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a condition has no truth value because DynamoDB evaluates it; combine conditions with & | ~ instead of"
            " and, or, not, and write F.a.between(x, y) instead of x < F.a < y"
        )

    def _rendered(self, placeholders: Placeholders) -> str:
        raise NotImplementedError


def render(condition: Condition, placeholders: Placeholders) -> str:
    """The expression of a resolved condition. Raises UsageError if it is longer than DynamoDB accepts."""
    text = condition._rendered(placeholders)
    # Most texts are shorter than the limit of operators, and need not be searched for any.
    if len(text) > EXPRESSION_LIMIT or (
        len(text) > _OPERATORS_LIMIT and _operators_in(text) > _OPERATORS_LIMIT
    ):
        raise UsageError(
            problem=f"a condition became an expression of {counted(len(text), 'character')} and "
            f"{counted(_operators_in(text), 'operator')}; "
            f"DynamoDB accepts {EXPRESSION_LIMIT} and {_OPERATORS_LIMIT}",
            remedy="use fewer values in is_in and fewer conditions, or several calls",
        )
    return text


def _operators_in(text: str) -> int:
    # The AND of a BETWEEN is no operator of its own.
    return len(_OPERATOR.findall(text)) - text.count(" BETWEEN ")


def paths_of(condition: Condition) -> frozenset[Path]:
    """Every path in a condition."""
    return frozenset(_paths_in(condition))


def _paths_in(part: Any) -> Iterator[Path]:
    if isinstance(part, tuple):
        for one in part:
            yield from _paths_in(one)
    elif isinstance(part, (Condition, Attr, SizeOf)):
        for name in getattr(part, FIELDS):
            if name == "path":
                yield getattr(part, name)
            else:
                yield from _paths_in(getattr(part, name))


@record(quick=True)
class Compare(Condition):
    """``operator`` is one of ``= <> < <= > >=``; ``right`` is a value or an operand."""

    left: Operand
    operator: str
    right: Any

    def _rendered(self, placeholders: Placeholders) -> str:
        left = _operand_text(self.left, placeholders)
        return f"{left} {self.operator} {_operand_text(self.right, placeholders)}"


@record
class Between(Condition):
    """Both bounds are included. Reversed bounds match nothing; DynamoDB would refuse such a BETWEEN."""

    operand: Operand
    low: Any
    high: Any

    def _rendered(self, placeholders: Placeholders) -> str:
        if _is_reversed(self.low, self.high):
            return _never(self.operand, placeholders)
        operand, low, high = (_operand_text(one, placeholders) for one in (self.operand, self.low, self.high))
        return f"{operand} BETWEEN {low} AND {high}"


@record
class IsIn(Condition):
    """One of some values. An empty list matches nothing; a list longer than DynamoDB's limit becomes several IN."""

    operand: Operand
    values: tuple[Any, ...]

    def _rendered(self, placeholders: Placeholders) -> str:
        if not self.values:
            return _never(self.operand, placeholders)
        operand = _operand_text(self.operand, placeholders)
        values = [_operand_text(value, placeholders) for value in self.values]
        portions = [values[start : start + _IN_LIMIT] for start in range(0, len(values), _IN_LIMIT)]
        texts = [f"{operand} IN ({', '.join(portion)})" for portion in portions]
        return texts[0] if len(texts) == 1 else f"({' OR '.join(texts)})"


@record
class BeginsWith(Condition):
    """The text or binary begins with the prefix."""

    path: Path
    prefix: Any

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"begins_with({placeholders.path(self.path)}, {_operand_text(self.prefix, placeholders)})"


@record
class Contains(Condition):
    """The list or set contains this element, or the text contains this substring."""

    path: Path
    value: Any

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"contains({placeholders.path(self.path)}, {_operand_text(self.value, placeholders)})"


@record
class Exists(Condition):
    """There is an attribute at the path; NULL counts as one."""

    path: Path

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"attribute_exists({placeholders.path(self.path)})"


@record
class Missing(Condition):
    """There is no attribute at the path."""

    path: Path

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"attribute_not_exists({placeholders.path(self.path)})"


@record
class HasType(Condition):
    """The attribute at the path has this type, such as S."""

    path: Path
    tag: str

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"attribute_type({placeholders.path(self.path)}, {placeholders.value({'S': self.tag})})"


@record
class And(Condition):
    """All of the parts hold."""

    _rank: ClassVar[int] = _AND

    parts: tuple[Condition, ...]

    def _rendered(self, placeholders: Placeholders) -> str:
        return " AND ".join(_part_text(part, _AND, placeholders) for part in self.parts)


@record(quick=True)
class Or(Condition):
    """At least one of the parts holds."""

    _rank: ClassVar[int] = _OR

    parts: tuple[Condition, ...]

    def _rendered(self, placeholders: Placeholders) -> str:
        return " OR ".join(_part_text(part, _OR, placeholders) for part in self.parts)


@record
class Not(Condition):
    """The part does not hold."""

    _rank: ClassVar[int] = _NOT

    part: Condition

    def _rendered(self, placeholders: Placeholders) -> str:
        return f"NOT {_part_text(self.part, _ATOM, placeholders)}"


@record
class LocalCondition(Condition):
    """A condition on an item as ``read`` gives it. DynamoDB, which compares what is stored, cannot evaluate it.

    ``attributes``: those with other values than are stored.
    """

    part: Condition
    attributes: frozenset[str] = field(repr=False)
    read: Callable[[Item], Item] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalCondition) and self.part == other.part

    def __hash__(self) -> int:
        return hash(self.attributes)

    def _rendered(self, placeholders: Placeholders) -> str:
        return self.part._rendered(placeholders)


def has_local_condition(condition: Condition | None) -> bool:
    """Whether DynamoDB cannot evaluate a condition, or a part of it."""
    if isinstance(condition, (And, Or)):
        return any(map(has_local_condition, condition.parts))
    return isinstance(condition, LocalCondition)


def equals(attribute: str, value: AttributeValue) -> Condition:
    """A resolved condition: the attribute has this value."""
    return Compare(Attr((attribute,)), "=", value)


def exists(attribute: str) -> Condition:
    """A resolved condition: the item has the attribute. With a key attribute: the item exists."""
    return Exists((attribute,))


# Kept, and with it the expression that is rendered once: every insert has this condition.
@cache
def missing(attribute: str) -> Condition:
    """A resolved condition: the item lacks the attribute. With a key attribute: the item does not exist."""
    return Missing((attribute,))


def all_of(*conditions: Condition | None) -> Condition | None:
    """One condition that holds where all of them hold; None if all of them are None."""
    found = [condition for condition in conditions if condition is not None]
    return And(_joined(And, found)) if len(found) > 1 else found[0] if found else None


def as_in(item: Item, names: Iterable[str]) -> Condition | None:
    """The condition that some attributes are as in an item, absent ones too; None for no attributes."""
    return all_of(
        *(equals(name, item[name]) if name in item else missing(name) for name in dict.fromkeys(names))
    )


def any_of_conditions(first: Condition, *others: Condition) -> Condition:
    """One condition that holds where any of them holds."""
    return Or(_joined(Or, (first, *others))) if others else first


def _joined(kind: type[And | Or], conditions: Iterable[object]) -> tuple[Condition, ...]:
    parts: list[Condition] = []
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise TypeError(
                f"{condition!r} is not a condition; put comparisons in parentheses: (F.a == 1) & (F.b == 2)"
            )
        parts += condition.parts if isinstance(condition, kind) else (condition,)
    return tuple(parts)


def _part_text(part: Condition, rank: int, placeholders: Placeholders) -> str:
    text = part._rendered(placeholders)
    return text if part._rank >= rank else f"({text})"


def _is_reversed(low: Any, high: Any) -> bool:
    if isinstance(low, (Attr, SizeOf)) or isinstance(high, (Attr, SizeOf)) or low.keys() != high.keys():
        return False
    ((tag, one),) = low.items()
    other = high[tag]
    return bool(Decimal(one) > Decimal(other) if tag == "N" else one > other)


def _never(operand: Operand, placeholders: Placeholders) -> str:
    path = placeholders.path(operand.path)
    # DynamoDB's expressions have no constant for false.
    return f"(attribute_exists({path}) AND attribute_not_exists({path}))"


def _operand_text(operand: Any, placeholders: Placeholders) -> str:
    if isinstance(operand, Attr):
        return placeholders.path(operand.path)
    if isinstance(operand, SizeOf):
        return f"size({placeholders.path(operand.path)})"
    return placeholders.value(operand)


class UnknownAttribute(Exception):
    """The answer depends on an attribute that is not known."""


class PartialItem(dict[str, AttributeValue]):
    """An item of which some attributes are known, and some are known to be absent."""

    __slots__ = ("_absent",)

    def __init__(self, present: Item, absent: Iterable[str] = ()) -> None:
        super().__init__(present)
        self._absent = frozenset(absent)

    def plus(self, more: Item, absent: Iterable[str] = ()) -> PartialItem:
        """The same with more attributes, and with some that are known to be absent."""
        found = PartialItem(more, self._absent.union(absent))
        for name, value in dict.items(self):
            found.setdefault(name, value)
        return found

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name):
            return True
        if name in self._absent:
            return False
        raise UnknownAttribute(f"the call does not say what is in {name}")

    def __getitem__(self, name: str) -> AttributeValue:
        if name in self:
            return dict.__getitem__(self, name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        return dict.__getitem__(self, name) if name in self else default

    def _of_all(self, *_: object) -> NoReturn:
        raise UnknownAttribute("it depends on every attribute")

    __iter__ = __len__ = __eq__ = __ne__ = __or__ = __ror__ = keys = values = items = copy = _of_all
    __hash__ = None  # as that of every dict


# An item of which only a part is known, as a write by key knows it that has not read the item.
#
# Rule 1. It is asked like any other item. An answer that depends on what is not known raises ``UnknownAttribute``;
#         whoever wants the answer then reads the item. So one algorithm decides about items that were read, and about
#         others.


def with_more(item: Item, more: Mapping[str, AttributeValue]) -> Item:
    """The item with more attributes; of one that is known in part, a part is known as before."""
    return item.plus(more) if isinstance(item, PartialItem) else {**item, **more}


# Evaluates a condition in memory as DynamoDB would, for items whose condition could not be sent with the query.
#
# Rule 1. An attribute that is not stored is unequal to everything, and neither less nor greater than anything.
# Rule 2. Values of two types are unequal, and neither is less than the other.


_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@singledispatch
def holds(condition: Condition, item: Item) -> bool:
    """Whether a resolved condition holds for an item. Raises UnknownAttribute where the known part does not say."""
    raise TypeError(f"{condition!r} for {item!r} is not a condition; combine conditions of F")


@holds.register
def _(condition: And, item: Item) -> bool:
    return not _has_part(condition.parts, item, holding=False)


@holds.register
def _(condition: Or, item: Item) -> bool:
    return _has_part(condition.parts, item, holding=True)


def _has_part(parts: Iterable[Condition], item: Item, *, holding: bool) -> bool:
    """Whether one part holds, or does not; a part that is decided may be one where others are not."""
    unread: UnknownAttribute | None = None
    for part in parts:
        try:
            if holds(part, item) is holding:
                return True
        except UnknownAttribute as unknown:
            unread = unknown
    if unread is not None:
        raise unread
    return False


@holds.register
def _(condition: Not, item: Item) -> bool:
    return not holds(condition.part, item)


@holds.register
def _(condition: LocalCondition, item: Item) -> bool:
    return holds(condition.part, condition.read(item))


@holds.register
def _(condition: Exists, item: Item) -> bool:
    return value_at(item, condition.path) is not None


@holds.register
def _(condition: Missing, item: Item) -> bool:
    return value_at(item, condition.path) is None


@holds.register
def _(condition: HasType, item: Item) -> bool:
    return condition.tag in (value_at(item, condition.path) or {})


@holds.register
def _(condition: Compare, item: Item) -> bool:
    left, right = _operand(condition.left, item), _operand(condition.right, item)
    if condition.operator == "=":
        return left is not None and right is not None and same(left, right)
    # Rule 1: DynamoDB's <> holds for an absent attribute, too.
    if condition.operator == "<>":
        return left is None or right is None or not same(left, right)
    return _compared(left, condition.operator, right)


@holds.register
def _(condition: Between, item: Item) -> bool:
    value = _operand(condition.operand, item)
    return _compared(value, ">=", _operand(condition.low, item)) and _compared(
        value, "<=", _operand(condition.high, item)
    )


@holds.register
def _(condition: IsIn, item: Item) -> bool:
    value = _operand(condition.operand, item)
    others = [_operand(one, item) for one in condition.values]
    return value is not None and any(other is not None and same(value, other) for other in others)


@holds.register
def _(condition: BeginsWith, item: Item) -> bool:
    value, prefix = value_at(item, condition.path), _operand(condition.prefix, item)
    if value is None or prefix is None:
        return False
    ((kind, content),), ((other, beginning),) = value.items(), prefix.items()
    return kind == other and kind in ("S", "B") and bool(content.startswith(beginning))


@holds.register
def _(condition: Contains, item: Item) -> bool:
    value, wanted = value_at(item, condition.path), _operand(condition.value, item)
    if value is None or wanted is None:
        return False
    ((kind, content),), ((other, piece),) = value.items(), wanted.items()
    if kind in ("S", "B"):
        return kind == other and piece in content
    if kind in ("SS", "NS", "BS"):
        return any(same({kind[0]: one}, wanted) for one in content)
    return kind == "L" and any(same(one, wanted) for one in content)


def _operand(operand: Any, item: Item) -> AttributeValue | None:
    if isinstance(operand, Attr):
        return value_at(item, operand.path)
    if isinstance(operand, SizeOf):
        return size_of(value_at(item, operand.path))
    value: AttributeValue = operand
    return value


def size_of(value: AttributeValue | None) -> AttributeValue | None:
    """The size of a value as DynamoDB's ``size`` gives it; None for a value without one."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    # Text is measured in characters, binary in bytes, everything else in elements. Numbers have no size.
    return {"N": str(len(content))} if kind in ("S", "B", "SS", "NS", "BS", "L", "M") else None


def _compared(left: AttributeValue | None, sign: str, right: AttributeValue | None) -> bool:
    if left is None or right is None:
        return False
    ((kind, content),), ((other, bound),) = left.items(), right.items()
    if kind != other or kind not in ("S", "N", "B"):
        return False
    # Python compares texts by code points, which is the order of their UTF-8 bytes, by which DynamoDB compares.
    return _ORDERED[sign](*((Decimal(content), Decimal(bound)) if kind == "N" else (content, bound)))
