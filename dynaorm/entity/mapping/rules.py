"""What the core schema of a class says about validation: its validators, and which rules a write must consider.

Rule 1. Pydantic does not validate an instance of a nested model again, although its fields may have been assigned
        since. Writes do, because loading does.
Rule 2. What is not known to be harmless counts as a rule: a write then reads first, or validates twice.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import CoreConfig, CoreSchema, SchemaValidator

from dynaorm.record import record

Node: TypeAlias = Mapping[str, Any]

# The parts of a node that hold no nodes for Python values.
_DATA: Final = frozenset(
    {"metadata", "serialization", "default", "expected", "json_schema", "computed_fields", "function", "cls"}
)
# The parts of a node that map names of the user's to nodes.
_NAMED: Final = frozenset({"fields", "choices"})
_BOUNDS: Final = frozenset({"ge", "gt", "le", "lt"})
_LIMITS: Final = _BOUNDS | {
    "multiple_of", "max_digits", "decimal_places", "min_length", "max_length", "pattern", "to_lower", "to_upper",
    "strip_whitespace", "now_op", "tz_constraint",
}  # fmt: skip
_CHANGES_TEXT: Final = ("to_lower", "to_upper", "strip_whitespace")
_LIMITS_TEXT: Final = ("min_length", "max_length")
_NUMBERS: Final = frozenset({"int", "float", "decimal", "timedelta"})
_CHOICES: Final = frozenset({"enum", "literal"})
_INSTANCES: Final = frozenset({"model", "dataclass", "definition-ref"})
# Values of other types may be stored as these are.
_ALIKE: Final[Mapping[str, type | None]] = {
    "decimal": Decimal, "float": float, "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict,
    "enum": None, "literal": None,
}  # fmt: skip
_HARMLESS: Final = _NUMBERS | _CHOICES | {
    "any", "none", "str", "bool", "bytes", "date", "time", "datetime", "uuid", "complex", "is-instance", "default",
    "nullable", "union", "list", "set", "frozenset", "dict", "model", "model-fields", "model-field", "typed-dict",
    "typed-dict-field", "dataclass", "dataclass-args", "dataclass-field", "json-or-python", "lax-or-strict",
}  # fmt: skip
# With pydantic 2.12, an entity with nested models is validated as loading would instead, which refuses invalid members.
_REVALIDATES: Final = "_use_prebuilt" in str(SchemaValidator.__text_signature__)
# Their functions give the same value again.
_TRUSTED: Final = frozenset({"pydantic", "dynaorm"})


class FieldRules(NamedTuple):
    """The rules of one field.

    Attributes:
        is_plain: there are none: every value that can be encoded is valid.
        takes_info: a validator may look at other fields, or at the context.
        has_choices: not every number or text of its type is valid.
        holds_instances: a value may be or contain an instance of a model or dataclass.
        bounds: of a number, the bounds that alone decide about the result of an addition, such as ``{"ge": 0}``; None
            if they do not.
        lengths: of a collection, its least and greatest length, which alone decide about adding elements; None if
            they do not.
    """

    is_plain: bool
    takes_info: bool
    has_choices: bool
    holds_instances: bool
    bounds: Mapping[str, Any] | None
    lengths: tuple[int, int | None] | None


@record(eq=False)
class ClassRules:
    """The rules of a class.

    Attributes:
        whole: makes an entity of ``{field: value}``; to be called with ``by_alias=False, by_name=True``.
        single: validates one field by ``validate_assignment``, without model validators.
        is_stable: validating a valid value again cannot change it.
        takes_info: a validator may look at the context.
        of_class: there are rules about several fields: model validators, or an ``__init__`` of the class's own.
        is_separate: every value is valid or not on its own, and stays as it is.
        fields: the rules of each field.
        alike: the fields of which values of several types may be stored alike, as 1 and ``Decimal(1)``. Each comes with
            the type of which every value is right; None if there is no such type.
    """

    whole: SchemaValidator
    single: SchemaValidator
    is_stable: bool
    takes_info: bool
    of_class: bool
    is_separate: bool
    fields: Mapping[str, FieldRules]
    alike: Mapping[str, type | None]


def is_model_of_fields(entity: type[BaseModel]) -> bool:
    """Whether a class is validated as a model of its fields, whatever its ``__get_pydantic_core_schema__`` gives."""
    schema: Any = entity.__pydantic_core_schema__
    try:
        return any(one["type"] == "model" for one in path_to_fields(schema))
    except LookupError:
        return False


def validates_default(entity: type[BaseModel], name: str) -> bool:
    """Whether the default of a field is validated."""
    own = entity.model_fields[name].validate_default
    return bool(entity.model_config.get("validate_default") if own is None else own)


def rules_of(entity: type[BaseModel]) -> ClassRules:
    """The rules of a class whose fields are complete."""
    schema: Any = entity.__pydantic_core_schema__
    nodes = [*_nodes(schema)]
    path = path_to_fields(schema)
    model, fields = next(one for one in path if one["type"] == "model"), path[-1]
    config: Any = model.get("config") or {}
    is_nested = sum(one["type"] in ("model", "dataclass") for one in nodes) > 1
    revalidating = _revalidating(schema) if is_nested else schema
    whole = _validator(revalidating) if is_nested else entity.__pydantic_validator__
    is_limited = _has_rules_of_texts(config)
    is_stable = not any(_may_change(one) for one in nodes) and (_REVALIDATES or not is_nested)
    looks_around = any(takes_info(one) for one in nodes)
    of_class = any(is_function(one) or has_own_code(one) for one in path)
    definitions = definitions_of(schema)
    rules = {
        name: _field_rules(one["schema"], is_limited, definitions) for name, one in fields["fields"].items()
    }
    return ClassRules(
        whole=cast(SchemaValidator, whole),
        single=_single(revalidating, config),
        is_stable=is_stable,
        takes_info=looks_around,
        of_class=of_class,
        is_separate=is_stable and not looks_around and not of_class and not any(map(makes_of_others, nodes)),
        fields=rules,
        alike={
            name: kind
            for name, one in fields["fields"].items()
            if not rules[name].takes_info
            for kind in _stored_alike(one["schema"])
        },
    )


# -- validators --------------------------------------------------------------------------------------------------------


def path_to_fields(schema: Node) -> list[Node]:
    """The nodes from the whole schema to the one with the fields of the class."""
    path, definitions = [schema], schema.get("definitions", ())
    while path[-1]["type"] != "model-fields":
        node = path[-1]
        if node["type"] == "definition-ref":
            node = {"schema": next(one for one in definitions if one.get("ref") == node["schema_ref"])}
        path.append(node["schema"])
    return path


def _single(schema: Node, config: CoreConfig) -> SchemaValidator:
    node = path_to_fields(schema)[-1]
    # A copy of an entity may have another value in a frozen field, which must be validated, too.
    fields = {
        name: {key: part for key, part in one.items() if key != "frozen"}
        for name, one in node["fields"].items()
    }
    found: Any = {**node, "fields": fields}
    if schema.get("definitions"):
        found = {"type": "definitions", "schema": found, "definitions": schema["definitions"]}
    return _validator(found, config)


def _validator(schema: Any, config: CoreConfig | None = None) -> SchemaValidator:
    # By default pydantic-core would replace the schema of a nested class with the validator that the class has.
    given = {"_use_prebuilt": False} if _REVALIDATES else {}
    return SchemaValidator(cast(CoreSchema, schema), config, **given)


def _revalidating(part: Any) -> Any:
    """A copy of a schema in which instances of nested models and dataclasses are validated again."""
    if isinstance(part, list | tuple):
        return type(part)(_revalidating(one) for one in part)
    if not isinstance(part, dict):
        return part
    found = {name: one if name in _DATA else _revalidating(one) for name, one in part.items()}
    for name in _NAMED & part.keys():
        if isinstance(part[name], dict):
            found[name] = {given: _revalidating(one) for given, one in part[name].items()}
    if part.get("type") in ("model", "dataclass"):
        found["revalidate_instances"] = "always"
    return found


# -- rules -------------------------------------------------------------------------------------------------------------


def definitions_of(schema: Node) -> Mapping[str, Node]:
    """The nodes of a schema that others refer to, by their references."""
    return {one["ref"]: one for one in schema.get("definitions", ())}


def parts_of(node: Node) -> Iterator[Node]:
    """The nodes directly below a node."""
    for name, one in node.items():
        if name in _NAMED and isinstance(one, dict):
            yield from _nearest([*one.values()])
        elif name not in _DATA:
            yield from _nearest(one)


def _nearest(part: Any) -> Iterator[Node]:
    if isinstance(part, list | tuple):
        for one in part:
            yield from _nearest(one)
    elif isinstance(part, dict):
        if isinstance(part.get("type"), str):
            yield part
        else:
            yield from parts_of(part)


def _nodes(part: Any) -> Iterator[Node]:
    """A node and all nodes below it."""
    for one in _nearest(part):
        yield one
        for below in parts_of(one):
            yield from _nodes(below)


def referred(schema: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """A node, all below it, and those that they refer to."""
    known = set[str]()
    waiting = [schema]
    while waiting:
        for node in _nodes(waiting.pop()):
            yield node
            reference = node.get("schema_ref")
            if reference is not None and reference not in known:
                known.add(reference)
                waiting.append(definitions[reference])


def is_function(node: Node) -> bool:
    return str(node["type"]).startswith("function-")


def _may_change(node: Node) -> bool:
    """Whether a node may turn a valid value into another one."""
    if is_function(node):
        return not is_trusted(node["function"]["function"])
    config = node.get("config") or {}
    return (
        has_own_code(node)
        or any(node.get(name) for name in _CHANGES_TEXT)
        or any(config.get(f"str_{name}") for name in _CHANGES_TEXT)
    )


def has_own_code(node: Node) -> bool:
    """Whether a model or dataclass runs code of the user's when it is made."""
    if node.get("custom_init"):
        return True
    post_init = node.get("post_init")
    if isinstance(post_init, str):
        return not is_trusted(getattr(node["cls"], post_init))
    return bool(post_init)


