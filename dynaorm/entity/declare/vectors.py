"""What is wrong with the vectors of a class: a field that holds them and a place in the index go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dynaorm.entity.declare.keys import KeyBuilder, vector_index_of
from dynaorm.entity.marker import AnnotatedField, Attribute, InKey, Vector
from dynaorm.entity.table import Table, VectorIndex


def vector_problems(marks: Mapping[str, AnnotatedField], keys: KeyBuilder) -> Iterator[str]:
    """One sentence for each vector without a place in its index, each place without a vector, and wrong markers."""
    held: set[str] = set()
    for name, mark in marks.items():
        for one in mark.find(Vector):
            index = vector_index_of(mark, keys.table)
            if index is None:
                yield (
                    f"{name}: {keys.table} has no vector index {one.index!r}; declare it: "
                    f"Table(..., indexes=[VectorIndex({one.index!r}, dimensions=...)])"
                )
                continue
            held.add(index.vector)
            if mark.find(Attribute) or mark.find(InKey):
                yield (
                    f"{name}: Vector() says how the field is stored, under {index.vector!r}; drop the other marker, or "
                    f"name the attribute in VectorIndex({index.name!r}, vector=...)"
                )
            if not any(_vector_of(keys.table, place.name) == index.vector for place in keys.indexes.values()):
                yield (
                    f"{name}: the class has no place in {index}, so no search would find it; write "
                    f'{index.name} = Index({index.name!r}, pk="...")'
                )
    for place in keys.indexes.values():
        declared = keys.table.indexes[place.name]
        if isinstance(declared, VectorIndex) and declared.vector not in held:
            yield (
                f"{place.attribute_name}: the class has no vector for {declared}; write "
                f"embedding: Annotated[list[float], Vector({declared.name!r})]"
            )


def _vector_of(table: Table, name: str) -> str | None:
    """The attribute of the vectors of an index; None for an index of another kind."""
    index = table.indexes[name]
    return index.vector if isinstance(index, VectorIndex) else None
