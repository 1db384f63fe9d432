"""Reads the bytes of a reply into validated entities, in one call of pydantic-core.

Rule 1. The type attribute names the class of an item. Without it, the key does. Items that are damaged or of a class
    that was not requested are returned as items, so that the codecs raise the error, if there is one.
Rule 2. Nothing else parses the items. Each entity keeps the text of its item, which is parsed when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic_core import CoreSchema, SchemaError, SchemaValidator, core_schema

from dynaorm.entity.classify import key_beginnings, literal_beginning
from dynaorm.entity.core_schema import Node, as_schema, validator_of
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of, names_of
from dynaorm.entity.internal_items import TOKEN_PREFIX
from dynaorm.entity.json_reader.model import HasKey, JsonModel, KeyContents, json_model
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import (
    BETWEEN,
    LOADING,
    NO_DEFAULTS,
    SLOT,
    Defaults,
    LazyItem,
    Loaded,
    ParsedReply,
    cut,
    item_texts,
    items_in,
    set_state,
)
from dynaorm.entity.table import Ident, KeyAttribute, Table
from dynaorm.entity.text.scalar import may_meet, shape_of_text
from dynaorm.item.json_body import Body, with_bytes
from dynaorm.item.value import Item
from dynaorm.late import late

if TYPE_CHECKING:
    import json
else:
    late(globals(), json="json")

# The classes of items in a table without a type attribute, where no key of one class can be a key of another.
#
# Rule 1. The class of each item is written into the reply, so that pydantic-core can see it. It is found by the first
#         text that looks like the item's key. That may be wrong, so the reader compares the key of every entity with
#         that of its item.
# Rule 2. An item whose key is that of no class, or of one that is not wanted, gets no class: it is no entity.
# Rule 3. An entity that has the key of its item is of the right class, unless ``in_doubt`` says otherwise.


CLASS: Final = ""
"""The attribute with the class. No attribute of an item has an empty name."""

InDoubt: TypeAlias = Callable[[Mapping[str, Any]], bool]

_Beginning: TypeAlias = tuple[bytes, ...]


class ClassByKey:
    """Finds the classes of items by their keys.

    Args:
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
            candidates = [candidate for candidate in candidates if _matches(candidate, contents)]
        return self._written.get(candidates[0].name, b"") if candidates else b""

    def _candidates(self, text: bytes, starts: list[int]) -> Sequence[EntityMapping]:
        """The classes whose keys begin as these do."""
        if len(self._lengths) == 1:
            return self._classes.get(_beginning(text, starts, self._lengths[0]), ())
        beginnings = dict.fromkeys(_beginning(text, starts, lengths) for lengths in self._lengths)
        return [mapping for beginning in beginnings for mapping in self._classes.get(beginning, ())]


def in_doubt(mapping: EntityMapping) -> InDoubt | None:
    """Finds the field values of a class with which an item may be of another class or no entity; None for none.

    A guard item and a token item have one text in all key attributes. And a key that the user's codec has written may
    not match its own template. The ready codecs read what they write.
    """
    fields = [mapping.fields[name] for name in mapping.key_fields if name in mapping.fields]
    is_exact = all(field.exact or field.codec.form for field in fields)
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
    field = mapping.fields.get(part.fields[0]) if part.is_single_field else None
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


Snapshot: TypeAlias = Loaded | LazyItem
_Checks: TypeAlias = tuple[HasKey | None, InDoubt | None, Callable[[Item], Defaults] | None]
FindDefaults: TypeAlias = Defaults | Callable[[Item], Defaults]

# The numbers that DynamoDB writes. Any other finite one is left to the codecs.
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?(E[+-]?[0-9]+)?$"
_KEYS: Final = "keys"
_HEADS: Final = "heads"
_NOTHING: Final[Item] = {}

# The member of a reply that holds its items.
_ITEMS: Final[Mapping[str, str]] = {
    "GetItem": "Item",
    "Query": "Items",
    "Scan": "Items",
    "BatchGetItem": "Responses",
}


