"""The attribute that changes with every write: a text of dynaorm's own, or a number that others keep too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.revision import REVISION_ATTRIBUTE, Revision
from dynaorm.item.condition import holds
from dynaorm.item.update import AddTo, apply_changes
from dynaorm.item.value import Item

TEXT = Revision(REVISION_ATTRIBUTE)
NUMBER = Revision("version", "N")


def test_a_number_names_no_write() -> None:
    item: Item = {"version": {"N": "7"}}
    assert (NUMBER.of(item), NUMBER.mark_of(item)) == ("7", None)


@given(st.integers(0, 10**30))
def test_a_number_is_raised_by_one_whether_the_item_was_read_or_not(number: int) -> None:
    item: Item = {"version": {"N": str(number)}}
    after = NUMBER.after(item, "w")
    assert after == {"N": str(number + 1)}
    assert apply_changes(item, [NUMBER.change("w")])["version"] == after


def test_the_first_write_stores_1() -> None:
    assert NUMBER.after(None, "w") == NUMBER.after({}, "w") == {"N": "1"}
    assert NUMBER.change("w") == AddTo(("version",), {"N": "1"})
    assert apply_changes({}, [NUMBER.change("w")]) == {"version": {"N": "1"}}


@pytest.mark.parametrize(
    ("revision", "value", "is_foreign"),
    [
        (TEXT, {"N": "7"}, True),
        (TEXT, {"S": "w"}, False),
        (NUMBER, {"S": "7"}, True),
        (NUMBER, {"N": "1.5"}, True),
        (NUMBER, {"N": "7.0"}, False),
        (NUMBER, {"NULL": True}, True),
    ],
)
def test_a_value_that_the_revision_never_is_belongs_to_others(
    revision: Revision, value: dict[str, object], is_foreign: bool
) -> None:
    assert revision.is_foreign({revision.attribute: value}) is is_foreign
    assert not revision.is_foreign({})


@pytest.mark.parametrize("item", [{}, {"version": {"N": "7"}}, {"version": {"S": "7"}}, {"_rev": {"N": "7"}}])
def test_a_write_without_reading_requires_the_type_of_the_revision(item: Item) -> None:
    for revision in (TEXT, NUMBER):
        assert holds(revision.own, item) is not revision.is_foreign(item)
