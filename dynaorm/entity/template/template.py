"""Key templates: ``"TICKET#{number:06d}"`` renders the key of an entity, and matches a key back to field values.

Rule 1. Rendering is injective. In a template with literal text, ``%``, ``#`` and the first character of every literal
        that follows a field are escaped in texts that may hold any character. What is escaped depends on the template
        alone, so a class declared later never moves a stored key. Texts of numbers and dates are never escaped, so
        the literal after one must not be able to go on with it. ``{field:raw}`` opts out.
Rule 2. What is rendered sorts as the values do; a number without padding is no part of a string sort key by accident.
Rule 3. Nothing is a constant by accident: what stands in braces is a field, or an error.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any, Final

from dynaorm.entity.template.escape import ALWAYS, escaper, pattern, unescape
from dynaorm.entity.template.grammar import parse
from dynaorm.entity.template.packing import PACKINGS, Packing
from dynaorm.entity.template.rules import Kind, ambiguous, not_one_field, unordered
from dynaorm.entity.template.spec import Placeholder, beginning
from dynaorm.entity.text.scalar import STR, Scalar
from dynaorm.entity.text.shape import ANYTHING, CharacterRun, Shape
from dynaorm.record import record


class TemplateError(ValueError):
    """A template cannot be kept. ``problems`` are sentences, each ending with its remedy."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class KeyValueError(ValueError):
    """A value cannot be part of a key. ``problem`` says why: ``is negative, and {n:05d} holds 0 to 99999``."""

    def __init__(self, field: str, value: object, problem: str) -> None:
        super().__init__(field, value, problem)
        self.field = field
        self.value = value
        self.problem = problem


@record
class Piece:
    """A placeholder in its template: the literal before it, and how its text is written there and read again.

    Attributes:
        before: the literal text before it.
        placeholder: the field and its spec.
        write: a value to its text in the key, escaped.
        escape: a text to how it stands in the key.
        read: the reverse of ``write``; None where the spec has no way back.
        pattern: a regular expression of its texts in the key.
    """

    before: str
    placeholder: Placeholder
    write: Callable[[Any], str]
    escape: Callable[[str], str]
    read: Callable[[str], Any] | None
    pattern: str


