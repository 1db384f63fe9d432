"""Loading in bulk: what is stored, what is refused, and a plan that is never sent again."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import (
    Aggregate,
    CreatedAt,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    NumberRevision,
    Table,
    Unique,
    UpdatedAt,
    Versioned,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import ItemTooLarge, UsageError
from dynaorm.item.json_body import encode_body
from dynaorm.item.size import ITEM_LIMIT, item_size
from dynaorm.plan.bulk_load import check_loadable, load_of, plan_of
from dynaorm.plan.kinds.own_item import ItemPurpose

app = Table("load-app", indexes=[GlobalIndex("GSI1")])
plain = Table("load-plain", type_attribute=None, revision_attribute=None)


class Event(Entity, table=app, pk="EVENT#{event_id}", sk="E"):
    event_id: str
    kind: str | None = None
    size: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{event_id}")


class Reading(Entity, table=plain, pk="R#{name}", sk="R"):
    name: str


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]


class Staff(User):
    desk: str = ""


class Twice(Entity, table=app, pk="TWICE#{name}", sk="T"):
    name: str
    one: Annotated[str | None, Unique()] = None
    other: Annotated[str | None, Unique()] = None


class Page(Entity, table=app, pk="PAGE#{page_id}", sk="P"):
    page_id: str
    text: str = ""


class Note(Entity, table=app, pk="NOTE#{note_id}", sk="N", versioned=True):
    note_id: str
    text: Annotated[str, Versioned()] = ""


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
    check_loadable(Event)
    check_loadable(Reading)


def test_what_is_no_entity_is_refused() -> None:
    with pytest.raises(UsageError, match="int is no entity class; use one"):
        check_loadable(int)


def test_the_plan_says_that_it_replaces_and_is_too_old_to_be_sent_again() -> None:
    first, last = (
        load_of(Event(event_id="1", size=1), "r1", 0.0),
        load_of(Event(event_id="1", size=2), "r2", 0.0),
    )
    plan = plan_of([first, last], "real-table")
    (planned,) = plan.actions
    assert (planned.purpose, planned.revision, planned.after) == (ItemPurpose.REPLACE, "r2", last.item)
    assert plan.to_request() == {"TableName": "real-table", "Item": last.item}
    assert [effect.entity for effect in plan.effects] == [first.entity, last.entity]
    assert plan.made_at == float("-inf")
    assert "Put real-table PK=EVENT#1 SK=E: replace Event(event_id='1'), whatever is stored" in plan.explain()


@pytest.mark.parametrize(
    ("entity", "kept"),
    [
        (Staff, "has unique values (email), and bulk_load checks and writes no guards"),
        (Note, "is versioned, and bulk_load writes no versions"),
        (Twice, "has unique values (one, other), and bulk_load checks and writes no guards"),
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
    room = ITEM_LIMIT - item_size(load_of(Page(page_id="1"), "r", 0.0).item)
    page = Page(page_id="1", text="x" * (room + too_many))
    if too_many:
        with pytest.raises(ItemTooLarge):
            load_of(page, "r", 0.0)
    else:
        assert load_of(page, "r", 0.0).entity is page


def test_what_is_to_be_loaded_is_written_as_json_once() -> None:
    load = load_of(Page(page_id="1", text="x" * 100), "r", 0.0)
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


class Letter(Entity, table=app, pk="LETTER#{name}", sk="L"):
    name: str
    made: Annotated[datetime | None, CreatedAt()] = None
    seen: Annotated[datetime | None, UpdatedAt()] = None


def test_an_entity_is_created_and_changed_now_unless_it_was_loaded() -> None:
    letter = Letter(name="a")
    load = load_of(letter, "r1", 0.0)
    assert load.altered == {
        "made": datetime(1970, 1, 1, tzinfo=UTC),
        "seen": datetime(1970, 1, 1, tzinfo=UTC),
    }
    again: Any = mapping_of(Letter).hydrate(load.item)
    times = {name: load_of(again, "r2", 60.0).item[name]["S"] for name in ("made", "seen")}
    assert times == {"made": "1970-01-01T00:00:00.000000Z", "seen": "1970-01-01T00:01:00.000000Z"}


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
