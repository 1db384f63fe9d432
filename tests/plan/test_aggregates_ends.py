"""What is counted, and what is not, where a unit of work or a stored item is not as usual."""

from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import AfterValidator, computed_field

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, InKey, Key, Table, inspect
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.action import Action, Delete, Put, Update
from dynaorm.item.condition import And, Or, equals, missing
from dynaorm.item.update import AddTo, SetIfMissing, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read
from dynaorm.plan.intent import Check, Deletion, Edit, Move, Save
from dynaorm.plan.merge_intents import merge_intents
from dynaorm.plan.plan import Plan
from dynaorm.plan.reads import Reads
from tests.plan.compiling import NOW, OWN_REVISION, added, committed, loaded, plan_of, stored

app = Table("ends", indexes=[GlobalIndex("GSI1")])


class Room(Entity, table=app, pk="ROOM#{room}", sk="R"):
    room: str
    label: str = ""
    desks: int = 0
    width: Decimal = Decimal(0)
    floor: str = ""
    by_label = Index("GSI1", pk="LABEL#{label}", sk="{floor}#{room}")


class Team(Entity, table=app, pk="TEAM#{team}", sk="T"):
    team: str
    people: int = 0
    load: float = 0.0


class Desk(Entity, table=app, pk="DESK#{name}", sk="D"):
    name: str
    room: str | None = None
    team: str | None = None
    width: Annotated[Decimal, InKey()] = Decimal(1)
    load: float | None = None
    in_room = Aggregate(Room, count="desks", sum={"width": "width"})
    in_team = Aggregate(Team, count="people", sum={"load": "load"})
    by_width = Index("GSI1", pk="WIDTH#{width}", sk="{name}")


class Drawer(Entity, table=app, pk="DRAWER#{drawer}", sk="D"):
    drawer: str
    papers: int = 0


class Paper(Entity, table=app, pk="PAPER#{paper}", sk="P", versioned=True):
    paper: str
    drawer: str = "top"
    in_drawer = Aggregate(Drawer, count="papers")


class Plain(Entity, table=app, pk="PLAIN#{id}", sk="P"):
    id: str
    parts: int = 0


class Built(Plain):
    pass


class Piece(Entity, table=app, pk="PIECE#{id}", sk="P"):
    id: str
    part_of = Aggregate(Built, count="parts")


ROOM: Item = {"PK": {"S": "ROOM#r"}, "SK": {"S": "R"}}
TEAM: Item = {"PK": {"S": "TEAM#t"}, "SK": {"S": "T"}}


def known_as(item: Item) -> Reads:
    return Reads({ident_of(app, item): item})


def to(key: Item, plan: Plan) -> Action:
    """The one action on an item."""
    (action,) = [planned.action for planned in plan.actions if planned.item_key == key]
    return action


# -- what is counted ---------------------------------------------------------------------------------------------------


def test_a_tombstone_counts_nowhere_even_where_a_default_names_a_target() -> None:
    tombstone = plan_of(Deletion(loaded(Paper(paper="p")))).actions[0].after
    assert tombstone is not None
    plan = plan_of(Save(Paper(paper="p")), reads=known_as(tombstone))
    assert [planned.purpose.value for planned in plan.actions] == ["replace", "version", "aggregate"]
    assert added(plan) == {"DRAWER#top": {"papers": "1"}}


def test_what_a_stored_key_field_makes_impossible_in_one_target_leaves_the_other_counted() -> None:
    desk = loaded(Desk(name="a", room="r", team="t"), room={"S": "r" * 3000})
    assert added(plan_of(Deletion(desk))) == {"TEAM#t": {"people": "-1"}}


def test_a_number_with_more_digits_than_a_float_is_taken_away_as_it_is_stored() -> None:
    number = "0.1000000000000000055511151231257827"
    desk = loaded(Desk(name="a", team="t", load=0.1), load={"N": number})
    assert added(plan_of(Deletion(desk))) == {"TEAM#t": {"people": "-1", "load": f"-{number}"}}


