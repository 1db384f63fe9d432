"""The places inside of the values of fields: the members of models, dicts, lists and sets, and what pydantic says of
them.

Rule 1. A value is judged by the schema of the place it goes to, under the configuration of the class around it: just as
        if the whole field had been given.
Rule 2. A place in a union has the schemas of all members of the union that have such a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import CoreConfig, SchemaValidator

from dynaorm.entity.core_schema import (
    INSTANCES,
    RECORDS,
    Node,
    definitions_of,
    elements_at,
    fields_in,
    looks_beside,
    path_to_fields,
    referred,
    revalidating,
    same_values,
    validator_of,
    with_definitions,
)
from dynaorm.item.path import Path
from dynaorm.record import record, replace


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


@record(quick=True)
class _Around:
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
            any(one["type"] in INSTANCES for one in within),
        )

    def _inside(self, one: _Around, step: str | int, depth: int) -> Iterator[_Around]:
        """The nodes that a step leads to."""
        for whole in self._members_of(one):
            node = whole.node
            if node["type"] in RECORDS:
                config = node.get("config") or whole.config
                for name, schema in fields_in(node):
                    if name == step:
                        yield _Around(schema, config, name, depth)
            else:
                yield from (replace(whole, node=element) for element in elements_at(node, step))

    def _members_of(self, one: _Around) -> Iterator[_Around]:
        """The nodes of the values of a node: those of all members of a union, and of the fields of a class."""
        inner = [*same_values(one.node, self._definitions)]
        config = one.node.get("config") or {} if one.node["type"] in INSTANCES else one.config
        for node in inner:
            yield from self._members_of(replace(one, node=node, config=config))
        if not inner:
            yield one


def _validator(schema: Node, config: CoreConfig) -> SchemaValidator:
    return validator_of(revalidating(schema), config)
