"""The range of keys that a key condition allows: one partition, and the bytes of its sort keys from and to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from dynaorm.embedded.keys import after, beginning, part_of_key
from dynaorm.embedded.refusal import invalid, invalid_parameter
from dynaorm.embedded.shape import Shape, check_not_empty
from dynaorm.item.condition import And, Attr, BeginsWith, Between, Compare, Condition, Not, Or

Range: TypeAlias = tuple[bytes, bytes | None]
"""The least bytes, and those behind the last; None for no end."""

_Clause: TypeAlias = Compare | Between | BeginsWith

_SUPPORTED = frozenset({"=", "<", "<=", ">", ">="})


def key_range(shape: Shape, condition: Condition | None) -> tuple[bytes, bytes, bytes | None]:
    """The partition, and the range of sort keys. Raises Refusal if it is no key condition of this table or index."""
    if condition is None:
        raise invalid(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    clauses: dict[str, _Clause] = {}
    for clause in _clauses(condition):
        name = _name(clause)
        if name in clauses:
            raise _not_supported("KeyConditionExpressions must only contain one condition per key")
        clauses[name] = clause
    partition = b""
    for name, kind in shape.partition:
        if name not in clauses:
            raise _missed(name)
        clause = clauses.pop(name)
        if not isinstance(clause, Compare) or clause.operator != "=":
            raise invalid("Query key condition not supported")
        partition += _part(name, kind, clause.right)
    low, high = _sort_range(shape, clauses)
    for name in clauses:
        raise _missed(name)
    return partition, low, high


def _sort_range(shape: Shape, clauses: dict[str, _Clause]) -> Range:
    prefix = b""
    for name, kind in shape.sort:
        clause = clauses.pop(name, None)
        if clause is None:
            break
        if isinstance(clause, Compare) and clause.operator == "=":
            prefix += _part(name, kind, clause.right)
            continue
        return _range(prefix, name, kind, clause)
    return prefix, after(prefix)


def _range(prefix: bytes, name: str, kind: str, clause: _Clause) -> Range:
    if isinstance(clause, BeginsWith):
        start = prefix + beginning(kind, _content(name, kind, clause.prefix))
        return start, after(start)
    if isinstance(clause, Between):
        low, high = (prefix + _part(name, kind, bound) for bound in (clause.low, clause.high))
        return low, after(high)
    key = prefix + _part(name, kind, clause.right)
    behind = after(key)
    assert behind is not None
    match clause.operator:
        case "<":
            return prefix, key
        case "<=":
            return prefix, behind
        case ">":
            return behind, after(prefix)
    return key, after(prefix)


def _clauses(condition: Condition) -> Iterator[_Clause]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _clauses(part)
    elif isinstance(condition, Between | BeginsWith) or (
        isinstance(condition, Compare) and condition.operator in _SUPPORTED
    ):
        yield condition
    else:
        names = {Or: "OR", Not: "NOT"}
        named = condition.operator if isinstance(condition, Compare) else names.get(type(condition))
        raise _not_supported(
            f"Invalid operator used in KeyConditionExpression: {named or type(condition).__name__}"
        )


def _name(clause: _Clause) -> str:
    if isinstance(clause, BeginsWith):
        path = clause.path
    else:
        operand: Any = clause.left if isinstance(clause, Compare) else clause.operand
        if not isinstance(operand, Attr):
            raise _not_supported("Invalid operand: a key attribute must be on the left side")
        path = operand.path
    if len(path) > 1:
        raise _not_supported("KeyConditionExpressions cannot have conditions on nested attributes")
    return str(path[0])


def _part(name: str, kind: str, value: Any) -> bytes:
    return part_of_key(kind, _content(name, kind, value))


def _content(name: str, kind: str, value: Any) -> Any:
    if isinstance(value, dict) and kind in value:
        check_not_empty(name, value)
        return value[kind]
    if not isinstance(value, dict):
        raise _not_supported("Invalid operand: a key attribute is compared with a value only")
    raise invalid_parameter("Condition parameter type does not match schema type")


def _missed(name: str) -> Exception:
    return invalid(f"Query condition missed key schema element: {name}")


def _not_supported(problem: str) -> Exception:
    return invalid(problem if problem.startswith("KeyC") else f"Invalid KeyConditionExpression: {problem}")
