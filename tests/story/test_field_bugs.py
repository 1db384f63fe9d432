"""Bugs of other libraries with unique values. The test names say what dynaorm does instead."""

from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import Field, SecretStr, field_serializer

from dynaorm import Attribute, Entity, Key, Session, Table, Unique, inspect
from dynaorm.errors import (
    AlreadyExists,
    KeyChanged,
    StaleEntity,
    UniqueViolation,
)
from tests.story.engine import Engine
from tests.story.field_bugs import LegacyUser, User, app, table_of


class Member(Entity, table=app, pk="MEMBER#{member_id}", sk="MEMBER"):
    member_id: str
    account: str
    nick: Annotated[str, Unique(scope="account")]


class Account(Entity, table=app, pk="ACCOUNT#{account_id}", sk="ACCOUNT"):
    account_id: str
    number: Annotated[int | None, Unique()] = None
    default: Annotated[bool | None, Unique()] = None
    label: Annotated[str | None, Unique()] = None


class Hidden(Entity, table=app, pk="HIDDEN#{hidden_id}", sk="HIDDEN"):
    hidden_id: str
    passport: Annotated[SecretStr, Unique(), Field(exclude=True)]
    tax_number: Annotated[str, Unique(), Attribute("taxNumber"), Field(alias="tax-number")]
    mobile: Annotated[str | None, Unique()] = None

    @field_serializer("mobile")
    def mask(self, mobile: str | None) -> str:
        return "***" if mobile else ""


@pytest.fixture(params=[User, LegacyUser], ids=["revision", "legacy"])
def kind(request: pytest.FixtureRequest, engine: Engine) -> Any:
    """A user class: of a table whose items have a revision, and of one whose items do not."""
    engine.create(table_of(request.param))
    return request.param


def users(engine: Engine, table: Table) -> dict[str, str | None]:
    """The stored address of every user."""
    return {
        item["user_id"]["S"]: item.get("email", {}).get("S")
        for item in engine.raw(table)
        if "user_id" in item
    }


def pass_on(session: Session, kind: Any) -> None:
    """Another writer gives the address of the first user to a second one."""
    first = session.get_one(kind, user_id="u1")
    first.email = "z@x"
    session.save(first)
    session.save(kind(user_id="u2", email="a@x"))


# -- two writers -------------------------------------------------------------------------------------------------------


def test_a_change_made_ready_before_the_value_went_to_another_cannot_delete_the_others_guard(
    engine: Engine, kind: Any
) -> None:
    """Bug: the old value's guard is deleted whoever owns it by then, so two users end up with one address."""
    table = table_of(kind)
    with engine.session() as other:
        other.save(kind(user_id="u1", email="a@x"))
        with engine.session(before=("TransactWriteItems", partial(pass_on, other, kind))) as session:
            mine = session.get_one(kind, user_id="u1")
            mine.email = "b@x"
            with pytest.raises(StaleEntity):
                session.save(mine)
        with pytest.raises(UniqueViolation) as refused:
            other.save(kind(user_id="u3", email="a@x"))
        assert refused.value.owner == Key(kind, user_id="u2")
    assert users(engine, table) == {"u1": "z@x", "u2": "a@x"}
    assert engine.guards(table) == {"email#a@x": "USER#u2", "email#z@x": "USER#u1"}


def test_a_change_by_key_gives_up_the_value_that_is_stored_when_it_commits(engine: Engine, kind: Any) -> None:
    """Bug: an update by key releases the value it read, although somebody else may hold it by then."""
    table = table_of(kind)
    with engine.session() as other:
        other.save(kind(user_id="u1", email="a@x"))
        with engine.session(before=("TransactWriteItems", partial(pass_on, other, kind))) as session:
            assert session.update(Key(kind, user_id="u1"), {"email": "b@x"}).email == "b@x"
    assert users(engine, table) == {"u1": "b@x", "u2": "a@x"}
    assert engine.guards(table) == {"email#a@x": "USER#u2", "email#b@x": "USER#u1"}


def test_of_two_changes_from_one_read_the_loser_leaves_no_orphan_guard(engine: Engine, kind: Any) -> None:
    """Bug: both writes succeed, and the guard of the overwritten value blocks that value for ever."""
    table = table_of(kind)
    with engine.session() as one, engine.session() as two:
        one.save(kind(user_id="u1", email="a@x"))
        mine, theirs = one.get_one(kind, user_id="u1"), two.get_one(kind, user_id="u1")
        mine.email, theirs.email = "b@x", "c@x"
        two.save(theirs)
        with pytest.raises(StaleEntity):
            one.save(mine)
        assert engine.guards(table) == {"email#c@x": "USER#u1"}
        one.save(kind(user_id="u2", email="a@x"))
        one.save(kind(user_id="u3", email="b@x"))
    assert engine.guards(table) == {"email#a@x": "USER#u2", "email#b@x": "USER#u3", "email#c@x": "USER#u1"}


