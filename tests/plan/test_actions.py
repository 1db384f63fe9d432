"""The action of an item itself: its condition, and the changes that lead from one image to another."""

from datetime import datetime
from typing import Annotated

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, ExpiresAt, F, GlobalIndex, Index, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.action import Action, Put, Update
from dynaorm.item.condition import And, Attr, Compare, Condition, HasType, Not, Or, equals, exists, missing
from dynaorm.item.update import SetTo, apply_changes
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Reads, Save, UnitOfWork
from dynaorm.plan.plan import Planned
from dynaorm.plan.values import difference
from dynaorm.record import replace
from tests.plan.cast import Numbered
from tests.plan.compiling import loaded, reads_of, saved

NOW = 1_700_000_000.5

app = Table("emit-app", revision_attribute="etag")
bare = Table(
    "emit-bare", sk=None, type_attribute=None, revision_attribute=None, indexes=[GlobalIndex("GSI1")]
)
bare_versions = Table("emit-bare-versions", type_attribute=None, revision_attribute=None)
silent = Table("emit-silent", type_attribute=None)


class Coupon(Entity, table=app, pk="COUPON#{code}", sk="C"):
    code: str
    left: int = 0
    until: Annotated[datetime | None, ExpiresAt(), Attribute("ttl")] = None


class Voucher(Entity, table=app, pk="COUPON#{code}", sk="C"):
    code: str


class Thing(Entity, table=bare, pk="THING#{name}"):
    name: str
    size: int = 0
    kind: Annotated[str | None, Attribute("sort_of", formerly=("category",))] = None
    place: str | None = None
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{name}")


class Page(Entity, table=bare_versions, pk="PAGE#{name}", sk="P", versioned=True):
    name: str
    text: str = ""


