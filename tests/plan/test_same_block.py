"""The token item of a block, and what it says about a block that runs again."""

from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from dynaorm import Entity, ExpiresAt, F, GlobalIndex, Index, InKey, Key, NumberKey, NumberRevision, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.flow.commit import is_equal_block
from dynaorm.item.action import Put
from dynaorm.item.condition import Attr, Compare, Or, holds, missing
from dynaorm.item.value import Item
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Save, UnitOfWork
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.plan import Plan, Planned
from dynaorm.plan.token import TokenMatch, TokenPurpose, compare, effects_of_repeat, revision_in
from tests.plan.compiling import NOW, stored

homes = Table("remember-guards", pk="id", sk=None)
app = Table("remember-app", guard_table=homes, indexes=[GlobalIndex("GSI1")])
numbered = Table("remember-numbered", revision_attribute=NumberRevision("number"))
inverted = Table("remember-inverted", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK")])


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    city: str = ""
    visits: int = 0
    shelf: Annotated[str, InKey()] = "a"
    by_shelf = Index("GSI1", pk="SHELF#{shelf}", sk="{name}")


class Song(Entity, table=inverted, pk="SONG#{name}", sk="S"):
    name: str


class Tidy(Entity, table=app, pk="TIDY#{name}", sk="T"):
    name: str
    city: Annotated[str, AfterValidator(str.upper)] = "A"
    visits: int = 0


class Numbered(Entity, table=numbered, pk="NUMBERED#{name}", sk="N"):
    name: str
    city: str = ""


def unit(now: float = NOW, seconds: float = 3600.0) -> UnitOfWork:
    return UnitOfWork(now, "w2", str, "T", remember=seconds)


def plan_of(*intents: Intent, now: float = NOW, seconds: float = 3600.0) -> Plan:
    return compile_plan(merge_intents(intents, now), NOTHING_READ, unit(now, seconds))


def action_of(*intents: Intent) -> Planned:
    planned = plan_of(*intents).token_item
    assert planned is not None
    return planned


def token_item(*intents: Intent) -> Item:
    item = action_of(*intents).after
    assert item is not None
    return item


def loaded(kind: type[Entity] = User, **values: Any) -> Any:
    entity = kind(**{"name": "u", **values})
    for effect in plan_of(Save(entity)).effects:
        effect.apply()
    return entity


def changed(entity: Any, **values: Any) -> Save:
    for name, value in values.items():
        setattr(entity, name, value)
    return Save(entity)


ADD = Edit(Key(User, name="u"), (F.visits.add(1),))
REMOVE = Deletion(Key(User, name="u"))


def match(first: Intent, second: Intent) -> TokenMatch:
    return compare(action_of(second), token_item(first), NOW)


def test_it_is_put_in_the_table_of_the_guard_items_as_the_last_action() -> None:
    plan = plan_of(ADD)
    assert [planned.purpose for planned in plan.actions] == [ItemPurpose.UPDATE, TokenPurpose.REMEMBER]
    put = plan.to_request()["TransactItems"][1]["Put"]
    assert put["TableName"] == "remember-guards"
    assert put["Item"] == {
        "id": {"S": "#token#T"},
        "_block": put["Item"]["_block"],
        "_revision": {"S": "w2"},
        "_until": {"N": str(int(NOW) + 3600)},
    }
    assert put["ConditionExpression"] == "attribute_not_exists(#n0) OR #n1 <= :v0"
    assert plan.token_item is not None
    assert plan.token_item.table is homes
    assert revision_in(put["Item"]) == "w2"


def test_its_time_is_ten_minutes_at_least() -> None:
    item = plan_of(ADD, seconds=0.5).actions[-1].after
    assert item is not None
    assert item["_until"] == {"N": str(int(NOW) + 600)}


def test_it_costs_two_units_and_those_of_the_indexes_on_the_keys_of_the_table() -> None:
    assert plan_of(ADD).write_units == 4
    song = Song(name="s")
    units = [compile_plan(merge_intents([Save(song)], NOW), NOTHING_READ, one).write_units for one in (
        unit(), UnitOfWork(NOW, "w2", str, exactly_once=True))]  # fmt: skip
    assert units == [6, 3]


def test_the_block_of_a_plan_is_known() -> None:
    plan = plan_of(ADD)
    assert is_equal_block(plan, [ADD], unit())
    assert not is_equal_block(plan, [REMOVE], unit())


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (ADD, ADD, TokenMatch.SAME),
        (Save(User(name="u")), Save(User(name="u")), TokenMatch.SAME),
        (Save(User(name="u")), Save(User(name="u", city="b")), TokenMatch.OTHER),
        (Save(User(name="u")), Save(User(name="v")), TokenMatch.OTHER),
        (Save(User(name="u")), Save(User(name="u", shelf="b")), TokenMatch.OTHER),
        (Save(User(name="u")), Save(User(name="u"), None, True), TokenMatch.OTHER),
        (Save(User(name="u")), Save(User(name="u"), F.visits == 0), TokenMatch.OTHER),
        (ADD, REMOVE, TokenMatch.OTHER),
        (ADD, Edit(Key(User, name="u"), (F.visits.add(2),)), TokenMatch.OTHER),
        (REMOVE, Check(Key(User, name="u")), TokenMatch.OTHER),
        (REMOVE, Deletion(loaded()), TokenMatch.SAME),
        (Edit(loaded(), (F.city.set("b"),)), Edit(loaded(visits=3), (F.city.set("b"),)), TokenMatch.SAME),
        (changed(loaded(), city="b"), changed(loaded(visits=3), city="b"), TokenMatch.SAME),
        (changed(loaded(), city="b"), Save(loaded(city="b")), TokenMatch.SAME),
        (changed(loaded(Tidy), city="b"), changed(loaded(Tidy, visits=3), city="b"), TokenMatch.SAME),
        (Save(User(name="u", city="b")), Save(loaded(city="b")), TokenMatch.SAME),
        (changed(loaded(), city="b"), Save(loaded(city="b", visits=3)), TokenMatch.PERHAPS),
        (changed(loaded(), visits=1), changed(loaded(visits=1), visits=2), TokenMatch.PERHAPS),
        (changed(loaded(), shelf="b"), changed(loaded(), shelf="c"), TokenMatch.PERHAPS),
        (changed(loaded(), city="b"), changed(loaded(name="v"), city="b"), TokenMatch.OTHER),
    ],
)
def test_blocks_are_compared_by_what_was_given(first: Intent, second: Intent, said: TokenMatch) -> None:
    assert match(first, second) is said


