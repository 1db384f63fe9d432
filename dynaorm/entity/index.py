"""An entity's place in a secondary index of its table."""

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from dynaorm.entity.declaration import Declaration

TemplateText: TypeAlias = str | tuple[str, ...]
E = TypeVar("E")


class Index(Declaration):
    """The key templates under which a class appears in one of its table's indexes.

    ``by_status = Index("GSI1", pk="STATUS#{status}", sk="{created_at}")``. You can omit a template if the index's key
    attribute is a key of the table (whose template it takes) or the stored name of a field. An entity for which any
    part is None is not in the index.
    """

    def __init__(self, name: str, *, pk: TemplateText | None = None, sk: TemplateText | None = None) -> None:
        super().__init__()
        self.index_name = name
        self.pk_text = pk
        self.sk_text = sk

    def __get__(  # type: ignore[override]  # a property gives itself on the class; an index gives an IndexOf
        self, instance: object, owner: type[E] | None = None
    ) -> "IndexOf[E]":
        entity: Any = type(instance) if owner is None else owner
        return IndexOf(entity, self)

    def __repr__(self) -> str:
        return f"Index({self.index_name!r}, pk={self.pk_text!r}, sk={self.sk_text!r})"


@dataclass(
    frozen=True, slots=True
)  # not @record: type checkers would treat ``index`` as a descriptor of the class
class IndexOf(Generic[E]):
    """A class's place in an index, as a query names it: ``Ticket.by_status``. Each subclass has its own."""

    entity: type[E]
    index: Index

    def __repr__(self) -> str:
        return f"{self.entity.__name__}.{self.index.attribute_name}"
