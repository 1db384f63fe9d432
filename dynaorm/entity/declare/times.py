"""Which fields cannot hold a time: one that sessions keep (``CreatedAt``, ``UpdatedAt``), or the end of an item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import BaseModel

from dynaorm.entity.annotation import Marked
from dynaorm.entity.codec.expiry import is_expiry
from dynaorm.entity.marker import CreatedAt, ExpiresAt, InKey, Unique, UpdatedAt
from dynaorm.entity.template.key_part import KeyPart


def kept_time_problems(
    entity: type[BaseModel], kind: str, marks: Mapping[str, Marked], primary: Collection[KeyPart]
) -> Iterator[str]:
    """The problems of the fields with one of the two markers, one sentence each."""
    for name, mark in marks.items():
        info = entity.model_fields[name]
        has_none = mark.tree.accepts_none and not info.is_required() and info.default is None
        if not is_expiry(mark.tree) or not has_none or info.default_factory is not None:
            yield (
                f"{name}: {kind}() needs a time that is None before the first write; "
                f"write Annotated[datetime | None, {kind}()] = None"
            )
        if any(name in part.fields for part in primary):
            yield (
                f"{name}: {kind}() is set by the write, so the primary key cannot be made of it; "
                f"use a field with a default_factory there"
            )
        for other in (ExpiresAt, InKey, Unique, *((UpdatedAt,) if kind == CreatedAt.__name__ else ())):
            if mark.find(other):
                yield f"{name}: {kind}() and {other.__name__}() exclude each other; use a field for each"


def expiry_problems(
    names: Sequence[str], primary: Collection[KeyPart], *, has_versions: bool
) -> Iterator[str]:
    """The problems of the fields with ``ExpiresAt()``, one sentence each."""
    if len(names) > 1:
        yield f"{' and '.join(names)} are both ExpiresAt(), and a table has one TTL attribute; keep one"
    for name in names:
        if any(name in part.fields for part in primary):
            yield (
                f"{name}: ExpiresAt() is not stored exactly, so the primary key cannot be made of it; "
                f"use another field there"
            )
    if names and has_versions:
        yield f"{names[0]}: a versioned class cannot expire; drop ExpiresAt() or versioned="
