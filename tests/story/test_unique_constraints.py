"""Unique user names and e-mail addresses by transaction: AWS's article, item by item, with its own data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from bobby_tables import User
from bobby_tables import users as published
from two_tables import User as Apart
from two_tables import users as apart

from dynaorm import Key, Table
from dynaorm.errors import UniqueViolation
from tests.story.engine import Engine

BOBBY = {
    "pk": "b201c1f2-238e-461f-88e6-0e606fbc3c51",
    "userName": "btables",
    "email": "bobby.tables@gmail.com",
    "fullName": "Bobby Tables",
    "phoneNumber": "+1-202-555-0124",
}
PHONY = {
    "pk": "8ec436a8-97e6-4e72-aec2-b47668e96a94",
    "userName": "caulfield",
    "email": "bobby.tables@gmail.com",
    "fullName": "Phony Bobby Tables",
    "phoneNumber": "+1-202-555-0124",
}


def in_published_layout(row: dict[str, str]) -> list[dict[str, Any]]:
    owner = {"M": {"pk": {"S": row["pk"]}}}
    return [
        {name: {"S": text} for name, text in row.items()},
        {"pk": {"S": f"email#{row['email']}"}, "owner": owner},
        {"pk": {"S": f"userName#{row['userName']}"}, "owner": owner},
    ]


def in_two_tables(row: dict[str, str]) -> list[dict[str, Any]]:
    """A guard in another table also names the owner's declared table, because two tables may use the same keys."""
    user, *guards = in_published_layout(row)
    del user["phoneNumber"]
    owner = {"M": {"table": {"S": "User"}, "pk": {"S": row["pk"]}}}
    return [user, *({**guard, "owner": owner} for guard in guards)]


@dataclass(frozen=True)
class Layout:
    """A table, its class, and the items of one row of the article in it: user, e-mail guard, user name guard."""

    table: Table
    entity: Any
    stored: Callable[[dict[str, str]], list[dict[str, Any]]]

    def user(self, row: dict[str, str]) -> Any:
        names = {
            "user_name": "userName",
            "email": "email",
            "full_name": "fullName",
            "phone_number": "phoneNumber",
        }
        given = {
            name: row[attribute] for name, attribute in names.items() if name in self.entity.model_fields
        }
        return self.entity(pk=row["pk"], **given)

    def key(self, row: dict[str, str]) -> Key[Any]:
        return Key(self.entity, pk=self.user(row).pk)

    def partition(self, row: dict[str, str]) -> str:
        key: str = self.stored(row)[0][self.table.pk.name]["S"]
        return key

    def items(self, engine: Engine) -> list[dict[str, Any]]:
        """What is stored, with the guards."""
        tables = dict.fromkeys([self.table, self.table.guards])
        return sorted((one for table in tables for one in engine.items(table)), key=self._order)

    def _order(self, item: dict[str, Any]) -> str:
        return str(item[self.table.pk.name])

    def all(self, *rows: dict[str, str]) -> list[dict[str, Any]]:
        """The result of a scan, in the order of the partition keys."""
        items = [item for row in rows for item in self.stored(row)]
        return sorted(items, key=self._order)


@pytest.fixture(params=["published", "two tables"])
def layout(request: pytest.FixtureRequest, engine: Engine) -> Layout:
    found = {
        "published": Layout(published, User, in_published_layout),
        "two tables": Layout(apart, Apart, in_two_tables),
    }[request.param]
    engine.create(found.table)
    return found


def test_registering_is_one_transaction_of_three_puts(engine: Engine, layout: Layout) -> None:
    with engine.session() as session, session.transaction() as tx:
        tx.save(layout.user(BOBBY))
    assert engine.operations == ["TransactWriteItems"]
    assert engine.sent(layout.table) == [
        ("Put", layout.partition(BOBBY)),
        ("Put", "userName#btables"),
        ("Put", "email#bobby.tables@gmail.com"),
    ]
    assert layout.items(engine) == layout.all(BOBBY)


