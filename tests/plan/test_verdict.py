"""A refused plan becomes the one error that names its cause, or what has to be learned before trying again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, ExpiresAt, F, Key, Table, Unique, Versioned
from dynaorm.entity.ident import ident_of
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
from dynaorm.plan.intent import Check, Deletion, Edit, Save
from dynaorm.plan.kinds.guards import GuardPurpose
from dynaorm.plan.kinds.own_item import ItemPurpose, is_as_expected
from dynaorm.plan.kinds.versions import VersionPurpose
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import FailedAction, Purpose, StaleKnowledge
from dynaorm.plan.reads import Reads
from dynaorm.plan.verdict import Committed, Verdict, verdict
from tests.plan.compiling import NOW, plan_of, saved

app = Table("verdict-app")
locks = Table("verdict-locks", pk="lock", sk=None)
away = Table("verdict-away", guard_table=locks)
loose = Table("verdict-loose", revision_attribute=None)


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]
    phone: Annotated[str | None, Unique("tel")] = None


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Badge(Entity, table=app, pk="BADGE#{badge}", sk="B"):
    badge: str
    code: Annotated[str | None, Unique("badge")] = None


class Fragile(Stock):
    padding: int = 0


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    result: Annotated[str, Versioned()] = ""
    note: str = ""


class Member(Entity, table=away, pk="MEMBER#{name}", sk="M"):
    name: str
    nick: Annotated[str, Unique()]


class Label(Entity, table=app, pk="LABEL#{text:lower}", sk="L"):
    text: str


class Loose(Entity, table=loose, pk="LOOSE#{name}", sk="L"):
    name: str
    left: int = 0


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


def item(kind: str, **attributes: AttributeValue) -> Item:
    return {"PK": {"S": f"{kind.upper()}#a"}, "SK": {"S": kind[0]}, "_type": {"S": kind}, **attributes}


def guard_of(user_id: str) -> Item:
    return {"owner": {"M": {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "U"}}}}


def rev(text: str) -> AttributeValue:
    return {"S": text}


def changed(**values: Any) -> User:
    user = saved(User(user_id="1", email="a@x"))
    for name, value in values.items():
        setattr(user, name, value)
    return user


USER = User(user_id="1", email="a@x", phone="5")
INSERT = plan_of(Save(USER))
NEW = plan_of(Save(Stock(sku="a")))
BLIND = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 1),), F.left < 9))
UPSERT = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 1),), F.left < 9, creates=True))
BLIND_DELETE = plan_of(Deletion(Key(Stock, sku="a")))
CHECK = plan_of(Check(Key(Stock, sku="a"), F.left > 0))


def test_an_item_with_the_plans_own_revision_is_its_own_commit() -> None:
    stored = item("User", _rev=rev("w2"))
    assert judged(INSERT, {ItemPurpose.INSERT: stored}) == Committed(stored)


def test_its_own_commit_is_recognised_whatever_else_failed() -> None:
    outcome = judged(
        INSERT, {ItemPurpose.INSERT: item("User", _rev=rev("w2")), GuardPurpose.CLAIM: guard_of("9")}
    )
    assert isinstance(outcome, Committed)


def test_a_taken_value_names_constraint_fields_value_and_owner() -> None:
    plan = plan_of(Save(User(user_id="1", email="a@x")))
    error = raised(judged(plan, {GuardPurpose.CLAIM: guard_of("9")}))
    assert isinstance(error, UniqueViolation)
    assert (error.entity, error.constraint, error.fields) == ("User", "email", ("email",))
    assert (error.value, error.owner) == ("a@x", Key(User, user_id="9"))
    assert error.causes == (error,) or [type(cause) for cause in error.causes] == [UniqueViolation]


def test_a_taken_key_and_taken_values_are_one_already_exists() -> None:
    outcome = judged(INSERT, {ItemPurpose.INSERT: item("User"), GuardPurpose.CLAIM: guard_of("9")})
    error = raised(outcome)
    assert isinstance(error, AlreadyExists)
    assert [one.constraint for one in error.violations] == ["email", "tel"]


def test_a_key_that_loses_a_part_of_its_field_is_taken_by_another_value_or_by_the_same() -> None:
    plan = plan_of(Save(Label(text="Red")))
    for stored, is_another in (("RED", True), ("Red", False)):
        there: Item = {
            "PK": {"S": "LABEL#red"},
            "SK": {"S": "L"},
            "_type": {"S": "Label"},
            "text": {"S": stored},
        }
        error = raised(judged(plan, {ItemPurpose.INSERT: there}))
        assert (type(error), error.stored) == (AlreadyExists, Label(text=stored))
        assert ("is already stored with another value of text" in str(error)) is is_another


def test_the_owner_of_a_guard_without_one_is_none() -> None:
    error = raised(judged(INSERT, {GuardPurpose.CLAIM: {"PK": {"S": "email#a@x"}}}))
    assert [one.owner for one in error.violations] == [None, None]


def test_a_refused_claim_that_comes_without_its_guard_has_no_known_owner() -> None:
    error = raised(judged(plan_of(Save(User(user_id="1", email="a@x"))), {GuardPurpose.CLAIM: None}))
    assert isinstance(error, UniqueViolation)
    assert (error.constraint, error.value, error.owner) == ("email", "a@x", None)


def test_the_owner_of_a_guard_in_another_table_is_told_without_the_tables_name() -> None:
    plan = plan_of(Save(Member(name="1", nick="n")))
    guard: Item = {
        "owner": {"M": {"table": {"S": "verdict-away"}, "PK": {"S": "MEMBER#2"}, "SK": {"S": "M"}}}
    }
    assert raised(judged(plan, {GuardPurpose.CLAIM: guard})).owner == Key(Member, name="2")


def test_another_revision_is_stale_and_says_which() -> None:
    plan = plan_of(Save(changed(email="b@x")))
    error = raised(judged(plan, {ItemPurpose.UPDATE: item("User", _rev=rev("w9"))}))
    assert (type(error), error.expected, error.found) == (StaleEntity, "w1", "w9")
    assert error.key == Key(User, user_id="1")


def stale() -> Plan:
    stock = saved(Stock(sku="a"))
    stock.left = 1
    return plan_of(Save(stock))


@pytest.mark.parametrize(
    ("plan", "refused"),
    [(stale(), StaleEntity), (BLIND, ConditionFailed), (CHECK, ConditionFailed), (NEW, AlreadyExists)],
)
def test_a_refusal_comes_with_the_entity_that_stands_there(plan: Plan, refused: type[StoreError]) -> None:
    there = item("Stock", sku={"S": "a"}, left={"N": "9"}, _rev=rev("w9"))
    error = raised(judged(plan, {plan.actions[0].purpose: there}))
    assert (type(error), error.key, error.stored) == (refused, Key(Stock, sku="a"), Stock(sku="a", left=9))


@pytest.mark.parametrize("intent", [Save, Deletion])
def test_what_is_gone_is_stale(intent: type[Save]) -> None:
    plan = plan_of(intent(changed(email="b@x")))
    error = raised(judged(plan, {plan.actions[0].purpose: None}))
    assert (type(error), error.expected, error.found) == (StaleEntity, "w1", None)


def test_what_was_deleted_into_a_tombstone_is_stale() -> None:
    document = saved(Document(doc_id="d"))
    document.text = "t"
    tombstone = item("Document", deleted={"BOOL": True}, _rev=rev("w9"))
    error = raised(judged(plan_of(Save(document)), {ItemPurpose.UPDATE: tombstone}))
    assert (type(error), error.found) == (StaleEntity, None)


def test_without_revisions_the_values_tell_a_stale_entity_from_a_failed_condition() -> None:
    thing = saved(Loose(name="l", left=1))
    thing.left = 2
    plan = plan_of(Save(thing, F.left == 1))
    as_loaded = {"name": {"S": "l"}, "left": {"N": "1.0"}, "_type": {"S": "Loose"}}
    assert type(judged(plan, {ItemPurpose.UPDATE: as_loaded})) is ConditionFailed
    assert type(judged(plan, {ItemPurpose.UPDATE: {**as_loaded, "left": {"N": "3"}}})) is StaleEntity


def test_what_was_read_by_the_library_is_learned_anew() -> None:
    stored = item("User", _rev=rev("w1"), user_id={"S": "a"}, email={"S": "x"})
    ident = ident_of(app, {"PK": {"S": "USER#a"}, "SK": {"S": "U"}})
    plan = plan_of(Deletion(Key(User, user_id="a")), reads=Reads({ident: stored}))
    now = {**stored, "_rev": rev("w9")}
    assert judged(plan, {ItemPurpose.DELETE: now}) == StaleKnowledge({ident: now})
    assert judged(plan, {ItemPurpose.DELETE: None}) == StaleKnowledge({ident: None})


def test_a_tombstone_under_an_insert_is_learned() -> None:
    tombstone = item("Document", deleted={"BOOL": True}, version={"N": "3"})
    plan = plan_of(Save(Document(doc_id="d")))
    assert judged(plan, {ItemPurpose.INSERT: tombstone, VersionPurpose.KEEP: {}}) == StaleKnowledge(
        {plan.actions[0].ident: tombstone}
    )


def test_what_is_replaced_unread_is_learned_if_it_refuses() -> None:
    plan = plan_of(Save(Stock(sku="a"), overwrite=True, replacing=F.left < 9))
    full = item("Stock", sku={"S": "a"}, left={"N": "9"})
    assert judged(plan, {ItemPurpose.REPLACE: full}) == StaleKnowledge({plan.actions[0].ident: full})


def test_an_insert_refused_over_nothing_failed_the_callers_condition() -> None:
    plan = plan_of(Save(Stock(sku="a"), F.left == 1))
    error = raised(judged(plan, {ItemPurpose.INSERT: None}))
    assert (type(error), error.key) == (ConditionFailed, Key(Stock, sku="a"))


def test_a_release_of_somebody_elses_guard_is_learned_as_foreign() -> None:
    plan = plan_of(Save(changed(email="b@x")))
    release = plan.actions[1]
    assert judged(plan, {GuardPurpose.RELEASE: guard_of("9")}) == StaleKnowledge(
        foreign=frozenset({release.ident})
    )


def test_a_stale_entity_is_stale_although_its_old_value_belongs_to_another_entity() -> None:
    plan = plan_of(Save(changed(email="b@x")))
    now = item("User", _rev=rev("w9"), user_id={"S": "a"}, email={"S": "c@x"})
    error = raised(judged(plan, {ItemPurpose.UPDATE: now, GuardPurpose.RELEASE: guard_of("9")}))
    assert (type(error), error.found) == (StaleEntity, "w9")


EXPIRED = item("Stock", until={"N": str(int(NOW))})


@pytest.mark.parametrize(
    ("plan", "stored"),
    [
        (BLIND, None),
        (BLIND, EXPIRED),
        (BLIND, item("User")),
        (BLIND_DELETE, None),
        (BLIND_DELETE, item("User")),
    ],
    ids=["nothing", "expired", "of another class", "nothing to delete", "of another class to delete"],
)
def test_a_blind_write_that_meets_no_live_entity_finds_none(plan: Plan, stored: Item | None) -> None:
    error = raised(judged(plan, {plan.actions[0].purpose: stored}))
    assert (type(error), error.key) == (EntityNotFound, Key(Stock, sku="a"))
    there = "an item of User is stored under Key(Stock, sku='a'), and no Stock"
    assert (there in str(error)) is (stored is not None and stored["_type"] == {"S": "User"})


@pytest.mark.parametrize(
    "stored",
    [EXPIRED, item("User"), item("Fragile")],
    ids=["expired", "of another class", "of a derived class"],
)
def test_an_upsert_that_meets_what_it_does_not_expect_learns_the_item(stored: Item) -> None:
    assert judged(UPSERT, {ItemPurpose.UPSERT: stored}) == StaleKnowledge({UPSERT.actions[0].ident: stored})


def test_an_upsert_that_meets_nothing_failed_the_callers_condition() -> None:
    error = raised(judged(UPSERT, {ItemPurpose.UPSERT: None}))
    assert (type(error), error.key) == (ConditionFailed, Key(Stock, sku="a"))


def test_a_delete_of_an_expired_entity_failed_the_callers_condition() -> None:
    assert isinstance(raised(judged(BLIND_DELETE, {ItemPurpose.DELETE: EXPIRED})), ConditionFailed)


def test_a_blind_write_that_meets_a_subclass_learns_the_item() -> None:
    stored = item("Fragile")
    assert judged(BLIND, {ItemPurpose.UPDATE: stored}) == StaleKnowledge({BLIND.actions[0].ident: stored})


def test_a_blind_write_that_meets_an_item_without_type_learns_the_item() -> None:
    stored = {name: value for name, value in item("Stock").items() if name != "_type"}
    assert judged(BLIND, {ItemPurpose.UPDATE: stored}) == StaleKnowledge({BLIND.actions[0].ident: stored})


@pytest.mark.parametrize(("stored", "refusal"), [(None, EntityNotFound), (item("Stock"), ConditionFailed)])
def test_a_failed_check_says_whether_the_entity_or_the_condition_is_missing(
    stored: Item | None, refusal: type[StoreError]
) -> None:
    error = raised(judged(CHECK, {ItemPurpose.CHECK: stored}))
    assert (type(error), error.key) == (refusal, Key(Stock, sku="a"))


def test_a_version_that_exists_already_is_unexpected() -> None:
    document = saved(Document(doc_id="d"))
    document.text = "t"
    error = raised(judged(plan_of(Save(document)), {VersionPurpose.KEEP: {}}))
    assert isinstance(error, UnexpectedRefusal)
    assert "version 2 is already stored" in error.message
    assert (error.code, error.request_id, error.reasons) == ("ConditionalCheckFailed", "", ())
    assert "keep version 2 of Document(doc_id='d')" in error.action
    told = "session.verify({0}) says what is wrong with its versions, and session.repair({0})"
    mends = told + (
        " lets the tombstone of a deleted {0} count it. Of a {0} that is not deleted, only you know whether the latest "
        "copy or that version is right: delete it, repair it, and {1}"
    )
    assert error.remedy == mends.format("Document", "restore the right version")
    audit = saved(Audit(name="a"))
    audit.result = "bad"
    error = raised(judged(plan_of(Save(audit)), {VersionPurpose.KEEP: {}}))
    assert error.remedy == mends.format("Audit", "save it anew")
    error = raised(judged(plan_of(Save(Document(doc_id="d"))), {VersionPurpose.KEEP: {}}))
    assert (type(error), error.key, error.violations) == (AlreadyExists, Key(Document, doc_id="d"), ())
    assert str(error) == (
        "version 1 of Key(Document, doc_id='d') is stored, without a latest copy that counts it; "
        f"{told.format('Document')} mends it; then save it again, or restore a version"
    )


def test_a_version_that_exists_beside_a_stale_entity_says_nothing_more() -> None:
    document = saved(Document(doc_id="d"))
    document.text = "t"
    stored = {ItemPurpose.UPDATE: item("Document", _rev=rev("w9")), VersionPurpose.KEEP: item("Document")}
    error = raised(judged(plan_of(Save(document)), stored))
    assert [type(cause) for cause in error.causes] == [StaleEntity]


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


def test_all_foreign_guards_are_learned_at_once() -> None:
    user = saved(User(user_id="1", email="a@x", phone="5"))
    plan = plan_of(Deletion(user))
    releases = [one for one in plan.actions if one.purpose is GuardPurpose.RELEASE]
    assert len(releases) == 2
    failures = [FailedAction(one, "ConditionalCheckFailed", "", guard_of("9")) for one in releases]
    assert verdict(failures, NOW) == StaleKnowledge(foreign=frozenset(one.ident for one in releases))


def test_a_tombstone_under_a_blind_write_is_nothing() -> None:
    plan = plan_of(Edit(Key(Audit, name="a"), (SetTo(("note",), "n"),)))
    tombstone = item("Audit", deleted={"BOOL": True})
    error = raised(judged(plan, {ItemPurpose.UPDATE: tombstone}))
    assert (type(error), error.key) == (EntityNotFound, Key(Audit, name="a"))


STALE, TAKEN, UNMET = "stale", "taken", "unmet"


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ((UNMET,), [ConditionFailed]),
        ((UNMET, TAKEN), [UniqueViolation, ConditionFailed]),
        ((TAKEN, UNMET), [UniqueViolation, ConditionFailed]),
        ((UNMET, STALE), [StaleEntity, ConditionFailed]),
        ((UNMET, TAKEN, STALE), [StaleEntity, UniqueViolation, ConditionFailed]),
    ],
)
def test_different_reasons_are_ordered_and_all_kept(
    failing: tuple[str, ...], expected: list[type[StoreError]]
) -> None:
    stock, user = saved(Stock(sku="a")), User(user_id="1", email="a@x")
    stock.left = 1
    actions = {
        STALE: plan_of(Save(stock)).actions[0],
        TAKEN: plan_of(Save(user)).actions[1],
        UNMET: BLIND.actions[0],
    }
    met = {STALE: item("Stock", _rev=rev("w9")), TAKEN: guard_of("9"), UNMET: item("Stock")}
    found = [FailedAction(actions[one], "ConditionalCheckFailed", "", met[one]) for one in failing]
    error = raised(verdict(found, NOW))
    assert type(error) is expected[0]
    assert [type(cause) for cause in error.causes] == expected


def test_already_exists_comes_before_a_failed_condition_and_takes_the_violations_along() -> None:
    found = [
        FailedAction(BLIND.actions[0], "ConditionalCheckFailed", "", item("Stock")),
        FailedAction(INSERT.actions[0], "ConditionalCheckFailed", "", item("User")),
        FailedAction(INSERT.actions[1], "ConditionalCheckFailed", "", guard_of("9")),
    ]
    error = raised(verdict(found, NOW))
    assert [type(cause) for cause in error.causes] == [AlreadyExists, ConditionFailed]
    assert [one.constraint for one in error.violations] == ["email"]


def test_a_taken_value_is_refused_to_the_class_that_claims_it_beside_others_that_release_theirs() -> None:
    stale, loser = saved(Stock(sku="a")), saved(Badge(badge="1", code="x"))
    stale.left, loser.code = 1, None
    plan = plan_of(Save(stale), Save(loser), Save(User(user_id="1", email="a@x")))
    others = {"owner": {"M": {"PK": {"S": "USER#2"}, "SK": {"S": "U"}}}}
    failed = [
        FailedAction(one, "ConditionalCheckFailed", "", None if one.purpose is ItemPurpose.UPDATE else others)
        for one in plan.actions
        if one.purpose in (ItemPurpose.UPDATE, GuardPurpose.RELEASE, GuardPurpose.CLAIM)
    ]
    error = verdict(failed, NOW)
    assert isinstance(error, StaleEntity)
    (refused,) = [one for one in error.causes if isinstance(one, UniqueViolation)]
    assert refused.entity == "User"


# -- refused edits by key ----------------------------------------------------------------------------------------------


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    size: Annotated[int, Field(le=9)] = 0
    note: str = ""


NOWHERE = "The document path provided in the update expression is invalid for update"
OTHER_TYPE = "An operand in the update expression has an incorrect data type"
NO_LIST = (
    "Incorrect operand type for operator or function; operator or function: list_append, operand type: SS"
)


@pytest.mark.parametrize("code", ["ValidationError", "ValidationException"])
@pytest.mark.parametrize("message", [NOWHERE, OTHER_TYPE, NO_LIST])
def test_an_update_that_does_not_fit_the_item_is_planned_again_with_it(code: str, message: str) -> None:
    (edit,) = BLIND.actions
    assert verdict([FailedAction(edit, code, message, None)], NOW) == StaleKnowledge(unread=(edit,))


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


def test_an_update_that_broke_the_bounds_of_a_field_is_planned_again_with_the_item() -> None:
    plan = plan_of(Edit(Key(Shelf, name="a"), (AddTo(("size",), 2),), F.note == "x"))
    full, other = item("Shelf", size={"N": "8"}), item("Shelf", size={"N": "7"})
    assert judged(plan, {ItemPurpose.UPDATE: full}) == StaleKnowledge({ident_of(app, full): full})
    assert isinstance(judged(plan, {ItemPurpose.UPDATE: other}), ConditionFailed)


def test_a_revision_of_another_library_is_met_with_the_item() -> None:
    counted = item("Stock", _rev={"N": "3"}, left={"N": "9"})
    assert judged(BLIND, {ItemPurpose.UPDATE: counted}) == StaleKnowledge({ident_of(app, counted): counted})
    for unknown in (item("Stock", left={"N": "9"}), item("Stock", _rev=rev("w1"), left={"N": "9"})):
        assert isinstance(judged(BLIND, {ItemPurpose.UPDATE: unknown}), ConditionFailed)


def test_a_table_without_revisions_has_none_of_another_library() -> None:
    plan = plan_of(Edit(Key(Loose, name="a"), (AddTo(("left",), 1),), F.left < 9))
    assert isinstance(judged(plan, {ItemPurpose.UPDATE: item("Loose", left={"N": "9"})}), ConditionFailed)


def test_nothing_is_not_what_a_plan_expects() -> None:
    (planned,) = plan_of(Deletion(saved(Shelf(name="a")))).actions
    assert not is_as_expected(planned, None)
    assert is_as_expected(planned, planned.before)
