"""The times that plans set."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import Attribute, CreatedAt, Entity, ExpiresAt, F, GlobalIndex, Index, Key, Table, UpdatedAt
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import ident_of
from dynaorm.errors import UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.item.action import Put
from dynaorm.item.condition import And, Attr, Compare, Or, missing
from dynaorm.item.update import Change, SetIfMissing, SetTo
from dynaorm.plan.edit import changes_beside
from dynaorm.plan.intent import NOTHING_READ, Edit, Intent, Reads, Save
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.values import times_of_changed, times_of_new
from tests.plan import compiling
from tests.plan.compiling import committed, loaded, plan_of, reads_of, stored

NOW = 1_700_000_000.25
letters = Table("plan-letters", indexes=[GlobalIndex("GSI1")])


def to_seconds(value: Any) -> dict[str, Any]:
    return {"N": str(int(value.timestamp()))}


def from_seconds(stored: Any) -> datetime:
    return datetime.fromtimestamp(int(stored["N"]), UTC)


class Note(Entity, table=Table("plan-times"), pk="NOTE#{note}", sk="N"):
    note: str
    made: Annotated[
        datetime | None, CreatedAt(), Attribute("CreatedAt", encode=to_seconds, decode=from_seconds)
    ] = None
    seen: Annotated[datetime | None, UpdatedAt()] = None


class Plain(Entity, table=Table("plan-times"), pk="PLAIN#{name}", sk="P"):
    name: str


def test_a_time_is_what_will_load() -> None:
    now = datetime.fromtimestamp(NOW, UTC)
    assert times_of_new(mapping_of(Note), NOW) == {"made": now - timedelta(seconds=0.25), "seen": now}
    assert times_of_changed(mapping_of(Note), NOW) == {"seen": now}
    assert times_of_new(mapping_of(Plain), NOW) == {}


def test_there_is_no_time_where_nothing_is_written() -> None:
    assert times_of_new(mapping_of(Note), float("-inf")) == {"made": None, "seen": None}
    assert times_of_changed(mapping_of(Note), float("-inf")) == {}


def test_an_upsert_gets_a_time_of_creation_that_is_stored_if_there_is_none() -> None:
    now = datetime.fromtimestamp(NOW, UTC)
    assert changes_beside(mapping_of(Note), NOW, creates=True) == (
        SetIfMissing(("made",), now - timedelta(seconds=0.25)),
        SetTo(("seen",), now),
    )


@pytest.mark.parametrize("change", [F.made.remove(), F.seen.set_if_missing(None)])
def test_a_partial_update_writes_no_time_by_hand(change: Change) -> None:
    with pytest.raises(UsageError) as refused:
        edit_of(Key(Note, note="a"), (change,), None)
    assert str(refused.value) == (
        f"Note.{change.path[0]} is kept by the session, and is not written by hand; "
        "leave it out: every write of the entity sets it"
    )


# -- the times that plans store ----------------------------------------------------------------------------------------


class Letter(Entity, table=letters, pk="LETTER#{name}", sk="L"):
    name: str
    text: str = ""
    made: Annotated[datetime | None, CreatedAt()] = None
    seen: Annotated[datetime | None, UpdatedAt()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_seen = Index("GSI1", pk="LETTERS", sk="{seen}")


class Dated(Entity, table=letters, pk="DATED#{name}", sk="D", versioned=True):
    name: str
    title: Annotated[str, AfterValidator(str.upper)] = ""
    note: str = ""
    made: Annotated[datetime | None, CreatedAt()] = None
    seen: Annotated[datetime | None, UpdatedAt()] = None


LATER = compiling.NOW + 60
FIRST, SECOND = "2023-11-14T22:13:20.000000Z", "2023-11-14T22:14:20.000000Z"
KEY = Key(Letter, name="a")
SET = (F.text.set("b"),)


def old(**others: Any) -> dict[str, Any]:
    return stored(Letter(name="a"), **others)


def nothing() -> Reads:
    return Reads({ident_of(letters, KEY.primary_key): None})


def expired() -> dict[str, Any]:
    return old(until=int(compiling.NOW) - 1, made={"S": "2020-01-01T00:00:00.000000Z"})


def an_edited_one() -> Letter:
    letter = loaded(Letter(name="a"))
    letter.text, letter.made = "b", datetime(2000, 1, 1, tzinfo=UTC)
    return letter


def restored() -> Save:
    former = mapping_of(Letter).loader.hydrate(old())
    return Save(Letter(name="a", text="b", made=former.made), origin=old())


def overwrite(entity: Letter | None = None) -> Save:
    return Save(entity or Letter(name="a", text="b"), overwrite=True)


UPSERT = Edit(KEY, SET, creates=True, read_first=True)
# The write, what was read, and the time of creation that is stored.
WRITES: dict[str, Callable[[], tuple[Intent, Reads, str]]] = {
    "insert": lambda: (Save(Letter(name="a", text="b")), NOTHING_READ, SECOND),
    "save": lambda: (Save(an_edited_one()), NOTHING_READ, FIRST),
    "update": lambda: (Edit(loaded(Letter(name="a")), SET), NOTHING_READ, FIRST),
    "update by key": lambda: (Edit(KEY, SET, read_first=True), reads_of(letters, old()), FIRST),
    "overwrite": lambda: (overwrite(), reads_of(letters, old()), FIRST),
    "overwrite of an expired one": lambda: (overwrite(), reads_of(letters, expired()), SECOND),
    "overwrite of none": lambda: (overwrite(), nothing(), SECOND),
    "overwrite with a loaded one": lambda: (overwrite(an_edited_one()), nothing(), FIRST),
    "restore": lambda: (restored(), NOTHING_READ, FIRST),
    "upsert of none": lambda: (UPSERT, nothing(), SECOND),
    "upsert of one": lambda: (UPSERT, reads_of(letters, old()), FIRST),
    "upsert of an expired one": lambda: (UPSERT, reads_of(letters, expired()), SECOND),
}


@pytest.mark.parametrize("way", WRITES)
def test_a_write_keeps_when_an_entity_was_created_and_sets_when_it_changed(way: str) -> None:
    intent, reads, made = WRITES[way]()
    (action,) = plan_of(intent, reads=reads, now=LATER).actions
    assert action.after == {
        **KEY.primary_key, "_type": {"S": "Letter"}, "_rev": {"S": "w2"}, "name": {"S": "a"}, "text": {"S": "b"},
        "GSI1PK": {"S": "LETTERS"}, "GSI1SK": {"S": SECOND}, "made": {"S": made}, "seen": {"S": SECOND},
    }  # fmt: skip


def test_the_time_of_creation_is_not_that_of_a_deleted_entity() -> None:
    deleted = {**stored(Dated(name="a")), "deleted": {"BOOL": True}}
    reads = reads_of(letters, deleted)
    plan = plan_of(Save(Dated(name="a"), overwrite=True), reads=reads, now=LATER)
    assert plan.actions[0].after is not None
    assert plan.actions[0].after["made"] == {"S": SECOND}


def test_a_save_that_would_write_nothing_but_times_gives_the_object_the_stored_ones() -> None:
    letter = loaded(Letter(name="a"))
    letter.made = letter.seen = None
    plan = plan_of(Save(letter, F.text == ""), now=LATER)
    assert [action.purpose for action in plan.actions] == [ItemPurpose.CHECK]
    committed(plan)
    assert [str(one) for one in (letter.made, letter.seen)] == ["2023-11-14 22:13:20+00:00"] * 2


def test_a_save_of_which_validation_leaves_nothing_to_write_sets_no_time() -> None:
    dated = loaded(Dated(name="a", title="N"))
    dated.title, dated.made, dated.seen = "n", None, None
    plan = plan_of(Save(dated), now=LATER)
    assert plan.actions == ()
    committed(plan)
    assert dated.title == "N"
    assert [str(one) for one in (dated.made, dated.seen)] == ["2023-11-14 22:13:20+00:00"] * 2
    dated.title = "n"
    (check,) = plan_of(Save(dated, F.note == ""), now=LATER).actions
    assert check.purpose is ItemPurpose.CHECK


class Page(Entity, table=Table("plan-pages"), pk="PAGE#{name}", sk="P"):
    name: str
    note: str = ""


class DatedPage(Page):
    made: Annotated[datetime | None, CreatedAt()] = None


@pytest.mark.parametrize(
    ("former", "present", "made"),
    [(Page, DatedPage, SECOND), (DatedPage, Page, None), (DatedPage, DatedPage, FIRST)],
)
def test_an_overwrite_takes_over_the_time_of_creation_if_both_classes_keep_one(
    former: type[Page], present: type[Page], made: str | None
) -> None:
    table = mapping_of(Page).table
    (action,) = plan_of(
        Save(present(name="a"), overwrite=True), reads=reads_of(table, stored(former(name="a"))), now=LATER
    ).actions
    assert action.after is not None
    assert action.after.get("made") == (None if made is None else {"S": made})


def test_an_upsert_that_found_nothing_is_an_insert_where_nothing_or_an_expired_item_is_stored() -> None:
    (action,) = plan_of(
        Edit(KEY, SET, F.text == "", creates=True, read_first=True), reads=nothing(), now=LATER
    ).actions
    until, second = Attr(("until",)), int(LATER)
    over = And(
        (
            Compare(until, ">=", {"N": str(second - 5 * 365 * 86_400)}),
            Compare(until, "<", {"N": str(second + 1)}),
        )
    )
    assert action.action == Put("plan-letters", action.after or {}, Or((missing("PK"), over)))
    assert (action.purpose, action.from_read, action.blind) == (ItemPurpose.INSERT, True, False)
