"""A version item becomes a Version: the whole entity, or its versioned fields."""

from datetime import UTC, datetime
from typing import Annotated

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, Session, Table, Versioned
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.entity.version import Version, time_of, version_of
from dynaorm.errors import DecodeError, UsageError
from dynaorm.item.value import AttributeValue
from dynaorm.testing.transports import ScriptedTransport

APP = Table("app", indexes=[GlobalIndex("GSI1")])


class Audit(Entity, table=APP, pk="EQUIPMENT#{equipment_id}", sk="Audit", versioned=True):
    equipment_id: str
    result: Annotated[str, Attribute("Result")]
    by_result = Index("GSI1", pk="RESULT#{result}", sk="A")


class Page(Entity, table=APP, pk="PAGE#{slug}", sk="Page", versioned=True):
    slug: str
    text: Annotated[str, Versioned()]
    visits: int = 0


MAIN = {"PK": {"S": "EQUIPMENT#1"}, "SK": {"S": "v0_Audit"}}
ITEM = {
    "PK": {"S": "EQUIPMENT#1"},
    "SK": {"S": "v3_Audit"},
    "equipment_id": {"S": "1"},
    "Result": {"S": "ok"},
    "version": {"N": "3"},
    "version_at": {"S": "2024-01-02T03:04:05.000006Z"},
}


def test_a_version_of_the_whole_entity_holds_it_read_only() -> None:
    found = version_of(mapping_of(Audit), MAIN, 3, ITEM)
    audit = Audit(equipment_id="1", result="ok")
    at = datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert found == Version(3, at, {"equipment_id": "1", "result": "ok"}, audit)
    state = state_of(found.entity)
    assert state is not None
    assert state.read_only
    for overwrite in (False, True):
        with pytest.raises(
            UsageError, match="this Audit was read at a version, and history is not rewritten"
        ):
            Session(transport=ScriptedTransport()).save(found.entity, overwrite=overwrite)


def test_a_version_of_some_fields_holds_those() -> None:
    main = {"PK": {"S": "PAGE#x"}, "SK": {"S": "v0_Page"}}
    item = {
        **main,
        "SK": {"S": "v1_Page"},
        "text": {"S": "a"},
        "version": {"N": "1"},
        "version_at": ITEM["version_at"],
    }
    found = version_of(mapping_of(Page), main, 1, item)
    assert (found.number, found.values, found.entity) == (1, {"text": "a"}, None)


@pytest.mark.parametrize(
    "stored", [{"S": "3"}, {"N": "2"}, {"N": "3.5"}, {"N": "-3"}, {"N": "1E+40"}, {"L": []}, None]
)
def test_a_version_item_whose_number_is_none_or_another_s_is_refused(stored: AttributeValue | None) -> None:
    item = {name: value for name, value in ITEM.items() if name != "version"}
    with pytest.raises(DecodeError, match="version: "):
        version_of(mapping_of(Audit), MAIN, 3, item if stored is None else {**item, "version": stored})


@pytest.mark.parametrize("stored", [{"S": "noon"}, {"S": "2024-01-02T03:04:05"}, {"N": "5"}])
def test_a_time_that_is_none_is_refused(stored: AttributeValue) -> None:
    with pytest.raises(DecodeError, match=r"version_at: is stored as .*, not as the time of a version"):
        time_of(mapping_of(Audit), {**ITEM, "version_at": stored})


@pytest.mark.parametrize("stored", [{"S": "3"}, {"N": "1.5"}, {"N": "-1"}, {"N": "1E+37"}, {"NULL": True}])
def test_a_latest_copy_without_a_number_for_the_next_version_is_refused(stored: AttributeValue) -> None:
    with pytest.raises(DecodeError, match=r"version: is stored as .*, not as a version's number"):
        mapping_of(Audit).loader.hydrate({**ITEM, **MAIN, "version": stored})
    highest = {"N": "9" * 37}
    assert mapping_of(Audit).loader.version_of({**ITEM, **MAIN, "version": highest}) == 10**37 - 1
