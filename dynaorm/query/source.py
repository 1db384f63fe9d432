"""What a query reads: a class by its primary key, or by the key of one of its indexes."""

from collections.abc import Container, Iterable
from functools import cached_property
from typing import Any

from dynaorm.entity.classify import literal_beginning
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of, check_not_redeclared
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.index_places import IndexMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import AnyIndex, IndexOf, KeyAttribute, Table
from dynaorm.entity.text.scalar import may_meet, shape_of_text
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.item.value import Item
from dynaorm.record import record


@record(eq=False)
class Source:
    """A class and the key it is read by.

    Attributes:
        mapping: the class.
        index: the index that is read; None for the table itself.
    """

    mapping: EntityMapping
    index: IndexMapping | None = None

    @property
    def table(self) -> Table:
        return self.mapping.table

    @property
    def declared_index(self) -> AnyIndex | None:
        return self.table.indexes[self.index.name] if self.index is not None else None

    @property
    def partition(self) -> tuple[KeyPart, ...]:
        return self.index.partition if self.index is not None else (self.mapping.partition,)

    @property
    def sort(self) -> tuple[KeyPart, ...]:
        if self.index is not None:
            return self.index.sort
        return (self.mapping.sort,) if self.mapping.sort is not None else ()

    @cached_property
    def keys(self) -> tuple[KeyAttribute, ...]:
        """The key attributes of the table or index, the partition key's first."""
        return tuple(part.attribute for part in (*self.partition, *self.sort))

    @cached_property
    def partition_fields(self) -> frozenset[str]:
        return _fields(self.partition)

    @cached_property
    def sort_fields(self) -> frozenset[str]:
        return _fields(self.sort)

    @cached_property
    def optional_fields(self) -> frozenset[str]:
        """The fields of the partition that a query need not give: each of their few texts is asked then."""
        templates = [
            part.template for part in self.partition if part.template is not None and part.version is None
        ]
        chosen = {name for template in templates for name in template.optional}
        told = {name for template in templates for name in template.fields if name not in template.optional}
        return frozenset(chosen - told)

    @cached_property
    def shard_fields(self) -> frozenset[str]:
        """Those of them whose values the partition key does not tell."""
        return self.optional_fields - {name for part in self.partition for name in part.lossless}

    def missing(self, given: Container[str]) -> list[str]:
        """The fields that name the partition and are not given. Those with a few texts may be missing."""
        names = dict.fromkeys(name for part in self.partition for name in part.fields)
        return [name for name in names if name not in self.optional_fields and name not in given]

    def or_filter(self, remedy: str, name: str) -> str:
        """A remedy for a query, or a filter on a field, if one can name it: DynamoDB filters on no key of the query."""
        field = self.mapping.fields.get(name)
        if field is not None and (field.in_key or field.attribute in {key.name for key in self.keys}):
            return remedy
        return f"{remedy}, or filter by {name}"

    @cached_property
    def is_whole(self) -> bool:
        """Whether the table or index holds whole items. From any other projection, items are fetched by key.

        SearchVectors answers without the vector, or with numbers that are rounded.
        """
        declared = self.declared_index
        return declared is None or (declared.projection == "ALL" and not self.is_searched)

    @property
    def is_searched(self) -> bool:
        """Whether a vector index is read, which finds by nearness."""
        return self.declared_index is not None and self.declared_index.kind == "vector"

    @cached_property
    def projected(self) -> frozenset[str] | None:
        """The attributes that every entry of the index has if its item has them; None for all."""
        if self.is_whole:
            return None
        declared = self.declared_index
        assert declared is not None
        names = () if isinstance(declared.projection, str) else declared.projection
        return frozenset([*self.table.key_names, *(key.name for key in self.keys), *names])

    @cached_property
    def is_global(self) -> bool:
        """Whether a global or vector index is read, which has no consistent reads."""
        return self.declared_index is not None and self.declared_index.kind != "local"

    @property
    def other_places(self) -> tuple[IndexMapping, ...]:
        """The other places of the class and its subclasses in this index."""
        own = self.index
        if own is None:
            return ()
        found = {
            place.attribute_name: place
            for mapping in catalog_of(self.table).mappings.values()
            if issubclass(mapping.entity, self.mapping.entity) and own.name in mapping.places
            for place in mapping.places[own.name].places
            if place.attribute_name != own.attribute_name
        }
        return tuple(found.values())

    @property
    def rivals(self) -> tuple[IndexMapping, ...]:
        """The other places that may share a partition with this one."""
        own = self.index
        return (
            () if own is None else tuple(one for one in self.other_places if _may_share_partition(own, one))
        )

    def beside(self, beginning: str = "") -> tuple[EntityMapping, ...]:
        """The other classes whose keys lie between those of this one: a query of it reads, and pays for, their items.

        ``beginning``: that of the sort keys that are read; all keys of this class if it is shorter than theirs.
        """
        found = []
        for mapping in catalog_of(self.table).mappings.values():
            if self.index is None:
                others = [Source(mapping)]
            else:
                places = mapping.places.get(self.index.name)
                others = [Source(mapping, place) for place in (() if places is None else places.places)]
            if not issubclass(mapping.entity, self.mapping.entity) and any(
                self._reaches(one, beginning) for one in others
            ):
                found.append(mapping)
        return tuple(found)

    def _reaches(self, other: "Source", beginning: str) -> bool:
        """Whether keys of another source may lie between those that are read of this one."""
        partitions = zip(self.partition, other.partition, strict=True)
        if not all(may_meet(own.shape, part.shape) for own, part in partitions):
            return False
        if not self.sort or self.sort[0].attribute.kind != "S":
            return True
        read = max(literal_beginning(self.sort[0]), beginning, key=len)
        return may_meet(shape_of_text(read), other.sort[0].shape)

    def may_hold(self, entry: Item) -> bool:
        """Whether an index entry may be in this place, by the literal texts that its keys begin with."""
        return self.index is None or may_be_in(self.index, entry)

    def is_told_from(self, rival: IndexMapping, leading: int | None = None) -> bool:
        """Whether the literal texts that the keys begin with tell this place from another one.

        ``leading``: how many sort key attributes are compared; None for all.
        """
        pairs = zip(self.sort[:leading], rival.sort[:leading], strict=True)
        return any(not _have_one_beginning(own, other) for own, other in pairs)

    def __str__(self) -> str:
        name = self.mapping.entity.__name__
        return name if self.index is None else f"{name}.{self.index.attribute_name}"


