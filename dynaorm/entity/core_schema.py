"""pydantic's core schemas: the walk over their nodes, what they say, changes of them, and validators built of them.

Rule 1. A schema is a tree of nodes, dicts with a ``type``. Whatever a node holds is searched for nodes, except for what
        is known to be data: so a kind of node that a later pydantic brings is seen by everybody who walks.
Rule 2. What a node refers to is among the definitions of the whole schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import CoreConfig, CoreSchema, SchemaValidator

Node: TypeAlias = Mapping[str, Any]

# The parts of a node that hold no nodes for Python values. The JSON of a reply is decoded to Python values first, so
# pydantic's own nodes for JSON (``json_schema``) never run.
_DATA: Final = frozenset(
    {
        "cls", "computed_fields", "config", "custom_error_context", "default", "expected", "function", "json_schema",
        "json_schema_input_schema", "members", "metadata", "serialization",
    }
)  # fmt: skip
# The parts of a node that map names of the user's to nodes.
_NAMED: Final = frozenset({"fields", "choices"})

# Validators inside these are shown the fields of the nested record, not those around it.
RECORDS: Final = frozenset({"model-fields", "dataclass-args", "typed-dict"})

INSTANCES: Final = frozenset({"model", "dataclass"})

# The nodes whose values are those of a node inside, under its name.
_INNER: Final[Mapping[str, str]] = {
    "default": "schema", "nullable": "schema", "definitions": "schema", "function-before": "schema",
    "function-after": "schema", "function-wrap": "schema", "model": "schema", "dataclass": "schema",
    "json-or-python": "python_schema", "lax-or-strict": "lax_schema",
}  # fmt: skip

_ITEMS: Final[Mapping[str, str]] = {
    "list": "items_schema", "set": "items_schema", "frozenset": "items_schema", "dict": "values_schema",
}  # fmt: skip

# Their functions give the same value again.
_TRUSTED: Final = frozenset({"pydantic", "dynaorm"})

BUILDS_AS_GIVEN: Final = "_use_prebuilt" in str(SchemaValidator.__text_signature__)
"""Whether pydantic-core builds the schema of a class as given; that of pydantic 2.12 does not.

There, an entity with nested models is validated as loading would instead, which refuses invalid members.
"""


# -- the walk ----------------------------------------------------------------------------------------------------------


def nodes_of(part: Any) -> Iterator[Node]:
    """A node and all nodes below it; for several, those of each."""
    for one in _nearest(part):
        yield one
        for below in parts_of(one):
            yield from nodes_of(below)


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


def changed(part: Any, change: Callable[[dict[str, Any]], Node]) -> Any:
    """A copy of a schema with every node changed, the innermost first."""
    if isinstance(part, list | tuple):
        return type(part)(changed(one, change) for one in part)
    if not isinstance(part, dict):
        return part
    return change({name: _held(name, one, change) for name, one in part.items()})


def _held(name: str, held: Any, change: Callable[[dict[str, Any]], Node]) -> Any:
    if name in _DATA:
        return held
    if name in _NAMED and isinstance(held, dict):
        return {given: changed(one, change) for given, one in held.items()}
    return changed(held, change)


def revalidating(schema: Any) -> Any:
    """A copy of a schema in which instances of nested models and dataclasses are validated again."""
    return changed(schema, _revalidating)


def _revalidating(node: dict[str, Any]) -> Node:
    return {**node, "revalidate_instances": "always"} if node.get("type") in INSTANCES else node


def by_name(schema: Any) -> Any:
    """The schema for Python values by field name, as a part of a schema that reads JSON by alias."""
    return changed(schema, _by_name)


def _by_name(node: dict[str, Any]) -> Node:
    if node.get("type") == "json-or-python":
        named = {"ref": node["ref"]} if "ref" in node else {}
        return {**node["python_schema"], **named}
    return {name: held for name, held in node.items() if name not in ("alias", "validation_alias")}


# -- definitions -------------------------------------------------------------------------------------------------------


def definitions_of(schema: Node) -> Mapping[str, Node]:
    """The nodes of a schema that others refer to, by their references."""
    return {one["ref"]: one for one in schema.get("definitions", ())}


def without_definitions(schema: Node) -> Node:
    """The node that a schema with definitions is about; any other schema as it is."""
    node: Node = schema["schema"] if schema["type"] == "definitions" else schema
    return node


def with_definitions(part: Node, schema: Node) -> Node:
    """A part of a schema, as a schema of its own."""
    if not schema.get("definitions"):
        return part
    return {"type": "definitions", "schema": part, "definitions": schema["definitions"]}


def referred(schema: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """A node, all below it, and those that they refer to."""
    return _reached(schema, definitions, lambda _: True)


def _reached(
    schema: Node, definitions: Mapping[str, Node], is_entered: Callable[[Node], bool]
) -> Iterator[Node]:
    waiting, known = [schema], set[str]()
    while waiting:
        node = waiting.pop()
        yield node
        reference = node.get("schema_ref")
        if reference is not None and reference not in known:
            known.add(reference)
            waiting.append(definitions[reference])
        if is_entered(node):
            waiting += parts_of(node)


# -- where the parts of a value are ------------------------------------------------------------------------------------


def is_model_of_fields(entity: type[BaseModel]) -> bool:
    """Whether a class is validated as a model of its fields, whatever its ``__get_pydantic_core_schema__`` gives."""
    schema: Any = entity.__pydantic_core_schema__
    try:
        return any(path_to_field["type"] == "model" for path_to_field in path_to_fields(schema))
    except LookupError:
        return False


def validates_default(entity: type[BaseModel], name: str) -> bool:
    """Whether the default of a field is validated."""
    own = entity.model_fields[name].validate_default
    return bool(entity.model_config.get("validate_default") if own is None else own)


def path_to_fields(schema: Node) -> list[Node]:
    """The nodes from the whole schema to the one with the fields of the class."""
    path, definitions = [schema], schema.get("definitions", ())
    while path[-1]["type"] != "model-fields":
        node = path[-1]
        if node["type"] == "definition-ref":
            node = {"schema": next(one for one in definitions if one.get("ref") == node["schema_ref"])}
        path.append(node["schema"])
    return path


def unwrapped(schema: Node) -> Node:
    """A node without its default and its None."""
    while schema["type"] in ("default", "nullable"):
        schema = schema["schema"]
    return schema


def same_values(node: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """The nodes inside a node whose values are the node's own, in another guise; none for a node that is its own."""
    kind = node["type"]
    if kind in ("union", "tagged-union"):
        choices = node["choices"]
        for one in choices.values() if isinstance(choices, dict) else choices:
            # A choice may have a label, and one of a tagged union may be the name of another.
            choice = one[0] if isinstance(one, tuple) else one
            if isinstance(choice, dict):
                yield choice
    elif kind == "definition-ref":
        yield definitions[node["schema_ref"]]
    elif kind in _INNER:
        yield node[_INNER[kind]]


