"""Makes all placeholders: expressions contain ``#n0`` and ``:v0``, never an attribute name or a value.

DynamoDB reserves about 570 words and gives dots and brackets a meaning. Placeholders avoid both.
"""

from collections.abc import Mapping
from typing import Final

from dynaorm.item.path import Path
from dynaorm.item.prefix import Prefix, attribute_path
from dynaorm.item.value import AttributeValue

EXPRESSION_LIMIT: Final = 4096
"""Characters of one expression (DynamoDB Developer Guide, "Service, account, and table quotas")."""


class Placeholders:
    """The placeholders of one request, numbered in the order of the calls.

    Args:
        names: the names of an expression that has placeholders already.
        values: its values.

    Attributes:
        names: ExpressionAttributeNames, placeholder to attribute name.
        values: ExpressionAttributeValues, placeholder to attribute value.
    """

    __slots__ = ("_known", "names", "values")

    def __init__(
        self, names: Mapping[str, str] | None = None, values: Mapping[str, AttributeValue] | None = None
    ) -> None:
        self.names: dict[str, str] = {**names} if names else {}
        self.values: dict[str, AttributeValue] = {**values} if values else {}
        self._known = {name: placeholder for placeholder, name in names.items()} if names else {}

    def name(self, attribute: str) -> str:
        """The placeholder of an attribute name; the same name always has the same placeholder."""
        placeholder = self._known.get(attribute)
        if placeholder is None:
            placeholder = f"#n{len(self.names)}"
            self._known[attribute] = placeholder
            self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        """A new placeholder for a value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self, path: Path) -> str:
        """A document path: ``("a", "b", 3)`` becomes ``#n0.#n1[3]``."""
        if isinstance(path[0], Prefix):
            path = attribute_path(path)
        text = self.name(str(path[0]))
        for step in path[1:]:
            text += f"[{step}]" if isinstance(step, int) else f".{self.name(step)}"
        return text
