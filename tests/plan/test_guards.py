"""Which guard items a unit of work claims, passes on and releases, judged on its final state."""

import copy
from datetime import UTC, datetime
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, ExpiresAt, Key, Table, Unique
from dynaorm.entity.ident import ident_of
from dynaorm.errors import DecodeError, UniqueViolation
from dynaorm.item.action import Action, Delete, Put, to_wire
from dynaorm.item.condition import And, Attr, Compare, Or, equals, missing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.intent import Deletion, Intent, Save
from dynaorm.plan.kinds.guards import GUARDS, GuardPurpose
from dynaorm.plan.kinds.own_item import ItemPurpose
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Purpose
from dynaorm.plan.reads import Reads
from tests.plan.compiling import NOW, loaded, plan_of, saved, stored

app = Table("guards-app")
locks = Table("guards-locks", pk="lock", sk=None)
here = Table("guards-here", guard_table=locks)


class User(
    Entity, table=app, pk="USER#{user_id}", sk="PROFILE", unique={"tenant_badge": ("tenant", "badge")}
):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    phone: Annotated[str | None, Unique("tel")] = None
    tenant: str = "t"
    badge: int | None = None
    handle: Annotated[str | None, Unique(scope=("tenant",))] = None
    active: bool = True
    desk: Annotated[str | None, Unique(when=lambda user: user.active)] = None


class Coupon(Entity, table=app, pk="COUPON#{code}", sk="C"):
    code: str
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Member(Entity, table=here, pk="MEMBER#{name}", sk="M"):
    name: str
    nick: Annotated[str | None, Unique()] = None


def guards_in(plan: Plan) -> list[tuple[Purpose, str, Action]]:
    """Purpose, guard key and action of each guard action, in order."""
    return [(one.purpose, one.item_key["PK"]["S"], one.action) for one in plan.actions if one.kind is GUARDS]


def keys_in(plan: Plan) -> list[tuple[str, str]]:
    return [(purpose.value, key) for purpose, key, _ in guards_in(plan)]


def owner(user_id: str) -> AttributeValue:
    return {"M": {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "PROFILE"}}}


def key(text: str) -> Item:
    return {"PK": {"S": text}, "SK": {"S": text}}


def epoch(seconds: float) -> datetime:
    return datetime.fromtimestamp(NOW + seconds, UTC)


UNTIL = Attr(("until",))
# By the clocks of all writers, which may differ by a minute.
EXPIRED = And(
    (
        Compare(UNTIL, ">=", {"N": str(int(NOW) + 60 - 5 * 365 * 86_400)}),
        Compare(UNTIL, "<", {"N": str(int(NOW) - 60 + 1)}),
    )
)


def test_a_claim_is_a_put_if_absent_or_already_mine() -> None:
    ((_, _, action),) = guards_in(plan_of(Save(User(user_id="1", email="a@x"))))
    assert action == Put(
        "guards-app",
        {**key("email#a@x"), "owner": owner("1")},
        Or((missing("PK"), equals("owner", owner("1")), EXPIRED)),
    )


def test_without_ttl_a_claim_asks_for_no_expiry() -> None:
    ((_, _, action),) = [
        (one.purpose, "", one.action)
        for one in plan_of(Save(Member(name="m", nick="n"))).actions
        if one.kind is GUARDS
    ]
    mine: AttributeValue = {"M": {"table": {"S": "guards-here"}, "PK": {"S": "MEMBER#m"}, "SK": {"S": "M"}}}
    assert action == Put(
        "guards-locks",
        {"lock": {"S": "nick#n"}, "owner": mine},
        Or((missing("lock"), equals("owner", mine))),
    )


def test_a_changed_value_releases_the_old_one_before_it_claims_the_new_one() -> None:
    user = saved(User(user_id="1", email="a@x"))
    user.email = "b@x"
    first, second = guards_in(plan_of(Save(user)))
    assert first == (
        GuardPurpose.RELEASE,
        "email#a@x",
        Delete("guards-app", key("email#a@x"), Or((missing("owner"), equals("owner", owner("1"))))),
    )
    assert second[:2] == (GuardPurpose.CLAIM, "email#b@x")


def test_a_swap_is_one_put_per_guard_under_the_old_owner() -> None:
    one, two = saved(User(user_id="1", email="a@x")), saved(User(user_id="2", email="b@x"))
    one.email, two.email = "b@x", "a@x"
    found = {text: (purpose, action) for purpose, text, action in guards_in(plan_of(Save(one), Save(two)))}
    assert found.keys() == {"email#a@x", "email#b@x"}
    purpose, action = found["email#a@x"]
    assert purpose is GuardPurpose.PASS_ON
    assert action == Put(
        "guards-app",
        {**key("email#a@x"), "owner": owner("2")},
        Or((missing("owner"), equals("owner", owner("2")), equals("owner", owner("1")), EXPIRED)),
    )


