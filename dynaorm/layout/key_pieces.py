"""A stored key in pieces: the literal texts of its template, and the values of its fields."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from dynaorm.description.description import Literals, Slot, TemplateDescription
from dynaorm.description.entry import Entry
from dynaorm.failure import MASK
from dynaorm.item.value import AttributeValue
from dynaorm.item.value_text import key_text
from dynaorm.record import record

PieceKind: TypeAlias = Literal["literal", "value", "shard", "masked"]

_PADDED: Final = re.compile(r"0(\d+)d?")


@record
class KeyPiece:
    """A piece of a key.

    Attributes:
        text: its text, as it is stored.
        kind: ``"literal"``; ``"value"`` of a field; ``"shard"`` that a field chose; ``"masked"`` for a secret.
        field: the field of it; empty for a literal text, and where no template says it.
    """

    text: str
    kind: PieceKind
    field: str = ""


def number_in_key(entry: Entry) -> int | None:
    """The number of the version in the sort key of an item: 0 for what is no version; None for any."""
    return entry.number if entry.kind == "version" else 0


def plain_text(pieces: Iterable[KeyPiece]) -> str:
    """The text of a key."""
    return "".join(one.text for one in pieces)


def pieces_of(
    template: TemplateDescription,
    value: AttributeValue | None,
    secret: frozenset[str],
    number: int | None = None,
) -> tuple[KeyPiece, ...]:
    """A stored key in pieces.

    Args:
        template: the template that rendered it.
        value: the stored key; nothing for None.
        secret: the fields whose values are masked.
        number: of a versioned class, the version in the key: 0 for the latest copy; None for any.

    A key that the template does not render is one value; it is masked if a field of the template is secret.
    """
    if value is None:
        return ()
    text = key_text(value)
    found = _pattern(template, number).fullmatch(text) if "S" in value else None
    if found is None:
        if not secret.isdisjoint(template.fields):
            return (KeyPiece(MASK, "masked"),)
        only = template.fields[0] if len(template.fields) == 1 else ""
        return (KeyPiece(text, "value", only),)
    pieces: list[KeyPiece] = []
    for slot, one in zip(_slots(template), found.groups(), strict=True):
        if not one:
            continue
        if slot is None:
            pieces.append(KeyPiece(one, "literal"))
        elif slot.field in secret:
            pieces.append(KeyPiece(MASK, "masked", slot.field))
        else:
            pieces.append(KeyPiece(one, "shard" if slot.shards else "value", slot.field))
    return tuple(pieces)


def _slots(template: TemplateDescription) -> list[Slot | None]:
    """For each group of the pattern, the field in it; None for a literal text."""
    inner = [one if isinstance(one, Slot) else None for one in template.pieces]
    return inner if template.version_text is None else [None, *inner, None]


@lru_cache(maxsize=512)
def _pattern(template: TemplateDescription, number: int | None) -> re.Pattern[str]:
    inner = "".join(f"({_part(one)})" for one in template.pieces)
    if template.version_text is not None:
        digits = r"\d+" if number is None else f"0*{number}"
        head, _, tail = (
            re.escape(one).replace(re.escape("{version}"), digits)
            for one in template.version_text.partition("{sk}")
        )
        inner = f"({head}){inner}({tail})"
    return re.compile(inner, re.DOTALL)


def _part(piece: Literals | Slot) -> str:
    if isinstance(piece, Literals):
        return re.escape(piece.literal)
    if piece.shards:
        return r"\d+"
    # Fields beside each other have a width, or the template could not be read.
    padded = _PADDED.fullmatch(piece.spec)
    return rf"-?\d{{{padded[1]},}}?" if padded is not None else ".*?"
