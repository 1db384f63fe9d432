"""Compiling key templates: ``"TICKET#{number:06d}"`` becomes a ``KeyTemplate``, or is refused.

Rule 1. Different values have different keys. In a template with literal text, ``%``, ``#`` and the first character of
        every literal that follows a field are escaped in texts that may hold any character. Which characters are
        escaped depends on the template alone, so a class declared later never changes a stored key. Texts of numbers
        and dates are never escaped, so the literal after one must not begin with a character that could continue
        it. ``{field:raw}`` turns escaping off. In a table with ``escape=False`` nothing is escaped, and a text that
        contains the literal after its field is refused, because the key would not say where the text ends.
Rule 2. Keys sort as the values do. A number without padding is refused in a string sort key, unless its placeholder
        says that the order does not matter: ``{number!s}``.
Rule 3. Text in braces is a field or an error, never a constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from dynaorm.entity.table import KeyKind
from dynaorm.entity.template.refused import ambiguous, not_one_field, unordered
from dynaorm.entity.template.spec import Placeholder
from dynaorm.entity.template.template import (
    ALWAYS,
    KeyTemplate,
    KeyValueError,
    Piece,
    TemplateError,
    escaped_pattern,
    escaper,
    finder,
    parse,
    unescape,
)
from dynaorm.entity.text.scalar import ANY_TEXT, ANYTHING, STR, BinaryForm, CharacterRun, Scalar, Shape
from dynaorm.failure import ValueErrorWithRemedy

_HEX: Final = frozenset("0123456789ABCDEF")
_UPPER: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")


def compile_template(
    text: str,
    scalars: Mapping[str, Scalar],
    *,
    kind: KeyKind,
    sort: bool,
    known: Collection[str] = (),
    escape: bool = True,
) -> KeyTemplate:
    """Compile a template.

    Args:
        text: the template.
        scalars: the fields of the class whose values have one text.
        kind: the type of the key attribute.
        sort: whether it is a sort key, so that its order matters.
        known: the names of all fields of the class, so that the error can tell a wrong type from a wrong name.
        escape: whether texts that may hold any character are escaped.

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
    return _compiled(text, kind, placeholders, literals, escape=escape)


def _compiled(
    text: str, kind: KeyKind, placeholders: Sequence[Placeholder], literals: Sequence[str], *, escape: bool
) -> KeyTemplate:
    special = (
        ALWAYS | {literal[0] for literal in literals[1:] if literal} if any(literals) else frozenset[str]()
    )
    after = literals[-1]
    ends = literals[1:]
    pieces = tuple(
        _piece(before, one, special) if escape or not special else _unescaped_piece(before, one, end)
        for before, one, end in zip(literals, placeholders, ends, strict=False)
    )
    fields = tuple(dict.fromkeys(placeholder.field for placeholder in placeholders))
    is_bare = len(placeholders) == 1 and not special and placeholders[0].plain
    packing = placeholders[0].scalar.packing if kind == "B" else None
    parts = (part for piece in pieces for part in (piece.before, *piece.shape))
    patterns = (f"{re.escape(piece.before)}({piece.pattern})" for piece in pieces)
    return KeyTemplate(
        text=text,
        kind=kind,
        pieces=pieces,
        after=after,
        fields=fields,
        bare=fields[0] if is_bare else None,
        lossless=_lossless(placeholders),
        shards={field: shards for field in fields if (shards := _shards(field, placeholders))},
        optional=frozenset(field for field in fields if _is_optional(field, placeholders)),
        shape=tuple(part for part in (*parts, after) if part) if packing is None else (ANYTHING,),
        render=_renderer(pieces, after) if packing is None else _packed_renderer(pieces[0], packing),
        packing=packing,
        pattern=re.compile("".join(patterns) + re.escape(after)),
    )


def _lossless(placeholders: Sequence[Placeholder]) -> frozenset[str]:
    found = set()
    for number, placeholder in enumerate(placeholders, start=1):
        if placeholder.read is not None:
            found.add(placeholder.field)
        # A key does not say where a raw text ends, unless it is the last one.
        if placeholder.raw and placeholder.open and number < len(placeholders):
            found.discard(placeholder.field)
            break
    return frozenset(found)


def _shards(field: str, placeholders: Sequence[Placeholder]) -> int:
    own = [placeholder.shards for placeholder in placeholders if placeholder.field == field]
    # A field that is also in the key itself does more than choose a shard.
    return max(own) if all(own) else 0


