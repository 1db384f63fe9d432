"""Law: a request is not sent if DynamoDB would refuse it for the length of an expression."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import create_model

from dynaorm import Entity, F, Key, Session, Table, inspect
from dynaorm.errors import UsageError
from dynaorm.transport import Call, Reply, Transport

NAMES = [f"field_{number}" for number in range(600)]
table = Table("wide")
plain = Table("wide-plain", revision_attribute=None)


class _Base(Entity):
    name: str


FIELDS: dict[str, Any] = dict.fromkeys(NAMES, (int, 0))
Wide: Any = create_model(
    "Wide", __base__=_Base, __cls_kwargs__={"table": table, "pk": "W#{name}", "sk": "W"}, **FIELDS
)
Plain: Any = create_model(
    "Plain", __base__=_Base, __cls_kwargs__={"table": plain, "pk": "W#{name}", "sk": "W"}, **FIELDS
)


class Limited:
    """Refuses what DynamoDB would refuse, which moto accepts, and records every write."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.writes: list[str] = []

    def call(self, call: Call, /) -> Reply:
        for name, text in call.request.items():
            assert not name.endswith("Expression") or len(text) <= 4096, name
        if call.operation in ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"):
            self.writes.append(call.operation)
        return self._inner.call(call)


@pytest.fixture
def limited(engine: Transport) -> Limited:
    return Limited(engine)


@pytest.fixture
def session(limited: Limited) -> Any:
    with Session(transport=limited) as session:
        session.create_table(table)
        session.create_table(plain)
        yield session
        for name in (table.name, plain.name):
            limited.call(Call("DeleteTable", {"TableName": name}))


def all_changed(wide: Any) -> Any:
    vars(wide).update(dict.fromkeys(NAMES, 5))
    return wide


WRITES: Mapping[str, Callable[[Session, Any, Any], object]] = {
    "save": lambda session, _, wide: session.save(all_changed(wide)),
    "update": lambda session, _, wide: session.update(wide, dict.fromkeys(NAMES, 5)),
    "update by key": lambda session, kind, _: session.update(
        Key(kind, name="a"), *(F[name].add(1) for name in NAMES)
    ),
    "upsert": lambda session, kind, _: session.upsert(
        Key(kind, name="a"), *(F[name].set(1) for name in NAMES)
    ),
    "condition": lambda session, kind, _: session.update(
        Key(kind, name="a"), F.field_1.set(5), condition=F.field_1.is_in(*range(1, 5)) & _all_are(0)
    ),
}


def _all_are(value: int) -> Any:
    found = F.field_0 == value
    for name in NAMES[1:]:
        found &= F[name] == value
    return found


@pytest.mark.parametrize("kind", [Wide, Plain])
@pytest.mark.parametrize("write", WRITES)
def test_a_too_long_expression_is_refused_before_sending(
    session: Session, limited: Limited, kind: Any, write: str
) -> None:
    wide = session.save(kind(name="a"))
    limited.writes.clear()
    with pytest.raises(UsageError, match="DynamoDB accepts 4096"):
        WRITES[write](session, kind, wide)
    assert limited.writes == []
    stored = session.get_one(kind, name="a")
    assert stored.field_7 == 0
    wide = session.get_one(kind, name="a")
    wide.field_7 = 1
    session.save(wide)


def test_the_whole_entity_can_be_stored_and_read(session: Session) -> None:
    wide = all_changed(session.save(Wide(name="a")))
    session.save(wide, overwrite=True)
    assert inspect(wide).loaded
    assert session.get_one(Wide, name="a") == wide
    row = session.scan(Wide).values("name", *NAMES).all()[0]
    assert (row.name, row.field_599) == ("a", 5)
