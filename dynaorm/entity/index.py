"""An entity's place in a secondary index of its table."""

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic_core import CoreSchema, core_schema

TemplateText: TypeAlias = str | tuple[str, ...]
E = TypeVar("E")


class Index(property):
    """The key templates under which a class appears in one of its table's indexes.

    ``by_status = Index("GSI1", pk="STATUS#{status}", sk="{created_at}")``. A template may be left out where the
    index's key attribute is a key of the table (it takes that key's template) or the stored name of a field. An item
    for which any part is None is not in the index.

    It derives from ``property`` so that pydantic takes it for no field, annotated as ``ClassVar`` or not at all.
    """

    def __init__(self, name: str, *, pk: TemplateText | None = None, sk: TemplateText | None = None) -> None:
        super().__init__()
        self.index_name = name
        self.pk_text = pk
        self.sk_text = sk
        self.attribute_name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute_name = name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        # Annotated as ``Index`` it is a field all the same: the declaration refuses that, in words of its own.
        return core_schema.any_schema()

    def __get__(  # type: ignore[override]  # a property is itself on the class, and this one is not
        self, instance: object, owner: type[E] | None = None
    ) -> "IndexOf[E]":
        entity: Any = type(instance) if owner is None else owner
        return IndexOf(entity, self)

    def __repr__(self) -> str:
        return f"Index({self.index_name!r}, pk={self.pk_text!r}, sk={self.sk_text!r})"


@dataclass(
    frozen=True, slots=True
)  # no record: type checkers would take ``index`` for a descriptor of the class
class IndexOf(Generic[E]):
    """A class's place in an index, as a query names it: ``Ticket.by_status``. A subclass has its own."""

    entity: type[E]
    index: Index

    def __repr__(self) -> str:
        return f"{self.entity.__name__}.{self.index.attribute_name}"
