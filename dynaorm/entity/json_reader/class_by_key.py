"""The classes of items in a table without a type attribute, where no key of one class can be a key of another.

Rule 1. The class of each item is written into the reply, so that pydantic-core can see it. It is found by the first
    text that looks like the item's key. That may be wrong, so the reader compares the key of every entity with that of
    its item.
Rule 2. An item whose key is that of no class, or of one that is not wanted, gets no class: it is no entity.
Rule 3. An entity that has the key of its item is of the right class, unless ``in_doubt`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynaorm.entity.classify import key_beginnings, literal_beginning
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.page import BETWEEN, cut
from dynaorm.entity.table import Table
from dynaorm.entity.table_index import KeyAttribute
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.text.shape import may_meet, shape_of_text
from dynaorm.entity.token_item import TOKEN_PREFIX
from dynaorm.late import late

if TYPE_CHECKING:
    import json
else:
    late(globals(), json="json")

CLASS: Final = ""
"""The attribute with the class. No attribute of an item has an empty name."""

InDoubt: TypeAlias = Callable[[Mapping[str, Any]], bool]

_Beginning: TypeAlias = tuple[bytes, ...]


class ClassByKey:
    """Finds the classes of items by their keys.

    Args:
        table: the table.
        wanted: the classes to write into replies.
    """

    def __init__(self, table: Table, wanted: Iterable[EntityMapping]) -> None:
        self._keys = [_text_before(key) for key in table.keys]
        self._written = {one.name: _written(one.name) for one in wanted}
        self._classes: dict[_Beginning, list[EntityMapping]] = {}
        for one in catalog_of(table).mappings.values():
            beginning = tuple(literal_beginning(part).encode() for part in one.primary_parts)
            self._classes.setdefault(beginning, []).append(one)
        self._lengths = list(dict.fromkeys(tuple(map(len, one)) for one in self._classes))

    def marked(self, raw: bytes, operation: str) -> tuple[bytes, list[bytes]]:
        """A reply with the classes of its items, and the texts of these items, which ``item_texts`` would give."""
        beginning, texts = cut(raw, operation)
        if not texts:
            return raw, texts
        return beginning + BETWEEN.join([self._class_in(text) + text for text in texts]), texts

    def _class_in(self, text: bytes) -> bytes:
        """The text of the attribute with the class; empty for none."""
        starts = []
        for begins in self._keys:
            at = text.find(begins)
            if at < 0:
                return b""
            starts.append(at + len(begins))
        candidates = self._candidates(text, starts)
        if len(candidates) != 1 or candidates[0].versioning is not None:
            contents = [text[at : text.find(b'"', at)].decode() for at in starts]
            candidates = [one for one in candidates if _matches(one, contents)]
        return self._written.get(candidates[0].name, b"") if candidates else b""

    def _candidates(self, text: bytes, starts: list[int]) -> Sequence[EntityMapping]:
        """The classes whose keys begin as these do."""
        if len(self._lengths) == 1:
            return self._classes.get(_beginning(text, starts, self._lengths[0]), ())
        beginnings = dict.fromkeys(_beginning(text, starts, lengths) for lengths in self._lengths)
        return [mapping for one in beginnings for mapping in self._classes.get(one, ())]


def in_doubt(mapping: EntityMapping) -> InDoubt | None:
    """Finds the field values of a class with which an item may be of another class or no entity; None for none.

    A guard item and a token item have one text in all key attributes. And a key that the user's codec has written may
    not match its own template. The ready codecs read what they write.
    """
    fields = [mapping.fields[name] for name in mapping.key_fields if name in mapping.fields]
    is_exact = all(one.exact or one.codec.form for one in fields)
    beginnings = _not_entities(mapping)
    if is_exact and not beginnings:
        return None
    parts, computed = mapping.primary_parts, [name for name in mapping.key_fields if name in mapping.computed]
    constant, text_of = parts[0].constant, _text_of(mapping, parts[0])

    def may_be_another(values: Mapping[str, Any]) -> bool:
        try:
            if computed:
                values = mapping.with_computed(values, computed)
            first = constant or text_of(values)
            is_reserved = type(first) is str and first.startswith(beginnings)
            if is_exact and not is_reserved:
                return False
            keys = [part.constant or part.render(values) for part in parts]
        except ValueError:  # no key at all
            return True
        pairs = zip(parts, keys, strict=True)
        return (is_reserved and keys.count(first) == len(keys)) or any(
            key is None or part.match(key) is None for part, key in pairs
        )

    return may_be_another


def _text_of(mapping: EntityMapping, part: KeyPart) -> Callable[[Mapping[str, Any]], Any]:
    """Renders a key, faster where the key is the text of a field itself."""
    field = mapping.fields.get(part.fields[0]) if part.bare else None
    return itemgetter(field.name) if field is not None and field.codec.is_text else part.render


def _not_entities(mapping: EntityMapping) -> tuple[str, ...]:
    """What the keys of guard items and token items begin with that could be keys of a class, too."""
    parts = mapping.primary_parts
    if any(part.attribute.kind != "S" for part in parts) or not may_meet(parts[0].shape, parts[-1].shape):
        return ()
    constraints = key_beginnings(mapping.table).constraints
    found = (TOKEN_PREFIX, *(f"{name}#" for name in sorted(constraints)))
    return tuple(one for one in found if all(may_meet(part.shape, shape_of_text(one)) for part in parts))


def _beginning(text: bytes, starts: list[int], lengths: tuple[int, ...]) -> _Beginning:
    return tuple([text[at : at + length] for at, length in zip(starts, lengths, strict=True)])


def _matches(mapping: EntityMapping, contents: list[str]) -> bool:
    """Whether a key is one of this class, as far as it is not binary. One with a backslash is left to the codecs."""
    pairs = zip(mapping.primary_parts, contents, strict=True)
    return all(
        part.attribute.kind == "B" or ("\\" not in one and part.match(one) is not None) for part, one in pairs
    )


def _text_before(key: KeyAttribute) -> bytes:
    """The text before the content of a key attribute in an item."""
    return f'{json.dumps(key.name, ensure_ascii=False)}:{{"{key.kind}":"'.encode()


def _written(name: str) -> bytes:
    return f'"{CLASS}":{{"S":{json.dumps(name)}}},'.encode()
