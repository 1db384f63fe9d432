"""DynamoDB's rules for operands in moto: an absent attribute is not NULL, and values of two types are unequal.

moto compares Python values. So an absent attribute equals NULL and every other absent one, 1 equals True, and text
compared by order with a number is an error of moto's own. Inside ``exact_conditions``, moto parses a condition, and
``dynaorm.item.condition`` decides each comparison in it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from moto.dynamodb import comparisons as moto
from moto.dynamodb.models.utilities import dynamo_to_dict

from dynaorm.item.condition import BeginsWith, Between, Compare, Contains, IsIn, holds, size_of
from dynaorm.item.value import AttributeValue

_Decide: TypeAlias = Callable[[Any, Any], bool]
"""Whether a comparison of moto's holds for an item of moto's, which is None for an absent item."""


@contextmanager
def exact_conditions() -> Iterator[None]:
    """Let moto decide every condition and filter as DynamoDB does."""
    with ExitStack() as stack:
        for kind, decide in _DECIDED.items():
            stack.enter_context(patch.object(kind, "expr", decide))
        yield


def _value(operand: Any, item: Any) -> Any:
    """The attribute value of an operand; None if it has none."""
    if isinstance(operand, moto.AttributePath):
        found = operand._get_attr(item)
        return None if found is None else dynamo_to_dict(found)
    if isinstance(operand, moto.FuncSize):
        return size_of(_value(operand.attr, item))
    value: AttributeValue = {operand.type: operand.value}
    return value


def _compared(sign: str) -> _Decide:
    def decide(asked: Any, item: Any) -> bool:
        return holds(Compare(_value(asked.lhs, item), sign, _value(asked.rhs, item)), {})

    return decide


def _is_between(asked: Any, item: Any) -> bool:
    return holds(Between(*(_value(one, item) for one in (asked.attr, asked.start, asked.end))), {})


def _is_in(asked: Any, item: Any) -> bool:
    return holds(
        IsIn(_value(asked.attr, item), tuple(_value(one, item) for one in asked.possible_values)), {}
    )


def _begins_with(asked: Any, item: Any) -> bool:
    found = {"value": _value(asked.attr, item)}
    return holds(BeginsWith(("value",), _value(asked.substr, item)), found)


def _contains(asked: Any, item: Any) -> bool:
    found = {"value": _value(asked.attr, item)}
    return holds(Contains(("value",), _value(asked.operand, item)), found)


_DECIDED: Final[Mapping[type, _Decide]] = {
    **{kind: _compared(sign) for sign, kind in moto.COMPARATOR_CLASS.items()},
    moto.FuncBetween: _is_between,
    moto.FuncIn: _is_in,
    moto.FuncBeginsWith: _begins_with,
    moto.FuncContains: _contains,
}