def test_an_attribute_named_as_a_field_that_lives_in_a_key_is_not_its_number() -> None:
    desk = loaded(Desk(name="a", room="r", width=Decimal(3)), width={"N": "100"})
    assert added(plan_of(Deletion(desk))) == {"ROOM#r": {"desks": "-1", "width": "-3"}}


def test_a_when_that_fails_for_a_reason_of_its_own_is_named_with_it() -> None:
    table = Table("failing")

    class Total(Entity, table=table, pk="TOTAL#{id}", sk="T"):
        id: str
        items: int = 0

    class Counted(Entity, table=table, pk="COUNTED#{id}", sk="C"):
        id: str
        in_total = Aggregate(Total, count="items", when=lambda one: one.id.no_such_thing)

    with pytest.raises(InvalidValue, match=r"when= of Counted.in_total raises AttributeError") as refused:
        plan_of(Save(Counted(id="1")))
    assert "no_such_thing" in str(refused.value.__cause__)


# -- who joins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joins_first", [True, False])
def test_where_one_joins_and_another_leaves_the_target_may_be_made(joins_first: bool) -> None:
    joining, leaving = Save(Desk(name="a", team="t", load=2.0)), Deletion(loaded(Desk(name="b", team="t")))
    plan = plan_of(joining, leaving) if joins_first else plan_of(leaving, joining)
    assert to(TEAM, plan) == Update(
        "ends",
        TEAM,
        (
            SetIfMissing(("_type",), {"S": "Team"}),
            SetIfMissing(("team",), {"S": "t"}),
            AddTo(("load",), {"N": "2"}),
            SetTo(("_rev",), {"S": "w2"}),
        ),
        Or((missing("PK"), And((equals("_type", {"S": "Team"}), OWN_REVISION)))),
    )


# -- targets that are written themselves -------------------------------------------------------------------------------


def test_a_target_that_an_update_by_key_leaves_as_it_is_gets_its_totals_blindly() -> None:
    unchanged = Edit(Key(Room, room="r"), (SetTo(("label",), ""),))
    assert items_to_read(merge_intents([unchanged], NOW)) == [(mapping_of(Room), ROOM)]
    plan = plan_of(unchanged, Save(Desk(name="a", room="r")), reads=known_as(stored(Room(room="r"))))
    assert [planned.purpose.value for planned in plan.actions] == ["insert", "aggregate"]
    assert added(plan) == {"ROOM#r": {"desks": "1", "width": "1"}}


def test_a_target_stored_before_it_had_a_total_starts_from_zero() -> None:
    team = loaded(Team(team="t"), people=None)
    plan = plan_of(Save(team), Save(Desk(name="a", team="t")))
    assert SetTo(("people",), {"N": "1"}) in getattr(to(TEAM, plan), "changes", ())
    committed(plan)
    assert team.people == 1


def test_a_target_stored_before_it_had_a_total_is_moved_as_it_is() -> None:
    team = loaded(Team(team="t"), people=None)
    team.team = "u"
    plan = plan_of(Move(team))
    there: Item = {"PK": {"S": "TEAM#u"}, "SK": {"S": "T"}}
    image = {**there, "_type": {"S": "Team"}, "_rev": {"S": "w2"}, "team": {"S": "u"}, "load": {"N": "0"}}
    assert [to(there, plan), type(to(TEAM, plan))] == [Put("ends", image, missing("PK")), Delete]


def test_a_target_stored_before_it_had_a_total_is_overwritten_by_one_with_zero() -> None:
    item = stored(Team(team="t"), people=None)
    plan = plan_of(Save(Team(team="t"), overwrite=True), reads=known_as(item))
    assert plan.actions[0].after == {**item, "people": {"N": "0"}, "_rev": {"S": "w2"}}


