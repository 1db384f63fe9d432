"""A compiled key template: it renders the key of an entity, and matches a key back to field values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Self

from dynaorm.entity.table_index import KeyKind
from dynaorm.entity.template.spec import Placeholder
from dynaorm.entity.text.scalar import Packing
from dynaorm.entity.text.shape import Shape
from dynaorm.failure import Remedied, remedy_of
from dynaorm.record import record


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
    packing: Packing | None = None

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
        problem = Remedied(f"comes after {missing} in {self.text!r}", f"give {missing} too")
        return KeyValueError.of(field, value, problem)
