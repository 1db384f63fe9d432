"""The places inside of the values of fields: the members of models, dicts, lists and sets, and what pydantic says of
them.

Rule 1. A value is judged by the schema of the place it goes to, under the configuration of the class around it: just as
        if the whole field had been given.
Rule 2. A place in a union has the schemas of all members of the union that have such a place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import CoreConfig, SchemaValidator

from dynaorm.entity.mapping.core_schema import (
    RECORDS,
    Node,
    definitions_of,
    looks_beside,
    path_to_fields,
    referred,
    revalidating,
    validator_of,
    with_definitions,
)
from dynaorm.item.path import Path
from dynaorm.record import record

# The nodes whose values are those of a node inside, under its name.
_INNER = {
    "default": "schema", "nullable": "schema", "definitions": "schema", "function-before": "schema",
    "function-after": "schema", "function-wrap": "schema", "json-or-python": "python_schema",
    "lax-or-strict": "lax_schema",
}  # fmt: skip
_ITEMS = {"list": "items_schema", "set": "items_schema", "frozenset": "items_schema", "dict": "values_schema"}
_INSTANCES = frozenset({"model", "dataclass"})


@record(eq=False)
class NestedPlace:
    """A place in the values of a field.

    Attributes:
        name: the field that has the place, of the entity or of a nested class.
        depth: how many steps of the path lead to the values of that class; 0 for those of the entity.
        validator: validates a value for the place, as one of the field ``name``, by ``validate_assignment``.
        looks_beside: a validator of the place is shown the fields beside it.
        holds_instances: a value may be or contain an instance of a model or dataclass.
    """

    name: str
    depth: int
    validator: SchemaValidator
    looks_beside: bool
    holds_instances: bool


class _Around(NamedTuple):
    """A node, and what is around it: the configuration, the field, and how many steps lead to its class."""

    node: Node
    config: Mapping[str, Any]
    name: str
    depth: int


class NestedPlaces:
    """The places in the values of the fields of a class."""

    __slots__ = ("_definitions", "_fields", "_known", "_schema")

    def __init__(self, schema: Node) -> None:
        path = path_to_fields(schema)
        config = next(one for one in path if one["type"] == "model").get("config") or {}
        self._schema, self._definitions = schema, definitions_of(schema)
        self._fields = {
            name: _Around(one["schema"], config, name, 0) for name, one in path[-1]["fields"].items()
        }
        self._known: dict[tuple[object, ...], NestedPlace] = {}

    def at(self, path: Path) -> NestedPlace | None:
        """The place at a path of field names; None if the schema does not say what is there.

        Any index leads to the members of a list or set.
        """
        start = self._fields.get(str(path[0]))
        found = [start] if start is not None else []
        for depth, step in enumerate(path[1:], start=1):
            found = [inner for one in found for inner in self._inside(one, step, depth)]
        if not found or any(one.name != found[0].name for one in found):
            return None
        # Dicts have any number of names, and lists of indexes, which all lead to the same nodes.
        known = (found[0].name, found[0].depth, *(id(one.node) for one in found))
        if known not in self._known:
            self._known[known] = self._place(found)
        return self._known[known]

    def _place(self, found: list[_Around]) -> NestedPlace:
        first, nodes = found[0], [one.node for one in found]
        node = nodes[0] if len(nodes) == 1 else {"type": "union", "choices": nodes}
        fields = {first.name: {"type": "model-field", "schema": node}}
        schema = with_definitions({"type": "model-fields", "fields": fields}, self._schema)
        config: Any = first.config
        within = [*referred(node, self._definitions)]
        return NestedPlace(
            first.name,
            first.depth,
            _validator(schema, config),
            looks_beside(node, self._definitions),
            any(one["type"] in _INSTANCES for one in within),
        )

    def _inside(self, one: _Around, step: str | int, depth: int) -> Iterator[_Around]:
        """The nodes that a step leads to."""
        for whole in self._members_of(one):
            node, kind = whole.node, whole.node["type"]
            if kind in RECORDS:
                config = node.get("config") or whole.config
                for name, schema in _fields(node):
                    if name == step:
                        yield _Around(schema, config, name, depth)
            elif kind in _ITEMS and _ITEMS[kind] in node:
                yield whole._replace(node=node[_ITEMS[kind]])
            elif kind in ("tuple", "named-tuple", "call"):
                yield from (whole._replace(node=schema) for schema in _elements(node, step))

    def _members_of(self, one: _Around) -> Iterator[_Around]:
        """The nodes of the values of a node: those of all members of a union, and of the fields of a class."""
        node, kind = one.node, one.node["type"]
        if kind in ("union", "tagged-union"):
            for choice in _choices(node):
                yield from self._members_of(one._replace(node=choice))
        elif kind == "definition-ref":
            yield from self._members_of(one._replace(node=self._definitions[node["schema_ref"]]))
        elif kind in _INSTANCES:
            config = node.get("config") or {}
            yield from self._members_of(one._replace(node=node["schema"], config=config))
        elif kind in _INNER:
            yield from self._members_of(one._replace(node=node[_INNER[kind]]))
        else:
            yield one


def _validator(schema: Node, config: CoreConfig) -> SchemaValidator:
    return validator_of(revalidating(schema), config)


def _choices(node: Node) -> Iterator[Node]:
    choices = node["choices"]
    for one in choices.values() if isinstance(choices, dict) else choices:
        # A choice may have a label, and one of a tagged union may be the name of another.
        choice = one[0] if isinstance(one, tuple) else one
        if isinstance(choice, dict):
            yield choice


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    fields = node["fields"]
    if isinstance(fields, dict):
        yield from ((name, one["schema"]) for name, one in fields.items())
    else:
        yield from ((one["name"], one["schema"]) for one in fields)


def _elements(node: Node, step: str | int) -> Iterator[Node]:
    """The node of an element of a tuple, or of a member of a NamedTuple."""
    if node["type"] == "named-tuple":
        yield from (schema for name, schema in _fields(node) if name == step)
    elif node["type"] == "call":  # a NamedTuple of pydantic 2.13
        arguments = node["arguments_schema"].get("arguments_schema", ())
        yield from (one["schema"] for one in arguments if one.get("name") == step)
    elif isinstance(step, int):
        items, rest = node["items_schema"], node.get("variadic_item_index")
        if rest is not None:
            yield items[rest]
        elif step < len(items):
            yield items[step]
