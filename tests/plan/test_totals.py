"""What writes add to totals, and what they take from them, where `test_derived.py` does not look.

Numbers as other programs store them, requests that are the contract, classes that derive from a target, and refusals.
"""

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    InKey,
    Key,
    Table,
    Unique,
    detached,
    inspect,
)
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import EntityNotFound, InvalidValue, SameItemTwice, UsageError
from dynaorm.flow.entity import edit_of
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.condition import And, Attr, IsIn, Or, equals, exists, missing
from dynaorm.item.update import AddTo, SetIfMissing, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read, merge_intents
from dynaorm.plan.edit import check_changes
from dynaorm.plan.intent import Deletion, Edit, Intent, Move, Save
from dynaorm.plan.plan import Plan
from tests.plan.cast import Book, Box, Crate, Lid, Part, Person, Shelf, Team, app
from tests.plan.compiling import (
    NOW,
    OWN_REVISION,
    added,
    committed,
    loaded,
    plan_of,
    reads_of,
    saved,
    stored,
)

RED: Item = {"PK": {"S": "TEAM#red"}, "SK": {"S": "T"}}
BOX: Item = {"PK": {"S": "BOX#a"}, "SK": {"S": "B"}}


def to(key: Item, plan: Plan) -> Any:
    """The one action on an item."""
    (action,) = [planned.action for planned in plan.actions if planned.item_key == key]
    return action


def purposes(plan: Plan) -> list[str]:
    return [planned.purpose.value for planned in plan.actions]


# -- what is sent ------------------------------------------------------------------------------------------------------


def test_an_insert_adds_to_its_target_in_the_same_transaction() -> None:
    plan = plan_of(Save(Person(name="a", team="red", hours=Decimal("1.5"))))
    assert (plan.operation, purposes(plan), plan.write_units) == (
        "TransactWriteItems",
        ["insert", "aggregate"],
        4,
    )
    changes = AddTo(("people",), {"N": "1"}), AddTo(("hours",), {"N": "1.5"}), SetTo(("_rev",), {"S": "w2"})
    assert plan.actions[1].action == Update(
        "teams", RED, changes, And((exists("PK"), equals("_type", {"S": "Team"}), OWN_REVISION))
    )
    assert repr(plan.actions[1].subject) == "Key(Team, team='red')"
    assert plan.explain().splitlines()[2] == (
        "2. Update teams PK=TEAM#red SK=T: add 1 to people and 1.5 to hours of Team(team='red') for Person.in_team, "
        "if it exists"
    )


def test_without_a_revision_the_counted_values_and_the_total_itself_are_the_condition() -> None:
    book = loaded(Book(isbn="1", title="t"))
    plan = plan_of(Deletion(book))
    item = plan.actions[0].before or {}
    condition = And((exists("PK"), *(equals(name, item[name]) for name in ("isbn", "shelf", "title"))))
    assert plan.actions[0].action == Delete("bare", {"PK": {"S": "BOOK#1"}, "SK": {"S": "BOOK"}}, condition)
    key: Item = {"PK": {"S": "SHELF#a"}, "SK": {"S": "INFO"}}
    assert plan.actions[1].action == Update("bare", key, (AddTo(("books",), {"N": "-1"}),), exists("PK"))
    shelf = loaded(Shelf(shelf="a"), books=4)
    shelf.label = "new"
    action = to(key, plan_of(Save(shelf), Save(Book(isbn="2"))))
    values = {"books": {"N": "4"}, "label": {"S": ""}, "shelf": {"S": "a"}}
    assert action.condition == And((exists("PK"), *(equals(name, one) for name, one in values.items())))
    assert SetTo(("books",), {"N": "5"}) in action.changes


@pytest.mark.parametrize("joins_first", [True, False])
def test_where_one_joins_and_another_leaves_the_target_may_be_made(joins_first: bool) -> None:
    intents: list[Intent] = [
        Save(Part(box="a")),
        Save(Part(box="a", number=2)),
        Deletion(loaded(Part(box="a", number=3))),
    ]
    made = SetIfMissing(("_type",), {"S": "Box"}), SetIfMissing(("box",), {"S": "a"})
    kinds = IsIn(Attr(("_type",)), ({"S": "Box"}, {"S": "Crate"}))
    assert to(BOX, plan_of(*intents[:: 1 if joins_first else -1])) == Update(
        "app",
        BOX,
        (
            *made,
            AddTo(("parts",), {"N": "1"}),
            SetTo(("_rev",), {"S": "w2"}),
        ),
        Or((missing("PK"), And((kinds, OWN_REVISION)))),
    )


