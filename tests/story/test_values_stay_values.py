"""Values are sent only where values belong: never in an expression, and never in a line of the log.

Secrets are put in every place where a value can stand: keys, fields, sets, maps, documents, conditions, updates,
filters, key conditions, unique values, version items, expired entities, cursors, errors.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from dynaorm import (
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    Retry,
    Session,
    Table,
    Unique,
    any_of,
    detached,
)
from dynaorm.errors import DynaormError, InvalidCursor
from dynaorm.testing import FakeClock, FaultyTransport, conflict, lost_answer, throttle
from dynaorm.transport import Call, Transport
from tests.memory import MEMORY

app = Table("values", indexes=[GlobalIndex("GSI1")])


class Inner(BaseModel):
    text: str = ""
    secret: SecretStr = SecretStr("")


class User(Entity, table=app, pk="USER#{name}", sk="U#{part}", unique={"pair": ("name", "nick")}):
    name: str
    part: str
    email: Annotated[str | None, Unique()] = None
    nick: str | None = None
    secret: SecretStr | None = None
    tags: set[str] = Field(default_factory=set)
    texts: list[str] = Field(default_factory=list)
    named: dict[str, str] = Field(default_factory=dict)
    inner: Inner = Inner()
    by_nick = Index("GSI1", pk="NICK#{nick}", sk="{part}")


class Page(Entity, table=app, pk="PAGE#{slug}", sk="P", versioned=True):
    slug: str
    text: str = ""


class Login(Entity, table=app, pk="LOGIN#{name}", sk="L"):
    name: str
    until: Annotated[datetime | None, ExpiresAt()] = None


SECRETS = st.text("QWXYZ", min_size=10, max_size=12)
"""Texts that occur in no name, sentence or expression."""


def user(secret: str, **fields: Any) -> User:
    return User(
        name=secret, part=secret, email=secret, nick=secret, secret=SecretStr(secret), tags={secret}, texts=[secret],
        named={"key": secret}, inner=Inner(text=secret, secret=SecretStr(secret)), **fields,
    )  # fmt: skip


def writes(session: Session, secret: str) -> Iterator[Callable[[], object]]:
    one, page = user(secret), Page(slug=secret, text=secret)
    key = Key(User, name=secret, part=secret)
    hidden = SecretStr(secret + "2")
    whole = (F.nick == secret) & (F.secret == SecretStr(secret)) & F.texts[0].begins_with(secret)
    yield lambda: session.save(one)
    yield lambda: session.save(detached(one))
    yield lambda: session.save(detached(one, part="other"))
    yield lambda: session.save(detached(one, texts=[secret, secret]), overwrite=True)
    yield lambda: session.update(key, F.texts.append(secret), F.tags.add(secret), condition=whole)
    yield lambda: session.update(
        key, F.named["key"].set(secret), F.inner.text.set(secret), F.secret.set(hidden)
    )
    yield lambda: session.update(key, F.texts.prepend(secret), condition=F.nick.is_in([secret, "b"]))
    yield lambda: session.update(key, F.tags.discard(secret), condition=F.nick.between(secret, secret))
    yield lambda: session.update(key, {"nick": secret + "3"}, condition=F.texts.contains(secret))
    yield lambda: session.update(key, {"nick": "n"}, condition=F.nick == secret)
    yield lambda: session.save(page)
    yield lambda: session.update(page, {"text": secret + "4"})
    yield lambda: session.delete(page)
    yield lambda: session.restore(Key(Page, slug=secret), version=1)
    yield lambda: session.save(Login(name=secret, until=datetime(2023, 12, 31, tzinfo=UTC)))
    yield lambda: session.save(Login(name=secret))
    yield lambda: session.bulk_load([Login(name=secret)])
    yield lambda: session.save_many([Login(name=secret)])
    yield lambda: session.get_one(Login, name=secret + "5")
    yield lambda: block(session, secret)
    yield lambda: session.delete(key, condition=~whole)
    yield lambda: session.delete(session.get_one(key))


def block(session: Session, secret: str) -> None:
    with session.transaction() as tx:
        tx.check(Key(Page, slug=secret), F.text == secret)
        tx.save(user(secret + "6"))


def reads(session: Session, secret: str) -> Iterator[Callable[[], object]]:
    yield lambda: session.get_by(User, email=secret)
    yield (
        lambda: (
            session.query(User, name=secret).begins_with(part=secret).filter(F.texts.contains(secret)).all()
        )
    )
    yield lambda: session.query(User, name=secret).ge(part=secret).filter(F.named["key"] == secret).page(1)
    yield lambda: session.query(User.by_nick, nick=any_of(secret, "n")).descending().all()
    yield lambda: session.scan(User).filter(F.secret == SecretStr(secret)).all()
    yield lambda: session.get_many([Key(User, name=secret, part=secret)])
    yield lambda: list(session.history(Key(Page, slug=secret)))
    yield lambda: session.query(User, name=secret).page(1, after=secret)
    yield lambda: session.get(Key(Page, slug=secret), version=1)


def expressions(part: Any) -> Iterator[str]:
    """Every text of a request that is an expression, or a name in one."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name.endswith("Expression"):
                yield value
            elif name == "ExpressionAttributeNames":
                yield from (text for pair in value.items() for text in pair)
            elif name not in ("Item", "Key", "Keys", "ExpressionAttributeValues", "ExclusiveStartKey"):
                yield from expressions(value)
    elif isinstance(part, list):
        for one in part:
            yield from expressions(one)


