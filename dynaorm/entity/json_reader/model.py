"""The JSON schema of one class: from the JSON of a stored item to a validated entity.

Rule 1. The entity equals the one that the codecs would give: in its values, in ``model_fields_set``, and in the input
    of its validators. A class for which that is not certain has no JSON schema.
Rule 2. Validators run once per entity, with ``info.context is LOADING``. A class is left to the codecs if a validator
    takes ``info``, which shows that the input is JSON.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from types import NoneType
from typing import Any, Final, TypeAlias

from pydantic_core import core_schema

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import NULL, TEXT, StoredField
from dynaorm.entity.core_schema import (
    Node,
    by_name,
    definitions_of,
    nodes_of,
    takes_info,
    without_definitions,
)
from dynaorm.entity.key_part import VERSION, KeyPart
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import NO_DEFAULTS, Defaults
from dynaorm.entity.table import KeyAttribute
from dynaorm.entity.text.scalar import NODES
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record, replace

# Keys in the JSON of items: reading fields from them, and comparing them with what an entity renders.

KeyContents: TypeAlias = Mapping[str, Any]
"""The content of each key attribute of an item, as in JSON: a binary key is base64."""

HasKey: TypeAlias = Callable[[Any, KeyContents], bool]
"""Whether an entity renders the key of an item."""


@record
class InKeyField:
    """A field that is stored in a key alone.

    Attributes:
        name: the field.
        part: the part of the key.
        is_primary: it is a part of the primary key, which every item has.
    """

    name: str
    part: KeyPart
    is_primary: bool

    @property
    def attribute(self) -> KeyAttribute:
        return self.part.attribute

    def value_in(self, content: Any) -> Any:
        """The value in the content of a key attribute. Raises ValueError for a key that is not of the class."""
        if content is None and not self.is_primary:
            return None
        found = self.part.match(b64decode(content, validate=True) if self.attribute.kind == "B" else content)
        if found is None or self.name not in found:
            raise ValueError("is in a key of another class")
        return found[self.name]


def key_comparison(mapping: EntityMapping, parts: Sequence[KeyPart]) -> HasKey:
    """The comparison of some parts of a class's key."""
    steps = [(part.attribute.name, part.constant, part.render) for part in parts]
    computed = [name for part in parts for name in part.fields if name in mapping.computed]

    def has_key(entity: Any, contents: KeyContents) -> bool:
        values: Mapping[str, Any] = entity.__dict__
        try:
            if computed:
                values = mapping.with_computed(values, computed)
            for name, constant, render in steps:
                key = constant or render(values)
                if type(key) is bytes:
                    key = b64encode(key).decode()
                if key is None or contents.get(name) != key:
                    return False
        except ValueError:  # no key at all
            return False
        return True

    return has_key


# The JSON schema of one field: from the JSON of its attribute value to its validated value.
#
# Rule 1. pydantic itself reads strings, numbers, booleans, choices of strings, and models of these, exactly as the
#         field's codec does. For any other type the schema calls the codec, and validates its result if necessary.
# Rule 2. An attribute stored under another type than the field's is not absent, and its default must not hide it. So
#         if a field may be absent, its schema also looks for the whole attribute value, which fails validation.


class Undecided(Exception):
    """pydantic might read this differently than the codec does; the message says why."""


_TYPES: Final = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})

# The types whose JSON pydantic reads as the codec reads the attribute value.
_LEAVES: Final[Mapping[str, str]] = {node: scalar.tag for node, scalar in NODES.items() if scalar.is_json}

# Types whose values are all valid unless there are constraints.
_SURE: Final = frozenset(node for node, scalar in NODES.items() if not scalar.is_json)
_NO_CONSTRAINTS: Final = frozenset(
    {"type", "items_schema", "metadata", "microseconds_precision", "ref", "serialization"}
)

# The schemas of what is in a collection of strings.
_OF_TEXTS: Final[Mapping[str, Node]] = {
    "list": {"items_schema": {"type": "str"}},
    "dict": {"keys_schema": {"type": "str"}, "values_schema": {"type": "str"}},
}

# Types that contain no binary values and no values of unknown type.
_NOT_BINARY: Final = frozenset(
    {
        *(node for node, scalar in NODES.items() if scalar.tag != "B"),
        "default", "definitions", "dict", "enum", "function-after", "function-before",
        "frozenset", "json-or-python", "lax-or-strict", "list", "literal", "model", "model-field", "model-fields",
        "none", "nullable", "set", "tagged-union", "tuple", "typed-dict", "typed-dict-field", "union", "url",
    }
)  # fmt: skip


@record
class _Read:
    """A schema for the content of an attribute value of one type.

    ``refuses_whole``: it refuses every whole attribute value, of whatever type.
    """

    schema: Node
    tag: str
    refuses_whole: bool = True


