"""The declaration of an index of a table, and of the attributes that keys are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from dynaorm.failure import counted, shown
from dynaorm.record import record

KeyKind: TypeAlias = Literal["S", "N", "B"]
Projection: TypeAlias = str | tuple[str, ...]
IndexKind: TypeAlias = Literal["global", "local", "vector"]
Distance: TypeAlias = Literal["cosine", "euclidean", "dot_product"]
"""How an index compares vectors."""

# Bytes in the name of a key attribute (Developer Guide, "Quotas", "Attribute names").
KEY_NAME_LIMIT: Final = 255
# A GSI's key may have up to 4 partition and 4 sort attributes (Developer Guide, "Multi-attribute keys").
_PARTS: Final = 4
_NEEDED_SIDES: Final[dict[IndexKind, str]] = {"global": "pk", "local": "sk", "vector": "pk"}


@record
class NumberKey:
    """A key attribute of type Number.

    Attributes:
        name: the attribute.

    Examples:
        >>> readings = Table("readings", sk=NumberKey("epoch"))
        >>> class Reading(Entity, table=readings, pk="SENSOR#{sensor}", sk="{at:epoch}"):
        ...     sensor: str
        ...     at: datetime
        >>> item_of(Reading(sensor="s1", at=datetime(2024, 5, 1, tzinfo=UTC)))["epoch"]
        {'N': '1714521600'}
    """

    name: str


@record
class BinaryKey:
    """A key attribute of type Binary.

    Attributes:
        name: the attribute.

    Examples:
        >>> class Blob(Entity, table=Table("blobs", pk=BinaryKey("digest"), sk=None), pk="{digest}"):
        ...     digest: bytes
        >>> item_of(Blob(digest=b"ab"))["digest"]
        {'B': b'ab'}
    """

    name: str


KeySpec: TypeAlias = str | NumberKey | BinaryKey
"""A key attribute: the name of a text, or the name and another type."""


@record
class KeyAttribute:
    """A key attribute's name and DynamoDB type (``S``, ``N`` or ``B``)."""

    name: str
    kind: KeyKind


class _Unset(Enum):
    UNSET = "unset"


UNSET: Final = _Unset.UNSET


def key_attribute(spec: KeySpec) -> KeyAttribute:
    if isinstance(spec, NumberKey):
        return KeyAttribute(spec.name, "N")
    if isinstance(spec, BinaryKey):
        return KeyAttribute(spec.name, "B")
    return KeyAttribute(spec, "S")


def _key_attributes(spec: KeySpec | tuple[KeySpec, ...] | None) -> tuple[KeyAttribute, ...]:
    if spec is None:
        return ()
    return tuple(key_attribute(one) for one in (spec if isinstance(spec, tuple) else (spec,)))


def _projection(projection: str | Iterable[str]) -> Projection:
    given: Any = projection  # a table refuses what is neither
    return given if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


def _several(given: KeySpec | Iterable[KeySpec]) -> tuple[KeySpec, ...]:
    # A table refuses what names no attribute.
    return (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)


class GlobalIndex:
    """A global secondary index.

    Args:
        name: the index's name.
        pk: its partition key attribute (default ``<name>PK``); a tuple of up to four declares a native
            multi-attribute key.
        sk: its sort key attribute (default ``<name>SK``), a tuple likewise; None for none.
        projection: ``"ALL"``, ``"KEYS_ONLY"`` or the names of the attributes copied into the index.

    Examples:
        >>> Table("music", indexes=[GlobalIndex("by_year", pk=NumberKey("year"), sk=None, projection="KEYS_ONLY")]).name
        'music'
    """

    kind: Final = "global"

    def __init__(
        self,
        name: str,
        *,
        pk: KeySpec | tuple[KeySpec, ...] | None = None,
        sk: KeySpec | tuple[KeySpec, ...] | _Unset | None = UNSET,
        projection: str | Iterable[str] = "ALL",
    ) -> None:
        self.name = name
        self.pk = _key_attributes(pk if pk is not None else f"{name}PK")
        self.sk = _key_attributes(f"{name}SK" if isinstance(sk, _Unset) else sk)
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"GlobalIndex({self.name!r})"