def test_a_token_is_free_when_its_time_is_over() -> None:
    ours, theirs = action_of(ADD), token_item(REMOVE)
    assert compare(ours, None, NOW) is TokenMatch.FREE
    assert compare(ours, theirs, NOW + 3599) is TokenMatch.OTHER
    assert compare(ours, theirs, NOW + 3600) is TokenMatch.FREE


@pytest.mark.parametrize("name", ["_block", "_revision"])
@pytest.mark.parametrize("value", [None, {"N": "1"}, {"NULL": True}, {"M": {}}])
def test_an_item_under_its_key_that_another_program_changed_is_another_block(name: str, value: Any) -> None:
    ours = token_item(ADD)
    theirs = {**ours, name: value} if value is not None else {one: ours[one] for one in ours if one != name}
    assert compare(action_of(ADD), theirs, NOW) is TokenMatch.OTHER


@pytest.mark.parametrize("until", [{"S": "x"}, {"N": "x"}, {"NULL": True}])
def test_an_item_under_its_key_whose_time_cannot_be_read_is_not_over(until: Any) -> None:
    ours = token_item(ADD)
    assert compare(action_of(ADD), {**ours, "_until": until}, NOW + 10_000) is TokenMatch.SAME
    assert compare(action_of(ADD), {**ours, "_until": {"N": "1.5"}}, NOW) is TokenMatch.FREE


def test_a_time_is_over_when_dynamodb_lets_another_block_take_the_place() -> None:
    half = {**token_item(ADD), "_until": {"N": f"{int(NOW)}.5"}}
    for now in (int(NOW) + 0.2, int(NOW) + 0.9, int(NOW) + 1.0):
        planned = plan_of(ADD, now=now).token_item
        assert planned is not None
        action: Any = planned.action
        is_taken = holds(action.condition, half)
        assert (compare(action_of(ADD), half, now) is TokenMatch.FREE) is is_taken is (now > int(NOW) + 0.9)


