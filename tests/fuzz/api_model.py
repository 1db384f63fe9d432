"""The classes of the machine that drives the whole public API, and a model in plain Python of their entities."""

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from dynaorm import BinaryKey, Entity, GlobalIndex, Index, InKey, Key, NumberKey, Table, Unique

app = Table("api-app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])
points = Table("api-points", pk="device", sk=NumberKey("at"))
blobs = Table("api-blobs", pk=BinaryKey("digest"), sk=None)
TABLES = (app, points, blobs)


class Person(Entity, table=app, pk="CLUB#{club}", sk="PERSON#{name}"):
    club: str
    name: str
    handle: Annotated[str | None, Unique(shared=True)] = None
    city: str | None = None
    size: int = 0
    by_city = Index("GSI1", pk="CITY#{city}#{name:shard2}", sk="{size:02d}#{name}")


class Robot(Entity, table=app, pk="CLUB#{club}", sk="ROBOT#{name}"):
    club: Annotated[str, InKey()]
    name: Annotated[str, InKey()]
    handle: Annotated[str | None, Unique(shared=True)] = None
    size: int = 0
    by_size = Index("GSI2", pk="SIZE#{size}", sk="{name}")


class Page(Entity, table=app, pk="CLUB#{club}", sk="PAGE#{name}", versioned=True):
    club: str
    name: str
    size: int = 0


class Point(Entity, table=points, pk="{device}", sk="{at}"):
    device: str
    at: int
    size: int = 0


class Blob(Entity, table=blobs, pk="{digest}"):
    digest: bytes
    size: int = 0


Kind: TypeAlias = type[Entity]
Ident: TypeAlias = tuple[Kind, tuple[Any, ...]]
Values: TypeAlias = dict[str, Any]

KEYS: dict[Kind, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    Person: (("club", "name"), [("a", "x"), ("a", "y"), ("a#", "x"), ("b", "x")]),
    Robot: (("club", "name"), [("a", "x"), ("a", "v0_"), ("b", "#%")]),
    Page: (("club", "name"), [("a", "x"), ("b", "y")]),
    Point: (("device", "at"), [("d", -1), ("d", 0), ("d", 10), ("e", 2)]),
    Blob: (("digest",), [(b"\x00",), (b"\xff\x00",)]),
}
"""For each class, the fields of its key and the keys that are used."""

POOLS: dict[Kind, dict[str, list[Any]]] = {
    Person: {"handle": ["h", "i", None], "city": ["r", "q#", None], "size": [0, 1, 2]},
    Robot: {"handle": ["h", "i", None], "size": [0, 1]},
    Page: {"size": [0, 1, 2]},
    Point: {"size": [0, 1]},
    Blob: {"size": [0, 1]},
}
"""For each class, the other fields and the values they take."""

KINDS = list(KEYS)
LOADABLE = [Point, Blob]


def values_of(entity: Any) -> Values:
    return dict(vars(entity))


def ident_of(entity: Any) -> Ident:
    kind = type(entity)
    return kind, tuple(getattr(entity, name) for name in KEYS[kind][0])


def key_of(ident: Ident) -> Key[Any]:
    kind, values = ident
    return Key(kind, **dict(zip(KEYS[kind][0], values, strict=True)))


def made(ident: Ident, values: Values) -> Any:
    kind, key = ident
    return kind(**dict(zip(KEYS[kind][0], key, strict=True)), **values)


@dataclass
class Model:
    """What is stored: entities by identity, and all versions ever of the versioned ones."""

    live: dict[Ident, Values] = field(default_factory=dict)
    versions: dict[Ident, dict[int, Values]] = field(default_factory=dict)
    newest: dict[Ident, int] = field(default_factory=dict)

    def holder(self, handle: str | None, but: frozenset[Ident] = frozenset()) -> Ident | None:
        """The holder of a unique value; entities in ``but`` do not count, because they release theirs."""
        return next(
            (
                ident
                for ident, values in self.live.items()
                if handle is not None and values.get("handle") == handle and ident not in but
            ),
            None,
        )

    def put(self, ident: Ident, values: Values | None) -> None:
        """Store an entity as it is now; None deletes it."""
        if values is None:
            self.live.pop(ident, None)
            return
        if ident[0] is Page and self.live.get(ident) != values:
            number = self.newest.get(ident, 0) + 1
            self.newest[ident] = number
            self.versions.setdefault(ident, {})[number] = dict(values)
        self.live[ident] = dict(values)

    def of(self, kind: Kind) -> list[Values]:
        return [values for ident, values in self.live.items() if ident[0] is kind]