def _is_optional(field: str, placeholders: Sequence[Placeholder]) -> bool:
    return all(one.choices for one in placeholders if one.field == field)


def _piece(before: str, placeholder: Placeholder, special: frozenset[str]) -> Piece:
    write, read = placeholder.write, placeholder.read
    if not placeholder.open:
        pattern = f"(?:{placeholder.pattern})"
        return Piece(before, placeholder, write, str, read, pattern, placeholder.shape)
    never = _never(placeholder)
    is_itself = placeholder.plain and write is STR.to_text
    if placeholder.raw or not special:
        unescaped = frozenset[str]() if is_itself else None
        return Piece(before, placeholder, write, str, read, ANY_TEXT, _without(never), unescaped)
    escape = escaper(special)
    return Piece(
        before,
        placeholder,
        _escaping(placeholder, escape, special),
        escape,
        None if read is None else lambda text: read(unescape(text)),
        escaped_pattern(special),
        # Escapes consist of these characters, even where such a character is special itself.
        _without((never | special) - _HEX - {"%"}),
        special if is_itself else None,
    )


def _escaping(
    placeholder: Placeholder, escape: Callable[[str], str], special: frozenset[str]
) -> Callable[[Any], str]:
    """Value to text in the key, escaped."""
    write, find = placeholder.write, finder(special)
    if not placeholder.plain or write is not STR.to_text:
        return lambda value: escape(write(value))

    def escaped(value: Any) -> str:
        # The fast path: the text is the str itself.
        if type(value) is str and value.isascii() and not find(value):
            return value
        return escape(write(value))

    return escaped


def _unescaped_piece(before: str, placeholder: Placeholder, end: str) -> Piece:
    """A piece whose text ends where ``end`` first occurs; any other text is refused."""
    if not placeholder.open or placeholder.raw or not end:
        return _piece(before, placeholder, frozenset())

    def ended(text: str) -> str:
        # Also an end that the text begins and the literal completes: before "##", the text "a#" would end after its
        # "a".
        if (text + end).find(end) < len(text):
            raise ValueErrorWithRemedy(
                f"contains {end!r}, which ends {placeholder.source} in the key, and its table has escape=False",
                f"use another value, or {{{placeholder.field}:raw}}",
            )
        return text

    def part(text: str) -> str:
        return ended(text) if end in text else text

    return Piece(
        before,
        placeholder,
        lambda value: ended(placeholder.write(value)),
        part,
        placeholder.read,
        rf"(?:(?!{re.escape(end)})[\s\S])*",
        _without(_never(placeholder) | ({end} if len(end) == 1 else frozenset())),
    )


def _never(placeholder: Placeholder) -> frozenset[str]:
    """The characters that the placeholder's texts never contain."""
    if placeholder.change is None:
        return frozenset()
    return _LOWER if placeholder.change is str.upper else _UPPER


def _without(characters: frozenset[str]) -> Shape:
    return (CharacterRun(characters, but=True),) if characters else (ANYTHING,)


def _renderer(pieces: tuple[Piece, ...], after: str) -> Callable[[Mapping[str, Any]], str | None]:
    if len(pieces) == 1:
        return _single_renderer(pieces[0], after)
    steps = tuple((piece.before, piece.placeholder.field, piece.write) for piece in pieces)

    def render(values: Mapping[str, Any]) -> str | None:
        texts = []
        get = values.get
        for before, field, write in steps:
            value = get(field)
            if value is None:
                return None
            try:
                texts.append(before + write(value))
            except ValueError as problem:
                raise KeyValueError.of(field, value, problem) from problem
        return "".join(texts) + after

    return render


def _single_renderer(piece: Piece, after: str) -> Callable[[Mapping[str, Any]], str | None]:
    before, field, write = piece.before, piece.placeholder.field, piece.write
    # The fast path: the key is the str itself.
    is_itself = not before and not after and piece.special is not None and not piece.special

    def render(values: Mapping[str, Any]) -> str | None:
        value = values.get(field)
        if value is None:
            return None
        if is_itself and type(value) is str and value.isascii():
            return value
        try:
            return f"{before}{write(value)}{after}"
        except ValueError as problem:
            raise KeyValueError.of(field, value, problem) from problem

    return render


def _packed_renderer(piece: Piece, packing: BinaryForm) -> Callable[[Mapping[str, Any]], bytes | None]:
    field, pack = piece.placeholder.field, packing.pack

    def render(values: Mapping[str, Any]) -> bytes | None:
        value = values.get(field)
        return None if value is None else pack(piece.text(value))

    return render
