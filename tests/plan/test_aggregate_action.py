"""The blind action that changes totals: what it demands, what it makes, and what its refusal means."""

from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import Field, computed_field

from dynaorm import Aggregate, Attribute, CreatedAt, Entity, F, GlobalIndex, Index, NumberKey, Table, Unique
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.item.action import Update
from dynaorm.item.condition import And, Attr, IsIn, Or, equals, exists, missing
from dynaorm.item.update import AddTo, Change, SetIfMissing, SetTo
from dynaorm.plan import intent
from dynaorm.plan.intent import Intent, Save
from dynaorm.plan.kinds.new_target import can_be_made
from dynaorm.plan.kinds.own_item import ItemPurpose
from dynaorm.plan.kinds.totals import TotalPurpose
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import FailedAction, Planned, StaleKnowledge
from dynaorm.plan.reads import Reads
from dynaorm.plan.verdict import verdict
from tests.plan.compiling import NOW, OWN_REVISION, plan_of

music = Table(
    "music",
    indexes=[
        GlobalIndex("ByMonth", pk="Month", sk=NumberKey("Downloads")),
        GlobalIndex("ByLikes", pk="LikesPK", sk=NumberKey("Likes")),
        GlobalIndex("ByLabel"),
    ],
)
plays = Table("plays")
untyped = Table("untyped", type_attribute=None, revision_attribute=None, key_fields="in_key")


class Month(Entity, table=music, pk="SONG#{song}", sk="MONTH#{month}"):
    song: str
    month: Annotated[str, Attribute("Month")]
    total: Annotated[int, Attribute("Downloads")] = 0
    likes: Annotated[int, Attribute("Likes")] = 0
    title: str = "none"
    label: str | None = None
    made: list[str] = Field(default_factory=lambda: ["made"])
    by_month = Index("ByMonth", pk="{month}", sk="{total}")
    by_likes = Index("ByLikes", pk="LIKES#{month}", sk="{likes}")
    by_label = Index("ByLabel", pk="LABEL#{label}", sk="{song}")


class Download(Entity, table=plays, pk="SONG#{song}", sk="PLAY#{number:04d}"):
    song: str
    number: int = 1
    month: str = "2024-01"
    counted = Aggregate(Month, count="total")


class Like(Entity, table=plays, pk="SONG#{song}", sk="LIKE#{month}"):
    song: str
    month: str = "2024-01"
    counted = Aggregate(Month, count="likes")


class Shelf(Entity, table=untyped, pk="SHELF#{shelf}", sk="INFO"):
    shelf: str
    books: int = 0


class Book(Entity, table=untyped, pk="BOOK#{shelf}", sk="{isbn}"):
    shelf: str
    isbn: str
    on_shelf = Aggregate(Shelf, count="books")


