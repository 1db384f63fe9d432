"""How the fields of a query bound one key attribute: an interval of keys to read, and tests for what it has too much.

Rule 1. A condition on a field compares the texts that the template renders, within the fields given before it: with
        ``{country}#{state}``, the country US never matches USA. A field written with ``desc`` is compared by value.
Rule 2. DynamoDB takes one condition on a sort key. The interval may have more keys than are wanted, never fewer. The
        tests are exact. They compare the texts of single fields, whether these come from values or from a key.
Rule 3. Whether tests are needed follows from the template and from what is asked, not from the values: ``is_exact``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Context, Decimal
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dynaorm.entity.key_part import SORT_KEY_LIMIT, KeyPart
from dynaorm.entity.table import KeyAttribute, KeyKind
from dynaorm.entity.template import KeyValueError, TemplateField
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import STR
from dynaorm.failure import ValueErrorWithRemedy
from dynaorm.item.condition import Attr, BeginsWith, Between, Compare, Condition
from dynaorm.item.value import AttributeValue, number_text
from dynaorm.record import record, replace

BYTEWISE: Final = "latin-1"  # one character for each byte, in the same order
_LAST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_FILL: Final = ("", "\x7f", "\u07ff", "\uffff")
"""The last texts of 0, 1, 2 and 3 bytes."""
# Amazon DynamoDB Developer Guide, "Supported data types": 38 digits, 1E-130 to 9.99E+125 and their negatives.
_NUMBERS: Final = Context(prec=38, Emin=-130, Emax=125)
_TINY: Final = Decimal("1E-130")
_LAST_BYTES: Final = "\xff" * SORT_KEY_LIMIT


def successor(text: str) -> str:
    """The first text after all texts that begin with this one; the empty text if there is none.

    DynamoDB sorts texts by their UTF-8 bytes, which is the order of code points.
    """
    text = text.rstrip(chr(_LAST))
    if not text:
        return ""
    following = ord(text[-1]) + 1
    return text[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def key_after(key: Any, kind: KeyKind) -> Any:
    """The first sort key after one, of those that DynamoDB can hold; None if there is none."""
    if kind == "N":
        return _possible(_NUMBERS.next_plus(key), _TINY if key == 0 else Decimal(0))
    if len(key.encode(BYTEWISE if kind == "B" else "utf-8")) < SORT_KEY_LIMIT:
        return key + "\0"
    if kind == "B":
        head = key.rstrip("\xff")
        return head[:-1] + chr(ord(head[-1]) + 1) if head else None
    while len((found := successor(key)).encode()) > SORT_KEY_LIMIT:
        key = key[:-1]
    return found or None


def key_before(key: Any, kind: KeyKind) -> Any:
    """The last sort key before one, of those that DynamoDB can hold; None if there is none."""
    if kind == "N":
        return _possible(_NUMBERS.next_minus(key), -_TINY if key == 0 else Decimal(0))
    head, last = key[:-1], ord(key[-1])
    if not last:
        return head or None
    if kind == "B":
        return (head + chr(last - 1)).ljust(SORT_KEY_LIMIT, "\xff")
    head += chr(_SURROGATES.start - 1 if last == _SURROGATES.stop else last - 1)
    characters, rest = divmod(SORT_KEY_LIMIT - len(head.encode()), 4)
    return head + chr(_LAST) * characters + _FILL[rest]


def _possible(found: Decimal, beside_zero: Decimal) -> Decimal | None:
    """A number that DynamoDB can hold; ``beside_zero`` where the next one is too small."""
    if not found.is_finite():
        return None
    return found if found.copy_abs() >= _TINY else beside_zero


class Interval(NamedTuple):
    """All keys from one to another.

    Attributes:
        low: the lower bound; None for none.
        high: the upper bound; None for none.
        has_low: the lower bound is included.
        has_high: the upper bound is included.
    """

    low: Any = None
    high: Any = None
    has_low: bool = True
    has_high: bool = True

    def cut(self, sign: str, bound: Any) -> "Interval":
        """The part that is ``<``, ``<=``, ``>`` or ``>=`` a bound."""
        if sign in (">", ">="):
            has_low = sign == ">="
            if self.low is None or bound > self.low or (bound == self.low and not has_low):
                return Interval(bound, self.high, has_low, self.has_high)
            return self
        has_high = sign == "<="
        if self.high is None or bound < self.high or (bound == self.high and not has_high):
            return Interval(self.low, bound, self.has_low, has_high)
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it contains no key."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high) or (self.low == self.high and not (self.has_low and self.has_high))

    def __contains__(self, key: Any) -> bool:
        if self.low is not None and not (key > self.low or (self.has_low and key == self.low)):
            return False
        return self.high is None or bool(key < self.high) or (self.has_high and key == self.high)

    def test(self) -> Callable[[Any], bool]:
        """Whether it contains a key: a function that is faster than ``in``."""
        low, high = self.low, self.high
        if high is None and low is not None:
            found: Callable[[Any], bool] = low.__le__ if self.has_low else low.__lt__
            return found
        if low is None or high is None or not self.has_low:
            return self.__contains__
        if self.has_high:
            return high.__eq__ if low == high else lambda key: bool(low <= key <= high)
        return lambda key: bool(low <= key < high)

    @property
    def is_point(self) -> bool:
        """Whether it contains exactly one key."""
        return self.low is not None and bool(self.low == self.high) and self.has_low and self.has_high

    @property
    def comparison(self) -> tuple[str, tuple[Any, ...]]:
        """DynamoDB's operator for its keys, and what it takes; an empty text for all keys."""
        low, high = self.low, self.high
        if low is None:
            return ("", ()) if high is None else ("<=" if self.has_high else "<", (high,))
        if high is None:
            return ">=" if self.has_low else ">", (low,)
        if low == high:
            return "=", (low,)
        if self.has_low and not self.has_high and type(low) is str and successor(low) == high:
            return "begins_with", (low,)
        return "between", (low, high)

    @property
    def is_read_with_end(self) -> bool:
        """Whether its condition matches its upper end, too, which is excluded: BETWEEN includes both."""
        return not self.has_high and self.comparison[0] == "between"

    def closed(self, kind: KeyKind) -> "Interval":
        """The same keys between ends as BETWEEN has them, which includes both.

        The last text before another one has 1,024 bytes. Such an end stays excluded, and is dropped after reading.
        """
        if kind == "B" and self.high is not None and self.high > _LAST_BYTES:
            return Interval(self.low, None, self.has_low, False)
        if self.low is None or self.high is None or (self.has_low and self.has_high):
            return self
        low, high, has_high = self.low, self.high, self.has_high
        if not self.has_low:
            low = key_after(low, kind)
        if not has_high and kind == "N":
            high, has_high = key_before(high, kind), True
        return Interval(low, high, True, has_high) if low is not None and high is not None else NOTHING

    def hull(self, other: "Interval") -> "Interval":
        """The smallest interval that contains both."""
        lows, highs = (self.low, other.low), (self.high, other.high)
        low = None if None in lows else min(lows)
        high = None if None in highs else max(highs)
        has_low = any(one.has_low for one in (self, other) if one.low == low)
        has_high = any(one.has_high for one in (self, other) if one.high == high)
        return Interval(low, high, has_low, has_high)

    def meets(self, other: "Interval") -> bool:
        """Whether a key is in both."""
        found = self
        if other.low is not None:
            found = found.cut(">=" if other.has_low else ">", other.low)
        if other.high is not None:
            found = found.cut("<=" if other.has_high else "<", other.high)
        return not found.is_empty

    def shifted(self, head: str) -> "Interval":
        """The interval with a text before every key."""
        if not head:
            return self
        low = head if self.low is None else head + self.low
        high = (successor(head) or None) if self.high is None else head + self.high
        return Interval(low, high, self.has_low, self.has_high and self.high is not None)


