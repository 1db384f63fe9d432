"""A validator for the fields of a class: their types, constraints and field validators, without model validators.

Saving one changed field must not fail because of another field, and must not run a model validator on a partial entity.
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
    # A copy of an entity may have another value in a frozen field, which must be validated, too.
    return {key: value for key, value in field.items() if key != "frozen"}