@pytest.mark.parametrize(
    ("declared", "why"),
    [({"pk": "_until"}, "_until"), ({"indexes": [GlobalIndex("GSI1", pk="_block")]}, "_block")],
)
def test_a_table_whose_keys_are_called_like_its_attributes_cannot_hold_one(
    declared: dict[str, Any], why: str
) -> None:
    table = Table("remember-taken", **declared)

    class Taken(Entity, table=table, pk="TAKEN#{name}", sk="T"):
        name: str

    with pytest.raises(UsageError, match=f"{why!r} is a key attribute.*guard_table="):
        plan_of(Save(Taken(name="t")))


def test_a_block_that_was_applied_before_gives_objects_what_it_gave_them_then() -> None:
    new, old, gone = User(name="n", city="b"), loaded(name="o", visits=3), loaded(name="g")
    old.city = "b"
    intents: list[Intent] = [
        Save(new), Save(old), Deletion(gone), REMOVE, Edit(Key(User, name="e"), (F.visits.add(1),)),
    ]  # fmt: skip
    found = [effect for one in merge_intents(intents, NOW) for effect in effects_of_repeat(one, "theirs")]
    index = {"GSI1PK": {"S": "SHELF#a"}}
    values = {"_type": {"S": "User"}, "_rev": {"S": "theirs"}, "city": {"S": "b"}}
    assert [effect.entity for effect in found] == [new, old, gone]
    assert [effect.state and effect.state.item for effect in found] == [
        {
            "PK": {"S": "USER#n"}, "SK": {"S": "U"}, "GSI1SK": {"S": "n"}, "name": {"S": "n"}, "visits": {"N": "0"},
            **index, **values,
        },
        {
            "PK": {"S": "USER#o"}, "SK": {"S": "U"}, "GSI1SK": {"S": "o"}, "name": {"S": "o"}, "visits": {"N": "3"},
            **index, **values,
        },
        None,
    ]  # fmt: skip
    assert [effect.values for effect in found] == [None, None, None]


def test_an_object_gets_all_that_the_earlier_block_stored_of_it() -> None:
    found = mapping_of(Tidy).loader.hydrate({**stored(Tidy(name="t")), "other": {"S": "x"}})
    (one,) = merge_intents([changed(found, city="b")], NOW)
    (effect,) = effects_of_repeat(one, "theirs")
    assert effect.state is not None
    assert effect.state.item == {
        **stored(Tidy(name="t")), "other": {"S": "x"}, "city": {"S": "B"}, "_rev": {"S": "theirs"},
    }  # fmt: skip
    assert effect.values == {"city": "B"}


def test_a_number_that_the_earlier_block_raised_is_raised_for_the_object() -> None:
    found = mapping_of(Numbered).loader.hydrate({**stored(Numbered(name="n")), "number": {"N": "7"}})
    (one,) = merge_intents([changed(found, city="b")], NOW)
    (effect,) = effects_of_repeat(one, "theirs")
    assert effect.state is not None
    assert effect.state.item["number"] == {"N": "8"}


def test_the_token_item_is_told_and_settled_by_its_own_key() -> None:
    planned = plan_of(ADD).token_item
    assert planned is not None
    assert (planned.item_key, planned.entity_key) == (
        {"id": {"S": "#token#T"}},
        Key(User, name="u").primary_key,
    )
    assert plan_of(ADD).explain().splitlines()[-1] == (
        "2. Put remember-guards id=#token#T: remember the token 'T', if it is not remembered yet"
    )
    over = Compare(Attr(("_until",)), "<=", {"N": str(int(NOW))})
    assert planned.action == Put("remember-guards", planned.after or {}, Or((missing("id"), over)))


def test_a_guard_table_with_a_ttl_forgets_the_token_by_it() -> None:
    class Tune(Entity, table=Table("remember-ttl"), pk="TUNE#{name}", sk="T"):
        name: str
        gone: Annotated[datetime | None, ExpiresAt()] = None

    item = plan_of(Save(Tune(name="t"))).actions[-1].after
    assert item is not None
    assert item["gone"] == item["_until"] == {"N": str(int(NOW) + 3600)}


def test_a_table_that_cannot_remember_says_where_to_do_so() -> None:
    table = Table("remember-numbers", pk=NumberKey("number"), sk=None)

    class Count(Entity, table=table, pk="{number}"):
        number: int

    with pytest.raises(UsageError) as refused:
        plan_of(Save(Count(number=1)))
    assert str(refused.value).endswith("; give the table guard_table=, another table with string keys")
