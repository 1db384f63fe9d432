"""The wire schema of one class: from the JSON of a stored item straight to a validated entity.

Rule 1. An entity read this way is the one that the class's codecs would have made, in values, in which of them were
    given, and in what its validators saw. A class of which that is not certain has no wire schema.
Rule 2. Validators run once per entity, with ``info.context is LOADING``. Those that ask for ``info`` could tell that
    they are given JSON, and those of the model as a whole may look at, or set, what is not settled yet.
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

# What pydantic gives every entity a copy of, or what does not change.
_CONSTANT: Final = frozenset({NoneType, bool, int, float, Decimal, str, list, dict, set, tuple, frozenset})
_OUTER: Final = frozenset({"function-after"})


@record
class JsonModel:
    """A class as it is read from JSON.

    Attributes:
        mapping: the class.
        schema: the schema of a stored item.
        definitions: schemas that it refers to.
        fields: its fields, by name.
        filled: fields whose absence is a value of its own, and not a default.
        keys: the parts of its key that an entity might render differently than they are stored.
        defaults: of the fields that can be absent, what they take then, encoded; None where it is not always the same.
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
        """Whether an entity cannot be told to be in order without its item's key (and a few attributes)."""
        return bool(self.keys or self.mapping.versioning or self.mapping.expires)

    def defaults_in(self, item: Item) -> Defaults:
        """What fields absent from an item took, where that is always the same."""
        assert self.defaults is not None
        return {
            field.attribute: self.defaults[name]
            for name, field in self.fields.items()
            if name in self.defaults and field.stored_in(item) is None
        }

    def is_in_order(self, entity: Any, head: Item) -> bool:
        """Whether an entity is no tombstone and renders the key that its item has. Raises ValueError: no key at all."""
        if self.mapping.is_tombstone(head):
            return False
        values = entity.__dict__
        for part in self.keys:
            stored = head[part.attribute.name][part.attribute.kind]
            if stored != (part.constant or part.render(values)):
                return False
        return True

    def complete(self, entity: Any, head: Item) -> Defaults:
        """What fields absent from the item took, encoded; afterwards those that were ``filled`` count as given.

        Raises:
            DecodeError: a default cannot be stored.
        """
        given: set[str] = entity.__pydantic_fields_set__
        absent = [field for name, field in self.fields.items() if name not in given]
        given |= self.filled
        return self.mapping.defaults_of(absent, head, entity.__dict__)


def json_model(mapping: EntityMapping) -> JsonModel | None:
    """How a class is read from JSON; None where its codecs are to be asked."""
    declared: Any = mapping.entity.__pydantic_core_schema__
    try:
        schema, definitions = definitions_of(declared)
        return _model(mapping, schema, definitions)
    except Undecided:
        return None


def _model(mapping: EntityMapping, schema: Node, definitions: Mapping[str, Node]) -> JsonModel:
    if any(_asks_for_info(one) for one in nodes([schema, *definitions.values()])):
        raise Undecided("a validator asks for info")
    if any(field.in_key for field in mapping.fields.values()):
        raise Undecided("a field lives in a key alone")
    around, model = _unwrapped(schema, definitions)
    declared: Mapping[str, Node] = model["schema"].get("fields", {})
    if not is_plain_model(model) or declared.keys() != mapping.fields.keys():
        raise Undecided("it is more than its fields")
    stored = {name: _stored(field) for name, field in mapping.fields.items()}
    can_be_absent = any(not one.required or one.absent is not None for one in stored.values())
    if (around or model.get("post_init")) and can_be_absent:
        raise Undecided("a validator of the whole may set a field that is absent")
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
    """The model's own schema, and what is around it. Raises Undecided."""
    around: list[Node] = []
    while schema["type"] != "model":
        if schema["type"] == "definition-ref":
            schema = definitions[schema["schema_ref"]]
        elif schema["type"] in _OUTER:
            around.append(schema)
            schema = schema["schema"]
        else:
            raise Undecided("a validator of the whole is given what comes before its fields")
    return around, schema


def _asks_for_info(node: Node) -> bool:
    function = node.get("function")
    return isinstance(function, Mapping) and function.get("type") == "with-info"


def _stored(field: FieldMapping) -> StoredField:
    absent = EMPTY if field.empty_is_absent else NULL if field.none_is_absent and field.required else None
    return StoredField(field.attribute, field.codec, field.required, field.formerly, absent)


def _constants(mapping: EntityMapping, model: Node) -> Mapping[str, AttributeValue | None] | None:
    """What fields that can be absent take, encoded; None where it depends on more than the class."""
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
    """Whether a key is a text field's own attribute, which no validator changes: it cannot render another."""
    if not part.bare or part.attribute.kind != "S":
        return False
    field = mapping.fields[part.fields[0]]
    as_it_is = declared[field.name]["schema"] == {"type": "str"} and has_plain_texts(
        mapping.entity.model_config
    )
    return field.attribute == part.attribute.name and as_it_is
