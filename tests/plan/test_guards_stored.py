"""Guards follow from what is stored, in the order in which the class declares them, and know their owners."""

from typing import Annotated

import pytest

from dynaorm import Attribute, Entity, Table, Unique
from dynaorm.entity.ident import ident_of
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.intent import Deletion, Save
from dynaorm.plan.kinds.guards import GUARDS
from dynaorm.plan.plan import Plan
from dynaorm.plan.reads import Reads
from tests.plan.compiling import loaded, plan_of, saved, stored

app = Table("guards-stored")


def _folded(text: str) -> AttributeValue:
    return {"S": text.lower()}


def _as_stored(value: AttributeValue) -> str:
    return str(value["S"])


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    phone: Annotated[str | None, Unique()] = None
    note: str = ""


class Paper(Entity, table=app, pk="PAPER#{paper}", sk="P", versioned=True):
    paper: str
    shelf: Annotated[str, Unique()] = "top"


def _domain(site: str) -> str:
    if "/" in site:
        raise ValueError("is no domain")
    return site.casefold()


class Shop(Entity, table=app, pk="SHOP#{shop}", sk="S"):
    shop: str
    site: Annotated[str | None, Unique(normalize=_domain)] = None
    note: str = ""


class Ship(Entity, table=app, pk="SHIP#{ship}", sk="S"):
    ship: str
    call: Annotated[str, Attribute(encode=_folded, decode=_as_stored), Unique()]


def guards_in(plan: Plan) -> list[tuple[str, str]]:
    return [(one.purpose.value, one.item_key["PK"]["S"]) for one in plan.actions if one.kind is GUARDS]


def key(text: str) -> Item:
    return {"PK": {"S": text}, "SK": {"S": text}}


def test_a_guard_is_of_the_value_as_it_is_stored() -> None:
    assert guards_in(plan_of(Save(Ship(ship="1", call="OVER")))) == [("claim", "call#over")]


def test_a_tombstone_holds_no_guard_even_where_a_default_is_unique() -> None:
    deletion = plan_of(Deletion(saved(Paper(paper="p"))))
    tombstone = deletion.actions[0].after
    assert tombstone is not None
    assert guards_in(deletion) == [("release", "shelf#top")]
    anew = plan_of(Save(Paper(paper="p")), reads=Reads({ident_of(app, tombstone): tombstone}))
    assert [planned.purpose.value for planned in anew.actions] == ["replace", "version", "claim"]


def test_of_two_guards_the_one_that_is_declared_first_comes_first() -> None:
    user = saved(User(user_id="1", phone="5"))
    user.email, user.phone = "a@x", None
    assert guards_in(plan_of(Save(user))) == [("claim", "email#a@x"), ("release", "phone#5")]


def test_a_guard_that_is_passed_on_is_known_with_its_former_owner() -> None:
    one, two = saved(User(user_id="1", email="a@x")), saved(User(user_id="2"))
    one.email, two.email = None, "a@x"
    (passed,) = [planned for planned in plan_of(Save(one), Save(two)).actions if planned.kind is GUARDS]
    owner = {number: {"M": {"PK": {"S": f"USER#{number}"}, "SK": {"S": "U"}}} for number in "12"}
    assert passed.before == {**key("email#a@x"), "owner": owner["1"]}
    assert passed.after == {**key("email#a@x"), "owner": owner["2"]}


class Room(Entity, table=app, pk="ROOM#{room}", sk="R"):
    room: str


class Suite(Room):
    bell: Annotated[str, Unique()]


def test_an_entity_without_unique_values_releases_those_of_the_derived_one_that_it_replaces() -> None:
    suite = stored(Suite(room="1", bell="b"))
    plan = plan_of(Save(Room(room="1"), overwrite=True), reads=Reads({ident_of(app, suite): suite}))
    assert guards_in(plan) == [("release", "bell#b")]


def test_an_update_of_other_fields_leaves_a_value_that_its_constraint_refuses_by_now() -> None:
    shop = loaded(Shop(shop="1"), site={"S": "http:/a"})
    shop.note = "n"
    assert guards_in(plan_of(Save(shop))) == []
    shop.site = "b.org"
    with pytest.raises(InvalidValue, match="site"):
        plan_of(Save(shop))