@record
class FieldReader:
    """Builds the JSON schemas of fields.

    Attributes:
        definitions: the schemas that others refer to.
        config: the configuration of the model.
        open: the references that are being followed, to stop at a recursive one.
    """

    definitions: Mapping[str, Node]
    config: Mapping[str, Any]
    open: frozenset[str] = field(default=frozenset())

    def field(self, stored: StoredField, declared: Node, key: InKeyField | None = None) -> Node:
        """The JSON schema of a field; ``key`` says how it is read if it is stored in a key alone. Raises Undecided."""
        default = declared["schema"] if declared["schema"]["type"] == "default" else None
        if default is None and not stored.required:
            raise Undecided("its default is not where it was expected")
        if default is not None and default.get("on_error", "raise") != "raise":
            raise Undecided("its default stands in for errors")
        inner = default["schema"] if default is not None else declared["schema"]
        if key is not None:
            return {**declared, **_in_key_field(key, inner)}
        can_be_absent = default is not None or stored.implied is not None
        read = self._read(inner, stored.codec) if not stored.formerly else None
        if read is not None and (read.refuses_whole or not can_be_absent):
            paths = [[stored.attribute, read.tag]]
            schema = read.schema
            if can_be_absent or stored.codec.nullable:
                paths.append([stored.attribute])
        elif default is not None and default.get("validate_default", self.config.get("validate_default")):
            raise Undecided("its default is validated, and a default is not an attribute value")
        else:
            paths = [[name] for name in (stored.attribute, *stored.formerly)]
            schema = _decoded(inner, stored.codec)
        return {
            **declared,
            "schema": _with_default(schema, default, stored.implied),
            "validation_alias": paths,
        }

    def _read(self, schema: Node, codec: Codec) -> _Read | None:
        """The schema by which pydantic itself reads the JSON; None if the codec must read it."""
        match schema["type"]:
            case "nullable" if codec.nullable:
                return _nullable(schema, self._read(schema["schema"], codec))
            case "function-after" if schema["function"]["type"] == "no-info":
                inner = self._read(schema["schema"], codec)
                return inner and replace(inner, schema={**schema, "schema": inner.schema})
            case "definition-ref" if schema["schema_ref"] not in self.open:
                reference = schema["schema_ref"]
                return replace(self, open=self.open | {reference})._read(self.definitions[reference], codec)
            case "model":
                return self._model(schema, codec)
        return self._leaf(schema, codec)

    def _leaf(self, schema: Node, codec: Codec) -> _Read | None:
        kind, tags = schema["type"], codec.tags - {"NULL"}
        if kind in _LEAVES and tags == {_LEAVES[kind]}:
            # DynamoDB and the codecs have only finite numbers.
            finite = {"allow_inf_nan": False} if kind in ("float", "decimal") else {}
            return _Read({**schema, **finite}, _LEAVES[kind])
        if _is_choice_of_texts(schema) and tags == {"S"}:
            return _Read(schema, "S")
        if self._is_of_texts(schema, codec):
            read_all, tag = (_texts, "L") if kind == "list" else (_text_map, "M")
            return _Read(_function("function-plain", read_all), tag)
        if codec.from_text is None or len(codec.tags) != 1:
            return None
        (tag,) = tags
        if kind in _SURE and schema.keys() <= _NO_CONSTRAINTS:
            return _Read(_function("function-plain", codec.from_text), tag, refuses_whole=False)
        read = {**_function("function-before", codec.from_text), "schema": by_name(schema)}
        return _Read(read, tag, refuses_whole=False)

    def _is_of_texts(self, schema: Node, codec: Codec) -> bool:
        """Whether it is a list of any number of strings, or a dict of strings to strings, without constraints."""
        kinds = _OF_TEXTS.get(schema["type"])
        if kinds is None or codec.element is not TEXT or not schema.keys() <= _NO_CONSTRAINTS | kinds.keys():
            return False
        return has_plain_texts(self.config) and all(schema.get(name) == one for name, one in kinds.items())

    def _model(self, schema: Node, codec: Codec) -> _Read | None:
        fields, members = schema["schema"], codec.members
        if members is None or codec.tags - {"NULL"} != {"M"} or not is_plain_model(schema):
            return None
        stored = {name: one for name, one in members.items() if isinstance(one, StoredField)}
        if stored.keys() != fields["fields"].keys():
            return None
        found: dict[str, Node] = {}
        within = replace(self, config=schema.get("config", {}))
        for name, one in fields["fields"].items():
            try:
                found[name] = within.field(stored[name], one)
            except Undecided:
                return None
        filled = frozenset(name for name, one in stored.items() if one.implied is not None)
        refuses_whole = any(one.is_always_stored and one.attribute not in _TYPES for one in stored.values())
        return _Read(filling(lenient(schema, found), filled), "M", refuses_whole=refuses_whole)