@pytest.mark.parametrize("claimer_comes_first", [False, True])
def test_a_value_that_is_passed_on_is_named_whatever_the_order(claimer_comes_first: bool) -> None:
    giver = saved(User(user_id="1", email="a@x"))
    giver.email = None
    intents: list[Intent] = [Save(giver), Save(User(user_id="2", email="a@x"))]
    plan = plan_of(*intents[:: -1 if claimer_comes_first else 1])
    (passed_on,) = (one for one in plan.actions if one.purpose is GuardPurpose.PASS_ON)
    assert (passed_on.label[0], passed_on.label[2]) == ("email", "a@x")


def test_two_entities_with_one_value_are_refused_before_anything_is_sent() -> None:
    one, two = User(user_id="1", email="A@x", badge=1), User(user_id="2", email="a@X", badge=1)
    with pytest.raises(UniqueViolation) as raised:
        plan_of(Save(one), Save(two))
    error = raised.value
    assert (error.entity, error.constraint, error.fields, error.value) == ("User", "email", ("email",), "a@X")
    assert error.owner == Key(User, user_id="1")
    assert [(one.constraint, one.fields, one.value) for one in error.violations] == [
        ("email", ("email",), "a@X"),
        ("tenant_badge", ("tenant", "badge"), ("t", 1)),
    ]


def test_guards_expire_with_their_entity() -> None:
    coupon = Coupon(code="c", alias="a", until=epoch(100))
    ((_, _, action),) = guards_in(plan_of(Save(coupon)))
    assert isinstance(action, Put)
    assert action.item["until"] == {"N": str(int(NOW) + 100)}


def test_a_changed_expiry_rewrites_the_guards() -> None:
    coupon = saved(Coupon(code="c", alias="a", until=epoch(100)))
    coupon.until = epoch(200)
    ((purpose, text, action),) = guards_in(plan_of(Save(coupon)))
    assert (purpose, text) == (GuardPurpose.CLAIM, "alias#a")
    assert isinstance(action, Put)
    assert action.item["until"] == {"N": str(int(NOW) + 200)}


def test_an_expiry_taken_away_is_taken_from_the_guards() -> None:
    coupon = saved(Coupon(code="c", alias="a", until=epoch(100)))
    coupon.until = None
    ((_, _, action),) = guards_in(plan_of(Save(coupon)))
    assert isinstance(action, Put)
    assert "until" not in action.item


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), st.booleans())
def test_the_prepared_expression_of_a_guard_is_the_one_it_renders_to(nicks: list[str], deletes: bool) -> None:
    member, user = saved(Member(name="m", nick=nicks[0])), saved(User(user_id="1", email=nicks[0]))
    member.nick, user.email = nicks[1], nicks[1]
    intents: list[Intent] = [Deletion(member), Deletion(user)] if deletes else [Save(member), Save(user)]
    plan = plan_of(*intents, Save(Member(name="n", nick="n")), Save(User(user_id="2", email="n")))
    for planned in plan.actions:
        # A copy brings nothing along that was rendered before.
        assert to_wire(planned.action) == to_wire(copy.deepcopy(planned.action))


maybe = st.none() | st.text("aB#%é", max_size=3)


@given(
    st.builds(
        User,
        user_id=st.just("1"),
        email=maybe,
        phone=maybe,
        badge=st.none() | st.integers(0, 3),
        handle=maybe,
        active=st.booleans(),
        desk=maybe,
    )
    | st.builds(Coupon, code=st.just("1"), alias=maybe, until=st.sampled_from([None, epoch(9)]))
    | st.builds(Member, name=st.just("1"), nick=maybe)
)
@settings(max_examples=100)
def test_a_new_entity_claims_the_same_alone_as_beside_another(entity: Entity) -> None:
    alone = plan_of(Save(entity)).actions
    beside = plan_of(Save(entity), Save(Coupon(code="other"))).actions
    assert beside[:-1] == alone
    assert [to_wire(one.action) for one in beside[:-1]] == [to_wire(one.action) for one in alone]


def test_only_the_guard_that_is_somebody_else_s_is_left_alone() -> None:
    user = saved(User(user_id="1", email="a", phone="5"))
    foreign = frozenset({ident_of(app, key("email#a"))})
    plan = plan_of(Deletion(user), reads=Reads({}, foreign))
    assert keys_in(plan) == [("release", "tel#5")]


def test_who_keeps_a_value_is_refused_by_dynamodb_alone_for_one_of_two_keepers_is_stale() -> None:
    stale, fresh = saved(User(user_id="1", phone="5")), saved(User(user_id="2", phone="5"))
    stale.tenant = fresh.tenant = "u"
    plan = plan_of(Save(stale), Save(fresh))
    assert [one.purpose for one in plan.actions] == [ItemPurpose.UPDATE, ItemPurpose.UPDATE]
    assert all(one.expected is not None for one in plan.actions)


