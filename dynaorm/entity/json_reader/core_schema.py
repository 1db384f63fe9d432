"""Walks and changes pydantic's core schemas.

Rule 1. A schema is a tree of dicts. Only known branches are followed, because a default may be a dict, too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from pydantic_core import CoreSchema

Node: TypeAlias = dict[str, Any]

_BRANCHES: Final = frozenset(
    {
        "arguments_schema",
        "choices",
        "definitions",
        "extras_schema",
        "fields",
        "items_schema",
        "json_schema",
        "keys_schema",
        "lax_schema",
        "python_schema",
        "schema",
        "steps",
        "strict_schema",
        "values_schema",
        "var_args_schema",
        "var_kwargs_schema",
    }
)
# The keys in these branches are the names of fields and choices.
_NAMED: Final = frozenset({"choices", "fields"})


def nodes(schema: Any) -> Iterator[Node]:
    """Every node of a schema, beginning with the schema itself."""
    if isinstance(schema, list | tuple):
        for one in schema:
            yield from nodes(one)
    elif isinstance(schema, dict):
        yield schema
        for name, branch in schema.items():
            if name in _BRANCHES:
                named = name in _NAMED and isinstance(branch, dict)
                yield from nodes(list(branch.values()) if named else branch)


def changed(schema: Any, change: Callable[[Node], Node]) -> Any:
    """The schema with every node changed, the innermost first."""
    if isinstance(schema, list | tuple):
        return type(schema)(changed(one, change) for one in schema)
    if not isinstance(schema, dict):
        return schema
    return change({name: _branch(name, held, change) for name, held in schema.items()})


def _branch(name: str, held: Any, change: Callable[[Node], Node]) -> Any:
    if name not in _BRANCHES:
        return held
    if name in _NAMED and isinstance(held, dict):
        return {key: changed(one, change) for key, one in held.items()}
    return changed(held, change)


def by_name(schema: Any) -> Any:
    """The schema for Python values by field name, as a part of a schema that reads JSON by alias."""
    return changed(schema, _by_name)


def _by_name(node: Node) -> Node:
    if node.get("type") == "json-or-python":
        named = {"ref": node["ref"]} if "ref" in node else {}
        return {**node["python_schema"], **named}
    return {name: held for name, held in node.items() if name not in ("alias", "validation_alias")}


def definitions_of(schema: Node) -> tuple[Node, Mapping[str, Node]]:
    """A schema without its definitions, and the definitions by reference."""
    if schema["type"] != "definitions":
        return schema, {}
    return schema["schema"], {one["ref"]: one for one in schema["definitions"]}


def as_schema(node: Node) -> CoreSchema:
    """A node as pydantic types it."""
    given: Any = node
    schema: CoreSchema = given
    return schema
