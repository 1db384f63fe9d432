"""The blind action that changes totals: what it makes of nothing, what it demands, and what its refusal means.

That a target is made as an upsert would store it is a law: `tests/laws/test_made_targets.py`.
"""

import types
from typing import Annotated, Any

import pytest
from pydantic import Field, computed_field

from dynaorm import Aggregate, Attribute, Entity, F, GlobalIndex, Index, NumberKey, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.item.action import Update
from dynaorm.item.condition import And, Condition, Or, equals, exists, missing
from dynaorm.item.update import AddTo, Change, SetIfMissing, SetTo
from dynaorm.plan.compiler import verdict
from dynaorm.plan.derived_kinds import can_create_from_key
from dynaorm.plan.intent import Deletion, Intent, Reads, Save
from dynaorm.plan.plan import FailedAction, NeedsReplan, Plan, Planned
from dynaorm.plan.totals import TotalPurpose
from tests.plan.cast import Person, teams
from tests.plan.compiling import NOW, OWN_REVISION, loaded, plan_of, reads_of

music = Table(
    "music",
    indexes=[
        GlobalIndex("ByMonth", pk="Month", sk=NumberKey("Downloads")),
        GlobalIndex("ByLikes", pk="LikesPK", sk=NumberKey("Likes")),
        GlobalIndex("ByLabel"),
    ],
)
in_keys = Table("in-keys", type_attribute=None, revision_attribute=None, key_fields="in_key")


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


class Download(Entity, table=music, pk="SONG#{song}", sk="PLAY#{number:04d}"):
    song: str = "s"
    number: int = 1
    month: str = "2024-01"
    counted = Aggregate(Month, count="total")


class Like(Entity, table=music, pk="SONG#{song}", sk="LIKE#{month}"):
    song: str
    month: str
    counted = Aggregate(Month, count="likes")


class Shelf(Entity, table=in_keys, pk="SHELF#{shelf}", sk="INFO"):
    shelf: str
    books: int = 0


class Book(Entity, table=in_keys, pk="BOOK#{shelf}", sk="{isbn}"):
    shelf: str = "a"
    isbn: str = "1"
    on_shelf = Aggregate(Shelf, count="books")


MONTH: dict[str, Any] = {"PK": {"S": "SONG#s"}, "SK": {"S": "MONTH#2024-01"}}
TEAM: dict[str, Any] = {"PK": {"S": "TEAM#red"}, "SK": {"S": "T"}}
STORED: dict[str, Any] = {**TEAM, "team": {"S": "red"}, "label": {"S": "x"}}
JOINING = Save(Person(name="a", team="red"))


def leaving() -> Intent:
    return Deletion(loaded(Person(name="a", team="red")))


def last(plan: Plan) -> tuple[Planned, Update]:
    planned = plan.actions[-1]
    assert planned.purpose is TotalPurpose.ADD
    assert isinstance(planned.action, Update)
    return planned, planned.action


# -- what it makes -----------------------------------------------------------------------------------------------------


def test_a_target_is_made_with_its_type_key_fields_index_keys_and_what_a_factory_gives() -> None:
    planned, action = last(plan_of(Save(Download())))
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
    condition = Or((missing("PK"), And((equals("_type", {"S": "Month"}), OWN_REVISION))))
    assert action == Update("music", MONTH, made, condition)
    assert planned.entity_key == planned.item_key == MONTH


def test_without_type_and_revision_a_target_that_lives_in_its_key_is_made_by_adding_but_not_by_who_leaves() -> (
    None
):
    key: dict[str, Any] = {"PK": {"S": "SHELF#a"}, "SK": {"S": "INFO"}}
    assert last(plan_of(Save(Book())))[1] == Update("in-keys", key, (AddTo(("books",), {"N": "1"}),))
    action = last(plan_of(Deletion(loaded(Book()))))[1]
    assert (action.changes, action.condition) == ((AddTo(("books",), {"N": "-1"}),), exists("PK"))


