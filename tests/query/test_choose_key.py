"""The form of a query: what is found out once."""

from dynaorm import Entity, Table
from dynaorm.query.choose_key import form_of
from dynaorm.query.query_spec import queried


def test_the_form_of_a_query_is_found_once_until_a_class_joins_the_table() -> None:
    table = Table("forms")

    class First(Entity, table=table, pk="A#{a}", sk="FIRST#{b}"):
        a: str
        b: str

    one = form_of(queried(First, {"a": "x", "b": "y"}).backwards())
    assert form_of(queried(First, {"a": "1", "b": "2"})) is one, "values and order are no part of it"
    assert form_of(queried(First, {"a": "x"})) is not one
    assert form_of(queried(First, {"a": "x"}).bounded("<", {"b": "y"})) is not one
    made_before = queried(First, {"a": "x", "b": "y"})

    class Second(Entity, table=table, pk="A#{a}", sk="SECOND"):
        a: str

    assert form_of(made_before) is not one
    assert form_of(queried(Second, {"a": "x"})) is not one
