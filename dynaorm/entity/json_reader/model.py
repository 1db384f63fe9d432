"""The JSON schema of one class: from the JSON of a stored item to a validated entity.

Rule 1. The entity equals the one that the codecs would give: in its values, in ``model_fields_set``, and in the input
    of its validators. A class for which that is not certain has no JSON schema.
Rule 2. Validators run once per entity, with ``info.context is LOADING``. A class is left to the codecs if a validator
    takes ``info``, which shows that the input is JSON, or if a model validator could see defaults that are not final.
"""

from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Any, Final

from dynaorm.entity.codec.value import NULL
from dynaorm.entity.json_reader.core_schema import Node, by_name, definitions_of, nodes
from dynaorm.entity.json_reader.field import (
    FieldReader,
    StoredField,
    Undecided,
    has_plain_texts,
    is_plain_model,
    lenient,
)
from dynaorm.entity.mapping.field import EMPTY, FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import Defaults
from dynaorm.entity.template.key_part import KeyPart
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
        fields: its fields, by name.
        filled: the fields for which an absent attribute stands for a value, not for the default.
        keys: the parts of its key that must be compared with what the entity renders.
        defaults: the encoded defaults of the fields that can be absent; None if they are not constant.
    """

    mapping: EntityMapping
    schema: Node
    definitions: Mapping[str, Node]
    fields: Mapping[str, FieldMapping]
    filled: frozenset[str]
    keys: tuple[KeyPart, ...]
    defaults: Mapping[str, AttributeValue | None] | None

    @property
    def needs_head(self) -> bool:
        """Whether the key and a few other attributes of the item are needed to check an entity."""
        return bool(self.keys or self.mapping.versioning or self.mapping.expires)

    def defaults_in(self, item: Item) -> Defaults:
        """The encoded defaults of the fields that are absent from an item, if they are constant."""
        assert self.defaults is not None
        return {
            field.attribute: self.defaults[name]
            for name, field in self.fields.items()
            if name in self.defaults and field.stored_in(item) is None
        }

    def is_in_order(self, entity: Any, head: Item) -> bool:
        """Whether an entity is no tombstone and renders the key of its item. Raises ValueError if it renders none."""
        if self.mapping.is_tombstone(head):
            return False
        names = [name for part in self.keys for name in part.fields]
        values = self.mapping.with_computed(entity.__dict__, names)
        for part in self.keys:
            stored = head[part.attribute.name][part.attribute.kind]
            if stored != (part.constant or part.render(values)):
                return False
        return True

    def complete(self, entity: Any, head: Item) -> Defaults:
        """The encoded defaults of the absent fields. Adds the ``filled`` fields to ``model_fields_set``.

        Raises:
            DecodeError: a default cannot be stored.
        """
        given: set[str] = entity.__pydantic_fields_set__
        absent = [field for name, field in self.fields.items() if name not in given]
        given |= self.filled
        return self.mapping.defaults_of(absent, head, entity.__dict__)


def json_model(mapping: EntityMapping) -> JsonModel | None:
    """The JSON schema of a class; None if the codecs must read it."""
    declared: Any = mapping.entity.__pydantic_core_schema__
    try:
        schema, definitions = definitions_of(declared)
        return _model(mapping, schema, definitions)
    except Undecided:
        return None


def _model(mapping: EntityMapping, schema: Node, definitions: Mapping[str, Node]) -> JsonModel:
    if any(_takes_info(one) for one in nodes([schema, *definitions.values()])):
        raise Undecided("a validator takes info")
    if any(field.in_key for field in mapping.fields.values()):
        raise Undecided("a field is stored in a key alone")
    around, model = _unwrapped(schema, definitions)
    declared: Mapping[str, Node] = model["schema"].get("fields", {})
    if not is_plain_model(model) or declared.keys() != mapping.fields.keys():
        raise Undecided("the model is not made of its fields alone")
    stored = {name: _stored(field) for name, field in mapping.fields.items()}
    can_be_absent = any(not one.required or one.absent is not None for one in stored.values())
    if (around or model.get("post_init")) and can_be_absent:
        raise Undecided("a model validator may set a field that is absent")
    reader = FieldReader(definitions, model.get("config", {}))
    found = lenient(model, {name: reader.field(stored[name], one) for name, one in declared.items()})
    for outer in reversed(around):
        found = {**{name: held for name, held in outer.items() if name != "ref"}, "schema": found}
    return JsonModel(
        mapping=mapping,
        schema=found,
        definitions={reference: by_name(one) for reference, one in definitions.items()},
        fields=mapping.fields,
        filled=frozenset(name for name, one in stored.items() if one.absent is not None),
        defaults=_constants(mapping, model),
        keys=tuple(part for part in mapping.primary_parts if not _is_itself(part, mapping, declared)),
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


def _takes_info(node: Node) -> bool:
    function = node.get("function")
    return isinstance(function, Mapping) and function.get("type") == "with-info"


def _stored(field: FieldMapping) -> StoredField:
    absent = EMPTY if field.empty_is_absent else NULL if field.none_is_absent and field.required else None
    return StoredField(field.attribute, field.codec, field.required, field.formerly, absent)


def _constants(mapping: EntityMapping, model: Node) -> Mapping[str, AttributeValue | None] | None:
    """The encoded defaults of the fields that can be absent; None if they are not constant."""
    found: dict[str, AttributeValue | None] = {}
    for name, field in mapping.fields.items():
        default = model["schema"]["fields"][name]["schema"]
        validated = default.get("validate_default", model.get("config", {}).get("validate_default"))
        if field.empty_is_absent or (field.none_is_absent and field.required):
            return None
        if field.required:
            continue
        if validated or "default" not in default or type(default["default"]) not in _CONSTANT:
            return None
        try:
            found[name] = field.encode(default["default"])
        except ValueError:
            return None
    return found


def _is_itself(part: KeyPart, mapping: EntityMapping, declared: Mapping[str, Node]) -> bool:
    """Whether a key part is the attribute of a string field that no validator changes, so that it cannot differ."""
    if not part.bare or part.attribute.kind != "S":
        return False
    field = mapping.fields.get(part.fields[0])
    if field is None:
        return False
    as_it_is = declared[field.name]["schema"] == {"type": "str"} and has_plain_texts(
        mapping.entity.model_config
    )
    return field.attribute == part.attribute.name and as_it_is
