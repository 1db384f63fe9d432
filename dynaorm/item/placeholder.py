"""The only maker of ``#n0`` and ``:v0``: no attribute name and no value ever stands in an expression itself.

DynamoDB reserves some 570 words and gives dots and brackets a meaning; a placeholder needs to know none of that.
"""

from dynaorm.item.path import Path
from dynaorm.item.value import AttributeValue


class Placeholders:
    """The placeholders of one request, numbered in the order asked for.

    Attributes:
        names: ExpressionAttributeNames, placeholder to attribute name.
        values: ExpressionAttributeValues, placeholder to attribute value.
    """

    __slots__ = ("_known", "names", "values")

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, AttributeValue] = {}
        self._known: dict[str, str] = {}

    def name(self, attribute: str) -> str:
        """The placeholder of an attribute name; the same name has the same one."""
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
        text = self.name(str(path[0]))
        for step in path[1:]:
            text += f"[{step}]" if isinstance(step, int) else f".{self.name(step)}"
        return text