def fields_in(node: Node) -> Iterator[tuple[str, Node]]:
    """The names and nodes of the fields of a record."""
    fields = node["fields"]
    if isinstance(fields, dict):
        yield from ((name, one["schema"]) for name, one in fields.items())
    else:
        yield from ((field["name"], field["schema"]) for field in fields)


def elements_at(node: Node, step: str | int) -> Iterator[Node]:
    """The nodes of what is under an index or name in a list, set, dict, tuple or NamedTuple; of other values, none."""
    match node["type"]:
        case kind if kind in _ITEMS:
            if _ITEMS[kind] in node:
                yield node[_ITEMS[kind]]
        case "named-tuple":
            yield from (schema for name, schema in fields_in(node) if name == step)
        case "call":  # a NamedTuple of pydantic 2.13
            arguments = node["arguments_schema"].get("arguments_schema", ())
            yield from (argument["schema"] for argument in arguments if argument.get("name") == step)
        case "tuple" if isinstance(step, int):
            items, rest = node["items_schema"], node.get("variadic_item_index")
            if rest is not None:
                yield items[rest]
            elif step < len(items):
                yield items[step]


# -- what a node runs --------------------------------------------------------------------------------------------------


def is_function(node: Node) -> bool:
    """Whether a node runs a validator of the user's."""
    return str(node["type"]).startswith("function-")


def takes_info(node: Node) -> bool:
    """Whether a node has a validator that takes ``info``."""
    return is_function(node) and node["function"]["type"] == "with-info"


def has_own_code(node: Node) -> bool:
    """Whether a model or dataclass runs code of the user's when it is made."""
    if node.get("custom_init"):
        return True
    post_init = node.get("post_init")
    if isinstance(post_init, str):
        return not is_trusted(getattr(node["cls"], post_init))
    return bool(post_init)


def is_trusted(function: object) -> bool:
    """Whether a function gives the same value for a value that it gave."""
    return str(getattr(function, "__module__", "")).partition(".")[0] in _TRUSTED


def makes_of_others(node: Node) -> bool:
    """Whether a node has a factory that is shown the fields beside it."""
    return bool(node.get("default_factory_takes_data"))


def looks_beside(schema: Node, definitions: Mapping[str, Node], *, factories: bool = False) -> bool:
    """Whether a validator of a place looks at the fields beside it; with ``factories``, or a factory of it."""
    nodes = _reached(schema, definitions, lambda node: node["type"] not in RECORDS)
    return any(_is_shown(node) or (factories and makes_of_others(node)) for node in nodes)


def _is_shown(node: Node) -> bool:
    """Whether a node has a validator that is shown the fields beside it."""
    return takes_info(node) and not is_trusted(node["function"]["function"])


# -- validators --------------------------------------------------------------------------------------------------------


def validator_of(schema: Any, config: CoreConfig | None = None) -> SchemaValidator:
    """The validator of a schema as it stands."""
    # By default pydantic-core would replace the schema of a nested class with the validator that the class has.
    given = {"_use_prebuilt": False} if BUILDS_AS_GIVEN else {}
    return SchemaValidator(cast(CoreSchema, schema), config, **given)


def as_schema(node: Node) -> CoreSchema:
    """A node as pydantic types it."""
    given: Any = node
    schema: CoreSchema = given
    return schema