def test_a_field_of_a_class_that_keeps_no_total_in_it_is_not_handed_over() -> None:
    item = stored(Plain(id="1", parts=4))
    new = plan_of(Save(Built(id="1"), overwrite=True), reads=known_as(item)).actions[0].after
    assert new == {**item, "_type": {"S": "Built"}, "parts": {"N": "0"}, "_rev": {"S": "w2"}}
    with pytest.raises(InvalidValue, match=r"Built\.parts = 4: is kept by Piece\.part_of, and begins at 0"):
        plan_of(Save(Built(id="1", parts=4), overwrite=True), reads=known_as(item))


def test_of_two_copies_that_are_checked_one_is_written_and_the_other_stays_as_loaded() -> None:
    first, second = loaded(Team(team="t")), loaded(Team(team="t"))
    committed(plan_of(Check(first), Check(second), Save(Desk(name="a", team="t"))))
    assert [(one.people, inspect(one).loaded, inspect(one).revision) for one in (first, second)] == [
        (1, True, "w2"),
        (0, True, "w1"),
    ]


# -- frozen, overwritten and derived targets ---------------------------------------------------------------------------


class Box(Entity, table=app, pk="BOX#{box}", sk="B", frozen=True):
    box: str
    label: str = ""
    parts: int = 0


class Part(Entity, table=app, pk="BOX#{box}", sk="PART#{number:03d}"):
    box: str
    number: int
    in_box = Aggregate(Box, count="parts")


class Crate(Box, frozen=True):
    lids: int = 0


class Lid(Entity, table=app, pk="BOX#{box}", sk="LID#{number:03d}"):
    box: str
    number: int
    on_crate = Aggregate(Crate, count="lids")


def test_a_frozen_target_that_gets_a_total_stays_as_it_was_and_is_to_be_read_again() -> None:
    counted, alone, before = Box(box="a"), Box(box="b"), loaded(Box(box="c"), parts=4)
    committed(plan_of(Save(counted), Save(Part(box="a", number=1))))
    committed(plan_of(Save(alone)))
    assert (counted.parts, inspect(counted).loaded, inspect(alone).loaded) == (0, False, True)
    committed(plan_of(Save(before), Save(Part(box="c", number=1))))
    assert (before.parts, inspect(before).revision) == (4, "w1")


def test_a_loaded_target_that_is_overwritten_takes_the_total_that_is_stored_now() -> None:
    box, now = loaded(Box(box="a"), parts=4), stored(Box(box="a"), parts=6)
    (action,) = plan_of(Save(box, overwrite=True), reads=Reads({ident_of(app, now): now})).actions
    assert action.after == {**now, "_rev": {"S": "w2"}}


@pytest.mark.parametrize("order", [1, -1])
def test_totals_of_a_base_and_of_a_derived_class_are_one_action_on_the_derived_one(order: int) -> None:
    members = [Save(Part(box="a", number=1)), Save(Lid(box="a", number=1))][::order]
    total = plan_of(*members).actions[-1]
    assert total.mapping is mapping_of(Crate)
    assert added(plan_of(*members)) == {"BOX#a": {"parts": "1", "lids": "1"}}


class Wall(Entity, table=app, pk="WALL#{wall}", sk="W"):
    wall: str
    label: Annotated[str, AfterValidator(str.upper)] = ""
    pictures: int = 0


class Picture(Entity, table=app, pk="PICTURE#{name}", sk="P"):
    name: str
    on_wall = Aggregate(Wall, count="pictures", key={"wall": "place"})

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def place(self) -> str:
        if self.name == "?":
            raise LookupError("nowhere")
        return self.name[0]


def test_a_target_that_is_saved_without_a_change_gets_what_validation_makes_of_it() -> None:
    wall = loaded(Wall(wall="w", label="A"), pictures=4)
    wall.label = "a"
    committed(plan_of(Save(wall, F.label == "A"), Save(Picture(name="w"))))
    assert (wall.label, wall.pictures, inspect(wall).revision) == ("A", 5, "w2")


def test_a_target_whose_key_cannot_be_computed_is_refused_naming_the_field() -> None:
    with pytest.raises(InvalidValue) as caught:
        plan_of(Save(Picture(name="?")))
    assert (caught.value.field, caught.value.value) == ("place", None)
    assert isinstance(caught.value.__cause__, Exception)
