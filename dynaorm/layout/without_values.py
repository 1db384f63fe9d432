"""Stored items without their values: what a picture of a real table may show to anybody.

Rule 1. Only literal texts of key templates stay, class names, and the numbers of versions.
Rule 2. The value of a field in a key becomes the name of the field with a number. Equal values have equal numbers, so
        items lie together as they do in the table. A key field that is an attribute, too, is the same there.
Rule 3. Any other value becomes the name of its type. The attributes of a prefix become one map, because the rest of
        their names is data.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dynaorm.description.access_patterns import describe
from dynaorm.description.classes import name_of
from dynaorm.description.description import ClassDescription, TemplateDescription
from dynaorm.description.entry import Entry
from dynaorm.entity.internal_items import OWNER
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.item.text import key_text
from dynaorm.item.value import AttributeValue, Item
from dynaorm.layout.view import number_in_key, pieces_of
from dynaorm.record import replace

_TYPES: Final[Mapping[str, str]] = {
    "S": "text",
    "N": "number",
    "B": "binary",
    "BOOL": "true or false",
    "NULL": "null",
    "L": "list",
    "M": "map",
    "SS": "set of texts",
    "NS": "set of numbers",
    "BS": "set of binaries",
}


def anonymize(table: Table, entries: Sequence[Entry]) -> list[Entry]:
    """The entries without the values of their items. Their keys stay different, and equal where they were equal."""
    names = _StandIns(table)
    return [names.entry(one) for one in entries]


class _StandIns:
    """The names that stand for values."""

    def __init__(self, table: Table) -> None:
        self._table = table
        description = describe(table)
        self._classes = {one.name: one for one in description.classes}
        indexes = [key.name for index in description.indexes for key in (*index.partition, *index.sort)]
        self._keys = dict.fromkeys((*table.key_names, *indexes))
        self._known: dict[str, tuple[str, int]] = {}
        self._counts: Counter[str] = Counter()

    def entry(self, entry: Entry) -> Entry:
        cls = self._class(entry)
        own = cls if entry.kind in ("entity", "version", "tombstone") else None
        keys = {
            name: self._key(entry, own, name, value)
            for name, value in entry.item.items()
            if name in self._keys
        }
        known = {**dict(_as_in_keys(own, keys, number_in_key(entry))), **keys}
        item: dict[str, Any] = {
            name: known.get(name) or (value if name == self._table.type_attribute else _typed(value))
            for name, value in entry.item.items()
        }
        owner = None if entry.owner is None else self._owner(cls, entry.owner)
        if entry.kind == "guard" and owner is not None:
            item[OWNER] = {"M": owner}
        return replace(entry, item=item, owner=owner)

    def _class(self, entry: Entry) -> ClassDescription | None:
        return None if entry.cls is None else self._classes.get(name_of(mapping_of(entry.cls)))

    def _owner(self, cls: ClassDescription | None, owner: Item) -> dict[str, Any]:
        return {name: self._rendered(_primary(cls), name, value, None) for name, value in owner.items()}

    def _key(
        self, entry: Entry, cls: ClassDescription | None, name: str, value: AttributeValue
    ) -> AttributeValue:
        if entry.kind == "guard" and entry.constraint is not None:
            return self._guard(entry.constraint, value)
        templates = [*_primary(cls), *_placed(cls, entry.places)]
        return self._rendered(templates, name, value, number_in_key(entry))

    def _guard(self, constraint: str, value: AttributeValue) -> AttributeValue:
        literal, text = f"{constraint}#", key_text(value)
        rest = text.removeprefix(literal) if text.startswith(literal) else text
        return {"S": (literal if rest != text else "") + self._name(constraint, rest)}

    def _rendered(
        self, templates: Iterable[TemplateDescription], name: str, value: AttributeValue, number: int | None
    ) -> AttributeValue:
        if "N" in value:
            return {"N": self._name(name, value["N"]).rpartition("-")[2]}
        if "B" in value:
            return {"B": self._name(name, key_text(value)).encode()}
        template = next((one for one in templates if one.attribute == name), None)
        if template is None:
            return {"S": self._name(name, key_text(value))}
        pieces = pieces_of(template, value, frozenset(), number)
        if all(piece.kind == "value" and not piece.field for piece in pieces):
            return {"S": self._name(name, key_text(value))}
        texts = (
            one.text if one.kind == "literal" else self._name(one.field or name, one.text) for one in pieces
        )
        return {"S": "".join(texts)}

    def _name(self, field: str, text: str) -> str:
        """The name of a value: that of the field where it is first met, and a number. A number is only a number."""
        # The number stands alone in place of a number, so it is that of no other value.
        is_number = text.isdecimal() and text.isascii()
        if text not in self._known:
            counted = "" if is_number else field
            self._counts[counted] += 1
            self._known[text] = field, self._counts[counted]
        field, number = self._known[text]
        return f"{number:0{len(text)}d}" if is_number else f"{field}-{number}"


def _as_in_keys(
    cls: ClassDescription | None, keys: Item, number: int | None
) -> Iterator[tuple[str, AttributeValue]]:
    """For the attribute of each key field, what stands for its value in the primary key."""
    fields = {} if cls is None else {field.name: field for field in cls.fields}
    for template in _primary(cls):
        for piece in pieces_of(template, keys.get(template.attribute), frozenset(), number):
            if piece.kind == "value" and piece.field in fields:
                kind = "N" if fields[piece.field].dynamodb_types == ("N",) and piece.text.isdecimal() else "S"
                yield (
                    fields[piece.field].attribute,
                    {kind: str(int(piece.text)) if kind == "N" else piece.text},
                )


def _primary(cls: ClassDescription | None) -> list[TemplateDescription]:
    return [] if cls is None else [one for one in (cls.partition, cls.sort) if one is not None]


def _placed(cls: ClassDescription | None, places: Mapping[str, str]) -> list[TemplateDescription]:
    own = [] if cls is None else [place for place in cls.places if places.get(place.index) == place.name]
    return [template for one in own for template in (*one.partition, *one.sort)]


def _typed(value: AttributeValue) -> AttributeValue:
    return {"S": _TYPES[next(iter(value))]}