def test_an_update_by_key_reads_only_if_a_total_may_depend_on_it() -> None:
    def reads(target: Key[Any], change: Any) -> bool:
        return bool(items_to_read(merge_intents([Edit(target, (change,))], NOW)))

    assert reads(Key(Book, isbn="1"), F.shelf.set("b"))
    assert not reads(Key(Book, isbn="1"), F.title.set("x"))
    assert reads(Key(Person, name="a"), F.note.set("x"))  # when= may look at it


def test_a_target_stored_before_it_had_a_total_is_moved_as_it_is() -> None:
    box = loaded(Box(box="a"), parts=None)
    box.box = "b"
    there: Item = {"PK": {"S": "BOX#b"}, "SK": {"S": "B"}}
    image = {**there, "_type": {"S": "Box"}, "_rev": {"S": "w2"}, "box": {"S": "b"}, "label": {"S": ""}}
    assert to(there, plan_of(Move(box))) == Put("app", image, missing("PK"))


# -- numbers as they are stored ----------------------------------------------------------------------------------------


weights = Table("weights", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])


class Owner(Entity, table=weights, pk="OWNER#{owner_id}", sk="INFO"):
    owner_id: str
    name: str
    weight: float = 0.0
    width: Decimal = Decimal(0)


class Tag(Entity, table=weights, pk="TAG#{tag_id}", sk="TAG"):
    """Two of its fields live in the keys of an index, and one had another name."""

    tag_id: str
    owner_id: Annotated[str | None, InKey()] = None
    weight: Annotated[float, Attribute("w", formerly="old_w")] = 0.5
    width: Annotated[Decimal, InKey()] = Decimal(0)
    tagged = Aggregate(Owner, sum={"weight": "weight", "width": "width"})
    by_owner = Index("GSI1", pk="OWNER#{owner_id}", sk="{tag_id}")
    by_width = Index("GSI2", pk="WIDTH#{width}", sk="{tag_id}")


def of_a(plan: Plan) -> dict[str, str]:
    return added(plan).get("OWNER#a", {})


@pytest.mark.parametrize(
    ("attributes", "taken"),
    [
        ({}, {"weight": "-0.1", "width": "-3"}),
        ({"w": None, "old_w": {"N": "0.1"}}, {"weight": "-0.1", "width": "-3"}),
        ({"w": None}, {"weight": "-0.5", "width": "-3"}),
        ({"w": {"N": "0.1000000000000000055511151231257827"}},
         {"weight": "-0.1000000000000000055511151231257827", "width": "-3"}),
        ({"width": {"N": "100"}}, {"weight": "-0.1", "width": "-3"}),
        ({"GSI1PK": {"S": "OWNER#" + "a" * 3000}}, {}),
    ],
    ids=["as it is", "under a former name", "the default", "more digits than a float has",
         "an attribute called as a field that lives in a key", "a target that no key names"],
)  # fmt: skip
def test_what_leaves_takes_away_what_is_stored_of_it(
    attributes: dict[str, Any], taken: dict[str, str]
) -> None:
    tag = Tag(tag_id="1", owner_id="a", weight=0.1, width=Decimal(3))
    assert of_a(plan_of(Deletion(loaded(tag, **attributes)))) == taken


def test_a_change_adds_the_difference_to_what_is_stored_under_a_former_name() -> None:
    tag = loaded(Tag(tag_id="1", owner_id="a", weight=0.1), w=None, old_w={"N": "0.1"})
    tag.weight = 0.3
    assert of_a(plan_of(Save(tag))) == {"weight": "0.2"}


def test_a_value_that_cannot_be_the_key_of_a_target_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"Team\.team"):
        plan_of(Save(Person(name="a", team="x" * 3000)))


