"""A unit of work: what is read before it, what is learned from a refusal, and when it gives up."""

from typing import Annotated, Any

import pytest

from dynaorm import Entity, F, Key, Session, Table, Unique, inspect
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import StaleEntity, UsageError
from dynaorm.flow.call import Reason, Refusal
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport

NOW = 1_700_000_000

app = Table("commit-app")


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]
    name: str = ""


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


class Crate(Stock):
    planks: int = 0


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str


def opened(*answers: Answer, **options: Any) -> tuple[Session, ScriptedTransport]:
    transport = ScriptedTransport(*answers)
    return Session(transport=transport, clock=FakeClock(NOW, ids="id-"), **options), transport


def user_item(revision: str, email: str = "a@x", kind: str = "User", **attributes: Any) -> Item:
    return {
        "PK": {"S": "USER#1"},
        "SK": {"S": "U"},
        "_type": {"S": kind},
        "_rev": {"S": revision},
        "user_id": {"S": "1"},
        "email": {"S": email},
        "name": {"S": ""},
        **attributes,
    }


def stock_item(**attributes: Any) -> Item:
    return {
        "PK": {"S": "STOCK#a"}, "SK": {"S": "S"}, "_type": {"S": "Stock"}, "_rev": {"S": "r"}, "sku": {"S": "a"},
        "left": {"N": "4"}, **attributes,
    }  # fmt: skip


def cancelled(*items: Item | str | None) -> Refusal:
    """A cancelled transaction: "" for an action that was fine; else what the failed condition met."""
    reasons = tuple(
        None if isinstance(item, str) else Reason("ConditionalCheckFailed", "no", item) for item in items
    )
    return Refusal("TransactionCanceledException", reasons=reasons)


def failed(item: Item | None) -> Refusal:
    return Refusal("ConditionalCheckFailedException", "no", item=item)


def loaded(revision: str = "r1", email: str = "a@x") -> User:
    user: User = mapping_of(User).loader.hydrate(user_item(revision, email))
    return user


USER, STOCK = Key(User, user_id="1"), Key(Stock, sku="a")


def operations(transport: ScriptedTransport) -> list[str]:
    assert transport.remaining == 0
    return [call.operation for call in transport.calls]


def test_re_creation_learns_of_the_tombstone_from_the_refusal() -> None:
    tombstone: Item = {
        "PK": {"S": "DOC#d"}, "SK": {"S": "v0_D"}, "_rev": {"S": "t"}, "version": {"N": "4"},
        "version_at": {"S": "2023-01-01T00:00:00.000000Z"}, "deleted": {"BOOL": True},
    }  # fmt: skip
    session, transport = opened(cancelled(tombstone, ""), {})
    document = Document(doc_id="d")
    session.save(document)
    assert operations(transport) == ["TransactWriteItems"] * 2
    assert inspect(document).version == 5
    main = transport.calls[1].request["TransactItems"][0]["Put"]
    assert main["ExpressionAttributeValues"] == {":v0": {"S": "t"}}


def test_a_foreign_guard_beside_a_stale_entity_still_ends_in_stale() -> None:
    foreign = {"owner": {"M": {"PK": {"S": "USER#9"}, "SK": {"S": "U"}}}}
    session, transport = opened(cancelled(user_item("r9"), foreign, ""))
    user = loaded()
    user.email = "b@x"
    with pytest.raises(StaleEntity):
        session.save(user)
    assert operations(transport) == ["TransactWriteItems"]


def test_a_blind_write_that_met_a_subclass_is_planned_by_that_class() -> None:
    crate = stock_item(_type={"S": "Crate"}, planks={"N": "1"})
    session, transport = opened(failed(crate), {"Attributes": crate})
    session.update(STOCK, F.left.add(1))
    assert operations(transport) == ["UpdateItem", "UpdateItem"]
    assert transport.calls[1].request["ConditionExpression"] == "#n1 = :v2" or (
        ":v" in transport.calls[1].request["ConditionExpression"]
    )
    session, transport = opened(failed(crate), {})
    session.delete(STOCK)
    assert operations(transport) == ["DeleteItem", "DeleteItem"]


def test_a_check_by_the_key_of_a_base_class_is_made_again_for_the_subclass() -> None:
    crate = stock_item(_type={"S": "Crate"}, planks={"N": "1"})
    session, transport = opened(cancelled(crate, ""), {})
    with session.transaction() as tx:
        tx.check(STOCK)
        tx.save(Document(doc_id="d"))
    assert operations(transport) == ["TransactWriteItems"] * 2


@pytest.mark.parametrize("token", ["", "x" * 1001])
def test_a_token_that_names_no_block_is_refused_and_nothing_is_sent(token: str) -> None:
    session, transport = opened()
    with pytest.raises(UsageError, match="1 to 1000 bytes"), session.transaction(token=token) as tx:
        tx.save(Stock(sku="a"))
    assert transport.calls == []
