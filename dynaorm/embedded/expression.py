"""DynamoDB's expressions: a text becomes a condition, changes, or paths.

Rule 1. A text is parsed once. The values of a request stand in the item, under a name that no attribute has: a
        placeholder is the path of its value.
Rule 2. Whether a condition holds, and what a change does, is decided in ``dynaorm.item``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from dynaorm.embedded import rules
from dynaorm.embedded.values import given_values, number_problem
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
    SizeOf,
    all_of,
    any_of_conditions,
    holds,
)
from dynaorm.item.path import EXPRESSION_LIMIT, Path, overlaps, value_at
from dynaorm.item.update import AddTo, Change, Discard, Remove, SetTo
from dynaorm.item.value import EXACT, SET_TAGS, AttributeValue, Item, number_text
from dynaorm.record import record

VALUES: Final = ""
"""Where the values of placeholders stand in an item."""

Operand: TypeAlias = Attr | SizeOf | tuple[Any, ...]
"""An operand of a condition, or the right side of a SET: a path, or a function with its operands."""

_MOST_OPERATORS: Final = 300
_MOST_IN: Final = 100
_TOKEN: Final = re.compile(r"[#:]?\w+|<>|[<>]=|\S", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_OPERATORS: Final = _COMPARATORS | {"AND", "OR", "NOT", "IN"}
_WRONG_TYPE: Final = "Incorrect operand type for operator or function"
_TYPES: Final = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")
_LONG: Final = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "L": "LIST", "M": "MAP", "BOOL": "BOOLEAN"}
_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), frozenset("SNB")),
    "begins_with": frozenset("SB"),
    "attribute_type": frozenset("S"),
    "list_append": frozenset("L"),
    **dict.fromkeys("+-", frozenset("N")),
    "ADD": frozenset({"N", *SET_TAGS.values()}),
    "DELETE": frozenset(SET_TAGS.values()),
}
"""The types that an operator or function takes; all for those that are not named."""
_PARAMETERS: Final = tuple(f"ExpressionAttribute{what}" for what in ("Names", "Values"))
_KINDS: Final = tuple(
    f"{what}Expression" for what in ("KeyCondition", "Filter", "Condition", "Update", "Projection")
)


@record
class _HasType(Condition):
    """``attribute_type``, whose type is a placeholder."""

    path: Path
    type: Attr


@holds.register
def _(condition: _HasType, item: Item) -> bool:
    return (value_at(item, condition.type.path) or {})["S"] in (value_at(item, condition.path) or ())


_OF_A_PATH: Final[Mapping[str, Callable[[Path], Condition]]] = {
    "attribute_exists": Exists,
    "attribute_not_exists": Missing,
}
_OF_TWO: Final[Mapping[str, Callable[[Path, Any], Condition]]] = {
    "attribute_type": _HasType,
    "begins_with": BeginsWith,
    "contains": Contains,
}
_FUNCTIONS: Final = frozenset({*_OF_A_PATH, *_OF_TWO})
_OF_UPDATES: Final = frozenset({"if_not_exists", "list_append"})


def expressions(request: Mapping[str, Any], *kinds: str) -> list[Any]:
    """The values of a request, and its expressions of these kinds: condition, changes or paths; None for absent ones.

    Raises:
        Refusal: one cannot be parsed, a placeholder is not defined, or not used.
    """
    if request.keys().isdisjoint(_PARAMETERS) and request.keys().isdisjoint(_KINDS):
        return [{}, *[None] * len(kinds)]
    for parameter in _PARAMETERS:
        if parameter in request and not request[parameter]:
            raise rules.invalid(f"{parameter} must not be empty")
    names: Mapping[str, str] = request.get(_PARAMETERS[0]) or {}
    values = given_values(request.get(_PARAMETERS[1]) or {})
    given = tuple(names.items())
    parsed = [None if (text := request.get(kind)) is None else _parsed(kind, text, given) for kind in kinds]
    used: set[str] = set()
    for each in parsed:
        if each is not None:
            each.check(values)
            used |= each.placeholders
    if len(used) != len(names) + len(values):
        _refuse_unused(names, values, used, has_expressions=any(parsed))
    scope = {VALUES: {"M": values}} if values else {}
    return [scope, *[None if each is None else each.tree for each in parsed]]


def _refuse_unused(
    names: Mapping[str, str], values: Mapping[str, Any], used: set[str], *, has_expressions: bool
) -> None:
    for parameter, placeholders in zip(reversed(_PARAMETERS), (values, names), strict=True):
        if unused := sorted(placeholders.keys() - used):
            if not has_expressions:
                raise rules.invalid(f"{parameter} can only be specified when using expressions")
            raise rules.invalid(
                f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(unused)}}}"
            )


class _Parsed(NamedTuple):
    kind: str
    tree: Any
    placeholders: frozenset[str]
    values: tuple[str, ...]
    checks: tuple[tuple[str, tuple[Any, ...]], ...]

    def check(self, values: Mapping[str, AttributeValue]) -> None:
        """Refuse a placeholder without a value, and values of types that an operator or function does not take."""
        for placeholder in self.values:
            if placeholder not in values:
                raise _invalid(self.kind, f"{_undefined('value used in expression')} value: {placeholder}")
        for operator, operands in self.checks:
            given = [values[operand.path[1]] for operand in operands if _is_placeholder(operand)]
            if problem := _problem(operator, given):
                raise _invalid(self.kind, problem)


def _undefined(what: str) -> str:
    return f"An expression attribute {what} is not defined; attribute"


def _invalid(kind: str, problem: str) -> Exception:
    return rules.invalid(f"Invalid {kind}: {problem}")


def _is_placeholder(operand: object) -> bool:
    return isinstance(operand, Attr) and operand.path[0] == VALUES


def _problem(operator: str, given: Sequence[AttributeValue]) -> str:
    """What is wrong with the values that an operator or function gets."""
    tags = [next(iter(value)) for value in given]
    for tag in tags:
        if tag not in _ALLOWED[operator]:
            if operator in ("ADD", "DELETE"):
                kind = f"{_LONG.get(tag, tag)}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
                return f"{_WRONG_TYPE}; operator: {operator}, operand type: {kind}"
            return f"{_WRONG_TYPE}; operator or function: {operator}, operand type: {tag}"
    if operator == "attribute_type" and given[0]["S"] not in _TYPES:
        return (
            f"Invalid attribute type name found; type: {given[0]['S']}, valid types: {{{','.join(_TYPES)}}}"
        )
    if operator == "BETWEEN" and len(given) == 2:
        low, high = ((Decimal(each["N"]) if "N" in each else next(iter(each.values()))) for each in given)
        bounds = ", ".join(
            f"{side} bound operand: AttributeValue: {{{tag}:{value[tag]}}}"
            for side, tag, value in zip(("lower", "upper"), tags, given, strict=True)
        )
        if tags[0] != tags[1]:
            return f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds}"
        if low > high:
            return f"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {bounds}"
    return ""


@lru_cache(2048)
def _parsed(kind: str, text: str, names: tuple[tuple[str, str], ...]) -> _Parsed:
    parser = _Parser(kind, text, dict(names))
    tree = parser.whole()
    return _Parsed(
        kind, tree, frozenset({*parser.used, *parser.values}), tuple(parser.values), tuple(parser.checks)
    )


class _Parser:
    def __init__(self, kind: str, text: str, names: Mapping[str, str]) -> None:
        self._kind = kind
        self._names = names
        self._at = 0
        self._group = (-1, -1)
        self._tokens: list[str] = _TOKEN.findall(text)
        self.used: set[str] = set()
        self.values: dict[str, None] = {}
        self.checks: list[tuple[str, tuple[Any, ...]]] = []
        if not self._tokens:
            raise _invalid(kind, "The expression can not be empty;")
        if (size := len(text.encode(errors="surrogatepass"))) > EXPRESSION_LIMIT:
            limit = f"the maximum allowed size; expression size: {size}"
            raise _invalid(kind, f"Expression size has exceeded {limit}")

    def whole(self) -> Any:
        if self._kind == "UpdateExpression":
            tree: Any = self._update()
        elif self._kind == "ProjectionExpression":
            tree = self._listed(self._path)
            self._check_overlaps(tree)
        else:
            tree = self._condition()
            # The AND of a BETWEEN is no operator of its own.
            words = [token.upper() for token in self._tokens]
            count = sum(word in _OPERATORS or word.lower() in {*_FUNCTIONS, "size"} for word in words)
            if count > _MOST_OPERATORS:
                many = f"operators: {count}, maximum: {_MOST_OPERATORS}"
                raise _invalid(self._kind, f"The expression contains too many operators; {many}")
        if self._next:
            self._unexpected()
        return _key_clauses(tree) if self._kind == "KeyConditionExpression" else tree

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _unexpected(self) -> NoReturn:
        near = " ".join(self._tokens[max(0, self._at - 1) : self._at + 2])
        raise _invalid(self._kind, f'Syntax error; token: "{self._next or "<EOF>"}", near: "{near}"')

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *expected: str) -> str:
        token = self._next
        if expected and token.upper() not in expected:
            self._unexpected()
        self._at += 1
        return token

    def _takes(self, expected: str) -> bool:
        """Whether the next token is this one, which is taken then."""
        is_next = self._next.upper() == expected
        self._at += is_next
        return is_next

    def _listed(self, part: Callable[[], Any]) -> list[Any]:
        parts = [part()]
        while self._takes(","):
            parts.append(part())
        return parts

    # -- paths and operands ------------------------------------------------------------------------------------------

    def _path(self) -> Path:
        steps: list[str | int] = [self._name()]
        while self._next in (".", "["):
            if self._take() == ".":
                steps.append(self._name())
                continue
            if not self._next.isdecimal():
                self._unexpected()
            steps.append(int(self._take()))
            self._take("]")
        return tuple(steps)

    def _name(self) -> str:
        name = self._next
        if name[:1] == "#":
            if name not in self._names:
                raise _invalid(self._kind, f"{_undefined('name used in the document path')} name: {name}")
            if not self._names[name]:
                raise rules.invalid(
                    f"ExpressionAttributeNames contains invalid value: an empty name for key {name}"
                )
            self.used.add(name)
        elif not _WORD.fullmatch(name):
            self._unexpected()
        elif name.upper() in _reserved_words():
            raise _invalid(self._kind, f"Attribute name is a reserved keyword; reserved keyword: {name}")
        self._at += 1
        return self._names.get(name, name)

    def _value(self) -> Attr:
        if self._next[:1] != ":":
            self._unexpected()
        self.values[self._next] = None
        return Attr((VALUES, self._take()))

    def _operand(self) -> Attr | SizeOf:
        """A value, the attribute at a path, or its size."""
        if self._next[:1] == ":":
            return self._value()
        if not self._is_call("size"):
            return Attr(self._path())
        self._at += 2
        path = self._path()
        self._take(")")
        return SizeOf(path)

    def _is_call(self, name: str = "") -> bool:
        """Whether a call comes next: of this function, or of any."""
        after = self._tokens[self._at + 1 : self._at + 2]
        return after == ["("] and (self._next == name if name else _WORD.fullmatch(self._next) is not None)

    def _function(self, allowed: Iterable[str]) -> str:
        function = self._take()
        if function not in allowed:
            is_known = function in {*_FUNCTIONS, *_OF_UPDATES, "size"}
            what = "The function is not allowed to be used this way in an expression"
            raise _invalid(
                self._kind, f"{what if is_known else 'Invalid function name'}; function: {function}"
            )
        self._take("(")
        return function

    # -- conditions --------------------------------------------------------------------------------------------------

    def _condition(self) -> Condition:
        return self._joined("OR", any_of_conditions, partial(self._joined, "AND", all_of, self._negated))

    def _joined(self, word: str, combine: Callable[..., Any], part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._takes(word):
            parts.append(part())
        condition: Condition = combine(*parts)
        return condition

    def _negated(self) -> Condition:
        if self._takes("NOT"):
            return Not(self._negated())
        if self._next == "(":
            return self._grouped()
        if self._is_call() and self._next != "size":
            return self._called()
        return self._comparison()

    def _grouped(self) -> Condition:
        start = self._at
        self._take("(")
        inner = self._condition()
        self._take(")")
        if self._group == (start + 1, self._at - 1):
            raise _invalid(self._kind, "The expression has redundant parentheses;")
        self._group = start, self._at
        return inner

    def _comparison(self) -> Condition:
        operand = self._operand()
        sign = self._take(*_COMPARATORS, "BETWEEN", "IN").upper()
        if sign == "BETWEEN":
            low = self._operand()
            self._take("AND")
            high = self._operand()
            self.checks += (sign, (operand,)), (sign, (low, high))
            return Between(operand, low, high)
        if sign == "IN":
            self._take("(")
            values = self._listed(self._operand)
            self._take(")")
            if len(values) > _MOST_IN:
                many = f"number of operands: {len(values)}, maximum: {_MOST_IN}"
                raise _invalid(self._kind, f"The IN operator is provided with too many operands; {many}")
            return IsIn(operand, tuple(values))
        right = self._operand()
        self._check_distinct(sign, operand, right)
        if sign in _ALLOWED:
            self.checks.append((sign, (operand, right)))
        return Compare(operand, sign, right)

    def _called(self) -> Condition:
        function = self._function(_FUNCTIONS)
        if self._next[:1] == ":":
            what = "Operator or function requires a document path; operator or function"
            raise _invalid(self._kind, f"{what}: {function}")
        path = self._path()
        if function in _OF_A_PATH:
            self._take(")")
            return _OF_A_PATH[function](path)
        self._take(",")
        argument = self._value() if function == "attribute_type" else self._operand()
        self._take(")")
        self._check_distinct(function, Attr(path), argument)
        if function in _ALLOWED:
            self.checks.append((function, (argument,)))
        return _OF_TWO[function](path, argument)

    def _check_distinct(self, operator: str, first: Any, second: Any) -> None:
        if first == second and isinstance(first, Attr) and not _is_placeholder(first):
            what = (
                "The first operand must be distinct from the remaining operands for this operator or function"
            )
            operand = f"operator: {operator}, first operand: {_listed_path(first.path)}"
            raise _invalid(self._kind, f"{what}; {operand}")

    # -- updates -----------------------------------------------------------------------------------------------------

    def _update(self) -> list[Change]:
        seen: set[str] = set()
        changes: list[Change] = []
        while self._next:
            keyword = self._take("SET", "REMOVE", "ADD", "DELETE").upper()
            if keyword in seen:
                what = f'The "{keyword}" section can only be used once in an update expression;'
                raise _invalid(self._kind, what)
            seen.add(keyword)
            changes += self._listed(partial(self._change, keyword))
        self._check_overlaps([change.path for change in changes])
        return changes

    def _change(self, keyword: str) -> Change:
        path = self._path()
        if keyword == "REMOVE":
            return Remove(path)
        if keyword != "SET":
            value = self._value()
            self.checks.append((keyword, (value,)))
            return AddTo(path, value) if keyword == "ADD" else Discard(path, (value,))
        self._take("=")
        right = self._right_side()
        if self._next in ("+", "-"):
            right = self._checked(self._take(), right, self._right_side())
        return SetTo(path, right)

    def _checked(self, function: str, *operands: Operand) -> Operand:
        self.checks.append((function, operands))
        return (function, *operands)

    def _right_side(self) -> Operand:
        if not self._is_call():
            return self._value() if self._next[:1] == ":" else Attr(self._path())
        function = self._function(_OF_UPDATES)
        first = Attr(self._path()) if function == "if_not_exists" else self._right_side()
        self._take(",")
        second = self._right_side()
        self._take(")")
        return (
            (function, first, second)
            if function == "if_not_exists"
            else self._checked(function, first, second)
        )

    def _check_overlaps(self, paths: Sequence[Path]) -> None:
        if len({path[0] for path in paths}) == len(paths):
            return
        for position, path in enumerate(paths):
            for other in paths[:position]:
                self._check_pair(other, path)

    def _check_pair(self, first: Path, second: Path) -> None:
        differing = next((pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]), ("", ""))
        is_conflict = type(differing[0]) is not type(differing[1])
        if is_conflict or overlaps(first, second):
            way = "conflict" if is_conflict else "overlap"
            what = f"{way} with each other; must remove or rewrite one of these paths"
            paths = f"path one: {_listed_path(first)}, path two: {_listed_path(second)}"
            raise _invalid(self._kind, f"Two document paths {what}; {paths}")


def _key_clauses(condition: Condition) -> dict[str, tuple[str, list[str]]]:
    """What a key condition says of each attribute: an operator, and the placeholders of values."""
    clauses: dict[str, tuple[str, list[str]]] = {}
    sign: str
    operands: tuple[Any, ...]
    for part in condition.parts if isinstance(condition, And) else (condition,):
        match part:
            case Compare(left=left, operator="=" | "<" | "<=" | ">" | ">=" as sign, right=right):
                operands = (right,)
            case Between(operand=left, low=low, high=high):
                sign, operands = "BETWEEN", (low, high)
            case BeginsWith(path=path, prefix=prefix):
                left, sign, operands = Attr(path), "begins_with", (prefix,)
            case _:
                word = getattr(part, "operator", type(part).__name__.upper())
                raise rules.invalid(f"Invalid operator used in KeyConditionExpression: {word}")
        if not isinstance(left, Attr) or not all(map(_is_placeholder, operands)):
            what = "Invalid operand: a key attribute is compared with a value only"
            raise rules.invalid(f"Invalid KeyConditionExpression: {what}")
        if len(left.path) > 1:
            raise rules.invalid("KeyConditionExpressions cannot have conditions on nested attributes")
        if left.path[0] in clauses:
            raise rules.invalid("KeyConditionExpressions must only contain one condition per key")
        clauses[str(left.path[0])] = sign, [operand.path[1] for operand in operands]
    return clauses


@lru_cache(1)
def _reserved_words() -> frozenset[str]:
    return frozenset(files("dynaorm.embedded").joinpath("reserved_words.txt").read_text("ascii").split())


def _listed_path(path: Path) -> str:
    return f"[{', '.join(f'[{step}]' if isinstance(step, int) else step for step in path)}]"


# -- what is done with an item -----------------------------------------------------------------------------------------


def changes_for(item: Item, changes: Iterable[Change], given: Item) -> list[Change]:
    """The changes of an update expression with the values of its right sides, for the item before the update.

    Raises:
        rules.InvalidAction: an operand is not stored, or has the wrong type.
    """
    scope = {**item, **given}
    return [_settled(change, scope) for change in changes]


def _settled(change: Change, scope: Item) -> Change:
    match change:
        case Discard(path=path, values=(operand,)):
            ((tag, members),) = _evaluated(operand, scope).items()
            return Discard(path, tuple({tag[0]: member} for member in members))
        case SetTo(path=path, value=operand) | AddTo(path=path, value=operand):
            return type(change)(path, _evaluated(operand, scope))
    return change


def _evaluated(operand: Any, scope: Item) -> AttributeValue:
    if isinstance(operand, Attr):
        value = value_at(scope, operand.path)
        if value is None:
            raise rules.InvalidAction(
                "The provided expression refers to an attribute that does not exist in the item"
            )
        return value
    function, first, second = operand
    if function == "if_not_exists":
        value = value_at(scope, first.path)
        return _evaluated(second, scope) if value is None else value
    tag = "L" if function == "list_append" else "N"
    contents: list[Any] = []
    for each in (first, second):
        value = _evaluated(each, scope)
        if tag not in value:
            raise rules.InvalidAction("An operand in the update expression has an incorrect data type")
        contents.append(value[tag])
    if tag == "L":
        return {"L": [*contents[0], *contents[1]]}
    left, right = map(Decimal, contents)
    try:
        return {"N": number_text(EXACT.add(left, right) if function == "+" else EXACT.subtract(left, right))}
    except ValueError as problem:
        raise rules.InvalidAction(number_problem(str(problem))) from None


def projected(item: Item, paths: Sequence[Path]) -> Item:
    """The parts of an item at some paths, as a projection returns them."""
    tree: dict[str | int, Any] = {}
    for path in paths:
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
    part = _part({"M": item}, tree)
    return {} if part is None else part["M"]


def _part(value: AttributeValue, tree: Mapping[Any, Any]) -> AttributeValue | None:
    if not tree:
        return value
    ((tag, content),) = value.items()
    if tag == "M":
        inner = ((step, content[step], below) for step, below in tree.items() if step in content)
        members = {step: part for step, member, below in inner if (part := _part(member, below)) is not None}
        return {"M": members} if members else None
    if tag == "L":
        steps = sorted(step for step in tree if isinstance(step, int) and step < len(content))
        elements = [part for step in steps if (part := _part(content[step], tree[step])) is not None]
        return {"L": elements} if elements else None
    return None
