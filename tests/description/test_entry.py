"""Every stored item has an entry that says what it is and whom it belongs to, and shows no secret."""

from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from dynaorm import Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.description import Entry, call_of, classify, describe, values_of
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.cast.documents import Letter, Page
from tests.cast.others import Account, Savings
from tests.cast.people import Guest, User, a_user
from tests.cast.tables import app, away, counted, locks
from tests.raw_values import attribute_values


def entries(moto: Transport, table: Table) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for item in moto.call(Call("Scan", {"TableName": table.name}))["Items"]:
        one = classify(item, table)
        found.setdefault(one.kind, []).append(one)
    return found


def test_a_guard_names_its_constraint_and_its_owner(moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(app)
        session.save(a_user())
    (guard,) = entries(moto, app)["guard"]
    assert (guard.constraint, guard.owner) == ("email", {"PK": {"S": "USER#1"}, "SK": {"S": "U"}})
    # Whether it is a User or one of a subclass, the guard does not say.
    assert guard.cls is User


def test_a_guard_in_another_table_names_its_owner_there(moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(away)
        session.save(Guest(name="liz", nick="l"))
    (guard,) = entries(moto, locks)["guard"]
    assert (guard.cls, guard.constraint) == (Guest, "called")
    assert guard.owner == {"PK": {"S": "GUEST#liz"}, "SK": {"S": "G"}}


def test_a_guard_with_a_key_of_its_own_is_one(moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(counted)
        session.save(Savings(name="liz", email="liz@x"))
    (guard,) = entries(moto, counted)["guard"]
    assert (guard.cls, guard.constraint) == (Account, "email")


def test_versions_and_tombstones_name_the_latest_copy(moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(app)
        page = session.save(Page(name="p", text="1"))
        page.text = "2"
        session.save(page)
        session.delete(page)
        session.save(Letter(name="l", text="1"))
    found = entries(moto, app)
    key = {"PK": {"S": "TEXT#p"}, "SK": {"S": "v0_TEXT"}}
    assert sorted((one.number, one.owner == key, one.cls is Page) for one in found["version"]) == [
        (1, False, False),
        (1, True, True),
        (2, True, True),
    ]
    (tombstone,) = found["tombstone"]
    assert (tombstone.number, tombstone.owner, tombstone.cls) == (2, key, Page)


class Login(BaseModel):
    """A nested record with a secret in it."""

    name: str
    password: SecretStr


vault = Table("vault", indexes=[GlobalIndex("GSI1")])


class Member(Entity, table=vault, pk="SSN#{ssn}", sk="M", versioned=True):
    """Has a secret in its key, in a constraint, in an index and in a nested record."""

    ssn: Annotated[str, Field(repr=False)]
    card: Annotated[SecretStr, Unique()]
    login: Login
    name: str = "liz"
    by_card = Index("GSI1", pk="CARD#{card}", sk="{name}")


SECRETS = ("123-45", "4111-1111", "hunter2")


def test_no_secret_is_visible_in_any_item(moto: Transport) -> None:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(vault)
        member = session.save(
            Member(
                ssn=SECRETS[0],
                card=SecretStr(SECRETS[1]),
                login=Login(name="liz", password=SecretStr(SECRETS[2])),
            )
        )
        member.name = "Liz"
        session.save(member)
        session.delete(member)
        session.save(Member(ssn=SECRETS[0], card=SecretStr(SECRETS[1]), login=member.login))
    items = moto.call(Call("Scan", {"TableName": vault.name}))["Items"]
    items += [{**items[0], "_type": {"S": "Former"}}, {**items[0], "_type": {"N": "1"}}]
    found = [classify(item, vault) for item in items]
    assert {one.kind for one in found} == {"entity", "guard", "version", "unknown"}
    for one in found:
        shown = repr((one, one.visible, one.visible_owner))
        calls = [call_of(question, one) for question in describe(vault).questions]
        values = [values_of(question, one) for question in describe(vault).questions]
        for secret in SECRETS:
            assert secret not in shown
            assert secret not in repr(calls)
            assert secret not in repr(values)
            assert any(secret in str(item) for item in items)


def test_nothing_of_a_class_that_is_not_loaded_is_visible_but_its_key_and_its_name() -> None:
    former = classify(
        {"PK": {"S": "OLD#1"}, "SK": {"S": "OLD"}, "_type": {"S": "Old"}, "pin": {"S": "4711"}}, app
    )
    assert former.visible == {**former.item, "pin": {"S": "**********"}}
    version = classify(
        {
            "PK": {"S": "TEXT#p"},
            "SK": {"S": "v3_TEXT"},
            "version": {"N": "3"},
            "version_type": {"S": "Novel"},
            "text": {"S": "once"},
            "pin": {"S": "4711"},
        },
        app,
    )
    assert (version.kind, version.visible) == ("version", {**version.item, "pin": {"S": "**********"}})


_keys = st.sampled_from(
    [
        "USER#1",
        "U",
        "TEXT#p",
        "TEXT",
        "v0_TEXT",
        "v12_TEXT",
        "email#x",
        "#token#t",
        "page_slug#p",
        "a",
        "REPO#x",
    ]
)
_types = st.sampled_from(["User", "Staff", "Page", "Sum", "Former"])


@given(
    st.fixed_dictionaries(
        {"PK": _keys.map(lambda key: {"S": key}), "SK": _keys.map(lambda key: {"S": key})},
        optional={
            "_type": _types.map(lambda name: {"S": name}) | attribute_values,
            "owner": attribute_values,
            "version": attribute_values,
            "deleted": attribute_values,
            "email": attribute_values,
            "team": attribute_values,
        },
    )
    | st.dictionaries(st.sampled_from(["PK", "SK", "_type", "a"]), attribute_values, min_size=1)
)
def test_every_item_is_something_and_is_shown_whole(item: dict[str, Any]) -> None:
    for table in (app, locks):
        entry = classify(item, table)
        assert entry.item == item
        assert entry.visible.keys() == item.keys()
        assert (entry.kind == "guard") is (entry.constraint is not None)