class LocalIndex:
    """A local secondary index: the table's partition key with another sort key. Only at the table's creation.

    Args:
        name: the index's name.
        sk: its sort key attribute (default ``<name>SK``).
        projection: as for ``GlobalIndex``.

    Examples:
        >>> Table("music", indexes=[LocalIndex("by_title", sk="title")]).name
        'music'
    """

    kind: Final = "local"

    def __init__(
        self, name: str, *, sk: KeySpec | None = None, projection: str | Iterable[str] = "ALL"
    ) -> None:
        self.name = name
        self.pk: tuple[KeyAttribute, ...] = ()
        self.sk = _key_attributes(sk if sk is not None else f"{name}SK")
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"LocalIndex({self.name!r})"


class VectorIndex:
    """A vector index: finds the items whose vectors are nearest to a given one (``session.search``).

    DynamoDB has one only in tables with on-demand billing, at most five in a table. Its entries have the numbers of a
    vector as 32-bit floats. Source: Amazon DynamoDB API Reference, CreateTable (``VectorIndexes``), SearchVectors.

    Args:
        name: the index's name.
        dimensions: how many numbers a vector has: 1 to 4096.
        distance: what "near" means: ``"cosine"``, ``"euclidean"`` or ``"dot_product"``.
        pk: its partition key attribute (default ``<name>PK``). A search looks at one partition. Only entities have
            the attribute: guard items and versions are in no vector index.
        vector: the attribute that holds the vector (default ``<name>Vector``).
        filters: the attributes that a search can filter by: names (of texts), ``NumberKey(name)``,
            ``BinaryKey(name)``.
        projection: as for ``GlobalIndex``. Whole items are fetched by key, so ``"KEYS_ONLY"`` is enough for dynaorm.

    Examples:
        >>> papers = Table("papers", indexes=[VectorIndex("semantic", dimensions=3, filters=["category"])])
        >>> papers.indexes["semantic"].vector
        'semanticVector'
    """

    kind: Final = "vector"

    def __init__(
        self,
        name: str,
        *,
        dimensions: int,
        distance: Distance = "cosine",
        pk: KeySpec | None = None,
        vector: str | None = None,
        filters: Iterable[KeySpec] = (),
        projection: str | Iterable[str] = "KEYS_ONLY",
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.distance: Distance = distance
        self.pk = _key_attributes(pk if pk is not None else f"{name}PK")
        self.sk: tuple[KeyAttribute, ...] = ()
        self.vector = vector if vector is not None else f"{name}Vector"
        self.filters = _key_attributes(_several(filters))
        self.projection = _projection(projection)

    def __repr__(self) -> str:
        return f"VectorIndex({self.name!r})"


AnyIndex: TypeAlias = GlobalIndex | LocalIndex | VectorIndex
"""An index of a table."""


def named_attributes(index: AnyIndex) -> tuple[KeyAttribute, ...]:
    """The attributes of an index that have a type of their own: CreateTable defines each."""
    return (*index.pk, *index.sk, *(index.filters if isinstance(index, VectorIndex) else ()))


def is_name(name: object) -> bool:
    """Whether an attribute with this name can be a key."""
    if not isinstance(name, str):
        return False
    try:
        return 1 <= len(name.encode()) <= KEY_NAME_LIMIT
    except UnicodeEncodeError:  # half a surrogate pair, which no request can hold
        return False


def is_one_of(given: object, choices: tuple[str, ...]) -> bool:
    """Whether it is one of these texts. Comparing other objects may raise anything."""
    return isinstance(given, str) and given in choices


def count_problems(index: AnyIndex) -> Iterator[str]:
    """Why the key of an index has too many attributes, or too few."""
    most = _PARTS if isinstance(index, GlobalIndex) else 1
    for side, attributes in (("pk", index.pk), ("sk", index.sk)):
        if len(attributes) > most:
            yield f"{index}: {side} has {counted(len(attributes), 'attribute')}; DynamoDB allows {most}, drop some"
        if not attributes and side == _NEEDED_SIDES[index.kind]:
            yield f"{index}: {side} has no attribute; name one"


def projection_problems(indexes: Iterable[AnyIndex]) -> Iterator[str]:
    """Why indexes cannot have these projections."""
    for index in indexes:
        given: object = index.projection
        are_names = isinstance(given, tuple) and given != () and all(map(is_name, given))
        if not are_names and not is_one_of(given, ("ALL", "KEYS_ONLY")):
            yield (
                f"{index}: projection={shown(given)}; write 'ALL', 'KEYS_ONLY', or a tuple of attribute names"
            )