def test_a_sum_that_no_number_holds_is_refused_naming_the_total_whether_or_not_the_target_is_saved() -> None:
    people = [Save(Person(name=name, team="red", hours=Decimal(name))) for name in ("1E30", "1E-30")]
    for others in ([], [Save(Team(team="red", label="x"))]):
        with pytest.raises(InvalidValue, match="at most 38") as refusal:
            plan_of(*others, *people)
        assert (refusal.value.entity, refusal.value.field) == ("Team", "hours")
        assert refusal.value.remedy == "sum numbers that end alike, or fewer"


# -- frozen targets, copies, validators --------------------------------------------------------------------------------


class Frozen(Entity, table=app, pk="FROZEN#{box}", sk="F", frozen=True):
    box: str
    parts: int = 0


class Piece(Entity, table=app, pk="PIECE#{number}", sk="P"):
    number: int
    box: str
    in_box = Aggregate(Frozen, count="parts")


def test_a_frozen_target_that_gets_a_total_stays_as_it_was_and_is_to_be_read_again() -> None:
    counted, alone, before = Frozen(box="a"), Frozen(box="b"), loaded(Frozen(box="c"), parts=4)
    committed(plan_of(Save(counted), Save(Piece(number=1, box="a"))))
    committed(plan_of(Save(alone)))
    assert (counted.parts, inspect(counted).loaded, inspect(alone).loaded) == (0, False, True)
    committed(plan_of(Save(before), Save(Piece(number=1, box="c"))))
    assert (before.parts, inspect(before).revision) == (4, "w1")


class Wall(Entity, table=app, pk="WALL#{wall}", sk="W"):
    wall: str
    label: Annotated[str, AfterValidator(str.upper)] = ""
    pictures: int = 0


class Picture(Entity, table=app, pk="PICTURE#{name}", sk="P"):
    name: str
    wall: str = "w"
    on_wall = Aggregate(Wall, count="pictures")


def test_a_target_that_is_saved_without_a_change_gets_what_validation_makes_of_it() -> None:
    wall = loaded(Wall(wall="w", label="A"), pictures=4)
    wall.label = "a"
    committed(plan_of(Save(wall, F.label == "A"), Save(Picture(name="p"))))
    assert (wall.label, wall.pictures, inspect(wall).revision) == ("A", 5, "w2")


# -- classes that derive from a target ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_totals_of_a_base_and_of_a_derived_class_are_one_action_on_the_derived_one(order: int) -> None:
    intents = [Save(Part(box="a")), Save(Lid(box="a"))]
    total = plan_of(*intents[::order]).actions[-1]
    assert total.mapping is mapping_of(Crate)
    assert added(plan_of(*intents)) == {"BOX#a": {"parts": "1", "lids": "1"}}
    condition = Or((missing("PK"), And((equals("_type", {"S": "Crate"}), OWN_REVISION))))
    assert total.action.condition == condition
    crate = Crate(box="a")
    committed(plan_of(Save(crate), *intents))
    assert (crate.parts, crate.lids) == (1, 1)


def test_what_joins_a_target_of_another_class_finds_none() -> None:
    box, lid = saved(Box(box="a")), saved(Lid(box="a"))
    box.label = "new"
    with pytest.raises(EntityNotFound, match=r"Crate.*'a'"):
        plan_of(Save(box), Save(Lid(box="a", number=2)))
    assert purposes(plan_of(Save(box), Deletion(lid))) == ["update", "delete"]


def test_an_update_by_the_key_of_a_base_class_leaves_open_which_target_it_is() -> None:
    with pytest.raises(SameItemTwice, match="is written as a Box and counted in as a Crate"):
        plan_of(Edit(Key(Box, box="a"), (SetTo(("label",), "new"),)), Save(Lid(box="a")))


class Base(Entity, table=app, pk="BASE#{base}", sk="B"):
    """No total is kept in its field, but in that of the derived class."""

    base: str
    bolts: int = 0


class Built(Base):
    pass


class Bolt(Entity, table=app, pk="BOLT#{bolt}", sk="B"):
    bolt: str
    base: str
    in_built = Aggregate(Built, count="bolts")


