"""A validator of a class's fields alone: their types, constraints and field validators, not its model validators.

Saving one changed field must not fail on a rule about the others, nor run a model validator with half an entity.
"""

from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import CoreConfig, CoreSchema, SchemaValidator


def fields_validator(entity: type[BaseModel]) -> SchemaValidator:
    """A validator for ``{field: value}`` of this class, to be called with ``by_alias=False, by_name=True``."""
    node: Any = entity.__pydantic_core_schema__
    definitions: list[Any] = []
    config: CoreConfig | None = None
    while node["type"] != "model-fields":
        if node["type"] == "definitions":
            definitions = node["definitions"]
        elif node["type"] == "model":
            config = node.get("config")
        if node["type"] == "definition-ref":
            node = next(one for one in definitions if one.get("ref") == node["schema_ref"])
        else:
            node = node["schema"]
    fields = {name: _assignable(one) for name, one in node["fields"].items()}
    node = {**node, "fields": fields}
    schema = {"type": "definitions", "schema": node, "definitions": definitions} if definitions else node
    return SchemaValidator(cast(CoreSchema, schema), config)


def _assignable(field: Any) -> Any:
    # A frozen field cannot be assigned in place, but a copy may hold another value, and is validated all the same.
    return {key: value for key, value in field.items() if key != "frozen"}
