"""The JSON schema of one field: from the JSON of its attribute value to its validated value.

Rule 1. pydantic itself reads strings, numbers, booleans, choices of strings, and models of these, exactly as the
    field's codec does. For any other type the schema calls the codec, and validates its result if necessary.
Rule 2. An attribute stored under another type than the field's is not absent, and its default must not hide it. So if
    a field may be absent, its schema also looks for the whole attribute value, which fails validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from pydantic_core import core_schema

from dynaorm.entity.codec.field import StoredField
from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.codec.value import NULL, TEXT
from dynaorm.entity.core_schema import Node, by_name, nodes_of
from dynaorm.entity.json_reader.item_key import InKeyField
from dynaorm.entity.text.scalar import NODES
from dynaorm.item.json_body import with_bytes
from dynaorm.item.value import AttributeValue
from dynaorm.record import record, replace


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
            return {**declared, **_in_key(key, inner)}
        can_be_absent = default is not None or stored.implied is not None
        read = self._read(inner, stored.codec) if not stored.formerly else None
        if read is not None and (read.refuses_whole or not can_be_absent):
            paths = [[stored.attribute, read.tag]]
            schema = read.schema
            if can_be_absent or stored.codec.nullable:
                paths.append([stored.attribute])
        elif default is not None and default.get("validate_default", self.config.get("validate_default")):
            raise Undecided("its default is validated, and a default is no attribute value")
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


def _in_key(key: InKeyField, schema: Node) -> Node:
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
        raise ValueError("is no list of texts") from None


def _text_map(stored: Any) -> dict[str, str]:
    try:
        return {name: one["S"] for name, one in stored.items()}
    except (KeyError, TypeError, AttributeError):
        raise ValueError("is no map of texts") from None


def _from_json(decode: Callable[[AttributeValue], Any]) -> Callable[[AttributeValue], Any]:
    return lambda stored: decode(with_bytes(stored))


def _with_default(schema: Node, default: Node | None, absent: AttributeValue | None) -> Node:
    if absent is None:
        return schema if default is None else {**default, "schema": schema}
    # Validated as if it were stored.
    given = None if absent == NULL and schema["type"] != "function-before" else absent
    return {"type": "default", "schema": schema, "default": given, "validate_default": True}
