"""Document paths: what is stored at one, and what the field names in one stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from dynaorm.item.value import AttributeValue
from dynaorm.record import record

Path: TypeAlias = tuple[str | int, ...]
"""A document path: a name, then names of map members and indexes of list elements."""

Role: TypeAlias = Literal["value", "addend", "bound", "element", "text"]
"""How a value relates to its path: it has the path's type, or is added to it, or is compared with it, or has the type
of its elements, or is a piece of its text."""


@record(quick=True)
class PathSource:
    """Where the value of a path comes from, in the items that fulfil its conditions.

    Attributes:
        stored: the path of attribute names that stores it; None for ``value``.
        value: the value that the absence stands for, such as a default.
        missing: paths that have to be absent.
        within: a path that has to be stored; None for no such condition.
        not_null: ``within`` may be stored as NULL, which it must not be.
    """

    stored: Path | None = None
    value: AttributeValue | None = None
    missing: tuple[Path, ...] = ()
    within: Path | None = None
    not_null: bool = False


class Resolver(Protocol):
    """Translates paths of field names and the values compared with them."""

    def attribute(self, path: Path) -> Path:
        """The path of attribute names."""

    def sources(self, path: Path) -> tuple[PathSource, ...]:
        """Where the value of a path comes from. Their conditions exclude each other; beyond them there is no value."""

    def start(self, path: Path) -> AttributeValue | None:
        """The value that a change of an absent attribute starts from; None for an empty one, or zero."""

    def encode(self, path: Path, value: object, *, role: Role) -> AttributeValue:
        """A value as the path's attribute value."""

    def refuse_other_form(self, path: Path, other: Path) -> None:
        """Raise UsageError if what is stored at two paths cannot be compared."""


def overlaps(left: Path, right: Path) -> bool:
    """Whether one path leads to or through the other; DynamoDB refuses an update of both."""
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def dotted(path: Path) -> str:
    """A path as messages show it: ``address.lines.0``."""
    return ".".join(map(str, path))


def value_at(item: Mapping[str, Any], path: Path) -> AttributeValue | None:
    """What an item stores at a path; None for nothing."""
    found: Any = {"M": item}
    for step in path:
        if isinstance(step, str):
            found = found.get("M", {}).get(step)
        else:
            elements = found.get("L", ())
            found = elements[step] if step < len(elements) else None
        if found is None:
            return None
    value: AttributeValue = found
    return value


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
        text = self.name(str(path[0]))
        for step in path[1:]:
            text += f"[{step}]" if isinstance(step, int) else f".{self.name(step)}"
        return text
