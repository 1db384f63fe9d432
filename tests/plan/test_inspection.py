"""What inspect() tells of an entity."""

from decimal import Decimal

import pytest
from pydantic import BaseModel

from dynaorm import Key, inspect
from dynaorm.errors import UsageError
from dynaorm.plan.inspection import Inspection
from tests.plan.cast import Document, Loose
from tests.plan.compiling import saved


class Elsewhere(BaseModel):
    name: str


def test_a_new_entity_has_nothing() -> None:
    assert inspect(Document(doc_id="d")) == Inspection(False, None, None, None, {})


def test_a_loaded_entity_has_key_revision_and_version() -> None:
    document = saved(Document(doc_id="d"))
    assert inspect(document) == Inspection(True, Key(Document, doc_id="d"), "w1", 1, {})


def test_without_revisions_and_versions_both_are_none() -> None:
    assert inspect(saved(Loose(name="l"))) == Inspection(True, Key(Loose, name="l"), None, None, {})


def test_changes_are_stored_value_and_value_now() -> None:
    document = saved(Document(doc_id="d", text="a"))
    document.text = "b"
    document.tags = frozenset({"t"})
    assert inspect(document).changes == {"text": ("a", "b"), "tags": (frozenset(), {"t"})}
    assert inspect(document).revision == "w1"


def test_a_class_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="Elsewhere is not mapped"):
        inspect(Elsewhere(name="e"))


STRANGE = {
    "an int of 5001 digits": 10**5000,
    "not a number": float("nan"),
    "an object": {1: object()},
    "a signal": Decimal("sNaN"),
    "half a surrogate": "\ud800",
    "None": None,
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=[*STRANGE])
@pytest.mark.parametrize("field", ["text", "tags", "doc_id"])
def test_an_object_can_be_looked_at_whatever_its_values_are(field: str, value: object) -> None:
    document = saved(Document(doc_id="d"))
    vars(document)[field] = value
    assert [*inspect(document).changes] == [field]
    assert field in repr(inspect(document))
