"""Bugs of other libraries with several classes in one partition, and with the index keys of changed items."""

from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Table, Unique
from dynaorm.errors import EntityNotFound, StoreError
from tests.story.engine import Engine

app = Table("App", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", sk=None)])
untyped = Table("Untyped", type_attribute=None)


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    city: str | None = None
    team: str | None = None
    by_email = Index("GSI1", pk="EMAIL#{email}", sk="{user_id}")
    by_team = Index("GSI2", pk="{team}#{city}")


class Invoice(Entity, table=app, pk="USER#{user_id}", sk="INVOICE#{number:06d}"):
    user_id: str
    number: int
    total: int


class Invoices(Entity, table=app, pk="USER#{user_id}", sk="INVOICES#{year}"):
    """A summary. Its key continues that of an invoice, but is not one."""

    user_id: str
    year: str
    count: int


class Draft(Entity, table=app, pk="USER#{user_id}", sk="Draft", versioned=True):
    user_id: str
    text: str


class Person(Entity, table=untyped, pk="P#{person_id}", sk="P"):
    person_id: str
    email: Annotated[str, Unique()]


class Visit(Entity, table=untyped, pk="P#{person_id}", sk="V#{number:03d}"):
    person_id: str
    number: int


# -- classes in one partition ------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(engine: Engine) -> Engine:
    """One partition with a user, invoices, a summary, versions, a tombstone, and an item of no class."""
    engine.create(app)
    with engine.session() as session:
        session.save(User(user_id="1", email="liz@x", city="Oslo", team="red"))
        for number in (1, 2, 10):
            session.save(Invoice(user_id="1", number=number, total=number * 100))
        session.save(Invoices(user_id="1", year="2020", count=3))
        draft = session.save(Draft(user_id="1", text="first"))
        draft.text = "second"
        session.save(draft)
    engine.put(
        app,
        PK={"S": "USER#1"},
        SK={"S": "INVOICE#000005"},
        _type={"S": "Ghost"},
        user_id={"S": "1"},
        number={"N": "5"},
        total={"N": "5"},
    )
    engine.forget()
    return engine


def test_an_invoice_never_comes_back_as_a_user(mixed: Engine) -> None:
    """Bug: a query of one class has no type filter, so items of other classes are loaded as that class."""
    with mixed.session() as session:
        users = session.query(User, user_id="1").all()
        assert [(type(one), one.user_id) for one in users] == [(User, "1")]
        invoices = session.query(Invoice, user_id="1").all()
        assert [(type(one), one.number) for one in invoices] == [(Invoice, 1), (Invoice, 2), (Invoice, 10)]
        assert [one.year for one in session.query(Invoices, user_id="1")] == ["2020"]


def test_an_item_of_an_unknown_type_under_a_classs_key_is_skipped_in_lists_and_refused_by_key(
    mixed: Engine,
) -> None:
    with mixed.session() as session:
        assert session.query(Invoice, user_id="1").count() == 3
        assert session.get(Invoice, user_id="1", number=5) is None
        with pytest.raises(StoreError):
            session.update(Key(Invoice, user_id="1", number=5), F.total.set(6))
        with pytest.raises(EntityNotFound):
            session.get_one(Invoice, user_id="1", number=5)
        assert len(session.scan(Invoice).all()) == 3


def test_a_collection_says_by_class_what_it_found_and_invents_no_names_for_it(mixed: Engine) -> None:
    """Bug: the results get made-up plurals as names, such as "addresss"."""
    found = mixed.session().collection(User, Invoice, Invoices, Draft, user_id="1")
    assert [type(one) for one in found] == [Invoice, Invoice, Invoice, Invoices, User, Draft]
    users, invoices, summaries, drafts = found.split()
    assert [one.email for one in users] == ["liz@x"]
    assert [one.total for one in invoices] == [100, 200, 1000]
    assert [one.count for one in summaries] == [3]
    assert [one.text for one in drafts] == ["second"]


def test_versions_and_what_a_deletion_leaves_behind_never_appear_in_lists(mixed: Engine) -> None:
    with mixed.session() as session:
        assert [one.text for one in session.query(Draft, user_id="1")] == ["second"]
        session.delete(Key(Draft, user_id="1"))
        assert session.query(Draft, user_id="1").all() == []
        assert session.collection(Invoices, Draft, user_id="1").count() == 1
        assert session.scan(Draft).all() == []
    stored = [item["SK"]["S"] for item in mixed.raw(app) if item["PK"] == {"S": "USER#1"}]
    assert {"v0_Draft", "v1_Draft", "v2_Draft"} <= set(stored)


def test_guard_items_never_appear_in_lists_even_without_a_type_attribute(engine: Engine) -> None:
    engine.create(untyped)
    with engine.session() as session:
        for number in range(3):
            session.save(Person(person_id=str(number), email=f"{number}@x"))
            session.save(Visit(person_id=str(number), number=number))
        assert len(engine.raw(untyped)) == 9
        assert sorted(one.person_id for one in session.scan(Person)) == ["0", "1", "2"]
        assert sorted(one.number for one in session.scan(Visit)) == [0, 1, 2]
        assert [type(one) for one in session.collection(Person, Visit, person_id="1")] == [Person, Visit]


def test_a_limit_counts_what_is_returned_and_not_what_lies_between(mixed: Engine) -> None:
    with mixed.session() as session:
        assert [one.number for one in session.query(Invoice, user_id="1").limit(3)] == [1, 2, 10]
        page = session.query(Invoice, user_id="1").page(2)
        assert [one.number for one in page] == [1, 2]
        rest = session.query(Invoice, user_id="1").page(2, after=page.cursor)
        assert [one.number for one in rest] == [10]


# -- index keys of changed items ---------------------------------------------------------------------------------------

INDEX_KEYS = ("GSI1PK", "GSI1SK", "GSI2PK")


def index_keys(engine: Engine, user_id: str = "1") -> dict[str, str]:
    (item,) = [
        one
        for one in engine.raw(app)
        if one["PK"]["S"] == f"USER#{user_id}" and one["SK"] == {"S": "PROFILE"}
    ]
    return {name: item[name]["S"] for name in INDEX_KEYS if name in item}


def test_none_in_the_template_of_a_sparse_index_is_no_error_and_no_index_key(engine: Engine) -> None:
    engine.create(app)
    with engine.session() as session:
        session.save(User(user_id="1"))
        assert index_keys(engine) == {}
        session.save(User(user_id="2", email="a@x", team="red"))
        # One field of the other index is still None.
        assert index_keys(engine, "2") == {"GSI1PK": "EMAIL#a@x", "GSI1SK": "2"}
        assert session.query(User.by_email, email="a@x").one().user_id == "2"
        assert session.query(User.by_team, team="red", city="Oslo").all() == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(F.email.remove(), id="remove"),
        pytest.param(F.email.set(None), id="set"),
        pytest.param({"email": None}, id="mapping"),
    ],
)
def test_removing_an_attribute_by_key_removes_the_index_keys_made_of_it(mixed: Engine, change: Any) -> None:
    """Bug: remove=["email"] leaves the index key, and the item is found under its old address."""
    with mixed.session() as session:
        session.update(Key(User, user_id="1"), change)
        assert index_keys(mixed) == {"GSI2PK": "red#Oslo"}
        assert session.query(User.by_email, email="liz@x").all() == []
        assert session.get_one(User, user_id="1").email is None


