"""A table or one of its indexes as partitions and rows: what every renderer draws.

Rule 1. Partitions follow the order in which their classes are declared, because DynamoDB has none. Rows have the order
        of DynamoDB: that of the sort key.
Rule 2. Guards and token items come last, because they are kept for entities.
Rule 3. Values of secret fields are masked here, so that no renderer has them.
Rule 4. What a key says already is no attribute of a row: it is ``extra``, as are type, revision, and keys of indexes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import all_of, check_kind
from dynaorm.description.description import (
    ClassDescription,
    FieldDescription,
    FieldPart,
    IndexDescription,
    LiteralPart,
    TableDescription,
    TemplateDescription,
    check_description,
)
from dynaorm.description.entry import VERSION_ATTRIBUTES, Entry, EntryKind, check_entries
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.failure import MASK, counted, shown, suggestion
from dynaorm.item.size import item_size
from dynaorm.item.text import key_text, name_text, value_text
from dynaorm.item.value import AttributeValue, Item
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
    return "".join(piece.text for piece in pieces)


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


def _slots(template: TemplateDescription) -> list[FieldPart | None]:
    """For each group of the pattern, the field in it; None for a literal text."""
    inner = [piece if isinstance(piece, FieldPart) else None for piece in template.pieces]
    return inner if template.version_text is None else [None, *inner, None]


@lru_cache(maxsize=512)
def _pattern(template: TemplateDescription, number: int | None) -> re.Pattern[str]:
    inner = "".join(f"({_part(piece)})" for piece in template.pieces)
    if template.version_text is not None:
        digits = r"\d+" if number is None else f"0*{number}"
        head, _, tail = (
            re.escape(one).replace(re.escape("{version}"), digits)
            for one in template.version_text.partition("{sk}")
        )
        inner = f"({head}){inner}({tail})"
    return re.compile(inner, re.DOTALL)


def _part(piece: LiteralPart | FieldPart) -> str:
    if isinstance(piece, LiteralPart):
        return re.escape(piece.literal)
    if piece.shards:
        return r"\d+"
    # Fields beside each other have a width, or the template could not be read.
    padded = _PADDED.fullmatch(piece.spec)
    return rf"-?\d{{{padded[1]},}}?" if padded is not None else ".*?"


AttributeRole: TypeAlias = Literal["field", "key", "own", "unknown"]

_APART: Final = frozenset({"guard", "token"})
_LAST: Final = 1_000_000


@record
class ShownAttribute:
    """An attribute of a row.

    Attributes:
        name: its name in the table.
        field: the field that it stores; empty for one of no field.
        text: its value, whole.
        type: its DynamoDB type.
        role: ``"field"``; ``"key"`` for a key attribute of the table or an index; ``"own"`` for what dynaorm keeps
            there, such as the revision; ``"unknown"`` for an attribute that the class does not know.
        marks: what is declared of the field, as in its description.
        is_secret: its value is masked.
        is_extra: it is left out until somebody asks for every attribute.
    """

    name: str
    field: str
    text: str
    type: str
    role: AttributeRole
    marks: tuple[str, ...] = ()
    is_secret: bool = False
    is_extra: bool = False


@record
class ItemRow:
    """One item.

    Attributes:
        entry: its position among the entries.
        kind: what it is.
        cls: the name of its class; None if that is not known.
        position: the position of its class in the description, for its colour; None if that is not known.
        name: for an entity, its class with its key fields, as Python writes them: ``User(user_id='u1')``.
        said: for any other item, what it is in words: ``reserves email for User(user_id='u1')``.
        sort: its sort key, one text in pieces for each sort key attribute.
        attributes: its attributes, but for the keys that the row and its partition show.
        places: for an entity, the indexes that it is in, each with the name of the place: ``{"GSI1": "by_status"}``.
        owner: for an item that is kept for an entity, the position of that among the entries; None if it is not there.
        number: for a version or tombstone, its number.
        size: the bytes of the item.
    """

    entry: int
    kind: EntryKind
    cls: str | None
    position: int | None
    name: str
    said: str
    sort: tuple[tuple[KeyPiece, ...], ...]
    attributes: tuple[ShownAttribute, ...]
    places: Mapping[str, str] = field(default_factory=dict)
    owner: int | None = None
    number: int | None = None
    size: int = 0

    @property
    def shown(self) -> tuple[ShownAttribute, ...]:
        """The attributes that are not left out."""
        return tuple(attribute for attribute in self.attributes if not attribute.is_extra)

    @property
    def sort_text(self) -> str:
        """The sort key in one text."""
        return " · ".join(map(plain_text, self.sort))


@record
class PartitionBlock:
    """The rows under one partition key.

    Attributes:
        key: the partition key, one text in pieces for each partition key attribute.
        rows: its items, in the order of the sort key.
    """

    key: tuple[tuple[KeyPiece, ...], ...]
    rows: tuple[ItemRow, ...]

    @property
    def text(self) -> str:
        """The partition key in one text."""
        return " · ".join(map(plain_text, self.key))


@record
class TableView:
    """A table, or one of its indexes.

    Attributes:
        table: the name of the table.
        index: the index; None for the table itself.
        partition: the names of the partition key attributes.
        sort: the names of the sort key attributes.
        blocks: the partitions with entities and their versions.
        apart: the partitions of guards and token items.
        summary: how much there is, in words: ``2 classes, 1 index, 7 items``.
        entities: how many entities there are among the entries.
        absent: how many of them are not in the index; 0 for the table.

    Examples:
        >>> view = view_of(describe(app), samples(app))
        >>> view.table, view.partition, view.sort
        ('app', ('PK',), ('SK',))
    """

    table: str
    index: str | None
    partition: tuple[str, ...]
    sort: tuple[str, ...]
    blocks: tuple[PartitionBlock, ...]
    apart: tuple[PartitionBlock, ...]
    summary: str
    entities: int
    absent: int = 0

    @property
    def rows(self) -> tuple[ItemRow, ...]:
        """All rows, in order."""
        return tuple(row for block in (*self.blocks, *self.apart) for row in block.rows)

    @property
    def apart_title(self) -> str:
        """What stands in ``apart``, for a heading."""
        kinds = {row.kind for block in self.apart for row in block.rows}
        return f"{' and '.join(sorted(kinds))} items"

    @property
    def absence(self) -> str:
        """How many entities are not in the index, in words; empty if all are, and for the table."""
        if not self.absent:
            return ""
        are = "is" if self.absent == 1 else "are"
        return f"{self.absent} of {counted(self.entities, 'entity', 'entities')} {are} not in {self.index}"


def view_of(
    description: TableDescription,
    entries: Sequence[Entry],
    index: str | None = None,
    classes: Iterable[str] = (),
) -> TableView:
    """A table, or one of its indexes.

    Args:
        description: of the table.
        entries: its items.
        index: the name of an index; None for the table.
        classes: the names of the classes to show; without one, everything is shown.

    Raises:
        UsageError: the table has no such index, or an argument is not valid.

    Examples:
        >>> view_of(describe(app), samples(app), index="GSI1").index
        'GSI1'
    """
    check_description(description)
    if index is not None:
        check_kind("index={}", index, str, "a str", remedy="give the name of an index")
    known = [one.name for one in description.indexes]
    if index is not None and index not in known:
        raise UsageError(
            problem=f"{description.name} has no index {shown(index)}", remedy=suggestion(str(index), known)
        )
    wanted = all_of(
        "classes={}", classes, str, "a name of a class", remedy="give names of classes of the table"
    )
    return _Viewer(description, check_entries(entries), index).view(frozenset(wanted))


def check_view(view: object) -> None:
    """Raise UsageError for anything but the view of a table."""
    check_kind("view={}", view, TableView, "a TableView", remedy="give view_of(describe(table), entries)")


class _Viewer:
    """Makes the rows of one view: looks up once what each class says of its fields and keys."""

    def __init__(self, description: TableDescription, entries: Sequence[Entry], index: str | None) -> None:
        self.description = description
        self.entries = entries
        self.index = {one.name: one for one in description.indexes}[index] if index is not None else None
        keyed = self.index or description
        self.partition = tuple(one.name for one in keyed.partition)
        self.sort = tuple(one.name for one in keyed.sort)
        self.table_keys = tuple(one.name for one in (*description.partition, *description.sort))
        self.at = {_ident(one.item, self.table_keys): at for at, one in enumerate(entries)}

    @cached_property
    def classes(self) -> Mapping[str, tuple[int, ClassDescription]]:
        return {one.stored_name: (at, one) for at, one in enumerate(self.description.classes)}

    @cached_property
    def guard_keys(self) -> tuple[str, ...]:
        """The key attributes of guards in a guard table."""
        guards = (one.guard_key for cls in self.description.classes for one in cls.unique)
        return tuple(next(guards, {}))

    @cached_property
    def index_keys(self) -> frozenset[str]:
        return frozenset(key.name for one in self.description.indexes for key in (*one.partition, *one.sort))

    def view(self, wanted: frozenset[str]) -> TableView:
        found: dict[str, list[tuple[Any, int]]] = {}
        entities = absent = 0
        for at, entry in enumerate(self.entries):
            _, cls = self._class(entry)
            if wanted and (cls is None or cls.name not in wanted):
                continue
            partition, sort = self._keys_of(entry)
            is_in = all(name in entry.item for name in (*partition, *sort))
            entities += entry.kind == "entity"
            absent += entry.kind == "entity" and not is_in
            if is_in:
                key = repr(_ident(entry.item, partition))
                found.setdefault(key, []).append((_order(entry.item, (*sort, *self.table_keys)), at))
        blocks: list[tuple[Any, PartitionBlock]] = []
        apart: list[tuple[Any, PartitionBlock]] = []
        for members in found.values():
            positions = [at for _, at in sorted(members)]
            for is_apart, into in ((False, blocks), (True, apart)):
                if of_it := [at for at in positions if (self.entries[at].kind in _APART) is is_apart]:
                    into.append((self._order_of_block(of_it), self._block(of_it)))
        return TableView(
            table=self.description.name,
            index=None if self.index is None else self.index.name,
            partition=self.partition,
            sort=self.sort,
            blocks=tuple(block for _, block in sorted(blocks, key=lambda one: one[0])),
            apart=tuple(block for _, block in sorted(apart, key=lambda one: one[0])),
            summary=self._summary(sum(map(len, found.values()))),
            entities=entities,
            absent=absent,
        )

    def _summary(self, items: int) -> str:
        told = counted(items, "item")
        if self.index is not None:
            return told
        classes, indexes = len(self.description.classes), len(self.description.indexes)
        return f"{counted(classes, 'class', 'classes')}, {counted(indexes, 'index', 'indexes')}, {told}"

    def _order_of_block(self, positions: Sequence[int]) -> tuple[int, Any]:
        classes = (self._class(self.entries[at])[0] for at in positions)
        first = min(_LAST if one is None else one for one in classes)
        partition, _ = self._keys_of(self.entries[positions[0]])
        return first, _order(self.entries[positions[0]].item, partition)

    def _block(self, positions: Sequence[int]) -> PartitionBlock:
        first = self.entries[positions[0]]
        partition, _ = self._keys_of(first)
        return PartitionBlock(
            tuple(self._pieces(first, name) for name in partition), tuple(map(self._row, positions))
        )

    def _keys_of(self, entry: Entry) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key attributes of an item in this view: those of the guard table for a guard that is there."""
        if self.index is None and entry.kind == "guard" and self.description.guard_table is not None:
            names = self.guard_keys
            return names[:1], names[1:]
        return self.partition, self.sort

    def _row(self, at: int) -> ItemRow:
        entry = self.entries[at]
        position, cls = self._class(entry)
        owner = None if entry.owner is None else self.at.get(_ident(entry.owner, self.table_keys))
        return ItemRow(
            entry=at,
            kind=entry.kind,
            cls=None if cls is None else cls.name,
            position=position,
            name=self._name(entry, entry.item, entry.secret) if entry.kind == "entity" else "",
            said=self._caption(entry, owner),
            sort=tuple(self._pieces(entry, name) for name in self._keys_of(entry)[1]),
            attributes=tuple(self._attributes(entry)),
            places=dict(entry.places),
            owner=owner,
            number=entry.number,
            size=item_size(entry.item),
        )

    def _class(self, entry: Entry) -> tuple[int | None, ClassDescription | None]:
        # Two classes may have one name in Python.
        stored_name = "" if entry.cls is None else mapping_of(entry.cls).name
        return self.classes.get(stored_name, (None, None))

    # -- what an item is -----------------------------------------------------------------------------------------------

    def _caption(self, entry: Entry, owner: int | None) -> str:
        if entry.kind == "entity":
            return ""
        if entry.kind == "token":
            return "remembers a block of writes that ran under this token"
        if entry.kind == "unknown":
            return "is an item of no declared class"
        of = "an entity that is not known"
        if owner is not None:
            of = self._name(self.entries[owner], self.entries[owner].item, self.entries[owner].secret)
        elif entry.owner is not None:
            of = self._name(entry, entry.owner, entry.owner_secret)
        if entry.kind == "guard":
            return f"reserves {entry.constraint} for {of}"
        number = "" if entry.number is None else f" {entry.number}"
        return f"version{number} of {of}" if entry.kind == "version" else f"{of} is deleted"

    def _name(self, entry: Entry, item: Item, secret: frozenset[str]) -> str:
        """The class and key fields of the entity with this item, or of which only this key is known."""
        _, cls = self._class(entry)
        if cls is None:
            of = "" if entry.cls is None else entry.cls.__name__
            keys = (f"{name}={MASK if name in secret else _literal(value)}" for name, value in item.items())
            return f"{of}({', '.join(keys)})"
        fields = {one.name: one for one in cls.fields}
        texts: dict[str, str] = {}
        for template in filter(None, (cls.partition, cls.sort)):
            hidden = _secret_fields(template, fields) if template.attribute in secret else frozenset()
            for piece in pieces_of(template, item.get(template.attribute), hidden):
                if piece.field:
                    known = fields.get(piece.field)
                    texts.setdefault(
                        piece.field, MASK if piece.kind == "masked" else _of_key(piece.text, known)
                    )
        for name in cls.key_fields:
            known = fields.get(name)
            if known is not None and known.attribute in item:
                is_hidden = known.secret and known.attribute in secret
                texts[name] = MASK if is_hidden else _literal(item[known.attribute])
        return f"{cls.name}({', '.join(f'{name}={texts[name]}' for name in cls.key_fields if name in texts)})"

    # -- keys ----------------------------------------------------------------------------------------------------------

    def _pieces(self, entry: Entry, name: str) -> tuple[KeyPiece, ...]:
        """A key attribute of an item in pieces, with what is secret masked."""
        _, cls = self._class(entry)
        template = None if cls is None else self._template(entry, cls, name)
        value, is_secret = entry.item[name], name in entry.secret
        if cls is None or template is None:
            literal = f"{entry.constraint}#" if entry.kind == "guard" else ""
            return _unmatched(value, literal, is_secret=is_secret)
        hidden = _secret_fields(template, {one.name: one for one in cls.fields}) if is_secret else frozenset()
        return pieces_of(template, value, hidden, number_in_key(entry))

    def _template(self, entry: Entry, cls: ClassDescription, name: str) -> TemplateDescription | None:
        """The template of a key attribute of an item; None for a key that no template of its class renders."""
        if entry.kind not in ("entity", "version", "tombstone"):
            return None
        templates = [*filter(None, (cls.partition, cls.sort))]
        for one in cls.places:
            if entry.places.get(one.index) == one.name:
                templates += (*one.partition, *one.sort)
        return next((template for template in templates if template.attribute == name), None)

    # -- attributes ----------------------------------------------------------------------------------------------------

    def _attributes(self, entry: Entry) -> Iterable[ShownAttribute]:
        _, cls = self._class(entry)
        fields = {one.attribute: one for one in (cls.fields if cls is not None else ())}
        former = {name: one for one in fields.values() for name in one.formerly}
        partition, sort = self._keys_of(entry)
        in_view = {*partition, *sort}
        in_keys = self._fields_in_keys(entry, cls)
        # A guard names its owner, whose key may have a secret.
        visible = entry.visible
        for name in self._ordered(entry, fields):
            if name in in_view or not self._is_projected(name):
                continue
            known = fields.get(name) or former.get(name)
            value, is_secret = visible[name], name in entry.secret
            is_expiry = known is not None and "expires" in known.marks
            role = self._role(entry, name, known)
            yield ShownAttribute(
                name=name,
                field="" if known is None else known.name,
                text=plain_text(self._pieces(entry, name))
                if role == "key"
                else value_text(value, is_expiry=is_expiry),
                type=next(iter(entry.item[name])),
                role=role,
                marks=() if known is None else known.marks,
                is_secret=is_secret,
                is_extra=self._is_extra(
                    entry, name, role, is_in_key=known is not None and known.name in in_keys
                ),
            )

    def _ordered(self, entry: Entry, fields: Mapping[str, FieldDescription]) -> list[str]:
        """The names of an item's attributes: keys, fields as declared, then the others."""
        known = [*self.table_keys, *fields]
        return [
            *(name for name in known if name in entry.item),
            *sorted(entry.item.keys() - set(known)),
        ]

    def _role(self, entry: Entry, name: str, known: FieldDescription | None) -> AttributeRole:
        own = {self.description.type_attribute, self.description.revision_attribute}
        if name in self.table_keys:
            return "key"
        if (name in own and known is None) or entry.kind in _APART:
            return "own"
        if known is not None:
            return "field"
        if name in self.index_keys:
            return "key"
        return "own" if name in VERSION_ATTRIBUTES and entry.kind != "unknown" else "unknown"

    def _is_extra(self, entry: Entry, name: str, role: AttributeRole, *, is_in_key: bool) -> bool:
        if entry.kind == "unknown":
            return False
        # An index shows the primary key in place of the fields that are in it.
        if role == "key":
            return self.index is None or name not in self.table_keys
        return role == "own" or is_in_key

    def _fields_in_keys(self, entry: Entry, cls: ClassDescription | None) -> frozenset[str]:
        """The fields that the keys of a row show."""
        if cls is None:
            return frozenset()
        shown = set(cls.key_fields)
        for name in (*self.partition, *self.sort):
            template = self._template(entry, cls, name)
            pieces = () if template is None else template.pieces
            # A shard is not the value.
            shown |= {piece.field for piece in pieces if isinstance(piece, FieldPart) and not piece.shards}
        return frozenset(shown)

    def _is_projected(self, name: str) -> bool:
        index: IndexDescription | None = self.index
        if index is None or index.projection == "ALL" or name in self.table_keys:
            return True
        return not isinstance(index.projection, str) and name in index.projection


