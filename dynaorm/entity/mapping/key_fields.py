"""The fields that are stored in keys alone: their values are read back by matching a stored key with its template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dynaorm.entity.key_part import KeyPart
from dynaorm.failure import MASK, shown
from dynaorm.item.value import Item
from dynaorm.record import record


@record(eq=False)
class KeyFields:
    """The fields of a class that are stored in keys alone.

    Attributes:
        parts: the keys to read, in this order, and the fields that each has.
        names: the fields.
        primary: the primary key, from which other fields could be read, too.
    """

    parts: tuple[tuple[KeyPart, frozenset[str]], ...]
    names: tuple[str, ...]
    primary: tuple[KeyPart, ...]

    def values_in(self, item: Item, secret: frozenset[str]) -> tuple[dict[str, Any], list[str]]:
        """The values in the keys of an item, None for a field without a stored key; and the problems of these keys.

        The problems do not show the key attributes in ``secret``.
        """
        values: dict[str, Any] = dict.fromkeys(self.names)
        strange: list[KeyPart] = []
        for part, names in self.parts:
            missing = [name for name in names if values[name] is None]
            stored = item.get(part.attribute.name)
            if stored is None or not missing:
                continue
            key = stored.get(part.attribute.kind)
            matched = part.match(key) if key is not None else None
            if matched is None:
                strange.append(part)
            else:
                values |= {name: matched[name] for name in missing if name in matched}
        return values, list(self._problems(strange, values, item, secret))

    def _problems(
        self, strange: Iterable[KeyPart], values: Mapping[str, Any], item: Item, secret: frozenset[str]
    ) -> Iterator[str]:
        for part in strange:
            attribute = part.attribute.name
            missing = [name for name in part.fields if name in values and values[name] is None]
            text = MASK if attribute in secret else shown(next(iter(item[attribute].values()), None))
            if missing:
                yield (
                    f"{', '.join(missing)}: cannot be read from {attribute}, which is {text}, not a key that "
                    f"{part.text!r} renders"
                )

    def place_of(self, name: str, *, is_missing: bool = False) -> str:
        """Where a field is read from, for messages; empty for a field that is stored as an attribute.

        With ``is_missing``, also where it could be read from, because other writers often store it in the key alone.
        """
        for part, names in self.parts:
            if name in names:
                return f"; it is read from {part.attribute.name}, by {part.text!r}"
        for part in self.primary if is_missing else ():
            if name in part.lossless:
                return f"; if {part.attribute.name} alone has it, declare it with InKey()"
        return ""


def key_fields_of(names: Sequence[str], primary: Sequence[KeyPart], more: Iterable[KeyPart]) -> KeyFields:
    """The fields with these names, and the keys that they can be read from exactly: the primary key, then others."""
    found = ((part, part.lossless.intersection(names)) for part in (*primary, *more))
    return KeyFields(tuple((part, held) for part, held in found if held), tuple(names), tuple(primary))