def is_trusted(function: object) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in _TRUSTED


def takes_info(node: Node) -> bool:
    return is_function(node) and node["function"]["type"] == "with-info"


def makes_of_others(node: Node) -> bool:
    """Whether a node has a factory that is shown the fields beside it."""
    return bool(node.get("default_factory_takes_data"))


def _is_harmless(node: Node) -> bool:
    config = node.get("config") or {}
    return (
        node["type"] in _HARMLESS
        and _LIMITS.isdisjoint(node)
        and not has_own_code(node)
        and not _has_rules_of_texts(config)
    )


def _has_rules_of_texts(config: Mapping[str, Any]) -> bool:
    return any(config.get(f"str_{name}") for name in (*_CHANGES_TEXT, *_LIMITS_TEXT))


def _unwrapped(schema: Node) -> Node:
    while schema["type"] in ("default", "nullable"):
        schema = schema["schema"]
    return schema


def _field_rules(schema: Node, is_limited: bool, definitions: Mapping[str, Node]) -> FieldRules:
    nodes = [*referred(schema, definitions)]
    is_plain = not is_limited and all(map(_is_harmless, nodes))
    schema = _unwrapped(schema)
    return FieldRules(
        is_plain=is_plain,
        takes_info=any(map(takes_info, nodes)),
        has_choices=any(one["type"] in _CHOICES for one in nodes),
        holds_instances=any(one["type"] in _INSTANCES for one in nodes),
        bounds=_bounds(schema),
        lengths=None if is_limited else _lengths(schema),
    )