@record(eq=False)
class KeyTemplate:
    """A compiled template.

    Attributes:
        text: as declared.
        kind: the DynamoDB type of its keys: S, N or B.
        pieces: its slots in order, each with the literal before it.
        after: the literal at the end.
        fields: the fields it is made of, in order, each once.
        bare: the field of a template that is one bare field; None for any other.
        alone: the field of a template without literal text, whatever its spec; its values are not escaped.
        lossless: the fields that ``match`` gives back exactly.
        shards: the fields that only choose a shard, and among how many.
        shape: which keys it can render.
        render: field values to the key, a str (for N the text of the number) or bytes; None where a field is None.
            Raises KeyValueError for a value that cannot be part of the key.
        pattern: a regular expression of its texts, one group for each slot.
        packing: how a text becomes a binary key; None for other kinds.
    """

    text: str
    kind: Kind
    pieces: tuple[Piece, ...]
    after: str
    fields: tuple[str, ...]
    bare: str | None
    alone: str | None
    lossless: frozenset[str]
    shards: Mapping[str, int]
    shape: Shape
    render: Callable[[Mapping[str, Any]], str | bytes | None]
    pattern: re.Pattern[str]
    packing: Packing | None = None

    def match(self, key: str | bytes) -> dict[str, Any] | None:
        """The values of the lossless fields of a key; None for a key that this template never renders."""
        text = self._text(key)
        if text is None:
            return None
        found = self.pattern.fullmatch(text)
        if found is None:
            return None
        values: dict[str, Any] = {}
        for piece, part in zip(self.pieces, found.groups(), strict=True):
            field = piece.placeholder.field
            if piece.read is None or field not in self.lossless:
                continue
            try:
                value = piece.read(part)
                # A number has other spellings (DynamoDB may choose one), every other text has only one.
                if self.kind != "N" and piece.write(value) != part:
                    return None
            except ValueError:
                return None
            if values.setdefault(field, value) != value:
                return None
        return values

    def pattern_after(self, place: int) -> str:
        """A regular expression of all that follows the piece at ``place``."""
        return _joined(self.pieces[place + 1 :]) + re.escape(self.after)

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
        """Every key of these field values: one, or one for each shard of a field that is None or not given.

        None at all where another field is None or not given. Raises KeyValueError as ``render`` does.
        """
        choices: list[tuple[str, ...]] = []
        for piece in self.pieces:
            value = values.get(piece.placeholder.field)
            if value is not None and self.kind == "S":
                choices.append((piece.before + _written(piece, value),))
            elif piece.placeholder.shards:
                shards = range(1, piece.placeholder.shards + 1)
                choices.append(tuple(f"{piece.before}{number}" for number in shards))
            else:
                key = self.render(values)
                return () if key is None else (key,)
        return tuple("".join((*parts, self.after)) for parts in product(*choices))

    def prefix(self, values: Mapping[str, Any], partial: tuple[str, str] | None = None) -> str:
        """What the keys with these leading fields begin with, up to the literal that ends the last one.

        So the levels of a hierarchy stay apart: ``{country}#{state}`` gives ``US#`` for the country US, which no key
        of USA begins with.

        Args:
            values: the leading fields; fields of other templates do not matter.
            partial: the next field, and the beginning of its text.

        Raises:
            KeyValueError: a value cannot be part of the key, or is not given in order.
        """
        given = [*values.items(), *([partial] if partial is not None else [])]
        if self.kind != "S" and given:
            raise KeyValueError(
                *given[0], f"is in {self.text!r}, whose keys are not strings and have no beginning"
            )
        texts: list[str] = []
        for piece in self.pieces:
            texts.append(piece.before)
            value = values.get(piece.placeholder.field)
            if value is None:
                break
            texts.append(_written(piece, value))
        else:
            texts.append(self.after)
        level = len(texts) // 2
        self._refuse_gap(level, values)
        if partial is not None:
            texts.append(self._partial(level, *partial))
        return "".join(texts)

    def _refuse_gap(self, level: int, values: Mapping[str, Any]) -> None:
        given = {piece.placeholder.field for piece in self.pieces[:level]}
        for piece in self.pieces[level + 1 :]:
            field = piece.placeholder.field
            if field not in given and values.get(field) is not None:
                missing = self.pieces[level].placeholder.field
                raise KeyValueError(
                    field, values[field], f"comes after {missing} in {self.text!r}; give {missing} too"
                )

    def _partial(self, level: int, field: str, text: str) -> str:
        piece = self.pieces[level] if level < len(self.pieces) else None
        if piece is None or piece.placeholder.field != field:
            expected = "it is complete" if piece is None else f"that is {piece.placeholder.field}"
            raise KeyValueError(field, text, f"is not the next field of {self.text!r}: {expected}")
        try:
            return piece.escape(beginning(piece.placeholder, text))
        except ValueError as problem:
            raise KeyValueError(field, text, str(problem)) from problem


def compile_template(
    text: str, scalars: Mapping[str, Scalar], *, kind: Kind, sort: bool, known: Collection[str] = ()
) -> KeyTemplate:
    """Compile a template.

    Args:
        text: the template.
        scalars: the fields of the class that have one text.
        kind: the type of the key attribute.
        sort: it is a sort key, so its order counts.
        known: the names of all fields of the class, to tell a wrong type from a wrong name.

    Raises:
        TemplateError: with every problem of the template.
    """
    problems: list[str] = []
    literals, placeholders = parse(text, scalars, known, problems)
    if kind != "S":
        problems += not_one_field(kind, text, placeholders, problems)
    elif sort:
        problems += unordered(placeholders)
    problems += ambiguous(placeholders, literals)
    if problems:
        raise TemplateError(*dict.fromkeys(problems))
    return _compiled(text, kind, placeholders, literals)


def _compiled(
    text: str, kind: Kind, placeholders: Sequence[Placeholder], literals: Sequence[str]
) -> KeyTemplate:
    special = (
        ALWAYS | {literal[0] for literal in literals[1:] if literal} if any(literals) else frozenset[str]()
    )
    pieces = tuple(
        _piece(before, placeholder, special)
        for before, placeholder in zip(literals, placeholders, strict=False)
    )
    fields = tuple(dict.fromkeys(placeholder.field for placeholder in placeholders))
    alone = placeholders[0].field if len(placeholders) == 1 and not special else None
    packing = PACKINGS[placeholders[0].scalar.python] if kind == "B" else None
    return KeyTemplate(
        text=text,
        kind=kind,
        pieces=pieces,
        after=literals[-1],
        fields=fields,
        bare=alone if placeholders and placeholders[0].plain else None,
        alone=alone,
        lossless=_lossless(placeholders),
        shards={field: _shards(field, placeholders) for field in fields if _shards(field, placeholders)},
        shape=_shape(placeholders, literals, special) if packing is None else (ANYTHING,),
        render=_renderer(pieces, literals[-1]) if packing is None else _packed_renderer(pieces[0], packing),
        packing=packing,
        pattern=re.compile(_joined(pieces, "({})") + re.escape(literals[-1])),
    )