class JsonReader:
    """Reads replies about some classes of a table.

    Args:
        models: the classes.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
        names: attributes to return for every item besides its key; None to return neither.
    """

    def __init__(
        self, table: Table, models: Sequence[JsonModel], operation: str, names: tuple[str, ...] | None
    ) -> None:
        self._models = {model.mapping.entity: model for model in models}
        # For each class: how keys are compared, and how its entities are told from others, if that must be done; and
        # the defaults, if there is nothing else to examine.
        self._checks: dict[type, _Checks] = {
            model.mapping.entity: (
                model.has_key if model.keys else None,
                in_doubt(model.mapping) if table.type_attribute is None else None,
                None if model.defaults is None or model.head else model.defaults_in,
            )
            for model in models
        }
        self._operation = operation
        self._is_binary = "B" in table.kinds.values()
        self._kinds = [key.kind for key in table.keys]
        self._classes = _class_by_key(table, models, operation)
        parts: dict[str, Node] = {_ITEMS[operation]: _item(table, models, self._classes)}
        # Only those who read many items ask which one each of them is.
        self._is_identified = operation == "BatchGetItem"
        if self._is_identified or any(model.keys for model in models):
            parts[_KEYS] = _key(table)
        if names is not None or any(model.head for model in models):
            parts[_HEADS] = _head(table, models, names or ())
        self._members = (_ITEMS[operation], _KEYS, _HEADS)
        self._validator = _validator(parts, operation, models)

    def read(self, reply: Mapping[str, Any], now: float | None) -> ParsedReply | None:
        """The entities of a reply; None where the codecs must read it. See ``ReplyReader``."""
        if not isinstance(reply, Body):
            return None
        raw, texts = reply.raw, None
        if self._classes is not None:
            raw, texts = self._classes.marked(raw, self._operation)
        try:
            rest: dict[str, Any] = self._validator.validate_json(
                raw, strict=False, context=LOADING, by_alias=True, by_name=False
            )
        except Exception:  # noqa: BLE001 - the codecs find the same problem and describe it better
            return None
        found, keys, heads = [self._listed(rest.pop(name, None)) for name in self._members]
        idents: list[Ident] = []
        if self._is_identified:
            # A typed dict has its members in the order of its schema: that of the table's keys.
            idents = [(*key.values(),) for key in keys]
        if self._is_binary:
            heads, rest = with_bytes(heads), with_bytes(rest)
            idents = [self._with_bytes(ident) for ident in idents]
        if texts is None:
            texts = item_texts(raw, self._operation, len(found))
        elif len(texts) != len(found):
            return None
        kept = texts if texts is not None else items_in(raw, self._operation)
        return self._settled(ParsedReply(found, heads, rest, idents), keys, kept, now)

    def _with_bytes(self, ident: Ident) -> Ident:
        return tuple(
            with_bytes({kind: content})[kind] for kind, content in zip(self._kinds, ident, strict=True)
        )

    def _listed(self, found: Any) -> list[Any]:
        if found is None:
            return []
        if self._operation == "GetItem":
            return [found]
        return found if isinstance(found, list) else [item for items in found.values() for item in items]

    def _settled(
        self, reading: ParsedReply, keys: Sequence[KeyContents], kept: Sequence[Any], now: float | None
    ) -> ParsedReply:
        """The reading, with the states of its entities. ``kept``: the texts of the items, or the items."""
        found, checks, heads = reading.found, self._checks, reading.heads
        new: Callable[[Any], Snapshot] = _lazy if kept and type(kept[0]) is bytes else _loaded
        has_expired = False
        put = object.__setattr__
        for place, entity in enumerate(found):
            if type(entity) is dict:
                entity.pop(CLASS, None)
                found[place] = with_bytes(entity)
                continue
            # A validator of the user's may have returned an object of another class.
            has_key, is_in_doubt, defaults = checks.get(type(entity), _UNKNOWN)
            if (has_key is not None and not has_key(entity, keys[place] if keys else _NOTHING)) or (
                is_in_doubt is not None and is_in_doubt(entity.__dict__)
            ):
                found[place] = new((kept[place], NO_DEFAULTS)).item
            elif defaults is not None:
                put(entity, SLOT, new((kept[place], defaults)))  # inlined: half the time of a call
            else:
                head = heads[place] if heads else _NOTHING
                found[place] = self._examined(entity, head, new((kept[place], NO_DEFAULTS)), now)
                has_expired = has_expired or found[place] is None
        if not has_expired:
            return reading
        left = [place for place, one in enumerate(found) if one is not None]
        return ParsedReply(
            [found[place] for place in left],
            [heads[place] for place in left],
            reading.rest,
            [reading.idents[place] for place in left] if reading.idents else (),
        )

    def _examined(self, entity: Any, head: Item, at: Snapshot, now: float | None) -> Any | None:
        """The entity with its state, or its item if it is damaged; None if it has expired."""
        model = self._models[type(entity)]
        try:
            if now is not None and model.mapping.is_expired(head, now):
                return None
            if model.mapping.is_tombstone(head):
                return at.item
            model.mapping.loader.version_of(head)
            if model.defaults is not None:
                find = model.defaults_in
                at = _lazy((at.text, find)) if isinstance(at, LazyItem) else _loaded((at.item, find))
            elif model.optional or len(entity.__pydantic_fields_set__) != len(model.mapping.fields):
                defaults = model.complete(entity, head)
                at = _lazy((at.text, defaults)) if isinstance(at, LazyItem) else Loaded(at.item, defaults)
        except (KeyError, ValueError):  # the codecs raise it if the item is hydrated
            return at.item
        set_state(entity, at)
        return entity


def _is_nothing(_entity: Any, _key: KeyContents) -> bool:
    return False


_UNKNOWN: Final[_Checks] = (_is_nothing, None, None)


# A snapshot of an item and its defaults. (Faster than the method ``_make``.)
_lazy: Final[Callable[[tuple[bytes, FindDefaults | Defaults]], LazyItem]] = partial(tuple.__new__, LazyItem)


def _loaded(item_and_defaults: tuple[Item, FindDefaults]) -> Loaded:
    item, defaults = item_and_defaults
    return Loaded(item, defaults(item) if callable(defaults) else defaults)


