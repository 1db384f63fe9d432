"""An Index is an attribute of the class, and no field."""

from typing import ClassVar

from dynaorm import Entity, GlobalIndex, Index, Table


def test_pydantic_takes_an_index_for_no_field_annotated_or_not() -> None:
    table = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2"), GlobalIndex("GSI3")])

    class Ticket(Entity, table=table, pk="TICKET#{slug}", sk="A"):
        slug: str
        first = Index("GSI1", pk="A", sk="{slug}")
        second: ClassVar = Index("GSI2", pk="A", sk="{slug}")
        third: ClassVar[Index] = Index("GSI3", pk="A", sk="{slug}")

    assert list(Ticket.model_fields) == ["slug"]
    assert Ticket(slug="x").model_dump() == {"slug": "x"}
    assert list(Ticket.model_json_schema()["properties"]) == ["slug"]


def test_an_index_is_itself_on_the_class_and_on_its_objects() -> None:
    class Ticket(Entity, table=Table("app", indexes=[GlobalIndex("GSI1")]), pk="TICKET#{slug}", sk="A"):
        slug: str
        by_slug = Index("GSI1", pk="A", sk="{slug}")

    assert isinstance(Ticket.by_slug, Index)
    assert Ticket(slug="x").by_slug is Ticket.by_slug
    assert Ticket.by_slug.attribute_name == "by_slug"
    assert repr(Ticket.by_slug) == "Index('GSI1', pk='A', sk='{slug}')"
