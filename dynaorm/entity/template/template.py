"""A compiled key template: it renders the key of an entity, and matches a key back to field values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import product
from typing import Any, Final, Self

from dynaorm.entity.table import KeyKind
from dynaorm.entity.template.spec import Placeholder, SpecError, placeholder_of
from dynaorm.entity.text.scalar import BinaryForm, Scalar, Shape, listed
from dynaorm.failure import ValueErrorWithRemedy, nearest, remedy_of
from dynaorm.record import record, replace

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
_BRACES: Final = re.compile(r"\{[^{}]*\}|[{}]")
_PLACEHOLDER: Final = re.compile(
    r"\{(?P<field>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<text>!s)?(?::(?P<spec>[^{}]+))?\}"
)


def is_template(given: object) -> bool:
    """Whether it is a text that a request can hold: half a surrogate pair cannot be sent."""
    return isinstance(given, str) and _HALF_PAIR.search(given) is None


def parse(
    text: str, scalars: Mapping[str, Scalar], known: Collection[str], problems: list[str]
) -> tuple[list[str], list[Placeholder]]:
    """Literals and placeholders. Between two literals, which may be empty, there is one placeholder.

    Args:
        text: the template.
        scalars: the fields of the class whose values have one text.
        known: the names of all fields of the class.
        problems: receives a sentence for every problem.
    """
    literals, placeholders = [""], list[Placeholder]()
    position = 0
    for braces in _BRACES.finditer(text):
        literals[-1] += text[position : braces.start()]
        position = braces.end()
        placeholder = _placeholder(braces[0], scalars, known, problems)
        if placeholder is None:
            # Keep it as a literal, so that the fields around it are not reported as adjacent.
            literals[-1] += braces[0]
        else:
            placeholders.append(placeholder)
            literals.append("")
    literals[-1] += text[position:]
    if not text:
        problems.append("it is empty, and a key cannot be; write literal text, a {field}, or both")
    elif not placeholders and (text in scalars or text in known):
        problems.append(
            f"it is the constant {text!r}, which is also the name of a field; write {{{text}}} for its value"
        )
    return literals, placeholders


def _placeholder(
    source: str, scalars: Mapping[str, Scalar], known: Collection[str], problems: list[str]
) -> Placeholder | None:
    found = _PLACEHOLDER.fullmatch(source)
    if found is None:
        problems.append(_not_understood(source, scalars))
        return None
    field, spec = found["field"], found["spec"] or ""
    scalar = scalars.get(field)
    if scalar is None:
        problems.append(_no_text(source, field, scalars, known))
        return None
    try:
        placeholder = placeholder_of(field, scalar, spec, source)
    except SpecError as problem:
        problems.append(str(problem))
        return None
    return replace(placeholder, ordered=True) if found["text"] else placeholder


def _not_understood(source: str, scalars: Mapping[str, Scalar]) -> str:
    if source in ("{", "}"):
        return (
            f"a {source!r} is not part of a placeholder, and literal text cannot contain it; write {{field}}"
        )
    names = re.findall(r"[^\W\d]\w*", source)
    close = next((found for name in names if (found := nearest(name, scalars))), None)
    remedy = f"did you mean {{{close}}}?" if close else "write {field} or {field:spec}"
    return f"{source} is not understood; {remedy}"


def _no_text(source: str, field: str, scalars: Mapping[str, Scalar], known: Collection[str]) -> str:
    if field in known:
        return (
            f"{source}: a value of this field's type has no single text; "
            f"use a field of type str, int, bool, datetime, date, UUID, Ksuid, Enum or the like"
        )
    close = nearest(field, scalars)
    remedy = f"did you mean {{{close}}}?" if close else f"use one of {', '.join(scalars) or 'its fields'}"
    unless = "" if known else " with a single text"
    return f"{source} names no field{unless}; {remedy}"


ALWAYS: Final = frozenset("%#")

_ESCAPED: Final = re.compile("(?:%[0-9A-F]{2})+")


def finder(special: frozenset[str]) -> Callable[[str], object]:
    """A function that finds the first of these characters in a text; None for none."""
    return re.compile(f"[{listed(special)}]").search


def escaper(special: frozenset[str]) -> Callable[[str], str]:
    """A function that escapes these characters in a text."""
    find = finder(special)
    table = {ord(one): "".join(f"%{byte:02X}" for byte in one.encode()) for one in special}

    def escape(text: str) -> str:
        return text.translate(table) if find(text) else text

    return escape


def unescape(text: str) -> str:
    """The text before escaping, for any set of characters. Raises ValueError where the bytes are not UTF-8."""
    if "%" not in text:
        return text
    return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def escaped_pattern(special: frozenset[str]) -> str:
    """A regular expression of escaped texts."""
    plain = f"[^{listed(special)}]*"
    return f"{plain}(?:%[0-9A-F]{{2}}{plain})*"


class TemplateError(ValueError):
    """A template is refused. ``problems`` are sentences, each ending with its remedy."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class KeyValueError(ValueError):
    """A value cannot be part of a key. ``problem`` says why: ``is negative, and {n:05d} holds 0 to 99999``.

    If there is a ``remedy``, ``problem`` ends with it. ``has_value`` is False for a value that cannot be computed.
    """

    has_value = True

    def __init__(self, field: str, value: object, problem: str, remedy: str = "") -> None:
        super().__init__(field, value, problem, remedy)
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy

    @classmethod
    def of(cls, field: str, value: object, problem: ValueError) -> Self:
        """The error of a field whose text cannot be made."""
        return cls(field, value, str(problem), remedy_of(problem))