def _lossless(placeholders: Sequence[Placeholder]) -> frozenset[str]:
    found = set()
    for number, placeholder in enumerate(placeholders, start=1):
        if placeholder.read is not None:
            found.add(placeholder.field)
        # Where a raw text ends is a guess, unless it is the last one.
        if placeholder.raw and placeholder.open and number < len(placeholders):
            found.discard(placeholder.field)
            break
    return frozenset(found)


def _shards(field: str, placeholders: Sequence[Placeholder]) -> int:
    own = [placeholder.shards for placeholder in placeholders if placeholder.field == field]
    return max(own) if all(own) else 0


def _is_escaped(placeholder: Placeholder, special: frozenset[str]) -> bool:
    return placeholder.open and not placeholder.raw and bool(special)


def _piece(before: str, placeholder: Placeholder, special: frozenset[str]) -> Piece:
    if not _is_escaped(placeholder, special):
        own = _ANY_TEXT if placeholder.open else f"(?:{placeholder.pattern})"
        return Piece(before, placeholder, placeholder.write, str, placeholder.read, own)
    escape, write, read = escaper(special), placeholder.write, placeholder.read
    return Piece(
        before,
        placeholder,
        lambda value: escape(write(value)),
        escape,
        None if read is None else lambda text: read(unescape(text)),
        pattern(special),
    )


def _joined(pieces: Sequence[Piece], form: str = "{}") -> str:
    """A regular expression of some pieces; ``form`` is written around the text of each."""
    return "".join(f"{re.escape(piece.before)}{form.format(piece.pattern)}" for piece in pieces)


_ANY_TEXT: Final = r"[\s\S]*"
_HEX: Final = frozenset("0123456789ABCDEF")
_UPPER: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")


def _shape(placeholders: Sequence[Placeholder], literals: Sequence[str], special: frozenset[str]) -> Shape:
    runs = [
        _open_shape(placeholder, special) if placeholder.open else placeholder.shape
        for placeholder in placeholders
    ]
    parts = [part for before, run in zip(literals, runs, strict=False) for part in (before, *run)]
    return tuple(part for part in (*parts, literals[-1]) if part)


def _open_shape(placeholder: Placeholder, special: frozenset[str]) -> Shape:
    never = frozenset[str]()
    if placeholder.change is not None:
        never = _LOWER if placeholder.change is str.upper else _UPPER
    if _is_escaped(placeholder, special):
        # An escape is made of these, even where they are special themselves.
        never = (never | special) - _HEX - {"%"}
    return (CharacterRun(never, but=True),) if never else (ANYTHING,)


def _written(piece: Piece, value: Any) -> str:
    try:
        return piece.write(value)
    except ValueError as problem:
        raise KeyValueError(piece.placeholder.field, value, str(problem)) from problem


def _renderer(pieces: tuple[Piece, ...], after: str) -> Callable[[Mapping[str, Any]], str | None]:
    if len(pieces) == 1:
        return _single_renderer(pieces[0], after)
    steps = tuple((piece, piece.before, piece.placeholder.field, piece.write) for piece in pieces)

    def render(values: Mapping[str, Any]) -> str | None:
        texts = []
        get = values.get
        for piece, before, field, write in steps:
            value = get(field)
            if value is None:
                return None
            try:
                texts.append(before + write(value))
            except ValueError as problem:
                raise KeyValueError(piece.placeholder.field, value, str(problem)) from problem
        return "".join(texts) + after

    return render


def _single_renderer(piece: Piece, after: str) -> Callable[[Mapping[str, Any]], str | None]:
    before, field, write = piece.before, piece.placeholder.field, piece.write
    # A plain text and nothing around it: what ``write`` makes of it is known.
    is_itself = not before and not after and piece.placeholder.plain and write is STR.to_text

    def render(values: Mapping[str, Any]) -> str | None:
        value = values.get(field)
        if value is None:
            return None
        if is_itself and type(value) is str and value.isascii():
            return value
        try:
            return f"{before}{write(value)}{after}"
        except ValueError as problem:
            raise KeyValueError(field, value, str(problem)) from problem

    return render


def _packed_renderer(piece: Piece, packing: Packing) -> Callable[[Mapping[str, Any]], bytes | None]:
    field, pack = piece.placeholder.field, packing.pack

    def render(values: Mapping[str, Any]) -> bytes | None:
        value = values.get(field)
        return None if value is None else pack(_written(piece, value))

    return render