def test_the_registration_is_sent_as_the_article_writes_it(moto: Engine) -> None:
    moto.create(published)
    with moto.session() as session, session.transaction() as tx:
        tx.save(Layout(published, User, in_published_layout).user(BOBBY))
    owner = {"M": {"pk": {"S": "b201c1f2-238e-461f-88e6-0e606fbc3c51"}}}
    free = {
        "TableName": "User",
        "ConditionExpression": "attribute_not_exists(#n0) OR #n1 = :v0",
        "ExpressionAttributeNames": {"#n0": "pk", "#n1": "owner"},
        "ExpressionAttributeValues": {":v0": owner},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    (call,) = moto.calls
    assert call.request == {
        "ClientRequestToken": call.request["ClientRequestToken"],
        "TransactItems": [
            {
                "Put": {
                    "TableName": "User",
                    "ConditionExpression": "attribute_not_exists(#n0)",
                    "ExpressionAttributeNames": {"#n0": "pk"},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    "Item": {
                        "pk": {"S": "b201c1f2-238e-461f-88e6-0e606fbc3c51"},
                        "userName": {"S": "btables"},
                        "email": {"S": "bobby.tables@gmail.com"},
                        "fullName": {"S": "Bobby Tables"},
                        "phoneNumber": {"S": "+1-202-555-0124"},
                    },
                }
            },
            {"Put": {**free, "Item": {"pk": {"S": "userName#btables"}, "owner": owner}}},
            {"Put": {**free, "Item": {"pk": {"S": "email#bobby.tables@gmail.com"}, "owner": owner}}},
        ],
    }


def test_a_phony_user_is_refused_for_the_third_action_alone(engine: Engine, layout: Layout) -> None:
    with engine.session() as session:
        session.save(layout.user(BOBBY))
        with (
            pytest.raises(UniqueViolation) as refused,
            session.transaction() as tx,
        ):
            phony = tx.save(layout.user(PHONY))
        assert engine.reasons == [None, None, "ConditionalCheckFailed"]
        error = refused.value
        assert (error.entity, error.constraint, error.fields) == (layout.entity.__name__, "email", ("email",))
        assert error.value == "bobby.tables@gmail.com"
        assert error.owner == layout.key(BOBBY)
        assert "email 'bobby.tables@gmail.com'" in str(error)
        assert "b201c1f2-238e-461f-88e6-0e606fbc3c51" in str(error)
        assert layout.items(engine) == layout.all(BOBBY)
        phony.email = "phony@tables.com"
        session.save(phony)
    assert layout.items(engine) == layout.all(BOBBY, {**PHONY, "email": "phony@tables.com"})


def test_a_new_address_is_an_update_a_delete_and_a_put(engine: Engine, layout: Layout) -> None:
    with engine.session() as session:
        bobby = session.save(layout.user(BOBBY))
        engine.forget()
        bobby.email = "bobby@tables.com"
        session.save(bobby)
        assert engine.operations == ["TransactWriteItems"]
        assert engine.sent(layout.table) == [
            ("Update", layout.partition(BOBBY)),
            ("Delete", "email#bobby.tables@gmail.com"),
            ("Put", "email#bobby@tables.com"),
        ]
    assert layout.items(engine) == layout.all({**BOBBY, "email": "bobby@tables.com"})


@pytest.mark.parametrize("by", ["entity", "key"])
def test_deletion_removes_user_and_guards_in_one_transaction(engine: Engine, layout: Layout, by: str) -> None:
    with engine.session() as session:
        bobby = session.save(layout.user(BOBBY))
        bobby.email = "bobby@tables.com"
        session.save(bobby)
        engine.forget()
        session.delete(bobby if by == "entity" else layout.key(BOBBY))
        # By key it must be read first: only the stored item tells which values to release.
        assert engine.operations == (["GetItem"] if by == "key" else []) + ["TransactWriteItems"]
        assert engine.sent(layout.table) == [
            ("Delete", layout.partition(BOBBY)),
            ("Delete", "userName#btables"),
            ("Delete", "email#bobby@tables.com"),
        ]
    assert layout.items(engine) == []


# -- the items as published --------------------------------------------------------------------------------------------


def publish(engine: Engine) -> None:
    """Bobby's three items, put by hand as in the article: the guards name no owner."""
    engine.create(published)
    engine.put(published, **in_published_layout(BOBBY)[0])
    engine.put(published, pk={"S": "userName#btables"})
    engine.put(published, pk={"S": "email#bobby.tables@gmail.com"})


def test_guards_written_published_refuse_a_phony_bobby(engine: Engine) -> None:
    publish(engine)
    before = engine.raw(published)
    with engine.session() as session, pytest.raises(UniqueViolation) as refused:
        session.save(Layout(published, User, in_published_layout).user(PHONY))
    assert engine.reasons == [None, None, "ConditionalCheckFailed"]
    assert (refused.value.constraint, refused.value.owner) == ("email", None)
    assert engine.raw(published) == before


def test_a_guard_without_owner_is_released_by_a_change(
    engine: Engine,
) -> None:
    publish(engine)
    with engine.session() as session:
        loaded = session.get_one(User, pk=BOBBY["pk"])
        loaded.email = "bobby@tables.com"
        session.save(loaded)
    assert engine.raw(published) == [
        *in_published_layout({**BOBBY, "email": "bobby@tables.com"})[:2],
        {"pk": {"S": "userName#btables"}},
    ]


def test_a_missing_guard_is_released_as_nothing(engine: Engine) -> None:
    """In the article's first listing of Bobby, the place of ``userName#btables`` is illegible."""
    publish(engine)
    engine.client.delete_item(TableName=engine.name("User"), Key={"pk": {"S": "userName#btables"}})
    with engine.session() as session:
        session.delete(Key(User, pk=BOBBY["pk"]))
    assert engine.raw(published) == []