def test_a_field_of_a_class_that_keeps_no_total_in_it_is_not_handed_over() -> None:
    item = stored(Base(base="1", bolts=4))
    reads = reads_of(app, item)
    new = plan_of(Save(Built(base="1"), overwrite=True), reads=reads).actions[0].after
    assert new == {**item, "_type": {"S": "Built"}, "bolts": {"N": "0"}, "_rev": {"S": "w2"}}
    with pytest.raises(InvalidValue, match=r"Built\.bolts = 4: is kept by Bolt\.in_built, and begins at 0"):
        plan_of(Save(Built(base="1", bolts=4), overwrite=True), reads=reads)


def test_a_total_of_a_derived_class_is_not_updated_through_its_base() -> None:
    edit = Edit(Key(Base, base="1"), (F.bolts.add(1),), read_first=True)
    with pytest.raises(UsageError, match=r"Built\.bolts is kept by"):
        plan_of(edit, reads=reads_of(app, stored(Built(base="1"), bolts=4)))


# -- by hand -----------------------------------------------------------------------------------------------------------

BY_HAND = (
    "Box.parts is kept by Part.in_box, and is not written by hand; "
    "leave it as it is: saving and deleting what Part.in_box counts changes it"
)


@pytest.mark.parametrize("given", [detached(loaded(Box(box="a"), parts=4)), Box(box="a", parts=4)])
def test_a_target_is_inserted_with_totals_of_zero_only(given: Box) -> None:
    with pytest.raises(InvalidValue) as caught:
        plan_of(Save(given))
    assert str(caught.value) == (
        "Box.parts = 4: is kept by Part.in_box, and begins at 0; leave it out (detached(..., parts=0) "
        "for a copy): saving what Part.in_box counts changes it"
    )


def test_a_target_is_overwritten_with_its_own_total_or_none() -> None:
    item = stored(Box(box="a"), parts=4)
    for given in (0, 4):
        plan = plan_of(Save(Box(box="a", parts=given), overwrite=True), reads=reads_of(app, item))
        assert plan.actions[0].after == {**item, "_rev": {"S": "w2"}}
    with pytest.raises(InvalidValue, match=r"Box\.parts = 5"):
        plan_of(Save(Box(box="a", parts=5), overwrite=True), reads=reads_of(app, item))


def test_a_total_is_not_saved_moved_or_updated_by_hand() -> None:
    box = loaded(Box(box="a"), parts=4)
    for change in (F.parts.add(1), F.parts.set(4), F.parts.remove()):
        with pytest.raises(UsageError) as caught:
            check_changes(mapping_of(Box), (change,))
        assert str(caught.value) == BY_HAND
        for target in (box, Key(Box, box="a")):
            with pytest.raises(UsageError, match="is kept by"):
                edit_of(target, (F.label.set("x"), change), None)
    box.parts = 5
    for intent in (Save(box), Move(box)):
        with pytest.raises(UsageError) as caught:
            plan_of(intent)
        assert str(caught.value) == BY_HAND
    box.box = "b"
    with pytest.raises(InvalidValue, match="begins at 0"):
        plan_of(Move(box))


def test_when_may_not_look_at_a_total_that_changes_without_it() -> None:
    table = Table("nested")

    class City(Entity, table=table, pk="CITY#{city}", sk="INFO"):
        city: str
        clubs: int = 0

    class Club(Entity, table=table, pk="CLUB#{club}", sk="INFO"):
        club: str
        city: str
        slug: Annotated[str, Unique(when=lambda one: one.members > 0)] = "s"
        members: int = 0
        in_city = Aggregate(City, count="clubs", when=lambda one: one.members > 0)

    class Member(Entity, table=table, pk="CLUB#{club}", sk="USER#{user}"):
        club: str
        user: str
        in_club = Aggregate(Club, count="members")

    with pytest.raises(UsageError) as caught:
        plan_of(Save(Club(club="c", city="x")))
    assert str(caught.value) == (
        "when= of Club.in_city looks at members, which Member.in_club keeps without asking it again; "
        "let it look at fields that are saved"
    )
    object.__setattr__(mapping_of(Club).aggregates["in_city"], "when", None)
    with pytest.raises(UsageError, match="when= of the unique constraint 'slug' looks at members"):
        plan_of(Save(Club(club="c", city="x")))
