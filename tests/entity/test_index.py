"""An index of a class, as queries name it."""

from dynaorm import Entity, GlobalIndex, Index, Table


def test_an_index_names_the_class_it_is_asked_of() -> None:
    class Ticket(Entity, table=Table("app", indexes=[GlobalIndex("GSI1")]), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index("GSI1", pk="A", sk="{slug}")

    class Bug(Ticket):
        """A ticket of a kind of its own."""

    assert Ticket.by_slug.entity is Ticket
    assert Bug.by_slug.entity is Bug
    assert Bug.by_slug.index is Ticket.by_slug.index
    assert Ticket(slug="x").by_slug == Ticket.by_slug
    assert Ticket.by_slug.index.attribute_name == "by_slug"
    assert repr(Bug.by_slug) == "Bug.by_slug"
    assert repr(Ticket.by_slug.index) == "Index('GSI1', pk='A', sk='{slug}')"
