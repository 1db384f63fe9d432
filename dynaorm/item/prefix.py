"""Attributes whose names begin alike: as DynamoDB has them, and as the members of one map.

Rule 1. An item that is read gets one map in place of the attributes that begin with a prefix of its class. Every rule
        of fields, paths, edits and comparisons holds for it as for any map.
Rule 2. The name of such a map is a ``Prefix``. So whatever is sent to DynamoDB can tell it from an attribute, and no
        class has to be known.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Self

from dynaorm.item.path import Path
from dynaorm.item.value import AttributeValue, Item

_NONE: Final[AttributeValue] = {"M": {}}

# Those of this process: without any, an item or a path costs one test.
_made: Final[set[str]] = set()


class Prefix(str):
    """The name of a map whose members are attributes. Its text is that of no attribute beside it: ``p.*``.

    Attributes:
        beginning: what the names of the attributes begin with: ``p.``.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        _made.add(text)
        return super().__new__(cls, text)

    def __str__(self) -> str:
        return self  # a plain text of it would be the name of an attribute

    @property
    def beginning(self) -> str:
        """What the names of the attributes begin with."""
        return self[:-1]


def prefix_of(beginning: str) -> Prefix:
    """The name of the map of all attributes that begin so."""
    return Prefix(f"{beginning}*")


def gathered(item: Item, prefixes: Sequence[Prefix]) -> Item:
    """An item as DynamoDB has it, with maps of the attributes that begin with some prefixes."""
    found: dict[str, AttributeValue] = {}
    for name, value in item.items():
        prefix = next((one for one in prefixes if is_member(name, one)), None)
        if prefix is None:
            found[name] = value
        else:
            found.setdefault(prefix, {"M": {}})["M"][name[len(prefix) - 1 :]] = value
    return found


def is_member(name: str, prefix: str) -> bool:
    """Whether an attribute is one of those that a map stands for; a map itself is none."""
    if not isinstance(prefix, Prefix) or isinstance(name, Prefix):
        return False
    return len(name) >= len(prefix) and name.startswith(prefix.beginning)


def has_maps(*items: Item) -> bool:
    """Whether one of some items has a map in place of attributes."""
    return bool(_made) and not all(map(_made.isdisjoint, items))


def scattered(item: Item) -> Item:
    """The item as DynamoDB has it; the same object if it has no map of attributes."""
    if not _made or _made.isdisjoint(item):
        return item
    found: dict[str, AttributeValue] = {}
    for name, value in item.items():
        if isinstance(name, Prefix):
            found |= {name.beginning + member: one for member, one in value["M"].items()}
        else:
            found[name] = value
    return found


def paths_in(names: Iterable[str], *items: Item) -> list[Path]:
    """The paths of attributes, sorted; in place of a map of attributes, those of its members in some items."""
    found: set[Path] = set()
    for name in names:
        if isinstance(name, Prefix):
            found |= {(name, member) for item in items for member in item.get(name, _NONE)["M"]}
        else:
            found.add((name,))
    return sorted(found, key=lambda path: [*map(str, path)])


def attribute_path(path: Path) -> Path:
    """The path as DynamoDB has it. Raises ValueError for a whole map of attributes, which is at no path."""
    name = path[0]
    if not isinstance(name, Prefix):
        return path
    if len(path) == 1:
        raise ValueError(f"{name} stands for any number of attributes, so it is at no path")
    return (f"{name.beginning}{path[1]}", *path[2:])
