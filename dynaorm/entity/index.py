"""An entity's place in a secondary index of its table."""

from __future__ import annotations

from typing import Any, Generic, TypeAlias, TypeVar

from dynaorm.entity.declaration import Declaration, GivenWhen

TemplateText: TypeAlias = str | tuple[str, ...]
E = TypeVar("E")


class Index(Declaration):
    """The key templates under which a class appears in one of its table's indexes.

    ``by_status = Index("GSI1", pk="STATUS#{status}", sk="{created_at}")``. You can omit a template if the index's key
    attribute is a key of the table (whose template it takes) or the stored name of a field. An entity for which any
    part is None is not in the index.

    ``when`` is a condition (``F.status == "open"``) or a pure function of the entity: an entity for which it does not
    hold is not in the index. A class may declare several places in one index, if an entity is in at most one of them.

    Args:
        name: the name of an index of the table.
        pk: the template of the index's partition key; a tuple of templates for a multi-attribute key.
        sk: the template of its sort key likewise.
        when: a condition or a pure function of the entity.

    Examples:
        >>> class Task(Entity, table=app, pk="TASK#{id}", sk="TASK"):
        ...     id: str
        ...     owner: str | None = None
        ...     done: bool = False
        ...     open_of = Index("GSI1", pk="OPEN#{owner}", sk="{id}", when=F.done == False)
        >>> saved = session.save_many([Task(id="1", owner="liz"), Task(id="2", owner="liz", done=True)])
        >>> session.query(Task.open_of, owner="liz").all()
        [Task(id='1', owner='liz', done=False)]
    """

    def __init__(
        self,
        name: str,
        *,
        pk: TemplateText | None = None,
        sk: TemplateText | None = None,
        when: GivenWhen | None = None,
    ) -> None:
        super().__init__()
        self.index_name = name
        self.pk_text = pk
        self.sk_text = sk
        self.when = when

    def __get__(  # type: ignore[override]  # a property gives itself on the class; an index gives an IndexOf
        self, instance: object, owner: type[E] | None = None
    ) -> IndexOf[E]:
        entity: Any = type(instance) if owner is None else owner
        return IndexOf(entity, self)

    def __repr__(self) -> str:
        when = f", when={self.when!r}" if self.when is not None else ""
        return f"Index({self.index_name!r}, pk={self.pk_text!r}, sk={self.sk_text!r}{when})"


class IndexOf(Generic[E]):
    """A class's place in an index, as a query names it: ``Ticket.by_status``. Each subclass has its own.

    Attributes:
        entity: the class.
        index: the place, as the class declares it.
    """

    # Neither @record nor @dataclass: for type checkers, a field ``index`` of the class would be a descriptor, and a
    # dataclass takes half a percent of the first get of a process to declare.
    __slots__ = ("entity", "index")

    def __init__(self, entity: type[E], index: Index) -> None:
        self.entity = entity
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexOf):
            return NotImplemented
        return self.entity is other.entity and self.index is other.index

    def __hash__(self) -> int:
        return hash((self.entity, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.entity, self.index.attribute_name)

    def __repr__(self) -> str:
        return f"{self.entity.__name__}.{self.index.attribute_name}"
