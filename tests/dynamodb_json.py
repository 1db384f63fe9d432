"""What DynamoDB hears and answers, as types: items and attribute values as JSON."""

from collections.abc import Mapping
from typing import Any, TypeAlias

AttributeValue: TypeAlias = Mapping[str, Any]
"""``{"S": "text"}``, ``{"N": "1.5"}``, ``{"L": [...]}``."""

Item: TypeAlias = Mapping[str, AttributeValue]
"""A stored item, or a primary key: attribute names and values."""