def _stored_alike(schema: Node) -> tuple[type | None, ...]:
    """The member of ``ClassRules.alike``, if there is one."""
    schema = _unwrapped(schema)
    kinds = [one["type"] for one in _nodes(schema) if one["type"] in _ALIKE]
    if not kinds:
        return ()
    return (_ALIKE[kinds[0]] if kinds == [schema["type"]] else None,)


def _bounds(node: Node) -> Mapping[str, Any] | None:
    if node["type"] == "union":
        return {} if all(_bounds(one) == {} for one in node["choices"] if isinstance(one, dict)) else None
    if node["type"] not in _NUMBERS:
        return None
    limits = {name: node[name] for name in sorted(_LIMITS & node.keys())}
    # A sum of floats is rounded when it is loaded, and may then be equal to the bound; a timedelta is no number.
    known = {"int": _BOUNDS, "decimal": _BOUNDS, "float": {"ge", "le"}}.get(node["type"], frozenset())
    return limits if limits.keys() <= known else None


def _lengths(node: Node) -> tuple[int, int | None] | None:
    if node["type"] not in ("list", "set", "frozenset"):
        return None
    if not all(map(_is_harmless, _nodes(node.get("items_schema")))):
        return None
    return node.get("min_length") or 0, node.get("max_length")