EVERYTHING: Final = Interval()
NOTHING: Final = Interval("b", "a")


# -- the conditions of intervals ---------------------------------------------------------------------------------------


def comparable(value: AttributeValue) -> Any:
    """The content of a key, in the order of keys: a str, one character for each byte of a binary, or a Decimal."""
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content.decode(BYTEWISE) if kind == "B" else content


def key_in(kind: KeyKind, content: Any) -> AttributeValue:
    """The reverse of ``comparable``."""
    if kind == "N":
        return {"N": number_text(content)}
    return {"B": content.encode(BYTEWISE)} if kind == "B" else {"S": content}


def range_condition(attribute: KeyAttribute, interval: Interval) -> Condition | None:
    """The condition of a closed interval; None for all keys. BETWEEN matches an excluded upper end, too."""
    operator, contents = interval.comparison
    values = [key_in(attribute.kind, content) for content in contents]
    match operator:
        case "":
            return None
        case "begins_with":
            return BeginsWith((attribute.name,), values[0])
        case "between":
            return Between(Attr((attribute.name,)), *values)
        case _:
            return Compare(Attr((attribute.name,)), operator, values[0])


Operator: TypeAlias = Literal["<", "<=", ">", ">=", "between", "begins_with"]


@record
class Bound:
    """A condition on one field of a key; ``between`` has two values, both included."""

    field: str
    operator: Operator
    values: tuple[Any, ...]

    def fitted(self, given: Any, value: Any) -> "Bound":
        """The condition with a converted value in place of the given one."""
        return replace(self, values=tuple(value if one is given else one for one in self.values))


