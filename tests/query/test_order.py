"""Items stand in DynamoDB's order."""

from dynaorm.entity.table import KeyAttribute
from dynaorm.item.value import Item
from dynaorm.query.order import place


def test_numbers_stand_by_value_and_texts_by_code_point() -> None:
    keys = [KeyAttribute("n", "N"), KeyAttribute("s", "S")]
    items: list[Item] = [
        {"n": {"N": "10"}, "s": {"S": "a"}},
        {"n": {"N": "9"}, "s": {"S": "b"}},
        {"n": {"N": "9.0"}, "s": {"S": "B"}},
        {"n": {"N": "-1"}, "s": {"S": "\U0001f600"}},
        {"n": {"N": "-1"}, "s": {"S": "\uffff"}},
    ]
    ordered = sorted(items, key=lambda item: place(item, keys))
    assert [item["s"]["S"] for item in ordered] == ["\uffff", "\U0001f600", "B", "b", "a"]


def test_binary_stands_by_unsigned_bytes() -> None:
    keys = [KeyAttribute("b", "B")]
    items: list[Item] = [{"b": {"B": b"\xff"}}, {"b": {"B": b"\x01\x02"}}, {"b": {"B": b"\x01"}}]
    assert [item["b"]["B"] for item in sorted(items, key=lambda item: place(item, keys))] == [
        b"\x01",
        b"\x01\x02",
        b"\xff",
    ]
