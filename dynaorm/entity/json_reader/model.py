"""The JSON schema of one class: from the JSON of a stored item to a validated entity.

Rule 1. The entity equals the one that the codecs would give: in its values, in ``model_fields_set``, and in the input
    of its validators. A class for which that is not certain has no JSON schema.
Rule 2. Validators run once per entity, with ``info.context is LOADING``. A class is left to the codecs if a validator
    takes ``info``, which shows that the input is JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Any, Final

from dynaorm.entity.core_schema import (
    Node,
    by_name,
    definitions_of,
    nodes_of,
    takes_info,
    without_definitions,
)
from dynaorm.entity.json_reader.field import (
    FieldReader,
    Undecided,
    filling,
    has_plain_texts,
    is_plain_model,
    lenient,
)
from dynaorm.entity.json_reader.item_key import HasKey, InKeyField, key_comparison
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import NO_DEFAULTS, Defaults
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

# The types of defaults that are immutable, or that pydantic copies for every entity.
_CONSTANT: Final = frozenset({NoneType, bool, int, float, Decimal, str, list, dict, set, tuple, frozenset})
_OUTER: Final = frozenset({"function-after"})


@record
class JsonModel:
    """The JSON schema of a class.

    Attributes:
        mapping: the class.
        schema: the schema of a stored item.
        definitions: the schemas that it refers to.
        fields: its fields that are stored in attributes, by name.
        filled: the fields to be added to ``model_fields_set``: an absent attribute stands for a value, not for the
            default.
        keys: the parts of its key that must be compared with what the entity renders.
        defaults: the encoded defaults of the fields that can be absent; None if they are not constant.
        optional: the fields that can be absent, if a validator of the model may set them.
        has_key: compares these parts with the key of an item.
    """

    mapping: EntityMapping
    schema: Node
    definitions: Mapping[str, Node]
    fields: Mapping[str, FieldMapping]
    filled: frozenset[str]
    keys: tuple[KeyPart, ...]
    defaults: Mapping[str, AttributeValue | None] | None
    optional: tuple[FieldMapping, ...]
    has_key: HasKey

    @property
    def head(self) -> tuple[str, ...]:
        """The attributes that are needed to complete an entity."""
        expires, mark = self.mapping.expires, self.mapping.deletion_mark
        return (
            *(name for field in self.optional for name in field.attributes),
            *((mark,) if mark is not None else ()),
            *((expires.attribute,) if expires is not None else ()),
        )

    def defaults_in(self, item: Item) -> Defaults:
        """The encoded defaults of the fields that are absent from an item, if they are constant."""
        assert self.defaults is not None
        return {
            field.attribute: self.defaults[name]
            for name, field in self.fields.items()
            if name in self.defaults and field.stored_in(item) is None
        }

    def complete(self, entity: Any, head: Item) -> Defaults:
        """The encoded defaults of the absent fields. Adds the ``filled`` fields to ``model_fields_set``.

        Raises:
            DecodeError: a default cannot be stored.
        """
        if self.optional:
            absent = [field for field in self.optional if field.stored_in(head) is None]
        else:
            given: set[str] = entity.__pydantic_fields_set__
            absent = [field for name, field in self.fields.items() if name not in given]
            given |= self.filled
        return self.mapping.loader.defaults_of(absent, head, entity.__dict__) if absent else NO_DEFAULTS


def json_model(mapping: EntityMapping) -> JsonModel | None:
    """The JSON schema of a class; None if the codecs must read it."""
    declared: Any = mapping.entity.__pydantic_core_schema__
    try:
        return _model(mapping, without_definitions(declared), definitions_of(declared))
    except Undecided:
        return None


def _model(mapping: EntityMapping, schema: Node, definitions: Mapping[str, Node]) -> JsonModel:
    if any(map(takes_info, nodes_of([schema, *definitions.values()]))):
        raise Undecided("a validator takes info")
    around, model = _unwrapped(schema, definitions)
    declared: Mapping[str, Node] = model["schema"].get("fields", {})
    if not is_plain_model(model) or declared.keys() != mapping.fields.keys():
        raise Undecided("the model is not made of its fields alone")
    keys = {name: _in_key(mapping, name) for name, one in mapping.fields.items() if one.in_key}
    filled = frozenset(name for name, one in mapping.fields.items() if _is_implied(one, keys.get(name)))
    optional = [
        one for name, one in mapping.fields.items() if name in filled or not (one.required or one.in_key)
    ]
    is_validated = bool(around or model.get("post_init"))
    reader = FieldReader(definitions, model.get("config", {}))
    found = lenient(
        model,
        {name: reader.field(mapping.fields[name], one, keys.get(name)) for name, one in declared.items()},
    )
    if is_validated:
        found = filling(found, filled)
    for outer in reversed(around):
        found = {**{name: held for name, held in outer.items() if name != "ref"}, "schema": found}
    # A validator of the model may change any field.
    compared = tuple(
        part for part in mapping.primary_parts if is_validated or not _is_itself(part, mapping, declared)
    )
    return JsonModel(
        mapping=mapping,
        schema=found,
        definitions={reference: by_name(one) for reference, one in definitions.items()},
        fields={name: one for name, one in mapping.fields.items() if not one.in_key},
        filled=filled,
        defaults=None if filled or (is_validated and optional) else _constants(mapping, model),
        keys=compared,
        optional=tuple(one for one in optional if not one.in_key) if is_validated else (),
        has_key=key_comparison(mapping, compared),
    )


def _unwrapped(schema: Node, definitions: Mapping[str, Node]) -> tuple[list[Node], Node]:
    """The validators around the model, outermost first, and the schema of the model itself. Raises Undecided."""
    around: list[Node] = []
    while schema["type"] != "model":
        if schema["type"] == "definition-ref":
            schema = definitions[schema["schema_ref"]]
        elif schema["type"] in _OUTER:
            around.append(schema)
            schema = schema["schema"]
        else:
            raise Undecided("a model validator takes the input of the model")
    return around, schema


def _is_implied(field: FieldMapping, key: InKeyField | None) -> bool:
    """Whether the absence of a field is read as a value that is not its default."""
    return field.implied is not None if key is None else not key.is_primary


def _in_key(mapping: EntityMapping, name: str) -> InKeyField:
    """Where a field is stored that is stored in keys alone. Raises Undecided."""
    for part in mapping.primary_parts:
        if name in part.lossless:
            return InKeyField(name, part, is_primary=True)
    plain = (index.places[0] for index in mapping.places.values() if index.is_plain)
    found = [part for place in plain for part in place.parts if name in part.lossless]
    if len(found) != 1:
        raise Undecided("a field is stored in the keys of several indexes")
    return InKeyField(name, found[0], is_primary=False)


def _constants(mapping: EntityMapping, model: Node) -> Mapping[str, AttributeValue | None] | None:
    """The encoded defaults of the fields that can be absent; None if they are not constant."""
    found: dict[str, AttributeValue | None] = {}
    for name, field in mapping.fields.items():
        default = model["schema"]["fields"][name]["schema"]
        validated = default.get("validate_default", model.get("config", {}).get("validate_default"))
        if field.required or field.in_key:
            continue
        if validated or "default" not in default or type(default["default"]) not in _CONSTANT:
            return None
        try:
            found[name] = field.encode(default["default"])
        except ValueError:
            return None
    return found


def _is_itself(part: KeyPart, mapping: EntityMapping, declared: Mapping[str, Node]) -> bool:
    """Whether a key part cannot differ: its fields are strings that no validator changes, and were read from it."""
    fields = [mapping.fields[name] for name in part.fields if name in mapping.fields]
    if part.attribute.kind != "S" or part.template is None or not fields or len(fields) != len(part.fields):
        return False
    is_unchanged = has_plain_texts(mapping.entity.model_config)
    if not is_unchanged or any(declared[one.name]["schema"] != {"type": "str"} for one in fields):
        return False
    if part.is_single_field:
        (field,) = fields
        return _is_read_from(part, mapping, field) or field.attribute == part.attribute.name
    # What ``match`` has read from a key renders that key again, unless a placeholder cannot be read back.
    is_read_back = all(one.read is not None and one.field in part.lossless for one in part.template.pieces)
    return is_read_back and all(_is_read_from(part, mapping, one) for one in fields)


def _is_read_from(part: KeyPart, mapping: EntityMapping, field: FieldMapping) -> bool:
    return field.in_key and _in_key(mapping, field.name).part is part