FieldTest: TypeAlias = tuple[str, Callable[[Any], Any], Interval, Callable[[Any], bool]]
"""A field, what writes its text, the texts that are wanted, and whether a text is one of them."""

_REVERSED: Final[Mapping[str, str]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MOST_BYTES: Final = 4  # of a character in UTF-8


class CompiledRange:
    """What queries have in common that give some fields of a key attribute and bound one.

    Attributes:
        part: the key attribute.
        missing: the first of its fields that is not given; None if all are.
        tested: the fields that tests compare.
        is_exact: all keys of the template that are read are wanted.
        padded: the field with bounds, if its number has zeros in front in the key; None otherwise.

    Args:
        part: the key attribute.
        given: the fields that have values.
        bounded: the field with bounds, which is not given; None without bounds.
        operators: those of the bounds.
        is_foreign: other writers may have made up the key: it is an index key.
    """

    def __init__(
        self,
        part: KeyPart,
        given: AbstractSet[str],
        bounded: str | None = None,
        operators: Sequence[Operator] = (),
        *,
        is_foreign: bool = False,
    ) -> None:
        template, version = part.template, part.version
        self.part, self._kind = part, part.attribute.kind
        self._pieces = template.pieces if template is not None else ()
        self._packing = template.packing if template is not None else None
        fields = [piece.field for piece in self._pieces]
        self.missing = next((name for name in part.fields if name not in given), None)
        count = fields.index(self.missing) if self.missing is not None else len(fields)
        self._given, self._rest = self._pieces[:count], self._pieces[count:]
        self._has_bounds = self.missing is not None and bounded in part.fields
        self._late = _after_a_gap(fields, count, given, bounded if self._has_bounds else None)
        self._head = _as_text(version.latest_ends[0]) if version is not None else ""
        self._after = self._literal_after()
        # Whether one text of the open field can be the beginning of another.
        self._grows = bool(self._rest) and (self._rest[0].open or bool(self._rest[0].grows))
        self.padded = bounded if self._has_bounds and self._is_padded() else None
        tested = self._pieces[: count + self._has_bounds]
        self.tested = tuple(piece.field for piece in tested)
        # Without a value, the interval is that of the literals, always.
        self._is_constant = bool(self._rest) and not tested and self._late is None
        self._constant: Interval | None = None
        self.is_exact = self._is_exact(operators if self._has_bounds else (), is_foreign=is_foreign)

    def _is_padded(self) -> bool:
        bounded = self._rest[0]
        is_number = bounded.scalar.python is int and self._kind != "N"
        return is_number and bounded.ordered and not bounded.shards

    def _literal_after(self) -> str:
        """The literal after the open field."""
        if len(self._rest) > 1:
            return self._rest[1].before
        template, version = self.part.template, self.part.version
        if template is None:
            return ""
        return template.after + (_as_text(version.latest_ends[1]) if version is not None else "")

    def _is_exact(self, operators: Sequence[Operator], *, is_foreign: bool) -> bool:
        # A key does not say where a raw text ends, unless it is the last one: other values have the same key.
        told = self._pieces[:-1][: len(self._given) + 1]
        if any(piece.raw and piece.open for piece in told):
            return False
        if all(operator == "begins_with" for operator in operators):
            return True
        if is_foreign and self.part.synthetic:
            return False
        # No condition tells a text with the literal after it from the texts that it begins.
        is_followed = len(self._rest) > 1
        if self._grows and (self._after or is_followed):
            return False
        # BETWEEN includes its upper end. That is a key of the template unless a literal would have to follow.
        signs = _REVERSED if self._rest[0].desc else {}
        upper = {"<", "<=", "between"} if is_followed else {"<"}
        reads_end = not self._after and self._kind != "N"
        return not (reads_end and any(signs.get(operator, operator) in upper for operator in operators))

    # -- the keys to read ----------------------------------------------------------------------------------------------

    def keys(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> Interval:
        """The smallest closed interval that has all wanted keys.

        Raises:
            KeyValueError: a value cannot be part of the key, or is not given in order.
        """
        if self._constant is not None:
            return self._constant
        if not self._rest:
            value = self.part.value(values)
            assert value is not None
            content = comparable(value)
            found = Interval(content, content)
        elif self._kind == "N":
            found = _allowed(*self._limits(bounds)).closed("N")
        else:
            found = self._texts(values, bounds)
        if self._is_constant:
            self._constant = found
        return found

    def _texts(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> Interval:
        if self._late is not None:
            value = values[self._late] if self._late in values else bounds[0].values[0]
            assert self.part.template is not None and self.missing is not None
            raise self.part.template.gap(self.missing, self._late, value)
        own = [piece.before + piece.text(values[piece.field]) for piece in self._given]
        level = "".join([*own, self._rest[0].before])
        found = _beginning_with(self._checked(level), EVERYTHING)
        if self._has_bounds:
            starts, comparisons = self._limits(bounds)
            for start in starts:
                found = _beginning_with(self._checked(level + start), found)
            for sign, text in comparisons:
                self._checked(level + text + self._after)
                found = found.cut(*(self._from if sign in (">", ">=") else self._to)(sign, level, text))
            if (found.high == "" and not self._head) or _allowed(starts, comparisons).is_empty:
                return NOTHING
        found = found.shifted(self._head).closed(self._kind)
        # No key is empty, and DynamoDB refuses to compare a key with an empty text.
        return found if found.low else Interval(None, found.high, True, found.has_high)

    def _checked(self, key: str) -> str:
        """A beginning of keys. Refuses one longer than any key, for which DynamoDB would refuse the request."""
        whole = self._head + key
        if len(whole) * _MOST_BYTES > self.part.limit:
            self.part.checked(whole.encode(BYTEWISE) if self._kind == "B" else whole)
        return key

    def _from(self, sign: str, level: str, text: str) -> tuple[str, str]:
        low = level + text
        if sign == ">" and not self._grows and (self._after or len(self._rest) > 1):
            return ">=", successor(low + self._after)
        return sign if not self._after else ">=", low

    def _to(self, sign: str, level: str, text: str) -> tuple[str, str]:
        high = level + text
        if not self._after:
            return ("<", successor(high)) if len(self._rest) > 1 and sign == "<=" else (sign, high)
        # A prefix of this text comes before it, but is followed by the literal in its key.
        shorter = [text[:length] for length in range(len(text))] if self._grows else []
        if sign == "<=":
            shorter.append(text)
        ends = [successor(level + one + self._after) for one in shorter]
        # Nothing follows the last code point, so there is no end besides that of the level.
        return ("<", max([high, *ends])) if all(ends) else (">=", level)

    # -- the bounds of the open field ------------------------------------------------------------------------------

    def _limits(self, bounds: Sequence[Bound]) -> tuple[list[Any], list[tuple[str, Any]]]:
        """The beginnings of the open field's text, and the comparisons with it, in the order of the keys."""
        piece, starts = self._rest[0], list[Any]()
        comparisons: list[tuple[str, Any]] = []
        signs = _REVERSED if piece.desc else {}
        for bound in bounds:
            if bound.operator == "begins_with":
                starts.append(self._beginning(bound))
            elif bound.operator == "between":
                for sign, value in zip((">=", "<="), bound.values, strict=True):
                    comparisons.append((signs.get(sign, sign), self._ordered(_bound_text(piece, value))))
            else:
                text = self._ordered(_bound_text(piece, bound.values[0]))
                comparisons.append((signs.get(bound.operator, bound.operator), text))
        return starts, comparisons

    def _beginning(self, bound: Bound) -> str:
        piece, value = self._rest[0], bound.values[0]
        python = piece.scalar.python
        is_binary = self._kind == "B"
        if self._kind == "N" or (is_binary and (python not in (str, bytes) or not isinstance(value, python))):
            problem = ValueErrorWithRemedy(
                f"is not the beginning of a key {self.part.text!r}", "bound it: ge and lt"
            )
            raise KeyValueError.of(bound.field, value, problem)
        if isinstance(value, bytes) and is_binary:
            return value.decode(BYTEWISE)
        try:
            text = STR.to_text(value)
            return self._packed(text) if is_binary else piece.beginning(text)
        except ValueError as problem:
            raise KeyValueError.of(bound.field, value, problem) from problem

    def _ordered(self, text: str) -> Any:
        """The text of a field in a form that sorts as its keys do."""
        if self._kind == "N":
            return Decimal(text)
        return text if self._packing is None else self._packed(text)

    def _packed(self, text: str) -> str:
        assert self._packing is not None
        return self._packing.pack(text).decode(BYTEWISE)

    # -- the tests -------------------------------------------------------------------------------------------------

    def tests(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> tuple[FieldTest, ...]:
        """What the texts of the fields in wanted keys must be; where ``keys`` finds keys for these values."""
        found: list[FieldTest] = []
        for piece in self._given:
            text = self._ordered(piece.write(values[piece.field]))
            found.append(self._test(piece, Interval(text, text)))
        if self._has_bounds:
            found.append(self._test(self._rest[0], _allowed(*self._limits(bounds))))
        return tuple(found)

    def _test(self, piece: TemplateField, texts: Interval) -> FieldTest:
        return piece.field, self._writer(piece), texts, texts.test()

    def _writer(self, piece: TemplateField) -> Callable[[Any], Any]:
        if self._kind == "S":
            return piece.write
        return lambda value: self._ordered(piece.write(value))

    def by_key(self, stored: AttributeValue, keys: Interval, tests: Sequence[FieldTest]) -> bool | None:
        """Whether a stored key is wanted; None where the values must be compared. ``keys``, ``tests``: its own."""
        if comparable(stored) not in keys:
            return False
        if self.is_exact:
            return True
        texts = self._texts_in(stored)
        if texts is None:
            return None
        return all(test[-1](text) for text, test in zip(texts, tests, strict=False))

    def _texts_in(self, stored: AttributeValue) -> Sequence[Any] | None:
        """The texts that ``tests`` compare, from a key; None where the key does not tell them.

        It does not if another writer spelled it, or if it does not say where a raw text ends.
        """
        content, template = stored[self._kind], self.part.template
        if self._kind == "N":
            return [Decimal(content)]
        if template is None or self.part.match(content) is None:
            return None
        if any(piece.raw for piece in self._pieces[:-1]):
            return None
        own = content if self.part.version is None else self.part.version.inside(content)
        if isinstance(own, bytes):
            return [own.decode(BYTEWISE)]
        found = template.pattern.fullmatch(str(own))
        return None if found is None else found.groups()


def fitting(tests: Iterable[FieldTest]) -> Callable[[Mapping[str, Any]], bool]:
    """A function of field values: whether they pass some tests. It raises ValueError if no key can have a value."""
    steps = [(name, write, is_wanted) for name, write, _, is_wanted in tests]
    if len(steps) == 1:
        ((name, write, is_wanted),) = steps
        # The usual range, of every entity of a page.
        return lambda values: (value := values[name]) is not None and is_wanted(write(value))

    def fits(values: Mapping[str, Any]) -> bool:
        for name, write, is_wanted in steps:
            value = values[name]
            if value is None or not is_wanted(write(value)):
                return False
        return True

    return fits


def _after_a_gap(
    fields: Sequence[str], count: int, given: AbstractSet[str], bounded: str | None
) -> str | None:
    """A field that is given or bounded although the one before it, at ``count``, is missing; None for none."""
    late = (name for name in fields[count + 1 :] if name in given and name not in fields[:count])
    found = next(late, None)
    is_late = bounded is not None and bounded != fields[count]
    return bounded if found is None and is_late else found


def _as_text(literal: Any) -> str:
    return literal.decode(BYTEWISE) if isinstance(literal, bytes) else str(literal)


def _bound_text(piece: TemplateField, value: Any) -> str:
    try:
        # The texts of ksuid_range bound a Ksuid, too.
        if piece.plain and piece.scalar.bound is not None:
            return piece.scalar.bound(value)
        spoken = isinstance(value, str) and piece.scalar.python in (Ksuid, KsuidMs)
        return piece.write(piece.scalar.from_text(value) if spoken else value)
    except ValueError as problem:
        raise KeyValueError.of(piece.field, value, problem) from problem


def _beginning_with(text: str, found: Interval) -> Interval:
    """The part of an interval that begins with a text."""
    if not text:
        return found
    found, end = found.cut(">=", text), successor(text)
    return found.cut("<", end) if end else found


def _allowed(starts: Sequence[Any], comparisons: Sequence[tuple[str, Any]]) -> Interval:
    """The texts that begin so and compare so."""
    found = EVERYTHING
    for start in starts:
        found = _beginning_with(start, found)
    for sign, text in comparisons:
        found = found.cut(sign, text)
    return found
