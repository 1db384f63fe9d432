"""Which guard items a unit of work claims, passes on and releases, judged on its final state."""

import copy
from datetime import UTC, datetime
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, Key, Table, Unique
from dynaorm.entity.table import ident_of
from dynaorm.errors import DecodeError, UniqueViolation
from dynaorm.item.action import Action, Delete, Put, to_wire
from dynaorm.item.condition import And, Attr, Compare, Or, equals, missing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.guards import GUARDS, GuardPurpose
from dynaorm.plan.intent import Deletion, Intent, Reads, Save
from dynaorm.plan.plan import Plan, Purpose
from tests.plan.cast import Coupon, Person, Visitor, teams
from tests.plan.compiling import NOW, loaded, plan_of, saved


def guards_in(plan: Plan) -> list[tuple[Purpose, str, Action]]:
    """Purpose, guard key and action of each guard action, in order."""
    return [(one.purpose, one.item_key["PK"]["S"], one.action) for one in plan.actions if one.kind is GUARDS]


def keys_in(plan: Plan) -> list[tuple[str, str]]:
    return [(purpose.value, key) for purpose, key, _ in guards_in(plan)]


def owner(name: str) -> AttributeValue:
    return {"M": {"PK": {"S": f"PERSON#{name}"}, "SK": {"S": "P"}}}


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
    ((_, _, action),) = guards_in(plan_of(Save(Person(name="1", email="A@x"))))
    assert action == Put(
        "teams",
        {**key("email#a@x"), "owner": owner("1")},
        Or((missing("PK"), equals("owner", owner("1")))),
    )
    claim = next(one for one in plan_of(Save(Visitor(name="v", nick="n"))).actions if one.kind is GUARDS)
    mine: AttributeValue = {"M": {"table": {"S": "away"}, "PK": {"S": "VISITOR#v"}, "SK": {"S": "V"}}}
    item: Item = {"lock": {"S": "nick#n"}, "owner": mine}
    assert claim.action == Put("locks", item, Or((missing("lock"), equals("owner", mine))))


def test_a_changed_value_releases_the_old_one_before_it_claims_the_new_one() -> None:
    person = saved(Person(name="1", email="a@x"))
    person.email = "b@x"
    first, second = guards_in(plan_of(Save(person)))
    assert first == (
        GuardPurpose.RELEASE,
        "email#a@x",
        Delete("teams", key("email#a@x"), Or((missing("owner"), equals("owner", owner("1"))))),
    )
    assert second[:2] == (GuardPurpose.CLAIM, "email#b@x")


def test_a_swap_is_one_put_per_guard_under_the_old_owner() -> None:
    one, two = saved(Coupon(code="1", alias="a")), saved(Coupon(code="2", alias="b"))
    one.alias, two.alias = "b", "a"
    found = {planned.item_key["PK"]["S"]: planned for planned in plan_of(Save(one), Save(two)).actions}
    passed, owners = found["alias#a"], [{"M": {"PK": {"S": f"COUPON#{n}"}, "SK": {"S": "C"}}} for n in "12"]
    first, second = (equals("owner", one) for one in owners)
    assert (passed.purpose, passed.label[0], passed.label[2]) == (GuardPurpose.PASS_ON, "alias", "a")
    assert passed.before == {**key("alias#a"), "owner": owners[0]}
    assert passed.action == Put(
        "fleeting",
        {**key("alias#a"), "owner": owners[1]},
        Or((missing("owner"), second, first, EXPIRED)),
    )


def test_two_entities_with_one_value_are_refused_before_anything_is_sent() -> None:
    one, two = Person(name="1", email="A@x", seat=1), Person(name="2", email="a@X", seat=1)
    with pytest.raises(UniqueViolation) as raised:
        plan_of(Save(one), Save(two))
    error = raised.value
    assert (error.entity, error.owner) == ("Person", Key(Person, name="1"))
    assert [(one.constraint, one.fields, one.value) for one in error.violations] == [
        ("email", ("email",), "a@X"),
        ("seat", ("tenant", "seat"), ("t", 1)),
    ]