def _secret_fields(template: TemplateDescription, fields: Mapping[str, FieldDescription]) -> frozenset[str]:
    """What is masked in a key that has a secret in it: the secret fields, and those that are computed or nested."""
    return frozenset(name for name in template.fields if name not in fields or fields[name].secret)


def _unmatched(value: AttributeValue, literal: str, *, is_secret: bool) -> tuple[KeyPiece, ...]:
    """A key of no template, of which a beginning may be literal text."""
    text = key_text(value)
    if is_secret:
        return (*((KeyPiece(literal, "literal"),) if literal else ()), KeyPiece(MASK, "masked"))
    if literal and text.startswith(literal) and len(text) > len(literal):
        return KeyPiece(literal, "literal"), KeyPiece(text[len(literal) :], "value")
    return (KeyPiece(text, "value"),)


def _ident(item: Item, names: Iterable[str]) -> tuple[tuple[str, object], ...]:
    """The values of some attributes, hashable."""
    return tuple((kind, content) for name in names for kind, content in item.get(name, {}).items())


def _order(item: Item, names: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """What DynamoDB compares of key attributes: numbers by value, texts and bytes by bytes."""
    found: list[tuple[str, Any]] = []
    for name in names:
        for kind, content in item.get(name, {}).items():
            by: Any = Decimal(content) if kind == "N" else content
            found.append((kind, by.encode(errors="surrogatepass") if isinstance(by, str) else by))
    return tuple(found)


def _of_key(text: str, field: FieldDescription | None) -> str:
    """A value in a key as Python writes it: padded numbers as numbers."""
    is_number = field is not None and field.dynamodb_types == ("N",) and text.isdecimal()
    return name_text(int(text) if is_number else text)


def _literal(value: AttributeValue) -> str:
    """A stored value in the name of an entity: numbers without quotes."""
    ((kind, content),) = value.items()
    return content if kind == "N" else name_text(content if kind in ("S", "BOOL") else value_text(value))
