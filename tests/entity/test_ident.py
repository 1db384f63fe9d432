"""Which item is meant, in a table and among all tables."""

from dynaorm import Table
from dynaorm.entity.table import contents_of, ident_of

KEY = {"SK": {"N": "7"}, "PK": {"S": "a"}}


def test_an_identity_has_the_declared_name_and_the_contents_of_the_key_in_the_order_of_the_table() -> None:
    table = Table("first")
    assert ident_of(table, KEY) == ("first", "a", "7")
    assert contents_of(table, KEY) == ("a", "7")
    assert ident_of(Table("second", sk=None), {**KEY, "n": {"S": "b"}}) == ("second", "a")
