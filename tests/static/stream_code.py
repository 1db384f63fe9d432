"""What users write about items and streams, for the type checkers. It is never run, like ``user_code``."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator
from typing import Any, assert_type

from botocore.credentials import Credentials

from dynaorm import AsyncSession, Entity, Retry, Session, Table, entity_of, item_of, tools
from dynaorm.streams import Changed, Deleted, Inserted, Internal, Unreadable, changes, handler
from dynaorm.testing import Factory, Store, factory

app = Table("app", stream="NEW_AND_OLD_IMAGES")
on = handler(app)


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    name: str = ""


def items(user: User, item: dict[str, Any]) -> None:
    assert_type(entity_of(item_of(user), User), User)
    assert_type(entity_of(item, app), Any)


def every_change(event: dict[str, Any], session: Session) -> None:
    for change in changes(event, app):
        assert_type(change, Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable)
        match change:
            case Inserted(new=User() as user):
                assert_type(user, User)
            case Changed(fields=fields):
                assert_type(fields, frozenset[str])
            case _:
                pass
    for each in tools.follow(session, app, internal=True):
        assert_type(each, Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable | Internal)
    assert_type(
        tools.follow(session, app, after="", idle=1.0, stop=lambda: False),
        Iterator[Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable],
    )


async def asynchronously(session: AsyncSession, event: object) -> None:
    async for change in tools.follow(session, app):
        assert_type(change, Inserted[Any] | Changed[Any] | Deleted[Any] | Unreadable)
        await on.dispatch_async(change)
    await on.handle(event)


@on.inserted(User)
def index(change: Inserted[User]) -> None:
    assert_type(change.new, User)
    assert_type(change.key.entity, type[User] | None)


@on.changed(User)
async def reindex(change: Changed[User]) -> None:
    assert_type((change.old, change.new), tuple[User, User])


@on.any(User)
def touch(change: Inserted[User] | Changed[User] | Deleted[User]) -> str:
    return change.sequence


@on.deleted(User)  # type: ignore[arg-type]  # it takes another change
def wrong(change: Inserted[User]) -> None: ...


@on.unreadable
def park(change: Unreadable) -> None:
    assert_type(change.error.problems, tuple[str, ...])


def for_tests() -> None:
    make = factory(User)
    assert_type(make, Factory[User])
    assert_type(make(name="Liz"), User)


def on_a_store(store: Store) -> None:
    second = store.session(table_names=lambda declared: f"{declared}-2", retry=Retry(attempts=1))
    assert_type(second, Session)
    assert_type(store.async_session(timeout=2.5), AsyncSession)
    store.session(tables={"app": "app-2"})  # type: ignore[call-arg]
    store.session(timeout="2")  # type: ignore[arg-type]


def signed() -> Session:
    return Session(region="eu-west-1", credentials=Credentials("key", "secret"))  # pragma: allowlist secret