def test_an_update_of_one_part_of_an_index_key_makes_it_of_the_stored_other_part(mixed: Engine) -> None:
    """Bug: a partial update does not refresh keys that are made of several fields."""
    with mixed.session() as session:
        session.update(Key(User, user_id="1"), {"city": "Bergen"})
        assert index_keys(mixed)["GSI2PK"] == "red#Bergen"
        assert session.query(User.by_team, team="red", city="Oslo").all() == []
        assert session.query(User.by_team, team="red", city="Bergen").one().user_id == "1"
        session.update(Key(User, user_id="1"), F.team.remove())
        assert "GSI2PK" not in index_keys(mixed)
        session.update(Key(User, user_id="1"), {"team": "blue"})
        assert index_keys(mixed)["GSI2PK"] == "blue#Bergen"


def test_index_keys_follow_a_save_a_transaction_and_an_overwrite_alike(mixed: Engine) -> None:
    with mixed.session() as session:
        user = session.get_one(User, user_id="1")
        user.email = None
        session.save(user)
        assert index_keys(mixed) == {"GSI2PK": "red#Oslo"}
        with session.transaction() as tx:
            user.email, user.city = "new@x", None
            tx.save(user)
        assert index_keys(mixed) == {"GSI1PK": "EMAIL#new@x", "GSI1SK": "1"}
        with session.transaction() as tx:
            tx.update(Key(User, user_id="1"), {"city": "Oslo", "email": None})
        assert index_keys(mixed) == {"GSI2PK": "red#Oslo"}
        session.save(User(user_id="1", email="last@x"), overwrite=True)
        assert index_keys(mixed) == {"GSI1PK": "EMAIL#last@x", "GSI1SK": "1"}


# A class whose index key is one of its attributes, under another name.
own = Table("Own", indexes=[GlobalIndex("ByMail", pk="Mail", sk=None)])


class Contact(Entity, table=own, pk="CONTACT#{contact_id}", sk="CONTACT"):
    contact_id: str
    mail: Annotated[str | None, Attribute("Mail")] = None
    by_mail = Index("ByMail")


@pytest.mark.parametrize("change", [F.mail.remove(), {"mail": None}])
def test_an_index_key_that_is_the_entitys_own_attribute_is_removed_and_never_stored_as_null(
    engine: Engine, change: Any
) -> None:
    engine.create(own)
    with engine.session() as session:
        session.save(Contact(contact_id="1", mail="a@x"))
        session.update(Key(Contact, contact_id="1"), change)
        (item,) = engine.raw(own)
        assert "Mail" not in item
        assert session.query(Contact.by_mail, mail="a@x").all() == []