def json_reader_of(
    table: Table, wanted: tuple[type, ...], operation: str, names: tuple[str, ...] | None = None
) -> JsonReader | None:
    """The reader of replies about these classes and their subclasses. See ``reader_of``."""
    return cached_per_table(table, _Readers).reader(wanted, operation, names)


class _Readers:
    """The readers of one table, which share the models of its classes."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._readers: dict[tuple[tuple[type, ...], str, tuple[str, ...] | None], JsonReader | None] = {}
        self._models: dict[type, JsonModel | None] = {}

    def reader(
        self, wanted: tuple[type, ...], operation: str, names: tuple[str, ...] | None
    ) -> JsonReader | None:
        key = (wanted, operation, names)
        if key not in self._readers:
            self._readers[key] = self._made(*key)
        return self._readers[key]

    def _made(
        self, wanted: tuple[type, ...], operation: str, names: tuple[str, ...] | None
    ) -> JsonReader | None:
        mappings = [
            one for one in catalog_of(self._table).mappings.values() if issubclass(one.entity, wanted)
        ]
        if self._table.type_attribute is not None:  # a class that takes any type is read by the codecs
            mappings = [one for one in mappings if names_of(one)]
        models = [model for mapping in mappings if (model := self._model_of(mapping)) is not None]
        try:
            return JsonReader(self._table, models, operation, names) if models else None
        except SchemaError:  # a type whose schema this package does not handle
            return None

    def _model_of(self, mapping: EntityMapping) -> JsonModel | None:
        if mapping.entity not in self._models:
            self._models[mapping.entity] = json_model(mapping)
        return self._models[mapping.entity]


# -- the schema of a reply --------------------------------------------------------------------------------------------


def _item(table: Table, models: Sequence[JsonModel], classes: ClassByKey | None) -> Node:
    """The schema of an item: an entity of one of the classes, or any other item unchanged."""
    if classes is None and table.type_attribute is None:
        (entity,) = (as_schema(model.schema) for model in models)
    else:
        path: list[str | int] = [CLASS if classes is not None else str(table.type_attribute), "S"]
        choices: dict[Hashable, CoreSchema] = {
            name: as_schema(model.schema) for model in models for name in names_of(model.mapping)
        }
        entity = core_schema.tagged_union_schema(choices, discriminator=[path])
    return dict(core_schema.union_schema([entity, core_schema.any_schema()], mode="left_to_right"))


def _class_by_key(table: Table, models: Sequence[JsonModel], operation: str) -> ClassByKey | None:
    """What finds the classes of items without a type; None where hardly an item can be of another class."""
    if table.type_attribute is not None:
        return None
    mapping, is_only = models[0].mapping, len(models) == 1
    is_alone = len(catalog_of(table).mappings) == 1 and mapping.versioning is None
    # A scan meets more items of no class, but a key that may begin with anything tells nothing.
    is_told = operation == "Scan" and any(map(literal_beginning, mapping.primary_parts))
    if is_only and (operation == "GetItem" or (is_alone and not is_told)):
        return None
    return ClassByKey(table, [model.mapping for model in models])


def _head(table: Table, models: Sequence[JsonModel], wanted: tuple[str, ...]) -> Node:
    """The schema of an item's head: its key, and the attributes needed to complete an entity."""
    names = dict.fromkeys([*table.key_names, *wanted, *(name for model in models for name in model.head)])
    fields = {name: core_schema.typed_dict_field(core_schema.any_schema(), required=False) for name in names}
    return dict(core_schema.typed_dict_schema(fields))


def _key(table: Table) -> Node:
    """The schema of the contents of an item's key, which refuses an item without it.

    The codecs then look again, and say what is wrong with the reply.
    """
    fields = {}
    for key in table.keys:
        path: list[str | int] = [key.name, key.kind]
        content = core_schema.str_schema(pattern=_NUMBER if key.kind == "N" else None)
        fields[key.name] = core_schema.typed_dict_field(content, validation_alias=path)
    return dict(core_schema.typed_dict_schema(fields))


def _validator(parts: Mapping[str, Node], operation: str, models: Sequence[JsonModel]) -> SchemaValidator:
    """The validator of a reply. ``parts``: what is read of each item, by the names to give the lists."""
    fields = {name: _field(_shaped(one, operation), _ITEMS[operation]) for name, one in parts.items()}
    reply: Node = {"type": "typed-dict", "fields": fields, "extra_behavior": "allow"}
    definitions = {reference: one for model in models for reference, one in model.definitions.items()}
    if definitions:
        reply = {"type": "definitions", "schema": reply, "definitions": list(definitions.values())}
    return validator_of(reply)


def _field(schema: CoreSchema, alias: str) -> Node:
    return dict(core_schema.typed_dict_field(schema, validation_alias=alias, required=False))


def _shaped(one: Node, operation: str) -> CoreSchema:
    """The schema of the items of a reply, from the schema of one item."""
    if operation == "GetItem":
        return as_schema(one)
    several = core_schema.list_schema(as_schema(one))
    return core_schema.dict_schema(values_schema=several) if operation == "BatchGetItem" else several
