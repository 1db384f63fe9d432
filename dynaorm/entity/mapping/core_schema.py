"""Walks over pydantic's core schemas, and the validators that are built of them.

Rule 1. A schema is a tree of nodes, dicts with a ``type``. What a node holds as data is not searched for nodes.
Rule 2. What a node refers to is among the definitions of the whole schema.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from pydantic_core import CoreConfig, CoreSchema, SchemaValidator

Node: TypeAlias = Mapping[str, Any]

# The parts of a node that hold no nodes for Python values.
_DATA: Final = frozenset(
    {"metadata", "serialization", "default", "expected", "json_schema", "computed_fields", "function", "cls"}
)
# The parts of a node that map names of the user's to nodes.
_NAMED: Final = frozenset({"fields", "choices"})
BUILDS_AS_GIVEN: Final = "_use_prebuilt" in str(SchemaValidator.__text_signature__)
"""Whether pydantic-core builds the schema of a class as given; that of pydantic 2.12 does not.

There, an entity with nested models is validated as loading would instead, which refuses invalid members.
"""
# Their functions give the same value again.
_TRUSTED: Final = frozenset({"pydantic", "dynaorm"})


# Validators inside these are shown the fields of the nested record, not those around it.
RECORDS: Final = frozenset({"model-fields", "dataclass-args", "typed-dict"})


def path_to_fields(schema: Node) -> list[Node]:
    """The nodes from the whole schema to the one with the fields of the class."""
    path, definitions = [schema], schema.get("definitions", ())
    while path[-1]["type"] != "model-fields":
        node = path[-1]
        if node["type"] == "definition-ref":
            node = {"schema": next(one for one in definitions if one.get("ref") == node["schema_ref"])}
        path.append(node["schema"])
    return path


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


def nodes_of(part: Any) -> Iterator[Node]:
    """A node and all nodes below it."""
    for one in _nearest(part):
        yield one
        for below in parts_of(one):
            yield from nodes_of(below)


def unwrapped(schema: Node) -> Node:
    """A node without its default and its None."""
    while schema["type"] in ("default", "nullable"):
        schema = schema["schema"]
    return schema


def with_definitions(part: Node, schema: Node) -> Node:
    """A part of a schema, as a schema of its own."""
    if not schema.get("definitions"):
        return part
    return {"type": "definitions", "schema": part, "definitions": schema["definitions"]}


def referred(schema: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """A node, all below it, and those that they refer to."""
    known = set[str]()
    waiting = [schema]
    while waiting:
        for node in nodes_of(waiting.pop()):
            yield node
            reference = node.get("schema_ref")
            if reference is not None and reference not in known:
                known.add(reference)
                waiting.append(definitions[reference])


def _is_shown(node: Node) -> bool:
    """Whether a node has a validator that is shown the fields beside it."""
    return takes_info(node) and not is_trusted(node["function"]["function"])


def _nodes_beside(schema: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """The nodes of a field that are shown the fields beside it: not those inside a nested record."""
    waiting, known = [schema], set[str]()
    while waiting:
        node = waiting.pop()
        reference = node.get("schema_ref")
        if reference is not None and reference not in known:
            known.add(reference)
            waiting.append(definitions[reference])
        yield node
        if node["type"] not in RECORDS:
            waiting += parts_of(node)


def looks_beside(schema: Node, definitions: Mapping[str, Node], *, factories: bool = False) -> bool:
    """Whether a validator of a place looks at the fields beside it; with ``factories``, or a factory of it."""
    nodes = _nodes_beside(schema, definitions)
    return any(_is_shown(node) or (factories and makes_of_others(node)) for node in nodes)


def is_function(node: Node) -> bool:
    """Whether a node runs a validator of the user's."""
    return str(node["type"]).startswith("function-")


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


def takes_info(node: Node) -> bool:
    """Whether a node has a validator that takes ``info``."""
    return is_function(node) and node["function"]["type"] == "with-info"


def makes_of_others(node: Node) -> bool:
    """Whether a node has a factory that is shown the fields beside it."""
    return bool(node.get("default_factory_takes_data"))


def validator_of(schema: Any, config: CoreConfig | None = None) -> SchemaValidator:
    """The validator of a schema as it stands."""
    # By default pydantic-core would replace the schema of a nested class with the validator that the class has.
    given = {"_use_prebuilt": False} if BUILDS_AS_GIVEN else {}
    return SchemaValidator(cast(CoreSchema, schema), config, **given)


def revalidating(part: Any) -> Any:
    """A copy of a schema in which instances of nested models and dataclasses are validated again."""
    if isinstance(part, list | tuple):
        return type(part)(revalidating(one) for one in part)
    if not isinstance(part, dict):
        return part
    found = {name: one if name in _DATA else revalidating(one) for name, one in part.items()}
    for name in _NAMED & part.keys():
        if isinstance(part[name], dict):
            found[name] = {given: revalidating(one) for given, one in part[name].items()}
    if part.get("type") in ("model", "dataclass"):
        found["revalidate_instances"] = "always"
    return found
