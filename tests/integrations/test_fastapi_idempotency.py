"""A request with an Idempotency-Key is applied once, in routes with either session."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeAlias

import httpx
import pytest
from fastapi import Depends, FastAPI, Header

from dynaorm import AsyncSession, Entity, F, Key, Session, Table
from dynaorm.integrations.fastapi import (
    CurrentAsyncSession,
    CurrentSession,
    IdempotencyKey,
    add_problem_handlers,
    idempotency_key,
    session_lifespan,
)
from dynaorm.testing import FaultyTransport, lost_answer
from dynaorm.transport.asynchronous import ThreadedTransport
from tests.integrations.asgi import Client, client_of

app = Table("orders")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="STOCK"):
    sku: str
    left: int


class Order(Entity, table=app, pk="ORDER#{order_id}", sk="ORDER"):
    order_id: str
    sku: str
    quantity: int


def caller(user: Annotated[str, Header()]) -> str:
    return user


Placed: TypeAlias = Callable[..., httpx.Response]
Once: TypeAlias = Annotated[IdempotencyKey, Depends(idempotency_key(caller))]


def changes(key: IdempotencyKey, sku: str, quantity: int) -> tuple[Order, Key[Stock]]:
    return Order(order_id=key.id_for("order"), sku=sku, quantity=quantity), Key(Stock, sku=sku)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, session: Session, wire: FaultyTransport) -> Client:
    service = FastAPI(
        lifespan=session_lifespan(
            partial(Session, transport=wire), lambda: AsyncSession(transport=ThreadedTransport(wire))
        )
    )
    add_problem_handlers(service)

    def place(sku: str, quantity: int, key: Once, session: CurrentSession) -> Order:
        order, stock = changes(key, sku, quantity)
        with session.transaction(token=key.token, remember=key.remember) as tx:
            tx.save(order)
            tx.update(stock, F.left.add(-quantity), condition=F.left >= quantity)
        return order

    async def place_async(sku: str, quantity: int, key: Once, session: CurrentAsyncSession) -> Order:
        order, stock = changes(key, sku, quantity)
        async with session.transaction(token=key.token, remember=key.remember) as tx:
            tx.save(order)
            tx.update(stock, F.left.add(-quantity), condition=F.left >= quantity)
        return order

    for path in ("/orders", "/gifts"):
        service.post(path)(place if request.param == "sync" else place_async)
    session.save(Stock(sku="book", left=10))
    return client_of(service)


@pytest.fixture
def placed(ask: Client, unique_name: Callable[[str], str]) -> Placed:
    """Place an order. The engine remembers the tokens of other tests, so each test has callers of its own."""

    def post(
        key: str | None = "k1", *, user: str = "liz", quantity: int = 2, path: str = "/orders"
    ) -> httpx.Response:
        headers = {"User": unique_name(user)} | ({} if key is None else {"Idempotency-Key": key})
        return ask("POST", path, params={"sku": "book", "quantity": quantity}, headers=headers)

    return post


def left(session: Session) -> int:
    return session.get_one(Stock, sku="book").left


def test_a_repeated_request_has_the_result_of_the_first(placed: Placed, session: Session) -> None:
    first = placed()
    session.update(Key(Order, order_id=first.json()["order_id"]), {"quantity": 3})
    session.update(Key(Stock, sku="book"), F.left.set(1))
    again = placed('"k1"')  # quoted, as the draft writes it
    assert (again.status_code, again.json()) == (200, first.json())
    assert left(session) == 1
    assert session.scan(Order).count() == 1


def test_a_request_whose_answer_was_lost_is_made_once(
    placed: Placed, session: Session, wire: FaultyTransport
) -> None:
    wire.inject(lost_answer(operation="TransactWriteItems"))
    assert placed().json() == placed().json()
    assert not wire.pending
    assert left(session) == 8


@pytest.mark.parametrize("other", [{"key": "k2"}, {"user": "bob"}, {"path": "/gifts"}], ids=str)
def test_another_key_caller_or_path_is_another_request(
    placed: Placed, session: Session, other: dict[str, Any]
) -> None:
    assert placed().json()["order_id"] != placed(**other).json()["order_id"]
    assert left(session) == 6


def test_a_key_is_refused_for_another_content(placed: Placed, session: Session) -> None:
    placed()
    answer = placed(quantity=3)
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert answer.json()["type"] == "urn:problem-type:dynaorm:idempotency-key-reused"
    assert left(session) == 8


@pytest.mark.parametrize(
    ("key", "kind"),
    [(None, "idempotency-key-required"), ("", "bad-idempotency-key"), ("a b", "bad-idempotency-key")],
)
def test_a_request_without_a_valid_key_is_refused(
    placed: Placed, session: Session, key: str | None, kind: str
) -> None:
    answer = placed(key)
    assert (answer.status_code, answer.json()["type"]) == (400, f"urn:problem-type:dynaorm:{kind}")
    assert left(session) == 10


@pytest.mark.parametrize(
    "keys", [("k1", "k2"), ("k1", "k1"), ("k1", ""), ("", "k1"), ('"k1"', "k1")], ids=str
)
def test_a_request_with_two_keys_is_refused(
    ask: Client, session: Session, unique_name: Callable[[str], str], keys: tuple[str, str]
) -> None:
    headers = [("User", unique_name("liz")), *(("Idempotency-Key", key) for key in keys)]
    answer = ask("POST", "/orders", params={"sku": "book", "quantity": 2}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (
        400,
        "urn:problem-type:dynaorm:bad-idempotency-key",
    )
    assert left(session) == 10
