"""Revision, version number and version time of a new image, and the item that keeps a version."""

from datetime import datetime
from typing import Annotated

import pytest
from pydantic import BaseModel

from dynaorm import Attribute, Entity, Key, Table, codecs
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import set_state
from dynaorm.entity.table import ident_of
from dynaorm.item.update import AddTo
from dynaorm.item.value import Item
from dynaorm.plan.intent import Check, Deletion, Edit, Reads, Save
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.plan import Plan
from dynaorm.plan.versions import VersionPurpose, version_key
from tests.cast.documents import Letter
from tests.plan.cast import Document, Numbered, Stock, numbered
from tests.plan.compiling import plan_of, reads_of, saved, stored

AT = "2023-11-14T22:13:20.000000Z"

app = Table("versions")


def versions_in(plan: Plan) -> list[Item]:
    return [planned.after or {} for planned in plan.actions if planned.purpose is VersionPurpose.KEEP]


def test_every_item_of_a_unit_of_work_carries_its_id_as_revision() -> None:
    plan = plan_of(
        Save(Stock(sku="a")), Save(Document(doc_id="d")), Edit(Key(Stock, sku="b"), (AddTo(("left",), 1),))
    )
    assert [planned.after.get("_rev") for planned in plan.actions if planned.after] == [{"S": "w2"}] * 3
    assert [planned.revision for planned in plan.actions] == ["w2", "w2", None, "w2"]
    stock = saved(Stock(sku="a"))
    assert [plan_of(one(stock)).actions[0].revision for one in (Check, Deletion)] == [None, None]


def test_a_version_item_repeats_the_item_without_type_and_index_keys() -> None:
    (version,) = versions_in(plan_of(Save(Document(doc_id="d", text="t", shelf="x"))))
    assert version == {
        "PK": {"S": "DOC#d"},
        "SK": {"S": "v1_D"},
        "doc_id": {"S": "d"},
        "text": {"S": "t"},
        "shelf": {"S": "x"},
        "version": {"N": "1"},
        "version_at": {"S": AT},
        "_rev": {"S": "w2"},
    }


def test_versions_of_some_fields_hold_key_and_those_fields() -> None:
    (version,) = versions_in(plan_of(Save(Letter(name="a", text="good", note="n"))))
    assert version == {
        "PK": {"S": "LETTER#a"},
        "SK": {"S": "r_001_L"},
        "text": {"S": "good"},
        "version": {"N": "1"},
        "version_at": {"S": AT},
    }


@pytest.mark.parametrize(("number", "expected"), [(1, "r_001_L"), (12345, "r_12345_L")])
def test_padding_is_for_numbers_never_for_the_latest_copy(number: int, expected: str) -> None:
    latest = {"PK": {"S": "LETTER#p"}, "SK": {"S": "r_0_L"}}
    assert dict(Key(Letter, name="p").primary_key) == latest
    assert version_key(mapping_of(Letter), latest, number) == {"PK": {"S": "LETTER#p"}, "SK": {"S": expected}}


class Paper(Entity, table=app, pk="PAPER#{name}", sk="P", versioned=True):
    name: str


class Report(Paper):
    pages: int = 0


def test_the_versions_of_a_family_name_their_class() -> None:
    (version,) = versions_in(plan_of(Save(Report(name="r"))))
    assert version["version_type"] == {"S": "Report"}


def test_the_first_version_after_a_deletion_tells_when_that_was() -> None:
    tombstone: Item = {
        "PK": {"S": "PAPER#m"}, "SK": {"S": "v0_P"}, "_rev": {"S": "w1"}, "deleted": {"BOOL": True},
        "version": {"N": "4"}, "version_at": {"S": "2020-01-01T00:00:00.000000Z"},
    }  # fmt: skip
    reads = Reads({ident_of(app, tombstone): tombstone})
    (version,) = versions_in(plan_of(Save(Paper(name="m")), reads=reads))
    assert version["version"] == {"N": "5"}
    assert version["previous_deletion"] == {"S": "2020-01-01T00:00:00.000000Z"}


class Room(BaseModel):
    floor: int = 0


class Layout(Entity, table=app, pk="LAYOUT#{name}", sk="P", versioned=True):
    name: str
    at: Annotated[datetime | None, Attribute(codec=codecs.ANY_ISO)] = None
    room: Room | None = None
    note: str = ""


def test_a_restored_item_has_everything_that_its_version_has() -> None:
    mapping = mapping_of(Layout)
    key: Item = {"PK": {"S": "LAYOUT#p"}, "SK": {"S": "v0_P"}}
    kept: Item = {
        "at": {"S": "2024-01-01T00:00:00+00:00"},
        "room": {"M": {"floor": {"N": "1.0"}, "legacy": {"S": "kept"}}},
        "unknown": {"SS": ["kept"]},
    }
    bookkeeping: Item = {
        "version": {"N": "3"},
        "version_at": {"S": AT},
        "version_type": {"S": "Layout"},
        "previous_deletion": {"S": AT},
        "_rev": {"S": "old"},
    }
    version = {**key, "name": {"S": "p"}, **kept, **bookkeeping}
    restored = mapping.loader.hydrate(version)
    set_state(restored, None)
    tombstone = {**key, "version": {"N": "7"}, "version_at": {"S": AT}, "deleted": {"BOOL": True}}
    reads = Reads({ident_of(app, key): tombstone})
    image, copy = (one.after for one in plan_of(Save(restored, origin=version), reads=reads).actions)
    now = {"version": {"N": "8"}, "version_at": {"S": AT}, "_rev": {"S": "w2"}}
    assert image == {**key, "_type": {"S": "Layout"}, "name": {"S": "p"}, "note": {"S": ""}, **kept, **now}
    assert copy is not None
    assert {name: copy[name] for name in kept} == kept


def test_a_number_that_is_the_revision_goes_up_with_every_write() -> None:
    (planned,) = plan_of(
        Save(Numbered(name="n", text="b"), overwrite=True),
        reads=reads_of(numbered, {**stored(Numbered(name="n")), "number": {"N": "7"}}),
    ).actions
    assert planned.after is not None
    assert planned.after["number"] == {"N": "8"}


def test_only_a_change_of_a_versioned_field_writes_a_version() -> None:
    letter = saved(Letter(name="a", text="good"))
    letter.note = "n"
    plan = plan_of(Save(letter))
    assert [planned.purpose for planned in plan.actions] == [ItemPurpose.UPDATE]
    assert (plan.actions[0].after or {})["version"] == {"N": "1"}
    letter.text = "bad"
    assert [one["version"] for one in versions_in(plan_of(Save(letter)))] == [{"N": "2"}]
