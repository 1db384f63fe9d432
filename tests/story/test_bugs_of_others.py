"""Bugs of other libraries, and what dynaorm does instead: each row says the bug, what is done, and what is stored then.

The rows run on both engines; most of them in a table whose items have types and revisions, and in one without.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import pytest
from pydantic import Field, SecretStr, field_serializer

from dynaorm import Attribute, Entity, GlobalIndex, Index, Key, Session, Table, Unique, inspect
from dynaorm.errors import StaleEntity, UniqueViolation
from dynaorm.record import record
from tests.story.engine import Engine

app: Final = Table("App", indexes=[GlobalIndex("GSI1")])
legacy: Final = Table("Legacy", type_attribute=None, revision_attribute=None)


class _User(Entity):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    phone: Annotated[str | None, Unique()] = None
    city: str | None = None
    visits: int = 0


class User(_User, table=app, pk="USER#{user_id}", sk="PROFILE"):
    by_city = Index("GSI1", pk="CITY#{city}", sk="USER#{user_id}")


class LegacyUser(_User, table=legacy, pk="USER#{user_id}", sk="PROFILE"):
    pass


class _Note(Entity):
    note_id: str
    text: str = ""
    owner_mail: Annotated[str | None, Unique()] = None


class Note(_Note, table=app, pk="NOTE#{note_id}", sk="NOTE", versioned=True):
    pass


class LegacyNote(_Note, table=legacy, pk="NOTE#{note_id}", sk="NOTE", versioned=True):
    pass


class Account(Entity, table=app, pk="ACCOUNT#{account_id}", sk="ACCOUNT"):
    account_id: str
    label: Annotated[str | None, Unique()] = None


class Hidden(Entity, table=app, pk="HIDDEN#{hidden_id}", sk="HIDDEN"):
    hidden_id: str
    passport: Annotated[SecretStr, Unique(), Field(exclude=True)]
    tax_number: Annotated[str, Unique(), Attribute("taxNumber"), Field(alias="tax-number")]
    mobile: Annotated[str | None, Unique()] = None

    @field_serializer("mobile")
    def mask(self, mobile: str | None) -> str:
        return "***" if mobile else ""


Stored: TypeAlias = Mapping[str, str]
Work: TypeAlias = Callable[[Engine, Any], object]


@record
class Row:
    """A bug, what is done, with a user or note of which classes, and what must be stored then; None for not compared.

    ``stored`` has a line for each entity, or copy of one; ``guards`` the owner of each guard.
    """

    bug: str
    work: Work
    kinds: tuple[Any, ...]
    stored: Stored | None
    guards: Stored | None


ROWS: Final[list[Row]] = []
USERS: Final = (User, LegacyUser)
NOTES: Final = (Note, LegacyNote)


def bug(
    sentence: str, kinds: tuple[Any, ...], stored: Stored | None = None, guards: Stored | None = None
) -> Callable[[Work], Work]:
    """Make a function a row of the table."""

    def add(work: Work) -> Work:
        ROWS.append(Row(sentence, work, kinds, stored, guards))
        return work

    return add


def lines(engine: Engine, table: Table) -> dict[str, str]:
    """What is stored of each entity: its key (of a note its sort key), and its version, text, address and city."""
    found = {}
    for item in engine.raw(table):
        if item["PK"] != item["SK"] and "deleted" not in item:
            key = item["SK" if item["PK"]["S"].startswith("NOTE#") else "PK"]["S"]
            shown = [item[one] for one in ("version", "text", "email", "city") if one in item]
            found[key] = " ".join(next(iter(one.values())) for one in shown)
    return found


def pass_on(session: Session, kind: Any) -> None:
    """Another writer gives the address of the first user to a second one."""
    first = session.get_one(kind, user_id="u1")
    first.email = "z@x"
    session.save(first)
    session.save(kind(user_id="u2", email="a@x"))


# -- two writers -------------------------------------------------------------------------------------------------------


@bug(
    "the old value's guard is deleted whoever owns it by then, so two users end up with one address",
    USERS,
    {"USER#u1": "z@x", "USER#u2": "a@x"},
    {"email#a@x": "USER#u2", "email#z@x": "USER#u1"},
)
def a_change_made_ready_before_the_value_went_to_another_cannot_delete_the_others_guard(
    engine: Engine, kind: Any
) -> None:
    other = engine.session()
    other.save(kind(user_id="u1", email="a@x"))
    session = engine.session(before=("TransactWriteItems", partial(pass_on, other, kind)))
    mine = session.get_one(kind, user_id="u1")
    mine.email = "b@x"
    with pytest.raises(StaleEntity):
        session.save(mine)
    with pytest.raises(UniqueViolation) as refused:
        other.save(kind(user_id="u3", email="a@x"))
    assert refused.value.owner == Key(kind, user_id="u2")


@bug(
    "an update by key releases the value it read, although somebody else may hold it by then",
    USERS,
    {"USER#u1": "b@x", "USER#u2": "a@x"},
    {"email#a@x": "USER#u2", "email#b@x": "USER#u1"},
)
def a_change_by_key_gives_up_the_value_that_is_stored_when_it_commits(engine: Engine, kind: Any) -> None:
    other = engine.session()
    other.save(kind(user_id="u1", email="a@x"))
    session = engine.session(before=("TransactWriteItems", partial(pass_on, other, kind)))
    assert session.update(Key(kind, user_id="u1"), {"email": "b@x"}).email == "b@x"


# -- which values count ------------------------------------------------------------------------------------------------


@bug(
    "the old value is taken from the serialized object, so the guard of an excluded field is never found",
    (Hidden,),
    {},
    {},
)
def hidden_renamed_masked_and_absent_unique_values_are_given_up_like_any_other(
    engine: Engine, kind: Any
) -> None:
    session, first = engine.session(), {"passport": SecretStr("P1"), "tax-number": "T1", "mobile": "1"}
    one = session.save(kind(hidden_id="h1", **first))
    assert engine.guards(app) == dict.fromkeys(["passport#P1", "mobile#1", "taxNumber#T1"], "HIDDEN#h1")
    one.passport, one.tax_number, one.mobile = SecretStr("P2"), "T2", None
    session.save(one)
    assert engine.guards(app) == dict.fromkeys(["passport#P2", "taxNumber#T2"], "HIDDEN#h1")
    assert session.get_by(kind, passport=SecretStr("P2")) == one
    session.save(kind(hidden_id="h2", **first))
    session.delete(session.get_one(kind, hidden_id="h1"))
    session.delete(Key(kind, hidden_id="h2"))


@bug(
    "the guard is put and deleted in one transaction, which DynamoDB refuses",
    USERS,
    {"USER#u1": "A@X"},
    {"email#a@x": "USER#u1"},
)
def a_unique_value_set_to_itself_is_no_change_and_one_changed_in_case_alone_keeps_its_guard(
    engine: Engine, kind: Any
) -> None:
    session = engine.session()
    user = session.save(kind(user_id="u1", email="a@x"))
    before = engine.raw(table_of(kind))
    engine.forget()
    user.email = "a@x"
    session.save(user)
    assert engine.operations == []
    assert session.update(user, {"email": "a@x"}) is user
    assert session.update(Key(kind, user_id="u1"), {"email": "a@x"}) == user
    assert engine.operations == ["GetItem"]
    assert engine.raw(table_of(kind)) == before
    user.email = "A@X"
    session.save(user)
    assert engine.sent(table_of(kind)) == [("Update", "USER#u1")]


@bug("a value over the size limit of a key cannot be stored, or is cut", (Account,))
def a_unique_value_longer_than_a_key_is_kept_by_its_hash(engine: Engine, kind: Any) -> None:
    session, long = engine.session(), "x" * 3000
    first = session.save(kind(account_id="a1", label=long))
    with pytest.raises(UniqueViolation) as refused:
        session.save(kind(account_id="a2", label=long))
    assert refused.value.value == long
    session.save(kind(account_id="a2", label=f"{long}y"))
    assert session.get_by(kind, label=long) == first
    assert all(key.startswith("label#sha256:") and len(key) == 77 for key in engine.guards(app))


# -- versions and revisions --------------------------------------------------------------------------------------------


@bug("`v10_` sorts before `v9_`, so from the tenth version on the ninth is taken for the latest", NOTES)
def the_tenth_and_the_hundredth_version_are_newer_than_the_ninth(engine: Engine, kind: Any) -> None:
    session = engine.session()
    mine = session.save(kind(note_id="n1", text="1"))
    for number in (*range(2, 13), 99, 100, 101):
        if number == 99:  # somebody has written many
            engine.client.update_item(
                TableName=engine.name(table_of(kind).name),
                Key={"PK": {"S": "NOTE#n1"}, "SK": {"S": "v0_NOTE"}},
                UpdateExpression="SET version = :n",
                ExpressionAttributeValues={":n": {"N": "98"}},
            )
            session.refresh(mine)
        mine.text = str(number)
        session.save(mine)
        latest = session.get_one(kind, note_id="n1")
        assert (latest.text, inspect(latest).version) == (str(number), number)
        assert next(session.history(mine)).number == number
    assert [one.number for one in session.history(mine)] == [101, 100, 99, *range(12, 0, -1)]
    assert lines(engine, table_of(kind))["v0_NOTE"] == "101 101"


# -- the table ---------------------------------------------------------------------------------------------------------


def table_of(kind: Any) -> Table:
    return legacy if kind in (LegacyUser, LegacyNote) else app


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        pytest.param(row, kind, id=f"{row.work.__name__}-{kind.__name__}")
        for row in ROWS
        for kind in row.kinds
    ],
)
def test_instead_of_the_bug(engine: Engine, row: Row, kind: Any) -> None:
    engine.create(table_of(kind))
    row.work(engine, kind)
    assert row.stored is None or lines(engine, table_of(kind)) == row.stored, row.bug
    assert row.guards is None or engine.guards(table_of(kind)) == row.guards, row.bug


@pytest.mark.parametrize("kind", USERS)
@pytest.mark.parametrize("work", ["change", "delete"])
def test_a_guard_that_another_repair_gave_away_is_reported(
    engine: Engine, kind: Any, work: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Bug: a former owner of a value deletes its guard, even after the value was given to somebody else by hand."""
    table = table_of(kind)
    engine.create(table)
    session = engine.session()
    mine = session.save(kind(user_id="u1", email="a@x"))
    others = {"M": {"PK": {"S": "USER#u2"}, "SK": {"S": "PROFILE"}}}
    engine.put(table, PK={"S": "email#a@x"}, SK={"S": "email#a@x"}, owner=others)
    if work == "delete":
        session.delete(mine)
    else:
        session.update(mine, {"email": None})
    assert engine.guards(table) == {"email#a@x": "USER#u2"}
    assert lines(engine, table) == ({} if work == "delete" else {"USER#u1": ""})
    (reported,) = caplog.messages
    assert f"a guard item of 'email' in table {table.name} belongs to another entity" in reported
    assert "a@x" not in reported
