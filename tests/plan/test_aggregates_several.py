"""Classes that keep several totals in several entities: each is added to for what changed of it, and told apart."""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, GlobalIndex, Index, InKey, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.plan.intent import Save
from dynaorm.plan.kinds.totals import contributions
from tests.plan.compiling import added, plan_of, saved

app = Table("several", indexes=[GlobalIndex("GSI1")])


class Room(Entity, table=app, pk="ROOM#{room}", sk="R"):
    room: str
    desks: int = 0
    width: Decimal = Decimal(0)


class Team(Entity, table=app, pk="TEAM#{team}", sk="T"):
    team: str
    desks: int = 0
    cost: Decimal = Decimal(0)


class Desk(Entity, table=app, pk="DESK#{name}", sk="D"):
    name: str
    room: str | None = None
    team: str | None = None
    width: Annotated[Decimal | None, InKey()] = None
    cost: Decimal | None = None
    in_room = Aggregate(Room, count="desks", sum={"width": "width"})
    in_team = Aggregate(Team, count="desks", sum={"cost": "cost"})
    by_width = Index("GSI1", pk="WIDTH#{width}", sk="{name}")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cost": Decimal(5)}, {"TEAM#t": {"cost": "2"}}),
        ({"width": Decimal(5)}, {"ROOM#r": {"width": "4"}}),
        ({"team": None}, {"TEAM#t": {"desks": "-1", "cost": "-3"}}),
        (
            {"room": None, "team": "u"},
            {
                "ROOM#r": {"desks": "-1", "width": "-1"},
                "TEAM#t": {"desks": "-1", "cost": "-3"},
                "TEAM#u": {"desks": "1", "cost": "3"},
            },
        ),
    ],
)
def test_each_total_follows_what_it_is_made_of(
    changes: dict[str, Any], expected: dict[str, dict[str, str]]
) -> None:
    desk = saved(Desk(name="d", room="r", team="t", width=Decimal(1), cost=Decimal(3)))
    vars(desk).update(changes)
    assert added(plan_of(Save(desk))) == expected


def test_one_that_belongs_nowhere_may_belong_elsewhere() -> None:
    assert added(plan_of(Save(Desk(name="d", team="t", cost=Decimal(1))))) == {
        "TEAM#t": {"desks": "1", "cost": "1"}
    }


def test_what_a_stored_entity_contributes_is_told_without_a_plan() -> None:
    item = {
        "PK": {"S": "DESK#d"}, "SK": {"S": "D"}, "name": {"S": "d"}, "team": {"S": "t"}, "cost": {"N": "3.10"},
        "GSI1PK": {"S": "WIDTH#2"}, "GSI1SK": {"S": "d"},
    }  # fmt: skip
    dues = list(contributions(mapping_of(Desk), item))
    assert [(due.mapping.entity, due.totals) for due in dues] == [
        (Team, {"desks": Decimal(1), "cost": Decimal("3.10")})
    ]
    (room, team) = contributions(mapping_of(Desk), {**item, "room": {"S": "r"}})
    assert (room.key, room.totals) == (
        Key(Room, room="r").primary_key,
        {"desks": Decimal(1), "width": Decimal(2)},
    )
    assert team.key == Key(Team, team="t").primary_key
    (only,) = contributions(mapping_of(Desk), {**item, "room": {"S": "r" * 3000}})
    assert only.mapping.entity is Team


def test_all_totals_of_a_target_that_is_saved_beside_are_its_own() -> None:
    room = saved(Room(room="r"))
    plan = plan_of(
        Save(room),
        Save(Desk(name="d", room="r", width=Decimal(2))),
        Save(Desk(name="e", room="r", width=Decimal(3))),
    )
    for effect in plan.effects:
        effect.apply()
    assert (room.desks, room.width) == (2, Decimal(5))


def test_a_sum_that_no_number_holds_is_refused_with_the_total() -> None:
    wide = saved(Room(room="r"))
    blocks = [
        Save(wide),
        Save(Desk(name="d", room="r", width=Decimal("1E+30"))),
        Save(Desk(name="e", room="r", width=Decimal("1E-30"))),
    ]
    with pytest.raises(InvalidValue, match="significant digits") as refusal:
        plan_of(*blocks)
    assert (refusal.value.entity, refusal.value.field) == ("Room", "width")
    assert str(refusal.value.value).startswith("1000000000000000000000000000000.00000")
    assert refusal.value.remedy == "sum numbers that end alike, or fewer"