def is_made(entity: type[Entity], value: str = "y") -> bool:
    """Whether an item of the class can be made of a key with this value in each field."""
    mapping = mapping_of(entity)
    return can_create_from_key(
        mapping, mapping.primary_key.rendered(dict.fromkeys(mapping.key_fields, value))
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


def _computed() -> Any:
    def slug(self: Any) -> str:
        return str(self.name).lower()

    slug.__annotations__ = {"return": str}
    return computed_field(property(slug))


def _x() -> str:
    return "x"


OPEN = Annotated[str | None, Unique()]
STATUS = {"status": (str, "open")}
# The fields of a class besides its id, its primary key, a place in an index, and whether it can be made of a key.
MADE: dict[str, tuple[dict[str, Any], str, Index | None, bool]] = {
    "fields with defaults": ({"open": (OPEN, None), "other": (str, "x")}, "{id}", None, True),
    "an index of what may be absent": ({"open": (OPEN, None)}, "{id}", Index("GSI1", pk="{open}", sk="{id}"), True),
    "an index of the key": ({}, "{id}", Index("GSI1", pk="A", sk="MIRRORED#{id}"), True),
    "a required field": ({"other": (str | None, ...)}, "{id}", None, False),
    "a unique default": ({"held": (Annotated[str, Unique()], "x")}, "{id}", None, False),
    "a unique value that a factory makes": (
        {"held": (Annotated[str, Unique()], Field(default_factory=_x))}, "{id}", None, False,
    ),
    "a unique default that its constraint refuses": (
        {"held": (Annotated[str, Unique(normalize=int)], "x")}, "{id}", None, False,
    ),
    "an index of a default": (STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}"), False),
    "an index of what a factory makes": (
        {"shelf": (str, Field(default_factory=_x))}, "{id}", Index("GSI1", pk="{shelf}", sk="{id}"), True,
    ),
    "an index of what a factory makes, where None may be stored": (
        {"shelf": (str | None, Field(default_factory=_x))}, "{id}", Index("GSI1", pk="{shelf}", sk="{id}"), False,
    ),
    "an index of a key that does not give its field back": ({}, "{id:lower}", Index("GSI1", pk="{id}", sk="A"), True),
    "a computed key": ({"name": (str, "x"), "slug": _computed()}, "{slug}", None, False),
    "a default that a condition keeps out": (
        STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}", when=F.status != "open"), True,
    ),
    "a default that a condition lets in": (
        STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}", when=F.status == "open"), False,
    ),
    "a key that a condition keeps out": (
        STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}", when=F.id == "x"), True,
    ),
    "a key that a condition lets in": (
        STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}", when=F.id == "y"), False,
    ),
    "a default that a function keeps out": (
        STATUS, "{id}", Index("GSI1", pk="S#{status}", sk="{id}", when=lambda one: one.status == "done"), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_what_can_be_made_of_its_key_alone(case: str) -> None:
    fields, pk, index, expected = MADE[case]
    values = {name: one for name, one in fields.items() if not isinstance(one, tuple)}
    typed = {name: one for name, one in fields.items() if isinstance(one, tuple)}
    body = {
        "__module__": __name__,
        "__annotations__": {
            **({"id": str} if "slug" not in fields else {}),
            **{n: t for n, (t, _) in typed.items()},
        },
        **{name: default for name, (_, default) in typed.items() if default is not ...},
        **values,
        **({"by": index} if index else {}),
    }
    options = {"table": Table("made", indexes=[GlobalIndex("GSI1")]), "pk": pk, "sk": "A"}
    assert is_made(types.new_class("Made", (Entity,), options, lambda own: own.update(body))) is expected


# -- what it demands, and what its refusal means -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "found", [None, {**STORED, "_type": {"S": "Person"}}, {**STORED, "_type": {"S": "?"}}]
)
def test_who_joins_what_is_no_target_is_told_and_who_leaves_it_leaves_nothing_behind(
    found: dict[str, Any] | None,
) -> None:
    planned, _ = last(plan_of(JOINING))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", found)], NOW)
    assert isinstance(outcome, EntityNotFound)
    assert repr(outcome.key) == "Key(Team, team='red')"
    assert (" is stored under Key(Team, team='red'), and no Team" in str(outcome)) is (found is not None)
    planned, _ = last(plan_of(leaving()))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", found)], NOW)
    assert outcome == NeedsReplan({planned.ident: found})
    reads = Reads({planned.ident: found})
    assert [one.purpose.value for one in plan_of(leaving(), reads=reads).actions] == ["delete"]
    assert [one.purpose.value for one in plan_of(JOINING, reads=reads).actions] == ["insert", "aggregate"]


@pytest.mark.parametrize("joins", [True, False])
def test_a_target_stored_without_its_type_is_learned_and_told_by_its_key(joins: bool) -> None:
    intent = JOINING if joins else leaving()
    planned, _ = last(plan_of(intent))
    outcome = verdict([FailedAction(planned, "ConditionalCheckFailed", "", STORED)], NOW)
    assert outcome == NeedsReplan({planned.ident: STORED})
    untyped: Condition = And((exists("PK"), missing("_type"), OWN_REVISION))
    assert last(plan_of(intent, reads=reads_of(teams, STORED)))[1].condition == untyped
    reads = reads_of(music, {**MONTH, "song": {"S": "s"}})
    assert last(plan_of(Save(Download()), reads=reads))[1].condition == untyped
