"""Reading items by key, and repeating a read until it is answered."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from dynaorm import Entity, ExpiresAt, F, Key, Retry, Session, Table, Unique
from dynaorm.errors import (
    Contention,
    StoreError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
)
from dynaorm.flow.call import Call, Context, NoAnswer, Reason, Refusal
from dynaorm.flow.read import get_items
from dynaorm.item.value import Item
from dynaorm.session.drive import drive
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport

NOW = 1_700_000_000

app = Table("read-app")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""


class Named(Entity, table=app, pk="NAMED#{named_id}", sk="N"):
    named_id: str
    name: Annotated[str, Unique()]


def stock_item(kind: str = "Stock", **attributes: Any) -> Item:
    return {
        "PK": {"S": "STOCK#a"},
        "SK": {"S": "S"},
        "_type": {"S": kind},
        "sku": {"S": "a"},
        "left": {"N": "3"},
        **attributes,
    }


def asked(
    *answers: Answer, retry: Retry | None = None, consistent: bool = False
) -> tuple[Any, ScriptedTransport]:
    transport = ScriptedTransport(*answers)
    session = Session(
        transport=transport, clock=FakeClock(NOW), retry=retry or Retry(attempts=3), consistent=consistent
    )
    return session.get(Stock, sku="a"), transport


def failing(*answers: Answer, attempts: int = 3) -> StoreError:
    with pytest.raises(StoreError) as raised:
        asked(*answers, retry=Retry(attempts=attempts))
    return raised.value


THROTTLED = Refusal("ProvisionedThroughputExceededException", "slow down")


@pytest.mark.parametrize("consistent", [False, True])
def test_a_read_by_key_is_one_get_item(consistent: bool) -> None:
    stock, transport = asked({"Item": stock_item()}, consistent=consistent)
    assert stock == Stock(sku="a", left=3)
    assert transport.calls == [
        Call(
            "GetItem",
            {
                "TableName": "read-app",
                "Key": {"PK": {"S": "STOCK#a"}, "SK": {"S": "S"}},
                "ConsistentRead": consistent,
            },
        )
    ]


@pytest.mark.parametrize("trouble", [NoAnswer("timeout"), NoAnswer("refused", sent=False), THROTTLED])
def test_a_read_is_repeated_until_it_is_answered(trouble: Answer) -> None:
    stock, transport = asked(trouble, trouble, {"Item": stock_item()})
    assert stock is not None
    assert len(transport.calls) == 3
    assert transport.calls[0] is transport.calls[1] is transport.calls[2]


def test_repetitions_pause_with_jitter() -> None:
    clock = FakeClock(NOW, jitter=0.5)
    transport = ScriptedTransport(*[NoAnswer("timeout")] * 3, {})
    Session(transport=transport, clock=clock, retry=Retry(base=0.1, cap=0.3)).get(Stock, sku="a")
    assert clock.pauses == pytest.approx([0.05, 0.1, 0.15])


def test_a_read_in_conflict_with_writers_is_contention() -> None:
    conflict = Refusal(
        "TransactionCanceledException", reasons=(None, Reason("TransactionConflict")), request_id="r"
    )
    error = failing(conflict, attempts=1)
    assert isinstance(error, Contention)
    assert error.code == "TransactionConflict"


def test_a_missing_table_is_named_at_once() -> None:
    error = failing(Refusal("ResourceNotFoundException", "not found"))
    assert isinstance(error, TableNotFound)
    assert error.table == "read-app"


def test_any_other_refusal_is_passed_on_at_once_with_everything_it_said() -> None:
    error = failing(Refusal("AccessDeniedException", "no", request_id="r1"))
    assert isinstance(error, UnexpectedRefusal)
    assert (error.code, error.message, error.request_id, error.reasons) == (
        "AccessDeniedException",
        "no",
        "r1",
        (),
    )


def test_a_missing_permission_names_the_operation_the_table_and_the_policy() -> None:
    error = failing(Refusal("AccessDeniedException", "User: me is not authorized", request_id="r1"))
    assert str(error) == (
        "these credentials may not do GetItem on 'read-app' (AccessDeniedException: User: me is not authorized) "
        "(request r1); allow it: dynaorm.iam.iam_policy, or dynaorm export --policy, makes the policy that some "
        "classes need, for each purpose"
    )


DOCUMENT = Key(Document, doc_id="d")


@pytest.mark.parametrize(
    "use",
    [
        lambda session: session.get(Stock, sku="a"),
        lambda session: session.exists(Stock, sku="a"),
        lambda session: session.get_by(Named, name="a"),
        lambda session: session.get(DOCUMENT, version=1),
        lambda session: session.get(DOCUMENT, as_of=datetime.now(UTC)),
        lambda session: list(session.history(DOCUMENT)),
        lambda session: session.update(DOCUMENT, F.text.set("x")),
        lambda session: session.delete(DOCUMENT),
    ],
    ids=["get", "exists", "get_by", "version", "as_of", "history", "update", "delete"],
)
def test_an_item_without_any_attribute_is_not_taken_for_absent(use: Callable[[Session], object]) -> None:
    """Every item has its key, and every read asks for it."""
    transport = ScriptedTransport({"Item": {}})
    with pytest.raises(Unreachable, match="an item without its key 'PK'"):
        use(Session(transport=transport, clock=FakeClock(NOW)))


# -- many items --------------------------------------------------------------------------------------------------------

plain = Table("plain", sk=None)
KEYS: list[Item] = [{"PK": {"S": str(number)}} for number in range(3)]


def batch(*answers: Answer, attempts: int = 3) -> tuple[list[Item], ScriptedTransport, FakeClock]:
    transport, clock = ScriptedTransport(*answers), FakeClock(NOW)
    context = Context(str, Retry(attempts=attempts), clock)
    return drive(get_items(plain, KEYS, context), transport, clock), transport, clock


def reply(found: list[Item], left: list[Item]) -> dict[str, Any]:
    return {"Responses": {"plain": found}, "UnprocessedKeys": {"plain": {"Keys": left}} if left else {}}


def test_unprocessed_keys_are_asked_for_again_and_only_those() -> None:
    items, transport, clock = batch(reply(KEYS[:1], KEYS[1:]), reply(KEYS[1:2], KEYS[2:]), reply([], []))
    assert items == KEYS[:2]
    assert [call.request["RequestItems"]["plain"]["Keys"] for call in transport.calls] == [
        KEYS,
        KEYS[1:],
        KEYS[2:],
    ]
    assert {call.request["RequestItems"]["plain"]["ConsistentRead"] for call in transport.calls} == {True}
    assert clock.pauses == []


def test_a_batch_that_makes_no_progress_pauses_and_gives_up() -> None:
    items, _, clock = batch(reply([], KEYS), reply(KEYS, []))
    assert (items, len(clock.pauses)) == (KEYS, 1)
    with pytest.raises(Throttled, match="UnprocessedKeys"):
        batch(*[reply([], KEYS)] * 3)