@pytest.fixture(scope="module")
def strict(moto_transport: Transport) -> Iterator[Transport]:
    with MEMORY.empty():
        Session(transport=moto_transport).create_table(app)
        yield moto_transport


def cleared(strict: Transport) -> None:
    for item in strict.call(Call("Scan", {"TableName": "values"}))["Items"]:
        key = {"PK": item["PK"], "SK": item["SK"]}
        strict.call(Call("DeleteItem", {"TableName": "values", "Key": key}))


@given(secret=SECRETS, fault=st.sampled_from([None, lost_answer, conflict, throttle]), at=st.integers(1, 20))
@settings(
    max_examples=settings().max_examples // 12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_secret_is_in_an_expression_or_in_the_log(
    strict: Transport, caplog: pytest.LogCaptureFixture, secret: str, fault: Any, at: int
) -> None:
    cleared(strict)
    caplog.set_level(1, logger="dynaorm")
    caplog.clear()
    wire = FaultyTransport(strict, *([] if fault is None else [fault(at)]))
    session = Session(transport=wire, clock=FakeClock(), retry=Retry(attempts=3))
    outcomes = [outcome(work) for several in (writes, reads) for work in several(session, secret)]
    assert fault is not None or outcomes.count("ok") == 24
    # A guard that belongs to somebody else, and an item of no class: both are logged, only the latter with its key.
    stranger = {"PK": {"S": f"USER#{secret}"}, "SK": {"S": f"U#{secret}"}, "_type": {"S": secret}}
    strict.call(Call("PutItem", {"TableName": "values", "Item": stranger}))
    assert session.query(User, name=secret).all() == []
    assert len(wire.calls) > 30
    assert sum(secret in repr(call.request) for call in wire.calls) > 30
    assert not [text for call in wire.calls for text in expressions(call.request) if secret in text]
    assert len(caplog.records) > 30
    lines = [f"{record.getMessage()}{vars(record)}" for record in caplog.records]
    assert [line.partition(",")[0] for line in lines if secret in line] == ["an item is skipped"]


def outcome(work: Callable[[], object]) -> str:
    try:
        work()
    except DynaormError as error:
        return type(error).__name__
    return "ok"


def test_a_signed_cursor_leads_into_no_partition_but_its_own(strict: Transport) -> None:
    cleared(strict)
    secret = b"sixteen bytes or more"
    mine, theirs = (Session(transport=strict, cursor_secret=one) for one in (secret, secret[::-1]))
    for name in ("me", "you"):
        for part in "abc":
            mine.save(User(name=name, part=part))
    cursor = mine.query(User, name="me").page(1).cursor
    assert cursor is not None
    assert [one.part for one in mine.query(User, name="me").page(5, after=cursor).entities] == ["b", "c"]
    for asked in (
        mine.query(User, name="you"),
        mine.query(User, name="me").descending(),
        mine.query(User.by_nick, nick="me"),
        theirs.query(User, name="me"),
    ):
        with pytest.raises(InvalidCursor):
            asked.page(1, after=cursor)
    for place in range(0, len(cursor), 5):
        forged = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        with pytest.raises(InvalidCursor):
            mine.query(User, name="me").page(1, after=forged)
