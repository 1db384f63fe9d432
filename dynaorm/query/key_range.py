"""How the fields of a query bound one key attribute: an interval of keys to read, and tests for what it has too much.

Rule 1. A condition on a field compares the texts that the template renders, within the fields given before it: with
        ``{country}#{state}``, the country US never matches USA. A field written with ``desc`` is compared by value.
Rule 2. DynamoDB takes one condition on a sort key. The interval may have more keys than are wanted, never fewer. The
        tests are exact. They compare the texts of single fields, whether these come from values or from a key.
Rule 3. Whether tests are needed follows from the template and from what is asked, not from the values: ``is_exact``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.spec import beginning
from dynaorm.entity.template.template import KeyValueError, Piece
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import STR, NaiveDatetime
from dynaorm.failure import Remedied
from dynaorm.item.value import AttributeValue
from dynaorm.query.interval import BYTEWISE, EVERYTHING, NOTHING, Interval, comparable, successor
from dynaorm.query.spelling import spellings_of, spellings_within
from dynaorm.record import record, replace

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


class RangeForm:
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
        zones: they may have written times in any time zone, not only in UTC.
    """

    def __init__(
        self,
        part: KeyPart,
        given: AbstractSet[str],
        bounded: str | None = None,
        operators: Sequence[Operator] = (),
        *,
        is_foreign: bool = False,
        zones: bool = False,
    ) -> None:
        template, version = part.template, part.version
        self.part, self._kind, self._zones = part, part.attribute.kind, zones
        self._pieces = template.pieces if template is not None else ()
        self._packing = template.packing if template is not None else None
        fields = [piece.placeholder.field for piece in self._pieces]
        self.missing = next((name for name in part.fields if name not in given), None)
        count = fields.index(self.missing) if self.missing is not None else len(fields)
        self._given, self._rest = self._pieces[:count], self._pieces[count:]
        self._has_bounds = self.missing is not None and bounded in part.fields
        self._late = _after_a_gap(fields, count, given, bounded if self._has_bounds else None)
        self._head = self._as_text(version.latest_head) if version is not None else ""
        self._after = self._literal_after()
        # Whether one text of the open field can be the beginning of another.
        self._grows = bool(self._rest) and (
            self._rest[0].placeholder.open or bool(self._rest[0].placeholder.grows)
        )
        self.padded = bounded if self._has_bounds and self._is_padded() else None
        tested = self._pieces[: count + self._has_bounds]
        self.tested = tuple(piece.placeholder.field for piece in tested)
        self._time = next((place for place, piece in enumerate(tested) if _is_time(piece)), None)
        if version is not None or self._kind != "S":
            self._time = None
        # Without a value, the interval is that of the literals, always.
        self._is_constant = bool(self._rest) and not tested and self._late is None
        self._constant: Interval | None = None
        self.is_exact = self._is_exact(operators if self._has_bounds else (), is_foreign=is_foreign)

    def _is_padded(self) -> bool:
        bounded = self._rest[0].placeholder
        is_number = bounded.scalar.python is int and self._kind != "N"
        return is_number and bounded.ordered and not bounded.shards

    def _literal_after(self) -> str:
        """The literal after the open field."""
        if len(self._rest) > 1:
            return self._rest[1].before
        template, version = self.part.template, self.part.version
        if template is None:
            return ""
        return template.after + (self._as_text(version.latest_tail) if version is not None else "")

    def _is_exact(self, operators: Sequence[Operator], *, is_foreign: bool) -> bool:
        if self._time is not None:
            return False
        # A key does not say where a raw text ends, unless it is the last one: other values have the same key.
        told = self._pieces[:-1][: len(self._given) + 1]
        if any(piece.placeholder.raw and piece.placeholder.open for piece in told):
            return False
        if all(one == "begins_with" for one in operators):
            return True
        if is_foreign and self.part.made_up:
            return False
        # No condition tells a text with the literal after it from the texts that it begins.
        is_followed = len(self._rest) > 1
        if self._grows and (self._after or is_followed):
            return False
        # BETWEEN includes its upper end. That is a key of the template unless a literal would have to follow.
        signs = _REVERSED if self._rest[0].placeholder.desc else {}
        upper = {"<", "<=", "between"} if is_followed else {"<"}
        reads_end = not self._after and self._kind != "N"
        return not (reads_end and any(signs.get(one, one) in upper for one in operators))

    # -- the keys to read ----------------------------------------------------------------------------------------------

    def keys(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> Interval:
        """The smallest closed interval that has all wanted keys, in any spelling of their times.

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
        if self._time is None or found.is_empty:
            return found
        return self._with_spellings(found, values, bounds)

    def _texts(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> Interval:
        if self._late is not None:
            value = values[self._late] if self._late in values else bounds[0].values[0]
            assert self.part.template is not None and self.missing is not None
            raise self.part.template.gap(self.missing, self._late, value)
        own = [piece.before + piece.text(values[piece.placeholder.field]) for piece in self._given]
        level = "".join([*own, self._rest[0].before])
        found = _beginning_with(self._checked(level), EVERYTHING)
        if self._has_bounds:
            starts, comparisons = self._limits(bounds)
            for start in starts:
                found = _beginning_with(self._checked(level + start), found)
            for sign, text in comparisons:
                self._checked(level + text + self._after)
                found = found.cut(*(self._from if sign in (">", ">=") else self._to)(sign, level, text))
            if found.high == "" or _allowed(starts, comparisons).is_empty:
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

    def _with_spellings(
        self, found: Interval, values: Mapping[str, Any], bounds: Sequence[Bound]
    ) -> Interval:
        """The interval with all spellings of the time in it."""
        assert self._time is not None
        own = [
            piece.before + piece.write(values[piece.placeholder.field]) for piece in self._given[: self._time]
        ]
        piece = self._pieces[self._time]
        if self._time < len(self._given):
            spelled = spellings_of(values[piece.placeholder.field], zones=self._zones)
        else:
            spelled = spellings_within([(one.operator, one.values) for one in bounds], zones=self._zones)
        return spelled.shifted("".join([*own, piece.before])) if spelled != EVERYTHING else found

    # -- the bounds of the open field ------------------------------------------------------------------------------

    def _limits(self, bounds: Sequence[Bound]) -> tuple[list[Any], list[tuple[str, Any]]]:
        """The beginnings of the open field's text, and the comparisons with it, in the order of the keys."""
        piece, starts = self._rest[0], list[Any]()
        comparisons: list[tuple[str, Any]] = []
        signs = _REVERSED if piece.placeholder.desc else {}
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
        placeholder, value = self._rest[0].placeholder, bound.values[0]
        python = placeholder.scalar.python
        is_binary = self._kind == "B"
        if self._kind == "N" or (is_binary and (python not in (str, bytes) or not isinstance(value, python))):
            problem = Remedied(f"is no beginning of a key {self.part.text!r}", "bound it: ge and lt")
            raise KeyValueError.of(bound.field, value, problem)
        if isinstance(value, bytes) and is_binary:
            return value.decode(BYTEWISE)
        try:
            text = STR.to_text(value)
            return self._packed(text) if is_binary else self._rest[0].escape(beginning(placeholder, text))
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

    def _as_text(self, literal: str) -> str:
        return literal.encode().decode(BYTEWISE) if self._kind == "B" else literal

    # -- the tests -------------------------------------------------------------------------------------------------

    def tests(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> tuple[FieldTest, ...]:
        """What the texts of the fields in wanted keys must be; where ``keys`` finds keys for these values."""
        found: list[FieldTest] = []
        for piece in self._given:
            text = self._ordered(piece.write(values[piece.placeholder.field]))
            found.append(self._test(piece, Interval(text, text)))
        if self._has_bounds:
            found.append(self._test(self._rest[0], _allowed(*self._limits(bounds))))
        return tuple(found)

    def _test(self, piece: Piece, texts: Interval) -> FieldTest:
        return piece.placeholder.field, self._writer(piece), texts, texts.test()

    def _writer(self, piece: Piece) -> Callable[[Any], Any]:
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
        if any(piece.placeholder.raw for piece in self._pieces[:-1]):
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


def _is_time(piece: Piece) -> bool:
    scalar = piece.placeholder.scalar
    is_time = scalar.python in (datetime, NaiveDatetime) and scalar.name == scalar.python.__name__
    return piece.placeholder.plain and is_time


def _bound_text(piece: Piece, value: Any) -> str:
    placeholder = piece.placeholder
    try:
        # The texts of ksuid_range bound a Ksuid, too.
        if placeholder.plain and placeholder.scalar.bound is not None:
            return placeholder.scalar.bound(value)
        spoken = isinstance(value, str) and placeholder.scalar.python in (Ksuid, KsuidMs)
        return piece.write(placeholder.scalar.from_text(value) if spoken else value)
    except ValueError as problem:
        raise KeyValueError.of(placeholder.field, value, problem) from problem


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
