"""A service over HTTP: sign-up with a unique address, changes with ETags, pages, orders that are placed once, history.

Run: python examples/fastapi_service.py, and open http://127.0.0.1:8080/docs
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, TypeAlias

import uvicorn
from fastapi import Depends, FastAPI, Response
from pydantic import BaseModel, Field

from dynaorm import (
    CreatedAt,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Retry,
    Session,
    Table,
    Unique,
    Version,
    new_ksuid,
)
from dynaorm.integrations.fastapi import (
    CurrentSession,
    IdempotencyKey,
    OptionalIfNoneMatch,
    PageOf,
    PageParams,
    RequiredIfMatch,
    add_problem_handlers,
    etag,
    idempotency_key,
    page_params,
    problems,
    session_lifespan,
)
from dynaorm.session import Page
from dynaorm.testing import strict_moto

# -- what is stored ----------------------------------------------------------------------------------------------------

shop = Table("shop", indexes=[GlobalIndex("GSI1")])

# The rules of a value are declared once, for what is stored and for what clients send.
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
Quantity: TypeAlias = Annotated[int, Field(ge=1)]


class User(Entity, table=shop, pk="USER#{user_id}", sk="PROFILE", versioned=True):
    user_id: str = Field(default_factory=new_ksuid)
    email: Annotated[str, Unique(normalize=str.casefold)]
    full_name: Name


class Stock(Entity, table=shop, pk="STOCK#{sku}", sk="STOCK"):
    sku: str
    left: int = 0


class Order(Entity, table=shop, pk="USER#{user_id}", sk="ORDER#{order_id}"):
    user_id: str
    order_id: str
    sku: str
    quantity: Quantity
    placed_at: Annotated[datetime | None, CreatedAt()] = None
    by_time = Index("GSI1", pk="ORDERS#{user_id}", sk="{placed_at}")


# -- what clients send and see -----------------------------------------------------------------------------------------


class NewUser(BaseModel):
    email: str
    full_name: Name


class UserChanges(BaseModel):
    email: str = ""  # the default means: not changed
    full_name: Name = ""


class UserOut(BaseModel):
    user_id: str
    email: str
    full_name: str


class UserVersion(BaseModel):
    number: int
    at: datetime
    user: UserOut = Field(validation_alias="entity")


class NewOrder(BaseModel):
    sku: str
    quantity: Quantity


class OrderOut(BaseModel):
    order_id: str
    sku: str
    quantity: int
    placed_at: datetime


# -- the service -------------------------------------------------------------------------------------------------------


def open_session() -> Session:
    # A client does not wait for minutes, as a batch job would.
    return Session(region="eu-west-1", retry=Retry(attempts=5, seconds=10))


def caller(user_id: str) -> str:
    """Who sends a request. Here it is the user in the path; a real service asks its authentication."""
    return user_id


service = FastAPI(title="Shop", lifespan=session_lifespan(open_session), responses=problems(500, 503))
add_problem_handlers(service)


@service.post("/users", status_code=201, response_model=UserOut, responses=problems(409))
def sign_up(new: NewUser, session: CurrentSession, response: Response) -> User:
    user = session.save(User(email=new.email, full_name=new.full_name))
    response.headers["ETag"] = etag(user)
    return user


@service.get("/users/{user_id}", response_model=UserOut, responses=problems(404))
def show(
    user_id: str, if_none_match: OptionalIfNoneMatch, session: CurrentSession, response: Response
) -> User:
    user = if_none_match.check(session.get_one(User, user_id=user_id))
    response.headers["ETag"] = etag(user)
    return user


@service.patch("/users/{user_id}", response_model=UserOut, responses=problems(400, 404, 409, 412, 428))
def change(
    user_id: str,
    changes: UserChanges,
    *,
    if_match: RequiredIfMatch,
    session: CurrentSession,
    response: Response,
) -> User:
    # An eventually consistent read could miss the client's own last change.
    user = if_match.check(session.get_one(Key(User, user_id=user_id), consistent=True))
    user = session.save(user.model_copy(update=changes.model_dump(exclude_unset=True)))
    response.headers["ETag"] = etag(user)
    return user


@service.get("/users/{user_id}/history", response_model=list[UserVersion])
def history(user_id: str, session: CurrentSession) -> Iterator[Version[User]]:
    return session.history(Key(User, user_id=user_id))


@service.post(
    "/users/{user_id}/orders",
    status_code=201,
    response_model=OrderOut,
    responses=problems(400, 404, 412, 422),
)
def place_order(
    user_id: str,
    new: NewOrder,
    key: Annotated[IdempotencyKey, Depends(idempotency_key(caller))],
    session: CurrentSession,
) -> Order:
    # Everything in the block follows from the request, so a repeated request makes an equal block.
    order = Order(user_id=user_id, order_id=key.id_for("order"), sku=new.sku, quantity=new.quantity)
    with session.transaction(token=key.token, remember=key.remember) as tx:
        tx.check(Key(User, user_id=user_id))
        tx.update(Key(Stock, sku=new.sku), F.left.add(-new.quantity), condition=F.left >= new.quantity)
        tx.save(order)
    return order


@service.get("/users/{user_id}/orders", response_model=PageOf[OrderOut], responses=problems(400))
def orders(
    user_id: str, params: Annotated[PageParams, Depends(page_params(most=50))], session: CurrentSession
) -> Page[Order]:
    newest_first = session.query(Order.by_time, user_id=user_id).descending()
    return newest_first.page(params.limit, after=params.cursor)


def main() -> None:
    with strict_moto(), open_session() as session:
        session.create_table(shop)
        session.save(Stock(sku="book", left=10))
        uvicorn.run(service, host="127.0.0.1", port=8080)


if __name__ == "__main__":
    main()