@pytest.mark.parametrize("claimer_comes_first", [True, False])
def test_a_value_that_one_keeps_and_another_claims_is_refused(claimer_comes_first: bool) -> None:
    keeper, claimer = saved(User(user_id="1", phone="5")), saved(User(user_id="2"))
    keeper.tenant, claimer.phone = "u", "5"
    intents = [Save(claimer), Save(keeper)] if claimer_comes_first else [Save(keeper), Save(claimer)]
    with pytest.raises(UniqueViolation) as clash:
        plan_of(*intents)
    assert {violation.value for violation in clash.value.violations} == {"5"}


def test_a_third_that_claims_what_two_keep_is_refused() -> None:
    keepers = [saved(User(user_id=one, phone="5")) for one in ("1", "2")]
    for keeper in keepers:
        keeper.tenant = "u"
    with pytest.raises(UniqueViolation):
        plan_of(*map(Save, keepers), Save(User(user_id="3", phone="5")))


# -- guards of what is stored ------------------------------------------------------------------------------------------


plain = Table("guards-stored")


def _folded(text: str) -> AttributeValue:
    return {"S": text.lower()}


def _as_stored(value: AttributeValue) -> str:
    return str(value["S"])


class Reader(Entity, table=plain, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    phone: Annotated[str | None, Unique()] = None
    note: str = ""


class Paper(Entity, table=plain, pk="PAPER#{paper}", sk="P", versioned=True):
    paper: str
    shelf: Annotated[str, Unique()] = "top"


def _domain(site: str) -> str:
    if "/" in site:
        raise ValueError("is no domain")
    return site.casefold()


class Shop(Entity, table=plain, pk="SHOP#{shop}", sk="S"):
    shop: str
    site: Annotated[str | None, Unique(normalize=_domain)] = None
    note: str = ""


class Ship(Entity, table=plain, pk="SHIP#{ship}", sk="S"):
    ship: str
    call: Annotated[str, Attribute(encode=_folded, decode=_as_stored), Unique()]


def purposes_in(plan: Plan) -> list[tuple[str, str]]:
    return [(one.purpose.value, one.item_key["PK"]["S"]) for one in plan.actions if one.kind is GUARDS]


def test_a_guard_is_of_the_value_as_it_is_stored() -> None:
    assert purposes_in(plan_of(Save(Ship(ship="1", call="OVER")))) == [("claim", "call#over")]


def test_a_tombstone_holds_no_guard_even_where_a_default_is_unique() -> None:
    deletion = plan_of(Deletion(saved(Paper(paper="p"))))
    tombstone = deletion.actions[0].after
    assert tombstone is not None
    assert purposes_in(deletion) == [("release", "shelf#top")]
    anew = plan_of(Save(Paper(paper="p")), reads=Reads({ident_of(plain, tombstone): tombstone}))
    assert [planned.purpose.value for planned in anew.actions] == ["replace", "version", "claim"]


def test_of_two_guards_the_one_that_is_declared_first_comes_first() -> None:
    user = saved(Reader(user_id="1", phone="5"))
    user.email, user.phone = "a@x", None
    assert purposes_in(plan_of(Save(user))) == [("claim", "email#a@x"), ("release", "phone#5")]


def test_a_guard_that_is_passed_on_is_known_with_its_former_owner() -> None:
    one, two = saved(Reader(user_id="1", email="a@x")), saved(Reader(user_id="2"))
    one.email, two.email = None, "a@x"
    (passed,) = [planned for planned in plan_of(Save(one), Save(two)).actions if planned.kind is GUARDS]
    owner = {number: {"M": {"PK": {"S": f"USER#{number}"}, "SK": {"S": "U"}}} for number in "12"}
    assert passed.before == {**key("email#a@x"), "owner": owner["1"]}
    assert passed.after == {**key("email#a@x"), "owner": owner["2"]}


class Room(Entity, table=plain, pk="ROOM#{room}", sk="R"):
    room: str


class Suite(Room):
    bell: Annotated[str, Unique()]


def test_an_entity_without_unique_values_releases_those_of_the_derived_one_that_it_replaces() -> None:
    suite = stored(Suite(room="1", bell="b"))
    plan = plan_of(Save(Room(room="1"), overwrite=True), reads=Reads({ident_of(plain, suite): suite}))
    assert purposes_in(plan) == [("release", "bell#b")]


def test_an_update_of_other_fields_leaves_a_value_that_its_constraint_refuses_by_now() -> None:
    shop = loaded(Shop(shop="1"), site={"S": "http:/a"})
    shop.note = "n"
    assert purposes_in(plan_of(Save(shop))) == []
    shop.site = "b.org"
    with pytest.raises(DecodeError, match="site"):
        plan_of(Save(shop))