@record
class Piece:
    """A placeholder in its template, with the literal before it.

    Attributes:
        before: the literal.
        placeholder: the placeholder.
        write: value to its text in the key.
        escape: a part of that text, as it stands in the key.
        read: the reverse of ``write``; None where the spec loses something.
        pattern: a regular expression of the texts in the key.
        shape: those texts as a shape.
        special: the characters that are escaped in a text; None if it is not known that a text is written as it is.
    """

    before: str
    placeholder: Placeholder
    write: Callable[[Any], str]
    escape: Callable[[str], str]
    read: Callable[[str], Any] | None
    pattern: str
    shape: Shape
    special: frozenset[str] | None = None

    def text(self, value: Any) -> str:
        """The text of a value in the key. Raises KeyValueError."""
        try:
            return self.write(value)
        except ValueError as problem:
            raise KeyValueError.of(self.placeholder.field, value, problem) from problem


@record(eq=False)
class KeyTemplate:
    """A compiled template.

    Attributes:
        text: the template as declared.
        kind: the DynamoDB type of its keys: S, N or B.
        pieces: its placeholders in order, each with the literal before it.
        after: the literal at the end.
        fields: the fields in it, in order, each once.
        bare: the field of a template that is one field without spec; None for any other template.
        lossless: the fields that ``match`` restores exactly.
        shards: the fields that only choose a shard, and how many shards there are.
        optional: these, and the fields with ``OneOf``: a query need not give them.
        shape: the keys it can render.
        render: field values to the key, a str (the text of the number for N) or bytes; None where a field is None.
            Raises KeyValueError for a value that cannot be part of the key.
        pattern: a regular expression of its texts, one group for each placeholder.
        packing: how a text becomes a binary key; None for other kinds.
    """

    text: str
    kind: KeyKind
    pieces: tuple[Piece, ...]
    after: str
    fields: tuple[str, ...]
    bare: str | None
    lossless: frozenset[str]
    shards: Mapping[str, int]
    optional: frozenset[str]
    shape: Shape
    render: Callable[[Mapping[str, Any]], str | bytes | None]
    pattern: re.Pattern[str]
    packing: BinaryForm | None = None

    def match(self, key: str | bytes) -> dict[str, Any] | None:
        """The values of the lossless fields of a key; None for a key that this template never renders."""
        text = self._text(key)
        found = None if text is None else self.pattern.fullmatch(text)
        if found is None:
            return None
        values: dict[str, Any] = {}
        for piece, part in zip(self.pieces, found.groups(), strict=True):
            field = piece.placeholder.field
            if piece.read is None or field not in self.lossless:
                continue
            try:
                value = piece.read(part)
                # DynamoDB may spell a number in another way; any other text has only one spelling.
                if self.kind != "N" and piece.write(value) != part:
                    return None
            except ValueError:
                return None
            # A field that is in the key twice has one value.
            if values.setdefault(field, value) != value:
                return None
        return values

    def _text(self, key: str | bytes) -> str | None:
        if isinstance(key, str):
            return key if self.packing is None else None
        if self.packing is None:
            return None
        try:
            return self.packing.unpack(key)
        except ValueError:
            return None

    def renders(self, values: Mapping[str, Any]) -> tuple[str | bytes, ...]:
        """Every key of some field values: one key for each choice of a field that is not given and has only a few.

        There is no key where any other field is None or not given. Raises KeyValueError as ``render`` does.
        """
        choices: list[tuple[str, ...]] = []
        for piece in self.pieces:
            value = values.get(piece.placeholder.field)
            if value is not None and self.kind == "S":
                choices.append((piece.before + piece.text(value),))
            elif value is None and (texts := piece.placeholder.choices):
                choices.append(tuple(piece.before + piece.escape(text) for text in texts))
            else:
                key = self.render(values)
                return () if key is None else (key,)
        found = ("".join((*parts, self.after)) for parts in product(*choices))
        return tuple(found if self.packing is None else map(self.packing.pack, found))

    def gap(self, missing: str, field: str, value: object) -> KeyValueError:
        """The error for a field that is given although a field before it is missing."""
        problem = ValueErrorWithRemedy(f"comes after {missing} in {self.text!r}", f"give {missing} too")
        return KeyValueError.of(field, value, problem)