class Document(Entity, table=silent, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str


def planned_of(*intents: Intent, reads: Reads = NOTHING_READ) -> Planned:
    return compile_plan(merge_intents(intents, NOW), reads, UnitOfWork(NOW, "w2", str)).actions[0]


def condition_of(*intents: Intent) -> Condition | None:
    action: Action = planned_of(*intents).action
    return action.condition


def as_loaded(*required: Condition, **values: str | int | None) -> And:
    """What is demanded without a revision: every attribute is as it was loaded."""
    given = (
        missing(name)
        if one is None
        else equals(name, {"N": str(one)} if isinstance(one, int) else {"S": one})
        for name, one in sorted(values.items())
    )
    return And((exists("PK"), *required, *given))


TTL = Attr(("ttl",))
# DynamoDB deletes what expired at most five years ago.
OVER = And(
    (
        Compare(TTL, ">=", {"N": str(int(NOW) + 1 - 5 * 365 * 86_400)}),
        Compare(TTL, "<", {"N": str(int(NOW) + 1)}),
    )
)


def test_an_insert_asks_for_absence_or_expiry() -> None:
    expected = Or((missing("PK"), OVER))
    assert condition_of(Save(Coupon(code="c"))) == expected


def test_an_insert_asks_for_the_expiry_of_another_class_under_its_keys() -> None:
    expired = And((equals("_type", {"S": "Coupon"}), *OVER.parts))
    assert condition_of(Save(Voucher(code="c"))) == Or((missing("PK"), expired))


def test_what_is_replaced_unread_is_free_or_of_the_class_and_as_the_caller_asks() -> None:
    typed, own = equals("_type", {"S": "Coupon"}), Or((missing("etag"), HasType(("etag",), "S")))
    few = Or((missing("left"), Compare(Attr(("left",)), "<", {"N": "9"})))
    for replacing, parts in ((None, (typed, own)), (F.left < 9, (typed, own, few))):
        save = Save(Coupon(code="c"), overwrite=True, replacing=replacing)
        assert condition_of(save) == Or((missing("PK"), OVER, And(parts)))
    assert condition_of(Save(Thing(name="t"), overwrite=True)) is None


def test_without_revisions_an_update_relies_on_all_that_its_index_keys_are_stored_as() -> None:
    thing = saved(Thing(name="t", place="here"))
    thing.size = 4
    condition = condition_of(Save(thing))
    assert isinstance(condition, And)
    assert equals("GSI1PK", {"S": "PLACE#here"}) in condition.parts


def test_writes_by_key_ask_for_existence_type_and_life_and_deletes_not_for_life() -> None:
    typed, own = equals("_type", {"S": "Coupon"}), Or((missing("etag"), HasType(("etag",), "S")))
    assert condition_of(Deletion(Key(Coupon, code="c"))) == And((exists("PK"), typed, own))
    for one in (Edit(Key(Coupon, code="c"), (SetTo(("left",), 1),)),):
        assert condition_of(one) == And((exists("PK"), typed, own, Not(OVER)))
    assert condition_of(Check(Key(Coupon, code="c"))) == And((exists("PK"), typed, Not(OVER)))


def test_without_types_a_tombstone_is_told_by_its_mark() -> None:
    assert condition_of(Check(Key(Document, doc_id="d"))) == And((exists("PK"), missing("deleted")))


def test_without_types_a_class_that_keeps_no_versions_is_told_by_its_key_alone() -> None:
    assert condition_of(Check(Key(Thing, name="t"))) == exists("PK")


def test_without_revisions_a_delete_relies_on_everything() -> None:
    index = {"GSI1PK": "PLACE#here", "GSI1SK": "t"}
    thing = saved(Thing(name="t", size=3, place="here"))
    assert condition_of(Deletion(thing)) == as_loaded(
        name="t", size=3, place="here", sort_of=None, category=None, **index
    )


def test_without_revisions_a_check_relies_on_everything() -> None:
    thing = saved(Thing(name="t", size=3, kind="k"))
    condition = as_loaded(name="t", size=3, place=None, sort_of="k", category=None)
    assert condition_of(Check(thing)) == condition
    assert condition_of(Edit(thing, (SetTo(("size",), 4),)), Check(thing)) == condition
    thing.size = 4
    assert condition_of(Save(thing), Check(thing)) == condition


def test_without_revisions_an_overwrite_relies_on_the_whole_item() -> None:
    item: Item = {"PK": {"S": "THING#t"}, "name": {"S": "t"}, "size": {"N": "1"}, "odd": {"S": "k"}}
    planned = planned_of(Save(Thing(name="t"), overwrite=True), reads=reads_of(bare, item))
    assert isinstance(planned.action, Put)
    assert planned.action.condition == as_loaded(
        name="t", size=1, odd="k", place=None, GSI1PK=None, GSI1SK=None
    )


def test_without_revisions_former_names_are_relied_on_too() -> None:
    item: Item = {"PK": {"S": "THING#t"}, "name": {"S": "t"}, "size": {"N": "1"}, "category": {"S": "k"}}
    thing = mapping_of(Thing).loader.hydrate(item)
    thing.kind = "l"
    condition = condition_of(Save(thing))
    assert isinstance(condition, And)
    assert equals("category", {"S": "k"}) in condition.parts
    assert missing("sort_of") in condition.parts


def test_without_revisions_a_new_version_relies_on_the_version_it_follows_too() -> None:
    page = saved(Page(name="p", text="a"))
    page.text = "b"
    parts = [exists("PK"), missing("deleted"), equals("name", {"S": "p"}), equals("text", {"S": "a"})]
    version = [equals("version", {"N": "1"}), equals("version_at", {"S": "2023-11-14T22:13:20.000000Z"})]
    assert condition_of(Save(page)) == And((*parts, *version))


def test_a_number_that_is_the_revision_is_one_of_the_values_relied_on() -> None:
    order = loaded(Numbered(name="o"), number=7)
    order.text = "b"
    typed = equals("_type", {"S": "Numbered"})
    assert condition_of(Save(order)) == as_loaded(typed, name="o", number=7, text="")


def test_an_update_by_key_gives_an_item_the_present_name_of_its_class_once() -> None:
    edit = Edit(Key(Numbered, name="a"), (SetTo(("text",), "b"),))
    untyped = Edit(Key(Thing, name="t"), (SetTo(("size",), 1),))
    for one, count in ((edit, 1), (replace(edit, creates=True), 1), (untyped, 0)):
        update = planned_of(one).action
        assert isinstance(update, Update)
        assert [change.path for change in update.changes].count(("_type",)) == count


def test_an_upsert_asks_for_absence_or_the_class_and_for_the_callers_condition_in_any_case() -> None:
    edit = Edit(Key(Coupon, code="c"), (SetTo(("left",), 1),), F.until.missing())
    required, asked = condition_of(replace(edit, condition=None)), missing("ttl")
    assert isinstance(required, And)
    absent_or = Or((missing("PK"), And(required.parts[1:])))
    assert condition_of(replace(edit, creates=True)) == And((absent_or, asked))
    bare_one = Edit(Key(Thing, name="t"), (SetTo(("size",), 1),), creates=True)
    assert condition_of(bare_one) is None


VALUES: st.SearchStrategy[AttributeValue] = st.one_of(
    st.integers(-9, 9).map(lambda number: {"N": str(number)}),
    st.text(max_size=2).map(lambda text: {"S": text}),
    st.lists(st.integers(0, 3), max_size=2).map(lambda numbers: {"L": [{"N": str(one)} for one in numbers]}),
)
ITEMS = st.dictionaries(st.sampled_from("abcdef"), VALUES)


@given(ITEMS, ITEMS)
def test_a_difference_leads_from_one_image_to_the_other_and_no_further(before: Item, after: Item) -> None:
    changes = difference(before, after)
    outcome = apply_changes(before, changes)
    assert outcome.keys() == after.keys()
    assert all(same(outcome[name], after[name]) for name in after)
    assert len(changes) == sum(not same(before.get(name), after.get(name)) for name in {*before, *after})