def has_plain_texts(config: Mapping[str, Any]) -> bool:
    """Whether a model leaves strings unchanged."""
    return not any(name.startswith("str_") for name in config)


def is_plain_model(schema: Node) -> bool:
    """Whether pydantic builds a model from its fields alone."""
    fields = schema["schema"]
    if schema.get("custom_init") or schema.get("root_model") or fields["type"] != "model-fields":
        return False
    extra = fields.get("extra_behavior") or schema.get("config", {}).get("extra_fields_behavior")
    return extra != "allow" and fields.get("extras_schema") is None


def filling(model: Node, names: frozenset[str]) -> Node:
    """The model, with some fields in ``model_fields_set`` although their attributes may be absent."""
    if not names:
        return model

    def filled(made: tuple[Any, Any, set[str]]) -> tuple[Any, Any, set[str]]:
        made[2].update(names)
        return made

    return {**model, "schema": {**_function("function-after", filled), "schema": model["schema"]}}


def lenient(schema: Node, fields: Mapping[str, Node]) -> Node:
    """The model with these fields. Other members of its map are ignored."""
    config = {**schema.get("config", {}), "extra_fields_behavior": "ignore"}
    inner = {**schema["schema"], "fields": fields, "extra_behavior": "ignore"}
    return {
        **{name: held for name, held in schema.items() if name != "ref"},
        "schema": inner,
        "config": config,
    }


def _nullable(schema: Node, inner: _Read | None) -> _Read | None:
    """``X | None``: the whole attribute value is NULL if it has no content of the type of X."""
    if inner is None or not inner.refuses_whole:
        return None
    null = core_schema.no_info_plain_validator_function(_null)
    either = [{**schema, "schema": inner.schema}, null]
    return replace(inner, schema={"type": "union", "choices": either, "mode": "left_to_right"})


def _null(stored: object) -> None:
    if stored != NULL:
        raise ValueError("is not stored as NULL")


def _is_choice_of_texts(schema: Node) -> bool:
    if schema["type"] == "literal":
        return all(type(one) is str for one in schema["expected"])
    if schema["type"] != "enum" or schema.get("missing") is not None:
        return False
    return all(type(one.value) is str for one in schema["members"])


def _decoded(schema: Node, codec: Codec) -> Node:
    """A schema that decodes a whole attribute value by the codec, then validates the result."""
    decode = codec.decode
    if not all(one["type"] in _NOT_BINARY for one in nodes_of(schema)):
        decode = _from_json(decode)
    return {**_function("function-before", decode), "schema": by_name(schema)}


def _in_key_field(key: InKeyField, schema: Node) -> Node:
    """A field that is read from a key attribute, then validated. In no index, its value is None."""
    read: Node = {**_function("function-before", key.value_in), "schema": by_name(schema)}
    if not key.is_primary:
        read = {"type": "default", "schema": read, "default": None, "validate_default": True}
    return {"schema": read, "validation_alias": [[key.attribute.name, key.attribute.kind]]}


def _function(kind: str, function: Callable[[Any], Any]) -> Node:
    return {"type": kind, "function": {"type": "no-info", "function": function}}


def _texts(stored: Any) -> list[str]:
    try:
        return [one["S"] for one in stored]
    except (KeyError, TypeError):
        raise ValueError("is not a list of texts") from None


def _text_map(stored: Any) -> dict[str, str]:
    try:
        return {name: one["S"] for name, one in stored.items()}
    except (KeyError, TypeError, AttributeError):
        raise ValueError("is not a map of texts") from None


def _from_json(decode: Callable[[AttributeValue], Any]) -> Callable[[AttributeValue], Any]:
    return lambda stored: decode(with_bytes(stored))


def _with_default(schema: Node, default: Node | None, absent: AttributeValue | None) -> Node:
    if absent is None:
        return schema if default is None else {**default, "schema": schema}
    # Validated as if it were stored.
    given = None if absent == NULL and schema["type"] != "function-before" else absent
    return {"type": "default", "schema": schema, "default": given, "validate_default": True}


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
            *((mark, VERSION) if mark is not None else ()),
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
    for name, member in mapping.fields.items():
        default = model["schema"]["fields"][name]["schema"]
        validated = default.get("validate_default", model.get("config", {}).get("validate_default"))
        if member.required or member.in_key:
            continue
        if validated or "default" not in default or type(default["default"]) not in _CONSTANT:
            return None
        try:
            found[name] = member.encode(default["default"])
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
