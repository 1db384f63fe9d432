"""What the writes of counted entities add to totals, and what they take from them."""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Attribute, Entity, F, GlobalIndex, Index, InKey, Key, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.item.action import Delete, Update
from dynaorm.item.condition import And, equals, exists
from dynaorm.item.update import AddTo, SetTo
from dynaorm.plan import intent
from dynaorm.plan.changes import items_to_read
from dynaorm.plan.intent import Edit, Save
from dynaorm.plan.kinds.own_item import ItemPurpose
from dynaorm.plan.kinds.totals import TotalPurpose
from dynaorm.plan.merge_intents import merge_intents
from tests.plan.compiling import NOW, OWN_REVISION, E, added, plan_of

app = Table("totals", indexes=[GlobalIndex("GSI1")])
bare = Table("bare", type_attribute=None, revision_attribute=None)


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str
    members: int = 0
    hours: Decimal = Decimal(0)


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    hours: Decimal | None = None
    active: bool = True
    note: str = ""
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"}, when=lambda one: one.active)


class Owner(Entity, table=app, pk="OWNER#{owner_id}", sk="INFO"):
    owner_id: str
    name: str
    cars: int = 0
    worth: float = 0.0
    weight: float = 0.0


class Car(Entity, table=app, pk="CAR#{car_id}", sk="CAR", versioned=True):
    car_id: str
    owner: str | None = None
    price: int = 0
    colour: str = "red"
    owned = Aggregate(Owner, count="cars", sum={"price": "worth"}, key={"owner_id": "owner"})


class Tag(Entity, table=app, pk="TAG#{tag_id}", sk="TAG"):
    tag_id: str
    owner_id: Annotated[str | None, InKey()] = None
    weight: Annotated[float, Attribute("w", formerly="old_w")] = 0.5
    note: str = ""
    tagged = Aggregate(Owner, sum={"weight": "weight"})
    by_owner = Index("GSI1", pk="OWNER#{owner_id}", sk="TAG")


class Shelf(Entity, table=bare, pk="SHELF#{shelf}", sk="INFO"):
    shelf: str
    label: str
    books: int = 0


class Book(Entity, table=bare, pk="BOOK#{isbn}", sk="BOOK"):
    isbn: str
    shelf: str = "a"
    title: str = ""
    on_shelf = Aggregate(Shelf, count="books")


def item_of(entity: Entity) -> dict[str, Any]:
    """The item of a new entity, as stored."""
    return dict(plan_of(Save(entity), write_id="w1").actions[0].after or {})


def loaded(entity: E) -> E:
    """The entity as read after it was saved."""
    found: E = mapping_of(type(entity)).loader.hydrate(item_of(entity))
    return found


def membership(**values: Any) -> Membership:
    return Membership(**{"group_id": "g", "user_id": "u", "hours": Decimal("1.5"), **values})


# -- one source --------------------------------------------------------------------------------------------------------


def test_an_insert_adds_to_its_target_in_the_same_transaction() -> None:
    plan = plan_of(Save(membership()))
    assert [planned.purpose for planned in plan.actions] == [ItemPurpose.INSERT, TotalPurpose.ADD]
    assert plan.actions[1].action == Update(
        "totals",
        {"PK": {"S": "GROUP#g"}, "SK": {"S": "INFO"}},
        (
            AddTo(("members",), {"N": "1"}),
            AddTo(("hours",), {"N": "1.5"}),
            SetTo(("_rev",), {"S": "w2"}),
        ),
        And((exists("PK"), equals("_type", {"S": "Group"}), OWN_REVISION)),
    )
    assert plan.operation == "TransactWriteItems"
    assert plan.write_units == 4
    assert repr(plan.actions[1].subject) == "Key(Group, group_id='g')"


def test_the_plan_says_why() -> None:
    assert plan_of(Save(membership())).explain().splitlines()[-1] == (
        "2. Update totals PK=GROUP#g SK=INFO: add 1 to members and 1.5 to hours of Group(group_id='g') "
        "for Membership.in_group, if it exists"
    )


def test_an_update_by_key_reads_only_if_a_total_may_depend_on_it() -> None:
    def reads(entity: type[Entity], *changes: Any, **key: str) -> bool:
        return bool(items_to_read(merge_intents([Edit(Key(entity, **key), changes)], NOW)))

    assert reads(Tag, F.weight.add(1), tag_id="1")
    assert not reads(Tag, F.note.set("x"), tag_id="1")
    assert reads(Membership, F.note.set("x"), group_id="g", user_id="u")  # when= may look at it


def test_a_number_is_summed_exactly_as_stored_under_whichever_name_and_a_key_is_matched() -> None:
    tag = Tag(tag_id="1", owner_id="a", weight=0.1)
    assert added(plan_of(Save(tag))) == {"OWNER#a": {"weight": "0.1"}}
    item = item_of(tag)
    item["old_w"] = item.pop("w")
    former = mapping_of(Tag).loader.hydrate(item)
    assert added(plan_of(intent.Deletion(former))) == {"OWNER#a": {"weight": "-0.1"}}
    former.weight = 0.3
    assert added(plan_of(Save(former))) == {"OWNER#a": {"weight": "0.2"}}
    del item["old_w"]
    assert added(plan_of(intent.Deletion(mapping_of(Tag).loader.hydrate(item)))) == {
        "OWNER#a": {"weight": "-0.5"}
    }


def test_without_a_revision_the_counted_values_are_the_condition() -> None:
    book = loaded(Book(isbn="1", title="t"))
    plan = plan_of(intent.Deletion(book))
    assert isinstance(plan.actions[0].action.condition, And)
    stored = plan.actions[0].before or {}
    condition = And((exists("PK"), *(equals(name, stored[name]) for name in ("isbn", "shelf", "title"))))
    assert plan.actions[0].action == Delete("bare", {"PK": {"S": "BOOK#1"}, "SK": {"S": "BOOK"}}, condition)
    assert plan.actions[1].action == Update(
        "bare",
        {"PK": {"S": "SHELF#a"}, "SK": {"S": "INFO"}},
        (AddTo(("books",), {"N": "-1"}),),
        exists("PK"),
    )


def test_a_sum_that_no_number_holds_is_refused_naming_the_total_whether_or_not_the_target_is_saved() -> None:
    members = [Save(membership(hours=Decimal("1E30"))), Save(membership(user_id="v", hours=Decimal("1E-30")))]
    for others in ([], [Save(Group(group_id="g", name="x"))]):
        with pytest.raises(InvalidValue, match="at most 38") as refusal:
            plan_of(*others, *members)
        assert (refusal.value.entity, refusal.value.field) == ("Group", "hours")
        assert refusal.value.remedy == "sum numbers that end alike, or fewer"


def test_a_value_that_cannot_be_the_key_of_a_target_is_refused_and_was_never_counted() -> None:
    with pytest.raises(InvalidValue, match=r"Owner\.owner_id"):
        plan_of(Save(Car(car_id="1", owner="x" * 3000)))
    item = item_of(Car(car_id="1", owner="a"))
    item["owner"] = {"S": "x" * 3000}
    assert added(plan_of(intent.Deletion(mapping_of(Car).loader.hydrate(item)))) == {}


# -- when= and totals --------------------------------------------------------------------------------------------------


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