@pytest.mark.parametrize("work", ["change", "delete"])
def test_a_guard_that_somebody_elses_repair_gave_away_is_left_alone_and_reported(
    engine: Engine, kind: Any, work: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Bug: a former owner of a value deletes its guard, even after the value was given to somebody else by hand."""
    table = table_of(kind)
    with engine.session() as session:
        mine = session.save(kind(user_id="u1", email="a@x"))
        others = {"M": {"PK": {"S": "USER#u2"}, "SK": {"S": "PROFILE"}}}
        engine.put(table, PK={"S": "email#a@x"}, SK={"S": "email#a@x"}, owner=others)
        if work == "delete":
            session.delete(mine)
        else:
            mine.email = None
            session.save(mine)
    assert engine.guards(table) == {"email#a@x": "USER#u2"}
    assert users(engine, table) == ({} if work == "delete" else {"u1": None})
    (reported,) = caplog.messages
    assert f"a guard item of 'email' in table {table.name} belongs to another entity" in reported
    assert "a@x" not in reported


# -- overwriting and moving --------------------------------------------------------------------------------------------


def test_an_overwrite_gives_up_the_values_of_what_it_replaces_and_keeps_its_own(
    engine: Engine, kind: Any
) -> None:
    """Bug: an overwriting put leaves the old guard behind, or reports that its own value is taken."""
    table = table_of(kind)
    with engine.session() as session:
        session.save(kind(user_id="u1", email="a@x"))
        session.save(kind(user_id="u1", email="b@x"), overwrite=True)
        assert engine.guards(table) == {"email#b@x": "USER#u1"}
        session.save(kind(user_id="u1", email="b@x", city="Turin"), overwrite=True)
        assert engine.guards(table) == {"email#b@x": "USER#u1"}
        session.save(kind(user_id="u2", email="a@x"))
        with pytest.raises(UniqueViolation):
            session.save(kind(user_id="u2", email="b@x"), overwrite=True)
    assert users(engine, table) == {"u1": "b@x", "u2": "a@x"}


def test_a_move_takes_everything_stored_along_and_leaves_nothing_behind(engine: Engine) -> None:
    """Bug: the new key gets only the fields of the class; index keys, type and unknown attributes are lost."""
    engine.create(app)
    with engine.session() as session:
        session.save(User(user_id="u1", email="a@x", city="Turin"))
        engine.client.update_item(
            TableName=engine.name("App"),
            Key={"PK": {"S": "USER#u1"}, "SK": {"S": "PROFILE"}},
            UpdateExpression="SET unknownToTheClass = :v",
            ExpressionAttributeValues={":v": {"S": "kept"}},
        )
        user = session.get_one(User, user_id="u1")
        user.user_id = "u9"
        with pytest.raises(KeyChanged, match=r"session\.move"):
            session.save(user)
        assert session.move(user) is user
        assert (inspect(user).key, inspect(user).changes) == (Key(User, user_id="u9"), {})
    key = {"PK": {"S": "USER#u9"}, "SK": {"S": "PROFILE"}}
    assert engine.items(app) == [
        {
            **key,
            "_type": {"S": "User"},
            "_rev": {"S": "*"},
            "GSI1PK": {"S": "CITY#Turin"},
            "GSI1SK": {"S": "USER#u9"},
            "user_id": {"S": "u9"},
            "email": {"S": "a@x"},
            "city": {"S": "Turin"},
            "visits": {"N": "0"},
            "unknownToTheClass": {"S": "kept"},
        },
        {"PK": {"S": "email#a@x"}, "SK": {"S": "email#a@x"}, "owner": {"M": key}},
    ]


def test_a_move_neither_overwrites_its_target_nor_takes_along_a_stale_copy(engine: Engine, kind: Any) -> None:
    """Bug: the new key is put, and the old one deleted, without a condition."""
    table = table_of(kind)
    with engine.session() as session:
        mine = session.save(kind(user_id="u1", email="a@x"))
        session.save(kind(user_id="u2", email="b@x"))
        mine.user_id = "u2"
        with pytest.raises(AlreadyExists) as taken:
            session.move(mine)
        assert taken.value.key == Key(kind, user_id="u2")
        other = session.get_one(kind, user_id="u1")
        other.email = "c@x"
        session.save(other)
        mine.user_id = "u3"
        with pytest.raises(StaleEntity):
            session.move(mine)
    assert users(engine, table) == {"u1": "c@x", "u2": "b@x"}
    assert engine.guards(table) == {"email#b@x": "USER#u2", "email#c@x": "USER#u1"}


# -- which values count ------------------------------------------------------------------------------------------------


def test_hidden_renamed_masked_and_absent_unique_values_are_given_up_like_any_other(engine: Engine) -> None:
    """Bug: the old value is taken from the serialized object, so the guard of an excluded field is never found."""
    engine.create(app)
    first: dict[str, Any] = {"passport": SecretStr("P1"), "tax-number": "T1", "mobile": "1"}
    with engine.session() as session:
        one = session.save(Hidden(hidden_id="h1", **first))
        assert engine.guards(app) == dict.fromkeys(["passport#P1", "mobile#1", "taxNumber#T1"], "HIDDEN#h1")
        one.passport, one.tax_number, one.mobile = SecretStr("P2"), "T2", None
        session.save(one)
        assert engine.guards(app) == dict.fromkeys(["passport#P2", "taxNumber#T2"], "HIDDEN#h1")
        assert session.get_by(Hidden, passport=SecretStr("P2")) == one
        session.save(Hidden(hidden_id="h2", **first))
        session.delete(session.get_one(Hidden, hidden_id="h1"))
        session.delete(Key(Hidden, hidden_id="h2"))
    assert engine.raw(app) == []


@pytest.mark.parametrize(
    ("field", "value", "other", "guard"),
    [
        ("number", 0, 1, "number#0"),
        ("default", False, True, "default#false"),
        ("label", "", "x", "label#"),
    ],
)
def test_zero_false_and_the_empty_text_are_values_and_none_is_not(
    engine: Engine, field: str, value: object, other: object, guard: str
) -> None:
    """Bug: a falsy value is refused on creation, or its guard is never deleted."""
    engine.create(app)
    claimed: dict[str, Any] = {field: value}
    with engine.session() as session:
        first = session.save(Account(account_id="a1", **claimed))
        assert engine.guards(app) == {guard: "ACCOUNT#a1"}
        with pytest.raises(UniqueViolation) as refused:
            session.save(Account(account_id="a2", **claimed))
        assert (refused.value.constraint, refused.value.value) == (field, value)
        setattr(first, field, other)
        session.save(first)
        session.save(Account(account_id="a2", **claimed))
        session.update(Key(Account, account_id="a2"), {field: None})
        session.update(first, {field: None})
        assert engine.guards(app) == {}
        session.save(Account(account_id="a3"))
    assert engine.guards(app) == {}


def test_a_unique_value_set_to_itself_is_no_change_and_one_changed_in_case_alone_keeps_its_guard(
    engine: Engine, kind: Any
) -> None:
    """Bug: the guard is put and deleted in one transaction, which DynamoDB refuses."""
    table = table_of(kind)
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x"))
        before = engine.raw(table)
        engine.forget()
        user.email = "a@x"
        session.save(user)
        assert engine.operations == []
        assert session.update(user, {"email": "a@x"}) is user
        assert session.update(Key(kind, user_id="u1"), {"email": "a@x"}) == user
        assert engine.operations == ["GetItem"]
        assert engine.raw(table) == before
        user.email = "A@X"
        session.save(user)
        assert engine.sent(table) == [("Update", "USER#u1")]
        assert users(engine, table) == {"u1": "A@X"}
        assert engine.guards(table) == {"email#a@x": "USER#u1"}


def test_values_with_the_delimiter_inside_are_neither_confused_nor_stolen(engine: Engine) -> None:
    """Bug: ("x#y", "z") and ("x", "y#z") render the same key, so a value is wrongly taken, or another tenant's."""
    engine.create(app)
    pairs = [("x#y", "z"), ("x", "y#z"), ("x%23y", "z"), ("${x}", "z"), ("x", "y"), ("x#y#z", "")]
    with engine.session() as session:
        for number, (account, nick) in enumerate(pairs):
            session.save(Member(member_id=str(number), account=account, nick=nick))
        for number, (account, nick) in enumerate(pairs):
            found = session.get_by(Member, account=account, nick=nick)
            assert found is not None
            assert found.member_id == str(number)
    assert len(engine.guards(app)) == len(pairs)


def test_a_unique_value_longer_than_a_key_is_kept_by_its_hash(engine: Engine) -> None:
    """Bug: a value over the size limit of a key cannot be stored, or is cut."""
    engine.create(app)
    long = "x" * 3000
    with engine.session() as session:
        session.save(Account(account_id="a1", label=long))
        with pytest.raises(UniqueViolation) as refused:
            session.save(Account(account_id="a2", label=long))
        assert refused.value.value == long
        session.save(Account(account_id="a2", label=f"{long}y"))
        found = session.get_by(Account, label=long)
        assert found is not None
        assert found.account_id == "a1"
    assert all(key.startswith("label#sha256:") and len(key) == 77 for key in engine.guards(app))
