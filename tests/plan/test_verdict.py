"""A refused plan becomes the one error that names its cause, or what has to be learned before trying again."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, F, Key, Table
from dynaorm.entity.table import ident_of
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    DynaormError,
    EntityNotFound,
    StaleEntity,
    StoreError,
    UnexpectedRefusal,
    UniqueViolation,
)
from dynaorm.item.update import AddTo, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.compiler import Committed, Verdict, verdict
from dynaorm.plan.guards import GuardPurpose
from dynaorm.plan.intent import Check, Deletion, Edit, Save
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.plan import FailedAction, NeedsReplan, Plan, Purpose
from dynaorm.plan.versions import VersionPurpose
from tests.plan.cast import Audit, Coupon, Document, Loose, Stock, User, Visitor, app
from tests.plan.compiling import NOW, plan_of, reads_of, saved

labels = Table("verdict-labels")


class Label(Entity, table=labels, pk="LABEL#{text:lower}", sk="L"):
    text: str


class Crate(Entity, table=labels, pk="CRATE#{name}", sk="C"):
    name: str
    size: Annotated[int, Field(le=9)] = 0
    note: str = ""


def judged(plan: Plan, items: Mapping[Purpose, Item | None], code: str = "ConditionalCheckFailed") -> Verdict:
    """The verdict where the actions of these purposes failed, having met these items."""
    failures = [
        FailedAction(one, code, "", items[one.purpose]) for one in plan.actions if one.purpose in items
    ]
    assert len(failures) >= len(items)
    return verdict(failures, NOW)


def raised(outcome: Verdict) -> Any:
    assert isinstance(outcome, DynaormError)
    return outcome


def first_refused(plan: Plan, met: Item | None) -> Verdict:
    """The verdict where the first action met this item."""
    return judged(plan, {plan.actions[0].purpose: met})


def item(kind: str, **attributes: AttributeValue) -> Item:
    return {"PK": {"S": f"{kind.upper()}#a"}, "SK": {"S": kind[0]}, "_type": {"S": kind}, **attributes}


def guard_of(user_id: str) -> Item:
    return {"owner": {"M": {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "U"}}}}


def rev(text: str) -> AttributeValue:
    return {"S": text}


def saving(entity: Entity, **values: Any) -> Plan:
    """The plan of a save that changes values of a stored entity."""
    saved(entity)
    for name, value in values.items():
        setattr(entity, name, value)
    return plan_of(Save(entity))


USER = User(user_id="1", email="a@x", phone="5")
INSERT = plan_of(Save(USER))
ONE_CLAIM = plan_of(Save(User(user_id="1", email="a@x")))
STOCK = Key(Stock, sku="a")
NEW = plan_of(Save(Stock(sku="a")))
STALE = saving(Stock(sku="a"), left=1)
BLIND = plan_of(Edit(STOCK, (AddTo(("left",), 1),), F.left < 9))
UPSERT = plan_of(Edit(STOCK, (AddTo(("left",), 1),), F.left < 9, creates=True))
BLIND_DELETE = plan_of(Deletion(STOCK))
CHECK = plan_of(Check(STOCK, F.left > 0))
REPLACE = plan_of(Save(Stock(sku="a"), overwrite=True, replacing=F.left < 9))
CONDITIONAL_INSERT = plan_of(Save(Stock(sku="a"), F.left == 1))
COUPON = Key(Coupon, code="a")
BLIND_COUPON = plan_of(Edit(COUPON, (AddTo(("left",), 1),), F.left < 9))
UPSERT_COUPON = plan_of(Edit(COUPON, (AddTo(("left",), 1),), F.left < 9, creates=True))
DELETE_COUPON = plan_of(Deletion(COUPON))
EXPIRED = item("Coupon", until={"N": str(int(NOW))})
EDIT_AUDIT = plan_of(Edit(Key(Audit, name="a"), (SetTo(("note",), "n"),)))
EDIT_CRATE = plan_of(Edit(Key(Crate, name="a"), (AddTo(("size",), 2),), F.note == "x"))
EDIT_LOOSE = plan_of(Edit(Key(Loose, name="a"), (AddTo(("left",), 1),), F.left < 9))
TOMBSTONE = item("Document", deleted={"BOOL": True}, version={"N": "3"})
UNTYPED = {name: value for name, value in item("Stock").items() if name != "_type"}
NUMBERED = item("Stock", _rev={"N": "3"}, left={"N": "9"})
"""With a revision of another library."""


# -- refusals that one action explains ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "met"),
    [
        (UPSERT_COUPON, EXPIRED),
        (UPSERT, item("User")),
        (UPSERT, item("Fragile")),
        (BLIND, item("Fragile")),
        (BLIND, UNTYPED),
        (BLIND, NUMBERED),
        (REPLACE, item("Stock", left={"N": "9"})),
        (EDIT_CRATE, item("Crate", size={"N": "8"})),
    ],
    ids=["upsert: expired", "upsert: of another class", "upsert: of a subclass", "of a subclass", "without a type",
         "with a revision of another library", "what was replaced unread", "would break the bounds of a field"],
)  # fmt: skip
def test_what_the_plan_did_not_expect_is_learned(plan: Plan, met: Item) -> None:
    assert first_refused(plan, met) == NeedsReplan({plan.actions[0].ident: met})


@pytest.mark.parametrize(
    ("plan", "met", "refusal", "key"),
    [
        (BLIND, None, EntityNotFound, STOCK),
        (BLIND, item("User"), EntityNotFound, STOCK),
        (BLIND_COUPON, EXPIRED, EntityNotFound, COUPON),
        (BLIND_DELETE, None, EntityNotFound, STOCK),
        (BLIND_DELETE, item("User"), EntityNotFound, STOCK),
        (EDIT_AUDIT, item("Audit", deleted={"BOOL": True}), EntityNotFound, Key(Audit, name="a")),
        (CHECK, None, EntityNotFound, STOCK),
        (CHECK, item("Stock"), ConditionFailed, STOCK),
        (DELETE_COUPON, EXPIRED, ConditionFailed, COUPON),
        (UPSERT, None, ConditionFailed, STOCK),
        (CONDITIONAL_INSERT, None, ConditionFailed, STOCK),
        (BLIND, item("Stock", left={"N": "9"}), ConditionFailed, STOCK),
        (BLIND, item("Stock", _rev=rev("w1"), left={"N": "9"}), ConditionFailed, STOCK),
        (EDIT_CRATE, item("Crate", size={"N": "7"}), ConditionFailed, Key(Crate, name="a")),
        (EDIT_LOOSE, item("Loose", left={"N": "9"}, _rev={"N": "3"}), ConditionFailed, Key(Loose, name="a")),
    ],
)
def test_a_refusal_says_whether_the_entity_or_the_condition_is_missing(
    plan: Plan, met: Item | None, refusal: type[StoreError], key: Key[Any]
) -> None:
    error = raised(first_refused(plan, met))
    assert (type(error), error.key) == (refusal, key)
    there = "an item of User is stored under Key(Stock, sku='a'), and no Stock"
    assert (there in str(error)) is (met == item("User"))


@pytest.mark.parametrize(
    ("plan", "refused"),
    [(STALE, StaleEntity), (BLIND, ConditionFailed), (CHECK, ConditionFailed), (NEW, AlreadyExists)],
)
def test_a_refusal_comes_with_the_entity_that_stands_there(plan: Plan, refused: type[StoreError]) -> None:
    there = item("Stock", sku={"S": "a"}, left={"N": "9"}, _rev=rev("w9"))
    error = raised(first_refused(plan, there))
    assert (type(error), error.key, error.stored) == (refused, STOCK, Stock(sku="a", left=9))


@pytest.mark.parametrize(
    ("plan", "met", "found"),
    [
        (STALE, item("Stock", _rev=rev("w9")), "w9"),
        (STALE, None, None),
        (plan_of(Deletion(saved(Stock(sku="a")))), None, None),
        (saving(Document(doc_id="d"), text="t"), {**TOMBSTONE, "_rev": rev("w9")}, None),
    ],
    ids=["changed", "gone", "gone before it is deleted", "deleted into a tombstone"],
)
def test_what_changed_or_is_gone_is_stale(plan: Plan, met: Item | None, found: str | None) -> None:
    error = raised(first_refused(plan, met))
    assert (type(error), error.expected, error.found) == (StaleEntity, "w1", found)


def test_an_item_with_the_plans_own_revision_is_its_own_commit_whatever_else_failed() -> None:
    stored = item("User", _rev=rev("w2"))
    assert first_refused(INSERT, stored) == Committed(stored)
    outcome = judged(INSERT, {ItemPurpose.INSERT: stored, GuardPurpose.CLAIM: guard_of("9")})
    assert isinstance(outcome, Committed)


def test_a_key_that_loses_a_part_of_its_field_is_taken_by_another_value_or_by_the_same() -> None:
    plan = plan_of(Save(Label(text="Red")))
    for stored, is_another in (("RED", True), ("Red", False)):
        key: Item = {"PK": {"S": "LABEL#red"}, "SK": {"S": "L"}}
        error = raised(first_refused(plan, {**key, "_type": {"S": "Label"}, "text": {"S": stored}}))
        assert (type(error), error.stored) == (AlreadyExists, Label(text=stored))
        assert ("is already stored with another value of text" in str(error)) is is_another


def test_without_revisions_the_values_tell_a_stale_entity_from_a_failed_condition() -> None:
    thing = saved(Loose(name="l", left=1))
    thing.left = 2
    plan = plan_of(Save(thing, F.left == 1))
    as_loaded = {"name": {"S": "l"}, "left": {"N": "1.0"}, "_type": {"S": "Loose"}}
    assert type(first_refused(plan, as_loaded)) is ConditionFailed
    assert type(first_refused(plan, {**as_loaded, "left": {"N": "3"}})) is StaleEntity


def test_what_was_read_by_the_library_is_learned_anew() -> None:
    stored = item("User", _rev=rev("w1"), user_id={"S": "a"}, email={"S": "x"})
    plan = plan_of(Deletion(Key(User, user_id="a")), reads=reads_of(app, stored))
    for met in ({**stored, "_rev": rev("w9")}, None):
        assert judged(plan, {ItemPurpose.DELETE: met}) == NeedsReplan({ident_of(app, stored): met})


def test_a_tombstone_under_an_insert_is_learned() -> None:
    plan = plan_of(Save(Document(doc_id="d")))
    outcome = judged(plan, {ItemPurpose.INSERT: TOMBSTONE, VersionPurpose.KEEP: {}})
    assert outcome == NeedsReplan({plan.actions[0].ident: TOMBSTONE})


# -- guards ------------------------------------------------------------------------------------------------------------

AWAY: Item = {"owner": {"M": {"table": {"S": "away"}, "PK": {"S": "VISITOR#2"}, "SK": {"S": "V"}}}}


@pytest.mark.parametrize(
    ("plan", "guard", "taken"),
    [
        (ONE_CLAIM, guard_of("9"), ("User", "email", ("email",), "a@x", Key(User, user_id="9"))),
        (ONE_CLAIM, {"PK": {"S": "email#a@x"}}, ("User", "email", ("email",), "a@x", None)),
        (ONE_CLAIM, None, ("User", "email", ("email",), "a@x", None)),
        (
            plan_of(Save(Visitor(name="1", nick="n"))),
            AWAY,
            ("Visitor", "nick", ("nick",), "n", Key(Visitor, name="2")),
        ),
    ],
    ids=["held", "without an owner", "without the guard", "in another table"],
)
def test_a_taken_value_names_constraint_fields_value_and_owner(
    plan: Plan, guard: Item | None, taken: tuple[Any, ...]
) -> None:
    error = raised(judged(plan, {GuardPurpose.CLAIM: guard}))
    assert type(error) is UniqueViolation
    assert (error.entity, error.constraint, error.fields, error.value, error.owner) == taken
    assert [type(cause) for cause in error.causes] == [UniqueViolation]


def test_a_taken_key_and_taken_values_are_one_already_exists() -> None:
    error = raised(judged(INSERT, {ItemPurpose.INSERT: item("User"), GuardPurpose.CLAIM: guard_of("9")}))
    assert isinstance(error, AlreadyExists)
    assert [one.constraint for one in error.violations] == ["email", "tel"]


def test_releases_of_guards_of_others_are_learned_at_once_unless_the_entity_is_stale() -> None:
    plan = plan_of(Deletion(saved(User(user_id="1", email="a@x", phone="5"))))
    releases = [one for one in plan.actions if one.purpose is GuardPurpose.RELEASE]
    foreign = judged(plan, {GuardPurpose.RELEASE: guard_of("9")})
    assert foreign == NeedsReplan(foreign=frozenset(one.ident for one in releases))
    plan = saving(User(user_id="1", email="a@x"), email="b@x")
    now = item("User", _rev=rev("w9"), user_id={"S": "a"}, email={"S": "c@x"})
    error = raised(judged(plan, {ItemPurpose.UPDATE: now, GuardPurpose.RELEASE: guard_of("9")}))
    assert (type(error), error.found) == (StaleEntity, "w9")


def test_a_taken_value_is_refused_to_the_class_that_claims_it_beside_others_that_release_theirs() -> None:
    stale, loser = saved(Stock(sku="a")), saved(Document(doc_id="1", slug="x"))
    stale.left, loser.slug = 1, None
    plan = plan_of(Save(stale), Save(loser), Save(User(user_id="1", email="a@x")))
    met = {ItemPurpose.UPDATE: None, GuardPurpose.RELEASE: guard_of("2"), GuardPurpose.CLAIM: guard_of("2")}
    error = judged(plan, met)
    assert isinstance(error, StaleEntity)
    (refused,) = [one for one in error.causes if isinstance(one, UniqueViolation)]
    assert refused.entity == "User"


# -- versions, and what nothing explains -------------------------------------------------------------------------------


def test_a_version_that_exists_already_is_unexpected() -> None:
    error = raised(judged(saving(Document(doc_id="d"), text="t"), {VersionPurpose.KEEP: {}}))
    assert isinstance(error, UnexpectedRefusal)
    assert "version 2 is already stored" in error.message
    assert (error.code, error.request_id, error.reasons) == ("ConditionalCheckFailed", "", ())
    assert "keep version 2 of Document(doc_id='d')" in error.action
    told = "verify of {0} says what is wrong with its versions, and repair"
    mends = told + (
        " lets the tombstone of a deleted {0} count it. Of a {0} that is not deleted, only you know whether the latest "
        "copy or that version is right: delete it, repair it, and {1}"
    )
    assert error.remedy == mends.format("Document", "restore the right version")
    error = raised(judged(saving(Audit(name="a"), result="bad"), {VersionPurpose.KEEP: {}}))
    assert error.remedy == mends.format("Audit", "save it anew")
    error = raised(judged(plan_of(Save(Document(doc_id="d"))), {VersionPurpose.KEEP: {}}))
    assert (type(error), error.key, error.violations) == (AlreadyExists, Key(Document, doc_id="d"), ())
    assert str(error) == (
        "version 1 of Key(Document, doc_id='d') is stored, without a latest copy that counts it; "
        f"{told.format('Document')} mends it; then save it again, or restore a version"
    )


@pytest.mark.parametrize("code", ["ValidationError", "ItemCollectionSizeLimitExceeded"])
def test_another_reason_names_the_action_it_speaks_of(code: str) -> None:
    error = raised(judged(INSERT, {ItemPurpose.INSERT: None}, code))
    assert isinstance(error, UnexpectedRefusal)
    assert error.code == ("ValidationException" if code == "ValidationError" else code)
    assert "insert User(user_id='1')" in error.action


def test_a_refusal_that_no_plan_explains_is_handed_on_whole() -> None:
    insert, claim = INSERT.actions[:2]
    failures = [
        FailedAction(insert, "ConditionalCheckFailed", "", None),
        FailedAction(claim, "ItemCollectionSizeLimitExceeded", "too much", None),
    ]
    error = raised(verdict(failures, NOW, "R1"))
    assert (error.message, error.request_id) == ("too much", "R1")
    assert error.reasons == ("ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded")
    assert raised(verdict(failures, NOW)).request_id == ""


# -- several reasons ---------------------------------------------------------------------------------------------------

REASONS = {
    "stale": (STALE.actions[0], item("Stock", _rev=rev("w9"))),
    "taken": (ONE_CLAIM.actions[1], guard_of("9")),
    "unmet": (BLIND.actions[0], item("Stock")),
    "exists": (INSERT.actions[0], item("User")),
}


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ("unmet", [ConditionFailed]),
        ("unmet taken", [UniqueViolation, ConditionFailed]),
        ("taken unmet", [UniqueViolation, ConditionFailed]),
        ("unmet stale", [StaleEntity, ConditionFailed]),
        ("unmet taken stale", [StaleEntity, UniqueViolation, ConditionFailed]),
        ("unmet exists taken", [AlreadyExists, ConditionFailed]),
    ],
)
def test_different_reasons_are_ordered_and_all_kept(failing: str, expected: list[type[StoreError]]) -> None:
    reasons = [REASONS[one] for one in failing.split()]
    found = [FailedAction(one, "ConditionalCheckFailed", "", met) for one, met in reasons]
    error = raised(verdict(found, NOW))
    assert type(error) is expected[0]
    assert [type(cause) for cause in error.causes] == expected
    if type(error) is AlreadyExists:  # it takes the violations along
        assert [one.constraint for one in error.violations] == ["email"]


# -- refused edits by key ----------------------------------------------------------------------------------------------

NOWHERE = "The document path provided in the update expression is invalid for update"
OTHER_TYPE = "An operand in the update expression has an incorrect data type"
NO_LIST = (
    "Incorrect operand type for operator or function; operator or function: list_append, operand type: SS"
)


@pytest.mark.parametrize("code", ["ValidationError", "ValidationException"])
@pytest.mark.parametrize("message", [NOWHERE, OTHER_TYPE, NO_LIST])
def test_an_update_that_does_not_fit_the_item_is_planned_again_with_it(code: str, message: str) -> None:
    (edit,) = BLIND.actions
    assert verdict([FailedAction(edit, code, message, None)], NOW) == NeedsReplan(unread=(edit,))


@pytest.mark.parametrize(
    ("plan", "code", "message"),
    [
        (BLIND, "ValidationError", "Nesting Levels have exceeded supported limits"),
        (BLIND, "ItemCollectionSizeLimitExceeded", NOWHERE),
        (CHECK, "ValidationError", NOWHERE),
        (BLIND_DELETE, "ValidationError", NOWHERE),
        (INSERT, "ValidationError", NOWHERE),
    ],
)
def test_nothing_else_that_is_invalid_is_planned_again(plan: Plan, code: str, message: str) -> None:
    assert isinstance(verdict([FailedAction(plan.actions[0], code, message, None)], NOW), UnexpectedRefusal)