def test_guards_expire_with_their_entity() -> None:
    coupon = Coupon(code="c", alias="a", until=epoch(100))
    ((_, _, action),) = guards_in(plan_of(Save(coupon)))
    mine: AttributeValue = {"M": {"PK": {"S": "COUPON#c"}, "SK": {"S": "C"}}}
    item: Item = {**key("alias#a"), "owner": mine, "until": {"N": str(int(NOW) + 100)}}
    assert action == Put("fleeting", item, Or((missing("PK"), equals("owner", mine), EXPIRED)))


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
    visitor, person = saved(Visitor(name="v", nick=nicks[0])), saved(Person(name="1", email=nicks[0]))
    visitor.nick, person.email = nicks[1], nicks[1]
    write = Deletion if deletes else Save
    others = Save(Visitor(name="w", nick="n")), Save(Person(name="2", email="n"))
    for planned in plan_of(write(visitor), write(person), *others).actions:
        # A copy brings nothing along that was rendered before.
        assert to_wire(planned.action) == to_wire(copy.deepcopy(planned.action))


maybe = st.none() | st.text("aB#%é", max_size=3)


@given(
    st.builds(
        Person,
        name=st.just("1"),
        email=maybe,
        seat=st.none() | st.integers(0, 3),
        handle=maybe,
        active=st.booleans(),
        desk=maybe,
    )
    | st.builds(Coupon, code=st.just("1"), alias=maybe, until=st.sampled_from([None, epoch(9)]))
    | st.builds(Visitor, name=st.just("1"), nick=maybe)
)
@settings(max_examples=100)
def test_a_new_entity_claims_the_same_alone_as_beside_another(entity: Entity) -> None:
    alone = plan_of(Save(entity)).actions
    beside = plan_of(Save(entity), Save(Coupon(code="other"))).actions
    assert beside[:-1] == alone
    assert [to_wire(one.action) for one in beside[:-1]] == [to_wire(one.action) for one in alone]


def test_only_the_guard_that_is_somebody_else_s_is_left_alone() -> None:
    person = saved(Person(name="1", email="a", seat=5))
    foreign = frozenset({ident_of(teams, key("email#a"))})
    assert keys_in(plan_of(Deletion(person), reads=Reads({}, foreign))) == [("release", "seat#t#5")]


@pytest.mark.parametrize("others", [[], [Save(Person(name="3", email="5"))]], ids=["two", "and a third"])
def test_who_keeps_a_value_is_refused_by_dynamodb_alone_but_not_who_claims_it(others: list[Intent]) -> None:
    stale, fresh = saved(Person(name="1", email="5")), saved(Person(name="2", email="5"))
    stale.note = fresh.note = "x"
    for intents in ([Save(stale), Save(fresh), *others], [*others, Save(stale)]):
        if others:
            with pytest.raises(UniqueViolation) as clash:
                plan_of(*intents)
            assert {violation.value for violation in clash.value.violations} == {"5"}
        else:  # one of them is out of date
            assert all(one.expected is not None for one in plan_of(*intents).actions)


# -- guards of what is stored ------------------------------------------------------------------------------------------


plain = Table("guards-stored")


def _folded(text: str) -> AttributeValue:
    return {"S": text.lower()}


def _as_stored(value: AttributeValue) -> str:
    return str(value["S"])


def _domain(site: str) -> str:
    if "/" in site:
        raise ValueError("is no domain")
    return site.casefold()


class Shop(Entity, table=plain, pk="SHOP#{shop}", sk="S"):
    shop: str
    call: Annotated[str | None, Attribute(encode=_folded, decode=_as_stored), Unique()] = None
    site: Annotated[str | None, Unique(normalize=_domain)] = None
    note: str = ""


def test_a_guard_is_of_the_value_as_it_is_stored() -> None:
    assert keys_in(plan_of(Save(Shop(shop="1", call="OVER")))) == [("claim", "call#over")]


def test_of_two_guards_the_one_that_is_declared_first_comes_first() -> None:
    person = saved(Person(name="1", handle="5"))
    person.email, person.handle = "a@x", None
    assert keys_in(plan_of(Save(person))) == [("claim", "email#a@x"), ("release", "handle#t#5")]


def test_an_update_of_other_fields_leaves_a_value_that_its_constraint_refuses_by_now() -> None:
    shop = loaded(Shop(shop="1"), site={"S": "http:/a"})
    shop.note = "n"
    assert keys_in(plan_of(Save(shop))) == []
    shop.site = "b.org"
    with pytest.raises(DecodeError, match="site"):
        plan_of(Save(shop))
