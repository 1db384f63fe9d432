"""Loading in bulk: what is stored, what is refused, and a plan that is never sent again."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import (
    Aggregate,
    Entity,
    NumberRevision,
    Table,
    Unique,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import ItemTooLarge, UsageError
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.plan.inspection import check_loadable, load_of, plan_of
from dynaorm.plan.own_item import ItemPurpose
from tests.cast.documents import Letter
from tests.cast.events import Mark, Note, Upload
from tests.cast.people import Staff

app = Table("load-app")
plain = Table("load-plain", type_attribute=None, revision_attribute=None)


class Reading(Entity, table=plain, pk="R#{name}", sk="R"):
    name: str


class Hall(Entity, table=app, pk="HALL#{hall}", sk="H"):
    hall: str
    seats: int = 0
    width: int = 0


class Owner(Entity, table=app, pk="OWNER#{owner}", sk="O"):
    owner: str
    seats: int = 0


class Seat(Entity, table=app, pk="SEAT#{number}", sk="S"):
    number: int
    hall: str
    owner: str
    width: int = 1
    in_hall = Aggregate(Hall, count="seats", sum={"width": "width"})
    of_owner = Aggregate(Owner, count="seats")


def test_any_other_class_is_accepted() -> None:
    check_loadable(Upload)
    check_loadable(Reading)


def test_what_is_no_entity_is_refused() -> None:
    with pytest.raises(UsageError, match="int is no entity class; use one"):
        check_loadable(int)


def test_the_plan_says_that_it_replaces_and_is_too_old_to_be_sent_again() -> None:
    first, last = (
        load_of(Upload(event_id="1", data=1), "r1", 0.0),
        load_of(Upload(event_id="1", data=2), "r2", 0.0),
    )
    plan = plan_of([first, last], "real-table")
    (planned,) = plan.actions
    assert (planned.purpose, planned.revision, planned.after) == (ItemPurpose.REPLACE, "r2", last.item)
    assert plan.to_request() == {"TableName": "real-table", "Item": last.item}
    assert [effect.entity for effect in plan.effects] == [first.entity, last.entity]
    assert plan.made_at == float("-inf")
    assert (
        "Put real-table PK=EVENT#1 SK=E: replace Upload(event_id='1'), whatever is stored" in plan.explain()
    )


@pytest.mark.parametrize(
    ("entity", "kept"),
    [
        (Staff, "has unique values (email, phone), and bulk_load checks and writes no guards"),
        (Letter, "is versioned, and bulk_load writes no versions"),
        (Seat, "keeps totals in other entities (in_hall, of_owner), and bulk_load adds nothing up"),
        (Hall, "has totals (seats, width), and bulk_load would write over them"),
    ],
)
def test_a_refused_class_is_told_what_would_be_missing(entity: type, kept: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check_loadable(entity)
    assert refusal.value.problem == f"{entity.__name__} {kept}"
    remedy = "use session.save_many(...), which saves each with everything that belongs to it"
    assert refusal.value.remedy == remedy


@pytest.mark.parametrize("too_many", [0, 1])
def test_an_item_may_be_as_large_as_dynamodb_allows_and_no_larger(too_many: int) -> None:
    room = ITEM_LIMIT - item_size(load_of(Mark(event_id="1", name="m"), "r", 0.0).item)
    mark = Mark(event_id="1", name="m", text="x" * (room + too_many))
    if too_many:
        with pytest.raises(ItemTooLarge):
            load_of(mark, "r", 0.0)
    else:
        assert load_of(mark, "r", 0.0).entity is mark


def test_what_is_to_be_loaded_is_written_as_json_once() -> None:
    load = load_of(Mark(event_id="1", name="m", text="x" * 100), "r", 0.0)
    assert load.text == encode_body(load.item)
    assert len(load.text) >= item_size(load.item)


class Ancestor(Entity, table=Table("load-family"), pk="ANCESTOR#{name}", sk="A"):
    name: str


class Heir(Ancestor):
    email: Annotated[str, Unique()]


def test_a_class_that_shares_its_keys_with_one_of_unique_values_is_refused() -> None:
    """A loaded item may replace one of the subclass, and would leave its guard item behind."""
    with pytest.raises(UsageError) as caught:
        check_loadable(Ancestor)
    assert str(caught.value) == (
        "Ancestor shares its keys with Heir, which has unique values (email), and bulk_load checks and writes no "
        "guards; use session.save_many(...), which saves each with everything that belongs to it"
    )


def test_an_entity_is_created_and_changed_now_unless_it_was_loaded() -> None:
    note = Note(note="a")
    load = load_of(note, "r1", 0.0)
    assert load.altered == {
        "created": datetime(1970, 1, 1, tzinfo=UTC),
        "changed": datetime(1970, 1, 1, tzinfo=UTC),
    }
    again: Any = mapping_of(Note).loader.hydrate(load.item)
    times = {name: load_of(again, "r2", 60.0).item[name]["S"] for name in ("created", "changed")}
    assert times == {"created": "1970-01-01T00:00:00.000000Z", "changed": "1970-01-01T00:01:00.000000Z"}


def test_a_default_that_its_class_would_refuse_is_loaded_where_nobody_gave_it() -> None:
    class Doubtful(Entity, table=app, pk="DOUBTFUL#{name}", sk="D"):
        name: str
        none: int = None  # type: ignore[assignment]  # that is the fault

    assert load_of(Doubtful(name="a"), "r", 0.0).item["name"] == {"S": "a"}


def test_a_table_whose_revision_is_a_number_is_refused() -> None:
    class Row(
        Entity,
        table=Table("load-numbered", revision_attribute=NumberRevision("version")),
        pk="ROW#{name}",
        sk="R",
    ):
        name: str

    with pytest.raises(UsageError) as refused:
        check_loadable(Row)
    assert str(refused.value) == (
        "Table('load-numbered') keeps the number 'version', by which other writers see that an item changed, "
        "and bulk_load would set it back to 1; use session.save_many(...), which raises it"
    )


def test_a_table_without_revisions_gets_none() -> None:
    assert load_of(Reading(name="n"), "r1", 0.0).item == {
        "PK": {"S": "R#n"},
        "SK": {"S": "R"},
        "name": {"S": "n"},
    }