class Group(Entity, table=plays, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str
    members: int = 0


class Club(Group):
    pass


class Membership(Entity, table=plays, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str = "g"
    user_id: str = "u"
    hours: int = 0
    in_group = Aggregate(Group, count="members")


GROUP: dict[str, Any] = {"PK": {"S": "GROUP#g"}, "SK": {"S": "INFO"}}
STORED: dict[str, Any] = {**GROUP, "group_id": {"S": "g"}, "name": {"S": "x"}}


def last(plan: Plan) -> tuple[Planned, Update]:
    planned = plan.actions[-1]
    assert planned.purpose is TotalPurpose.ADD
    assert isinstance(planned.action, Update)
    return planned, planned.action


def leaving() -> Intent:
    item = plan_of(Save(Membership())).actions[0].after
    assert item is not None
    return intent.Deletion(mapping_of(Membership).loader.hydrate(item))


def group_known(item: dict[str, Any] | None) -> Reads:
    return Reads({ident_of(plays, GROUP): item})


# -- what it makes -----------------------------------------------------------------------------------------------------


def test_a_target_is_made_with_its_type_key_fields_index_keys_and_what_a_factory_gives() -> None:
    planned, action = last(plan_of(Save(Download(song="s"))))
    made: tuple[Change, ...] = (
        SetIfMissing(("_type",), {"S": "Month"}),
        SetIfMissing(("song",), {"S": "s"}),
        SetIfMissing(("Month",), {"S": "2024-01"}),
        SetIfMissing(("LikesPK",), {"S": "LIKES#2024-01"}),
        SetIfMissing(("made",), {"L": [{"S": "made"}]}),
        SetIfMissing(("Likes",), {"N": "0"}),
        AddTo(("Downloads",), {"N": "1"}),
        SetTo(("_rev",), {"S": "w2"}),
    )
    key: dict[str, Any] = {"PK": {"S": "SONG#s"}, "SK": {"S": "MONTH#2024-01"}}
    condition = Or((missing("PK"), And((equals("_type", {"S": "Month"}), OWN_REVISION))))
    assert action == Update("music", key, made, condition)
    assert planned.entity_key == planned.item_key == key


def test_the_plan_says_that_the_target_may_be_made() -> None:
    assert (
        plan_of(Save(Like(song="s")))
        .explain()
        .endswith(
            "add 1 to likes of Month(song='s', month='2024-01') for Like.counted, or make it of its key"
        )
    )


def test_a_target_whose_key_its_class_refuses_is_not_made() -> None:
    table = Table("readings")

    class Day(Entity, table=table, pk="DAY#{day}", sk="PLACE#{place}"):
        day: Annotated[str, Field(min_length=3)]
        place: Annotated[str, Field(min_length=2)]
        readings: int = 0

    class Reading(Entity, table=table, pk="DAY#{day}", sk="R#{number:03d}"):
        day: str
        place: str = "p"
        number: int = 1
        of_day = Aggregate(Day, count="readings")

    with pytest.raises(UsageError) as caught:
        plan_of(Save(Reading(day="x")))
    assert str(caught.value) == (
        "Day cannot be made of its key: day: String should have at least 3 characters; "
        "place: String should have at least 2 characters; correct the fields it is named by, or save it first"
    )
    assert is_made(Day, "x")  # that is tried, and refused


def test_without_type_and_revision_a_target_that_lives_in_its_key_is_made_by_adding() -> None:
    key: dict[str, Any] = {"PK": {"S": "SHELF#a"}, "SK": {"S": "INFO"}}
    _, action = last(plan_of(Save(Book(shelf="a", isbn="1"))))
    assert action == Update("untyped", key, (AddTo(("books",), {"N": "1"}),))


def test_who_leaves_makes_nothing() -> None:
    item = plan_of(Save(Book(shelf="a", isbn="1"))).actions[0].after
    assert item is not None
    _, action = last(plan_of(intent.Deletion(mapping_of(Book).loader.hydrate(item))))
    assert (action.changes, action.condition) == ((AddTo(("books",), {"N": "-1"}),), exists("PK"))


def is_made(entity: type[Entity], value: str = "y") -> bool:
    """Whether an item of the class can be made of a key with this value in each field."""
    mapping = mapping_of(entity)
    return can_be_made(mapping, mapping.primary_key.rendered(dict.fromkeys(mapping.key_fields, value)))


def test_what_can_be_made_of_its_key_alone() -> None:
    table = Table("makeable", indexes=[GlobalIndex("GSI1")])

    class Fine(Entity, table=table, pk="FINE#{id}", sk="A"):
        id: str
        open: Annotated[str | None, Unique()] = None
        other: str = "x"
        by = Index("GSI1", pk="{open}", sk="{id}")

    class Required(Entity, table=table, pk="REQUIRED#{id}", sk="A"):
        id: str
        other: str | None

    class Claims(Entity, table=table, pk="CLAIMS#{id}", sk="A"):
        id: str
        held: Annotated[str, Unique()] = "x"

    class Indexed(Entity, table=table, pk="INDEXED#{id}", sk="A"):
        id: str
        status: str = "open"
        by = Index("GSI1", pk="STATUS#{status}", sk="{id}")

    class Made(Entity, table=table, pk="MADE#{id}", sk="A"):
        id: str
        slug: Annotated[str, Unique("made")] = Field(default_factory=lambda: "x")

    class Mirrored(Entity, table=table, pk="MIRRORED#{id}", sk="A"):
        id: str
        by = Index("GSI1", pk="A", sk="MIRRORED#{id}")

    classes: list[type[Entity]] = [Fine, Required, Claims, Indexed, Made, Mirrored, Month, Group]
    assert [one.__name__ for one in classes if is_made(one)] == ["Fine", "Mirrored", "Month"]


def test_a_factory_gives_a_target_its_place_only_if_no_stored_one_has_none_instead() -> None:
    table = Table("filed", indexes=[GlobalIndex("GSI1")])

    class Filed(Entity, table=table, pk="FILED#{id}", sk="A"):
        id: str
        shelf: str = Field(default_factory=lambda: "x")
        by = Index("GSI1", pk="{shelf}", sk="{id}")

    class PerhapsFiled(Entity, table=table, pk="PERHAPS#{id}", sk="A"):
        id: str
        shelf: str | None = Field(default_factory=lambda: "x")
        by = Index("GSI1", pk="{shelf}", sk="{id}")

    class Refused(Entity, table=table, pk="REFUSED#{id}", sk="A"):
        id: str
        held: Annotated[str, Unique("refused", normalize=int)] = "x"

    class FiledByKey(Entity, table=table, pk="BY-KEY#{name:lower}", sk="A"):
        name: str  # which the key does not give back, and which is there
        by = Index("GSI1", pk="{name}", sk="A")

    classes: list[type[Entity]] = [Filed, PerhapsFiled, Refused, FiledByKey]
    assert [one.__name__ for one in classes if is_made(one)] == ["Filed", "FiledByKey"]


def test_what_can_be_made_of_its_key_is_kept_out_of_its_indexes_by_its_defaults_or_its_key() -> None:
    table = Table("kept-out", indexes=[GlobalIndex("GSI1")])

    class Computed(Entity, table=table, pk="COMPUTED#{slug}", sk="A"):
        name: str = "x"

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def slug(self) -> str:
            return self.name.lower()

    class KeptOut(Entity, table=table, pk="KEPT-OUT#{id}", sk="A"):
        id: str
        status: str = "open"
        by = Index("GSI1", pk="STATUS#{status}", sk="{id}", when=F.status != "open")

    class LetIn(Entity, table=table, pk="LET-IN#{id}", sk="A"):
        id: str
        status: str = "open"
        by = Index("GSI1", pk="STATUS#{status}", sk="{id}", when=F.status == "open")

    class KeptOutByKey(Entity, table=table, pk="BY-KEY#{id}", sk="A"):
        id: str
        status: str = "open"
        by = Index("GSI1", pk="STATUS#{status}", sk="{id}", when=F.id == "x")

    class KeptOutByFunction(Entity, table=table, pk="BY-FUNCTION#{id}", sk="A"):
        id: str
        status: str = "open"
        by = Index("GSI1", pk="STATUS#{status}", sk="{id}", when=lambda one: one.status == "done")

    classes: list[type[Entity]] = [Computed, KeptOut, LetIn, KeptOutByKey, KeptOutByFunction]
    assert [one.__name__ for one in classes if is_made(one)] == [
        "KeptOut",
        "KeptOutByKey",
        "KeptOutByFunction",
    ]
    assert not is_made(KeptOutByKey, "x")


def test_a_target_is_made_with_the_times_of_new_entities_and_its_index_keys_of_them() -> None:
    table = Table("dated", indexes=[GlobalIndex("GSI1")])

    class Board(Entity, table=table, pk="BOARD#{name}", sk="B"):
        name: str
        posts: int = 0
        made: Annotated[datetime | None, CreatedAt()] = None
        by_made = Index("GSI1", pk="BOARDS", sk="{made}")

    class Post(Entity, table=table, pk="BOARD#{name}", sk="POST#{number:04d}"):
        name: str
        number: int = 1
        on_board = Aggregate(Board, count="posts")

    _, action = last(plan_of(Save(Post(name="a"))))
    now: dict[str, Any] = {"S": "2023-11-14T22:13:20.000000Z"}
    made = {change.path[0]: change.value for change in action.changes if isinstance(change, SetIfMissing)}
    assert made == {
        "_type": {"S": "Board"}, "name": {"S": "a"}, "made": now, "GSI1PK": {"S": "BOARDS"}, "GSI1SK": now,
    }  # fmt: skip


# -- what it demands, and what its refusal means -----------------------------------------------------------------------


def test_a_target_may_be_of_a_class_that_derives_from_it() -> None:
    _, action = last(plan_of(Save(Membership())))
    kinds = IsIn(Attr(("_type",)), ({"S": "Group"}, {"S": "Club"}))
    assert action.condition == And((exists("PK"), kinds, OWN_REVISION))


@pytest.mark.parametrize(
    "found", [None, {**STORED, "_type": {"S": "Membership"}}, {**STORED, "_type": {"S": "?"}}]
)
def test_who_joins_what_is_no_target_is_told(found: dict[str, Any] | None) -> None:
    planned, _ = last(plan_of(Save(Membership())))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", found)], NOW)
    assert isinstance(outcome, EntityNotFound)
    assert repr(outcome.key) == "Key(Group, group_id='g')"
    there = " is stored under Key(Group, group_id='g'), and no Group"
    assert (there in str(outcome)) is (found is not None)


@pytest.mark.parametrize("found", [None, {**STORED, "_type": {"S": "Membership"}}])
def test_who_leaves_what_is_gone_leaves_nothing_behind(found: dict[str, Any] | None) -> None:
    planned, _ = last(plan_of(leaving()))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", found)], NOW)
    assert outcome == StaleKnowledge({planned.ident: found})
    again = plan_of(leaving(), reads=group_known(found))
    assert [one.purpose for one in again.actions] == [ItemPurpose.DELETE]


def test_who_joins_does_not_rely_on_what_was_read_before() -> None:
    plan = plan_of(Save(Membership()), reads=group_known(None))
    assert [one.purpose for one in plan.actions] == [ItemPurpose.INSERT, TotalPurpose.ADD]


@pytest.mark.parametrize("joins", [True, False])
def test_a_target_stored_without_its_type_is_learned_and_told_by_its_key(joins: bool) -> None:
    intent = Save(Membership()) if joins else leaving()
    planned, _ = last(plan_of(intent))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", STORED)], NOW)
    assert outcome == StaleKnowledge({planned.ident: STORED})
    _, action = last(plan_of(intent, reads=group_known(STORED)))
    assert action.condition == And((exists("PK"), missing("_type"), OWN_REVISION))


def test_a_target_that_could_be_made_is_told_by_its_key_too() -> None:
    key: dict[str, Any] = {"PK": {"S": "SONG#s"}, "SK": {"S": "MONTH#2024-01"}}
    known = Reads({ident_of(music, key): {**key, "song": {"S": "s"}}})
    _, action = last(plan_of(Save(Download(song="s")), reads=known))
    assert action.condition == And((exists("PK"), missing("_type"), OWN_REVISION))
