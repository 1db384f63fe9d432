"""Reads the bytes of a reply into validated entities, in one call of pydantic-core.

Rule 1. The type attribute names the class of an item, so the table must have one. Items that are damaged or of a class
    that was not requested are returned as items, so that the codecs raise the error, if there is one.
Rule 2. Nothing else parses the items. Each entity keeps the text of its item, which is parsed when it is needed.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic_core import CoreSchema, SchemaError, SchemaValidator, core_schema

from dynaorm.entity.declare.catalog import catalog_of, derived, names_of
from dynaorm.entity.json_reader.core_schema import Node, as_schema, validator_of
from dynaorm.entity.json_reader.model import JsonModel, json_model
from dynaorm.entity.mapping.mapping import DELETED, EntityMapping
from dynaorm.entity.page import ParsedReply, item_texts, items_in
from dynaorm.entity.state import LOADING, NO_DEFAULTS, SLOT, Defaults, LazyItem, Loaded, set_state
from dynaorm.entity.table import Table
from dynaorm.item.json_body import Body, with_bytes
from dynaorm.item.value import Item

Snapshot: TypeAlias = Loaded | LazyItem
FindDefaults: TypeAlias = Defaults | Callable[[Item], Defaults]

_HEADS: Final = "heads"
_NO_HEAD: Final[Item] = {}

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
        table: the table.
        models: the classes.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
        names: attributes to return for every item besides its key; None to return neither.
    """

    def __init__(
        self, table: Table, models: Sequence[JsonModel], operation: str, names: tuple[str, ...] | None
    ) -> None:
        self._models = {model.mapping.entity: model for model in models}
        constant = {model.mapping.entity: model.defaults_in for model in models if model.defaults is not None}
        self._defaults = constant
        # The classes whose entities need no check.
        self._easy = {kind: one for kind, one in constant.items() if not self._models[kind].needs_head}
        self._operation = operation
        self._is_binary = "B" in table.kinds.values()
        self._has_heads = names is not None or any(model.needs_head for model in models)
        head = _head(table, models, names or ()) if self._has_heads else None
        self._validator = _validator(_item(table, models), head, operation, models)

    def read(self, reply: Mapping[str, Any], now: float | None) -> ParsedReply | None:
        """The entities of a reply; None where the codecs must read it. See ``ReplyReader``."""
        if not isinstance(reply, Body):
            return None
        try:
            rest: dict[str, Any] = self._validator.validate_json(
                reply.raw, strict=False, context=LOADING, by_alias=True, by_name=False
            )
        except Exception:  # noqa: BLE001 - the codecs find the same problem and describe it better
            return None
        found, heads = (self._listed(rest.pop(name, None)) for name in (_ITEMS[self._operation], _HEADS))
        if self._is_binary:
            heads, rest = with_bytes(heads), with_bytes(rest)
        return self._settled(ParsedReply(found, heads, rest), reply.raw, now)

    def _listed(self, found: Any) -> list[Any]:
        if found is None:
            return []
        if self._operation == "GetItem":
            return [found]
        return found if isinstance(found, list) else [item for items in found.values() for item in items]

    def _settled(self, reading: ParsedReply, raw: bytes, now: float | None) -> ParsedReply:
        found, easy, models = reading.found, self._easy, self._models
        texts = item_texts(raw, self._operation, len(found))
        new: Callable[[Any], Snapshot] = _lazy if texts is not None else _loaded
        kept: Sequence[Any] = texts if texts is not None else items_in(raw, self._operation)
        has_expired = False
        put = object.__setattr__
        for place, entity in enumerate(found):
            kind = type(entity)
            if (defaults := easy.get(kind)) is not None:
                put(entity, SLOT, new((kept[place], defaults)))  # inlined: half the time of a call
            elif kind in models:
                head = reading.heads[place] if self._has_heads else _NO_HEAD
                at = new((kept[place], self._defaults.get(kind, NO_DEFAULTS)))
                found[place] = self._examined(entity, head, at, now)
                has_expired = has_expired or found[place] is None
            else:
                # Not an entity: an item, or an object that a validator of the user's returned in place of the entity.
                found[place] = with_bytes(entity) if kind is dict else new((kept[place], NO_DEFAULTS)).item
        if not has_expired:
            return reading
        left = [place for place, one in enumerate(found) if one is not None]
        return ParsedReply(
            [found[place] for place in left], [reading.heads[place] for place in left], reading.rest
        )

    def _examined(self, entity: Any, head: Item, at: Snapshot, now: float | None) -> Any | None:
        """The entity with its state, or its item if it is damaged; None if it has expired."""
        model = self._models[type(entity)]
        try:
            if now is not None and model.mapping.expires is not None and model.mapping.is_expired(head, now):
                return None
            if model.needs_head and not model.is_in_order(entity, head):
                return at.item
            if model.defaults is None and len(entity.__pydantic_fields_set__) != len(model.fields):
                at = at._replace(defaults=model.complete(entity, head))
        except (KeyError, ValueError):  # the codecs raise it if the item is hydrated
            return at.item
        set_state(entity, at)
        return entity


# A snapshot of an item and its defaults. (Faster than the method ``_make``.)
_lazy: Final[Callable[[tuple[bytes, FindDefaults]], LazyItem]] = partial(tuple.__new__, LazyItem)


def _loaded(item_and_defaults: tuple[Item, FindDefaults]) -> Loaded:
    item, defaults = item_and_defaults
    return Loaded(item, defaults(item) if callable(defaults) else defaults)


def json_reader_of(
    table: Table, wanted: tuple[type, ...], operation: str, names: tuple[str, ...] | None = None
) -> JsonReader | None:
    """The reader of replies about these classes and their subclasses. See ``reader_of``."""
    if table.type_attribute is None:
        return None
    return derived(table, _Readers).reader(wanted, operation, names)


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


def _item(table: Table, models: Sequence[JsonModel]) -> Node:
    """The schema of an item: an entity of one of the classes, or any other item unchanged."""
    path: list[str | int] = [str(table.type_attribute), "S"]
    choices: dict[Hashable, CoreSchema] = {
        name: as_schema(model.schema) for model in models for name in names_of(model.mapping)
    }
    entity = core_schema.tagged_union_schema(choices, discriminator=[path])
    return dict(core_schema.union_schema([entity, core_schema.any_schema()], mode="left_to_right"))


def _head(table: Table, models: Sequence[JsonModel], wanted: tuple[str, ...]) -> Node:
    """The schema of an item's head: the attributes needed to check an entity."""
    names = [
        *table.key_names,
        *wanted,
        DELETED,
        *(one.mapping.expires.attribute for one in models if one.mapping.expires),
    ]
    fields = {name: core_schema.typed_dict_field(core_schema.any_schema(), required=False) for name in names}
    return dict(core_schema.typed_dict_schema(fields))


def _validator(item: Node, head: Node | None, operation: str, models: Sequence[JsonModel]) -> SchemaValidator:
    name = _ITEMS[operation]
    fields = {name: _field(_shaped(item, operation), name)}
    if head is not None:
        fields[_HEADS] = _field(_shaped(head, operation), name)
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
