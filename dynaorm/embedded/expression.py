"""DynamoDB's expressions: a text becomes a condition, changes, or paths, given the placeholders of a request.

Rule 1. A text is parsed once. What it becomes is a function of the names and values of a request.
Rule 2. Whether a condition holds, and what a change does, is decided in ``dynaorm.item``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from dynaorm.embedded.refusal import InvalidAction, invalid
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
    HasType,
    IsIn,
    Missing,
    Not,
    Or,
    SizeOf,
)
from dynaorm.item.path import Path, overlaps, value_at
from dynaorm.item.update import AddTo, Change, Discard, Remove, SetTo
from dynaorm.item.value import EXACT, SET_TAGS, AttributeValue, Item, number_text

Bind: TypeAlias = Callable[["Substitutes"], Any]
"""What a part of an expression becomes, given the placeholders of a request."""

Operand: TypeAlias = Callable[[Item], AttributeValue]
"""The right side of a SET: its value for the item before the update."""

_LIMIT: Final = 4096
_MOST_OPERATORS: Final = 300
_MOST_IN: Final = 100
_TOKEN: Final = re.compile(r"\s*([#:]?[A-Za-z0-9_]+|<>|<=|>=|[-=<>(),.\[\]+])")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ORDERED: Final = frozenset({"S", "N", "B"})
_TYPES: Final = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")
_LONG: Final = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "L": "LIST", "M": "MAP", "BOOL": "BOOLEAN"}
_WITH_EXPRESSIONS: Final = frozenset(
    {"ExpressionAttributeNames", "ExpressionAttributeValues", "KeyConditionExpression", "FilterExpression"}
    | {"ConditionExpression", "UpdateExpression", "ProjectionExpression"}
)
_OF_UPDATES: Final = frozenset({"if_not_exists", "list_append"})


class Substitutes(NamedTuple):
    """The names and values that a request gives for placeholders."""

    names: Mapping[str, str]
    values: Mapping[str, AttributeValue]


class Parsed(NamedTuple):
    """An expression. ``bind`` makes of it a condition, or a list of changes, or a list of paths."""

    kind: str
    placeholders: frozenset[str]
    bind: Bind

    def check_defined(self, given: Substitutes) -> None:
        """Refuse a placeholder that the request does not define."""
        for one in self.placeholders:
            if one[0] == "#" and one not in given.names:
                what = "name used in the document path is not defined; attribute name"
            elif one[0] == ":" and one not in given.values:
                what = "value used in expression is not defined; attribute value"
            else:
                continue
            raise invalid(f"Invalid {self.kind}: An expression attribute {what}: {one}")


def bound(request: Mapping[str, Any], *kinds: str) -> list[Any]:
    """What the expressions of these kinds in a request become; None for those that it does not have.

    Raises:
        Refusal: one cannot be parsed, a placeholder is not defined, or not used.
    """
    if not _WITH_EXPRESSIONS & request.keys():
        return [None] * len(kinds)
    given = Substitutes(
        _given(request, "ExpressionAttributeNames"),
        given_values(_given(request, "ExpressionAttributeValues")),
    )
    parsed = [None if (text := request.get(kind)) is None else parse(kind, text) for kind in kinds]
    used: set[str] = set()
    for one in parsed:
        if one is not None:
            one.check_defined(given)
            used |= one.placeholders
    if len(used) != len(given.names) + len(given.values):
        _refuse_unused(given, used, has_expressions=any(parsed))
    return [None if one is None else one.bind(given) for one in parsed]


def _given(request: Mapping[str, Any], parameter: str) -> Mapping[str, Any]:
    given: Mapping[str, Any] | None = request.get(parameter)
    if given is None:
        return {}
    if not given:
        raise invalid(f"{parameter} must not be empty")
    return given


def _refuse_unused(given: Substitutes, used: set[str], *, has_expressions: bool) -> NoReturn:
    for what, placeholders in (("Values", given.values), ("Names", given.names)):
        if unused := sorted(placeholders.keys() - used):
            if not has_expressions:
                raise invalid(f"ExpressionAttribute{what} can only be specified when using expressions")
            raise invalid(
                f"Value provided in ExpressionAttribute{what} unused in expressions: keys: {{{', '.join(unused)}}}"
            )
    raise AssertionError(used)


@lru_cache(2048)
def parse(kind: str, text: str) -> Parsed:
    """Parse an expression, whose kind is the name of the parameter. Raises Refusal."""
    parser = _Parser(kind, text)
    if kind == "UpdateExpression":
        bind = parser.update()
    elif kind == "ProjectionExpression":
        bind = parser.projection()
    else:
        bind = parser.condition()
    parser.end()
    return Parsed(kind, frozenset(parser.placeholders), bind)


class _Parser:
    def __init__(self, kind: str, text: str) -> None:
        self._kind = kind
        self._tokens: list[str] = []
        self._at = 0
        self._operators = 0
        self._group = (-1, -1)
        self.placeholders: set[str] = set()
        if not text.strip():
            raise self._invalid("The expression can not be empty;")
        if (size := len(text.encode(errors="surrogatepass"))) > _LIMIT:
            raise self._invalid(
                f"Expression size has exceeded the maximum allowed size; expression size: {size}"
            )
        position, text = 0, text.rstrip()
        while position < len(text):
            if (token := _TOKEN.match(text, position)) is None:
                raise self._syntax_error(text[position:].lstrip()[0], text[max(0, position - 8) :][:24])
            self._tokens.append(token[1])
            position = token.end()

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _invalid(self, problem: str) -> Exception:
        return invalid(f"Invalid {self._kind}: {problem}")

    def _syntax_error(self, token: str, near: str) -> Exception:
        return self._invalid(f'Syntax error; token: "{token}", near: "{near}"')

    def _unexpected(self) -> NoReturn:
        near = " ".join(self._tokens[max(0, self._at - 1) : self._at + 2])
        raise self._syntax_error(self._next or "<EOF>", near)

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
        if self._next.upper() == expected:
            self._at += 1
            return True
        return False

    def _operator(self) -> None:
        self._operators += 1
        if self._operators > _MOST_OPERATORS:
            raise self._invalid(
                f"The expression contains too many operators; operators: {self._operators}, "
                f"maximum: {_MOST_OPERATORS}"
            )

    def end(self) -> None:
        if self._next:
            self._unexpected()

    # -- paths and operands ------------------------------------------------------------------------------------------

    def _path(self) -> Bind:
        steps: list[str | int] = [self._name()]
        while self._next in (".", "["):
            if self._take() == ".":
                steps.append(self._name())
            else:
                if not self._next.isdecimal():
                    self._unexpected()
                steps.append(int(self._take()))
                self._take("]")
        if len(steps) == 1:
            name = str(steps[0])
            return (lambda given: (given.names[name],)) if name[0] == "#" else (lambda _: (name,))
        return lambda given: tuple(
            given.names[step] if isinstance(step, str) and step[0] == "#" else step for step in steps
        )

    def _name(self) -> str:
        name = self._next
        if name[:1] == "#":
            self.placeholders.add(name)
        elif not _WORD.fullmatch(name):
            self._unexpected()
        elif name.upper() in _reserved_words():
            raise self._invalid(f"Attribute name is a reserved keyword; reserved keyword: {name}")
        self._at += 1
        return name

    def _value(self) -> Bind:
        placeholder = self._take()
        if placeholder[:1] != ":":
            self._at -= 1
            self._unexpected()
        self.placeholders.add(placeholder)
        return lambda given: given.values[placeholder]

    def _operand(self) -> Bind:
        """A value, the attribute at a path, or its size."""
        if self._next[:1] == ":":
            return self._value()
        if self._is_call("size"):
            self._operator()
            self._at += 2
            path = self._path()
            self._take(")")
            return lambda given: SizeOf(path(given))
        path = self._path()
        return lambda given: Attr(path(given))

    def _is_call(self, name: str = "") -> bool:
        """Whether a call comes next: of this function, or of any."""
        after = self._tokens[self._at + 1 : self._at + 2]
        return after == ["("] and (self._next == name if name else _WORD.fullmatch(self._next) is not None)

    # -- conditions --------------------------------------------------------------------------------------------------

    def condition(self) -> Bind:
        return self._joined("OR", Or, partial(self._joined, "AND", And, self._negated))

    def _joined(self, word: str, kind: type[And | Or], part: Callable[[], Bind]) -> Bind:
        parts = [part()]
        while self._takes(word):
            self._operator()
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        return lambda given: kind(tuple([one(given) for one in parts]))

    def _negated(self) -> Bind:
        if self._takes("NOT"):
            self._operator()
            part = self._negated()
            return lambda given: Not(part(given))
        if self._next == "(":
            return self._grouped()
        if self._is_call() and self._next != "size":
            return self._call()
        return self._comparison()

    def _grouped(self) -> Bind:
        start = self._at
        self._take("(")
        inner = self.condition()
        self._take(")")
        if self._group == (start + 1, self._at - 1):
            raise self._invalid("The expression has redundant parentheses;")
        self._group = start, self._at
        return inner

    def _comparison(self) -> Bind:
        self._operator()
        operand = self._operand()
        sign = self._take().upper()
        if sign in _COMPARATORS:
            right = self._operand()
            return lambda given: self._compared(operand(given), sign, right(given))
        if sign == "BETWEEN":
            low = self._operand()
            self._take("AND")
            high = self._operand()
            return lambda given: self._between(operand(given), low(given), high(given))
        if sign == "IN":
            self._take("(")
            values = self._listed(self._operand)
            self._take(")")
            if len(values) > _MOST_IN:
                raise self._invalid(
                    "The IN operator is provided with too many operands; number of operands: "
                    f"{len(values)}, maximum: {_MOST_IN}"
                )
            return lambda given: IsIn(operand(given), tuple([one(given) for one in values]))
        self._at -= 1
        return self._unexpected()

    def _listed(self, part: Callable[[], Bind]) -> list[Bind]:
        parts = [part()]
        while self._takes(","):
            parts.append(part())
        return parts

    def _call(self) -> Bind:
        function = self._take()
        if function in _OF_UPDATES:
            raise self._misused(function)
        if function not in _FUNCTIONS:
            raise self._invalid(f"Invalid function name; function: {function}")
        self._operator()
        self._take("(")
        if self._next[:1] == ":":
            raise self._invalid(
                "Operator or function requires a document path; operator or function: " + function
            )
        path = self._path()
        if function in _OF_A_PATH:
            self._take(")")
            kind = _OF_A_PATH[function]
            return lambda given: kind(path(given))
        self._take(",")
        argument = self._operand()
        self._take(")")
        return lambda given: self._called(function, path(given), argument(given))

    def _called(self, function: str, path: Path, argument: Any) -> Condition:
        if isinstance(argument, Attr) and argument.path == path:
            raise self._not_distinct(function, path)
        tag = _tag_of(argument)
        if function == "contains":
            return Contains(path, argument)
        if function == "begins_with":
            if tag is not None and tag not in ("S", "B"):
                raise self._wrong_type(function, tag)
            return BeginsWith(path, argument)
        if tag != "S":
            raise self._wrong_type(function, tag or "path")
        if argument["S"] not in _TYPES:
            raise self._invalid(
                f"Invalid attribute type name found; type: {argument['S']}, valid types: {{{','.join(_TYPES)}}}"
            )
        return HasType(path, argument["S"])

    def _compared(self, left: Any, sign: str, right: Any) -> Condition:
        if isinstance(left, Attr) and left == right:
            raise self._not_distinct(sign, left.path)
        if sign not in ("=", "<>"):
            self._check_ordered(sign, left, right)
        return Compare(left, sign, right)

    def _between(self, operand: Any, low: Any, high: Any) -> Condition:
        self._check_ordered("BETWEEN", operand, low, high)
        ends = _tag_of(low), _tag_of(high)
        if None not in ends:
            bounds = (
                f"lower bound operand: AttributeValue: {_shown(low)}, "
                f"upper bound operand: AttributeValue: {_shown(high)}"
            )
            if ends[0] != ends[1]:
                raise self._invalid(
                    f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds}"
                )
            if _ordered(low) > _ordered(high):
                raise self._invalid(
                    f"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {bounds}"
                )
        return Between(operand, low, high)

    def _check_ordered(self, operator: str, *operands: Any) -> None:
        for one in operands:
            tag = _tag_of(one)
            if tag is not None and tag not in _ORDERED:
                raise self._wrong_type(operator, tag)

    def _wrong_type(self, function: str, tag: str) -> Exception:
        return self._invalid(
            "Incorrect operand type for operator or function; operator or function: "
            f"{function}, operand type: {tag}"
        )

    def _not_distinct(self, operator: str, path: Path) -> Exception:
        return self._invalid(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {operator}, first operand: {_listed_path(path)}"
        )

    def _misused(self, function: str) -> Exception:
        return self._invalid(
            f"The function is not allowed to be used this way in an expression; function: {function}"
        )

    # -- updates -----------------------------------------------------------------------------------------------------

    def update(self) -> Bind:
        clauses = {"SET": self._set, "REMOVE": self._remove, "ADD": self._add, "DELETE": self._delete}
        seen: set[str] = set()
        parts: list[Bind] = []
        while self._next:
            keyword = self._take(*clauses).upper()
            if keyword in seen:
                raise self._invalid(f'The "{keyword}" section can only be used once in an update expression;')
            seen.add(keyword)
            parts += self._listed(clauses[keyword])
        return lambda given: self._without_overlap([one(given) for one in parts])

    def _set(self) -> Bind:
        path = self._path()
        self._take("=")
        right = self._set_operand()
        if (sign := self._next) in ("+", "-"):
            self._take()
            right = self._sum(sign, right, self._set_operand())
        return lambda given: (path(given), right(given))

    def _set_operand(self) -> Bind:
        if self._next[:1] == ":":
            return self._value()
        if not self._is_call():
            path = self._path()
            return lambda given: partial(_present, path(given))
        function = self._take()
        if function not in _OF_UPDATES:
            known = function in _FUNCTIONS or function == "size"
            raise (
                self._misused(function)
                if known
                else self._invalid(f"Invalid function name; function: {function}")
            )
        self._take("(")
        first = self._path() if function == "if_not_exists" else self._set_operand()
        self._take(",")
        second = self._set_operand()
        self._take(")")
        if function == "if_not_exists":
            return lambda given: partial(_if_not_exists, first(given), second(given))
        return lambda given: partial(
            _appended, self._checked(function, "L", first(given)), self._checked(function, "L", second(given))
        )

    def _sum(self, sign: str, left: Bind, right: Bind) -> Bind:
        return lambda given: partial(
            _summed, sign, self._checked(sign, "N", left(given)), self._checked(sign, "N", right(given))
        )

    def _checked(self, function: str, tag: str, operand: Any) -> Any:
        if not callable(operand) and tag not in operand:
            raise self._wrong_type(function, _tag_of(operand) or "")
        return operand

    def _remove(self) -> Bind:
        path = self._path()
        return lambda given: (path(given), Remove(path(given)))

    def _add(self) -> Bind:
        return self._of_set("ADD", AddTo, {"N", *SET_TAGS.values()})

    def _delete(self) -> Bind:
        return self._of_set("DELETE", _discard, {*SET_TAGS.values()})

    def _of_set(self, keyword: str, kind: Callable[[Path, Any], Change], tags: set[str]) -> Bind:
        path, value = self._path(), self._value()

        def change(given: Substitutes) -> tuple[Path, Change]:
            operand = value(given)
            tag = _tag_of(operand) or ""
            if tag not in tags:
                raise self._invalid(
                    f"Incorrect operand type for operator or function; operator: {keyword}, operand type: "
                    f"{_LONG.get(tag, tag)}, typeSet: ALLOWED_FOR_{keyword}_OPERAND"
                )
            return path(given), kind(path(given), operand)

        return change

    # -- projections -------------------------------------------------------------------------------------------------

    def projection(self) -> Bind:
        paths = self._listed(self._path)
        return lambda given: [
            path for path, _ in self._without_overlap([(one(given), None) for one in paths])
        ]

    def _without_overlap(self, parts: list[tuple[Path, Any]]) -> list[tuple[Path, Any]]:
        if len({path[0] for path, _ in parts}) < len(parts):
            for position, (path, _) in enumerate(parts):
                for other, _ in parts[:position]:
                    self._refuse_overlap(other, path)
        return parts

    def _refuse_overlap(self, first: Path, second: Path) -> None:
        ways = f"path one: {_listed_path(first)}, path two: {_listed_path(second)}"
        if overlaps(first, second):
            raise self._invalid(
                f"Two document paths overlap with each other; must remove or rewrite one of these paths; {ways}"
            )
        for one, other in zip(first, second, strict=False):
            if type(one) is not type(other):
                raise self._invalid(
                    f"Two document paths conflict with each other; must remove or rewrite one of these paths; {ways}"
                )
            if one != other:
                return


_OF_A_PATH: Final[Mapping[str, Callable[[Path], Condition]]] = {
    "attribute_exists": Exists,
    "attribute_not_exists": Missing,
}
_FUNCTIONS: Final = frozenset({*_OF_A_PATH, "attribute_type", "begins_with", "contains"})


@lru_cache(1)
def _reserved_words() -> frozenset[str]:
    return frozenset(files("dynaorm.embedded").joinpath("reserved_words.txt").read_text("ascii").split())


def _tag_of(operand: Any) -> str | None:
    """The type of a value; None for an operand that is none."""
    return next(iter(operand)) if isinstance(operand, Mapping) else None


def _ordered(value: AttributeValue) -> Any:
    ((tag, content),) = value.items()
    return Decimal(content) if tag == "N" else content


def _shown(value: AttributeValue) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"


def _listed_path(path: Path) -> str:
    return f"[{', '.join(f'[{step}]' if isinstance(step, int) else step for step in path)}]"


def _discard(path: Path, value: AttributeValue) -> Change:
    ((tag, members),) = value.items()
    return Discard(path, tuple({tag[0]: one} for one in members))


# -- the right sides of SET --------------------------------------------------------------------------------------------


def changes_for(item: Item, parts: Iterable[tuple[Path, Any]]) -> list[Change]:
    """The changes of a bound update expression, for the item before the update.

    Raises:
        InvalidAction: an operand is not stored, or has the wrong type.
    """
    return [part if isinstance(part, Change) else SetTo(path, _evaluated(part, item)) for path, part in parts]


def _evaluated(operand: Any, item: Item) -> AttributeValue:
    value: AttributeValue = operand(item) if callable(operand) else operand
    return value


def _present(path: Path, item: Item) -> AttributeValue:
    value = value_at(item, path)
    if value is None:
        raise InvalidAction("The provided expression refers to an attribute that does not exist in the item")
    return value


def _if_not_exists(path: Path, other: Any, item: Item) -> AttributeValue:
    value = value_at(item, path)
    return _evaluated(other, item) if value is None else value


def _appended(first: Any, second: Any, item: Item) -> AttributeValue:
    lists: Sequence[Any] = [_content("L", one, item) for one in (first, second)]
    return {"L": [*lists[0], *lists[1]]}


def _summed(sign: str, left: Any, right: Any, item: Item) -> AttributeValue:
    one, other = (Decimal(_content("N", operand, item)) for operand in (left, right))
    try:
        return {"N": number_text(EXACT.add(one, other) if sign == "+" else EXACT.subtract(one, other))}
    except ValueError as problem:
        raise InvalidAction(number_problem(problem)) from None


def _content(tag: str, operand: Any, item: Item) -> Any:
    value = _evaluated(operand, item)
    if tag not in value:
        raise InvalidAction("An operand in the update expression has an incorrect data type")
    return value[tag]