def _fields(parts: Iterable[KeyPart]) -> frozenset[str]:
    return frozenset(name for part in parts for name in part.fields)


def may_be_in(place: IndexMapping, entry: Item) -> bool:
    """Whether an index entry may be in a place, by the literal texts that its keys begin with."""
    return all(
        str(entry[part.attribute.name].get("S", "")).startswith(literal_beginning(part))
        for part in place.parts
    )


def _may_share_partition(one: IndexMapping, other: IndexMapping) -> bool:
    return all(may_meet(a.shape, b.shape) for a, b in zip(one.partition, other.partition, strict=True))


def _have_one_beginning(one: KeyPart, other: KeyPart) -> bool:
    first, second = literal_beginning(one), literal_beginning(other)
    return first.startswith(second) or second.startswith(first)


def source_of(named: Any) -> Source:
    """The source a class or ``Class.index`` names.

    Raises:
        UsageError: it is neither, or its class is not mapped, or was declared again; or it is in a vector index.
    """
    if isinstance(named, IndexOf):
        found = known_source(named.entity, named.index.attribute_name)
        if found.is_searched:
            raise UsageError(
                problem=f"{found} is a place in a vector index, which DynamoDB only searches",
                remedy=f"call session.search({found}, vector, k=10)",
            )
        return found
    if isinstance(named, type):
        return known_source(named, None)
    raise UsageError(
        problem=f"{shown(named)} is neither an entity class nor an index of one",
        remedy="write query(Ticket, ...) or query(Ticket.by_status, ...)",
    )


def known_source(entity: type[Any], place: str | None) -> Source:
    """The source of a class, or of one of its places in indexes. Raises UsageError if it was declared again."""
    mapping = mapping_of(entity)
    sources = cached_per_table(mapping.table, _sources)
    if (found := sources.get((entity, place))) is None:
        check_not_redeclared(mapping)
        found = Source(mapping, None if place is None else mapping.indexes[place])
        sources[entity, place] = found
    return found


def _sources(_table: Table) -> dict[tuple[type, str | None], Source]:
    return {}
