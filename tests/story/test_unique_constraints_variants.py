"""The article's other cases: guard items in another table, and guard items without owners, as AWS published them."""

from typing import Annotated, Any

import pytest
from bobby_tables import User
from bobby_tables import users as published
from two_tables import User as Guarded
from two_tables import guards
from two_tables import users as data

from dynaorm import Entity, Key, Table, Unique
from dynaorm.errors import OwnerUnknown, UniqueViolation
from tests.story.engine import Engine

app_guards = Table("AppGuards")
app = Table("App", guard_table=app_guards)


class AppGuarded(Entity, table=app, pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: Annotated[str, Unique()]


BOBBY = "b201c1f2-238e-461f-88e6-0e606fbc3c51"
PHONY = "8ec436a8-97e6-4e72-aec2-b47668e96a94"


def bobby() -> Guarded:
    return Guarded(pk=BOBBY, user_name="btables", email="bobby.tables@gmail.com", full_name="Bobby Tables")


def phony() -> Guarded:
    return Guarded(
        pk=PHONY, user_name="caulfield", email="bobby.tables@gmail.com", full_name="Phony Bobby Tables"
    )


def row(pk: str, user_name: str, email: str, full_name: str) -> dict[str, Any]:
    return {
        "pk": {"S": pk},
        "userName": {"S": user_name},
        "email": {"S": email},
        "fullName": {"S": full_name},
    }


def guard(engine: Engine, key: str, owner: str) -> dict[str, Any]:
    """A guard in another table also names the owner's declared table, because two tables may use the same keys."""
    return {"pk": {"S": key}, "owner": {"M": {"table": {"S": "User"}, "pk": {"S": owner}}}}


BOBBY_ROW = row(BOBBY, "btables", "bobby.tables@gmail.com", "Bobby Tables")


# -- two tables --------------------------------------------------------------------------------------------------------


def test_with_two_tables_the_user_is_in_one_and_the_guards_in_the_other(engine: Engine) -> None:
    engine.create(data)
    with engine.session() as session, session.transaction(token=engine.name("TRANSACTION1")) as tx:
        tx.save(bobby())
    assert engine.operations == ["TransactWriteItems"]
    tables = [action["Put"]["TableName"] for action in engine.calls[0].request["TransactItems"]]
    assert tables == [engine.name("User"), engine.name("UserGuards"), engine.name("UserGuards")]
    assert engine.raw(data) == [BOBBY_ROW]
    assert engine.raw(guards) == [
        guard(engine, "email#bobby.tables@gmail.com", BOBBY),
        guard(engine, "userName#btables", BOBBY),
    ]


def test_with_two_tables_a_phony_bobby_is_refused_in_both(engine: Engine) -> None:
    engine.create(data)
    with engine.session() as session:
        session.save(bobby())
        guarded = engine.raw(guards)
        with pytest.raises(UniqueViolation) as refused:
            session.save(phony())
        assert engine.reasons == [None, None, "ConditionalCheckFailed"]
        assert (refused.value.constraint, refused.value.value) == ("email", "bobby.tables@gmail.com")
        assert refused.value.owner == Key(Guarded, pk=BOBBY)
    assert engine.raw(data) == [BOBBY_ROW]
    assert engine.raw(guards) == guarded


def test_with_two_tables_a_new_address_changes_one_guard_and_deletion_empties_both(engine: Engine) -> None:
    engine.create(data)
    with engine.session() as session:
        session.save(bobby())
        loaded = session.get_one(Guarded, pk=BOBBY)
        loaded.email = "bobby@tables.com"
        session.save(loaded)
        assert engine.sent(data) == [
            ("Update", BOBBY),
            ("Delete", "email#bobby.tables@gmail.com"),
            ("Put", "email#bobby@tables.com"),
        ]
        assert engine.raw(data) == [row(BOBBY, "btables", "bobby@tables.com", "Bobby Tables")]
        assert engine.raw(guards) == [
            guard(engine, "email#bobby@tables.com", BOBBY),
            guard(engine, "userName#btables", BOBBY),
        ]
        assert session.get_by(Guarded, email="bobby@tables.com") == loaded
        session.delete(loaded)
    assert engine.raw(data) == []
    assert engine.raw(guards) == []


def test_with_two_tables_of_the_default_layout_the_guard_repeats_its_key_as_sort_key(
    engine: Engine,
) -> None:
    engine.create(app)
    with engine.session() as session:
        session.save(AppGuarded(user_id="u1", email="bobby.tables@gmail.com"))
        with pytest.raises(UniqueViolation) as refused:
            session.save(AppGuarded(user_id="u2", email="bobby.tables@gmail.com"))
        assert refused.value.owner == Key(AppGuarded, user_id="u1")
    key = {"PK": {"S": "USER#u1"}, "SK": {"S": "PROFILE"}}
    assert engine.items(app) == [
        {
            **key,
            "_type": {"S": "User"},
            "_rev": {"S": "*"},
            "user_id": {"S": "u1"},
            "email": {"S": "bobby.tables@gmail.com"},
        }
    ]
    assert engine.raw(app_guards) == [
        {
            "PK": {"S": "email#bobby.tables@gmail.com"},
            "SK": {"S": "email#bobby.tables@gmail.com"},
            "owner": {"M": {"table": {"S": "App"}, **key}},
        }
    ]


# -- the items as published --------------------------------------------------------------------------------------------


def publish(engine: Engine) -> None:
    """Bobby's three items, put by hand as in the article: the guards name no owner."""
    engine.create(published)
    engine.put(published, **BOBBY_ROW, phoneNumber={"S": "+1-202-555-0124"})
    engine.put(published, pk={"S": "userName#btables"})
    engine.put(published, pk={"S": "email#bobby.tables@gmail.com"})


def test_guards_written_by_hand_refuse_a_phony_bobby(engine: Engine) -> None:
    publish(engine)
    before = engine.raw(published)
    with engine.session() as session, pytest.raises(UniqueViolation) as refused:
        session.save(
            User(
                pk=PHONY,
                user_name="caulfield",
                email="bobby.tables@gmail.com",
                full_name="Phony Bobby Tables",
                phone_number="+1-202-555-0124",
            )
        )
    assert engine.reasons == [None, None, "ConditionalCheckFailed"]
    assert (refused.value.constraint, refused.value.owner) == ("email", None)
    assert engine.raw(published) == before


def test_a_published_bobby_changes_his_address_and_the_guard_without_owner_is_released(
    engine: Engine,
) -> None:
    publish(engine)
    with engine.session() as session:
        loaded = session.get_one(User, pk=BOBBY)
        loaded.email = "bobby@tables.com"
        session.save(loaded)
    assert engine.raw(published) == [
        {
            **row(BOBBY, "btables", "bobby@tables.com", "Bobby Tables"),
            "phoneNumber": {"S": "+1-202-555-0124"},
        },
        {"pk": {"S": "email#bobby@tables.com"}, "owner": {"M": {"pk": {"S": BOBBY}}}},
        {"pk": {"S": "userName#btables"}},
    ]


def test_a_published_bobby_is_deleted_with_his_guards(engine: Engine) -> None:
    publish(engine)
    with engine.session() as session:
        session.delete(Key(User, pk=BOBBY))
    assert engine.raw(published) == []


def test_a_guard_written_by_hand_cannot_tell_whose_value_it_is(engine: Engine) -> None:
    publish(engine)
    with engine.session() as session, pytest.raises(OwnerUnknown) as unknown:
        session.get_by(User, email="bobby.tables@gmail.com")
    assert (unknown.value.constraint, unknown.value.value) == ("email", "bobby.tables@gmail.com")


def test_a_missing_guard_of_a_published_user_is_released_as_nothing(engine: Engine) -> None:
    """In the article's first listing of Bobby, the place of ``userName#btables`` is illegible."""
    publish(engine)
    engine.client.delete_item(TableName=engine.name("User"), Key={"pk": {"S": "userName#btables"}})
    with engine.session() as session:
        session.delete(Key(User, pk=BOBBY))
    assert engine.raw(published) == []
