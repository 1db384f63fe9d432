"""Classes whose rules span fields, in tables with every kind of revision, and every way to write their fields."""

import types
from collections.abc import Callable, Mapping
from itertools import product
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field, ValidationInfo, field_validator, model_validator

from dynaorm import Entity, F, Key, NumberRevision, Session, Table, Unique
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item

REVISIONS: Final[Mapping[str, Any]] = {
    "text": "_rev",
    "adopted": "_rev",
    "number": NumberRevision("number"),
    "none": None,
}
RULES: Final = ("none", "model", "info", "factory")
SHAPES: Final = ("plain", "guarded", "versioned")
TABLES: Final = {name: Table(f"merging-{name}", revision_attribute=one) for name, one in REVISIONS.items()}
MOST: Final = 10


class Kind(NamedTuple):
    """A class: its rule, its shape, and the revision of its table. An ``adopted`` item has none yet."""

    rule: str
    shape: str
    revision: str


def _bounded(self: Any) -> Any:
    if self.a + self.b > MOST:
        raise ValueError("a + b is too much")
    return self


def _fits(value: int, info: ValidationInfo) -> int:
    if info.data.get("a", 0) + value > MOST:
        raise ValueError("a + b is too much")
    return value


def _made(kind: Kind) -> Any:
    annotations: dict[str, Any] = {"id": str, "a": int, "b": int, "c": int, "email": str | None}
    body: dict[str, Any] = {"a": 0, "b": 0, "c": 0, "email": None, "__module__": __name__}
    keywords: dict[str, Any] = {}
    if kind.rule == "model":
        body["rule"] = model_validator(mode="after")(_bounded)
    elif kind.rule == "info":
        body["rule"] = field_validator("b")(staticmethod(_fits))
    elif kind.rule == "factory":
        annotations["d"] = Annotated[int, Field(le=MOST, validate_default=True)]
        body["d"] = Field(default_factory=lambda data: data["a"] + data["b"])
    if kind.shape == "guarded":
        annotations["email"] = Annotated[str | None, Unique("_".join(kind))]
    elif kind.shape == "versioned":
        keywords["versioned"] = True
    body["__annotations__"] = annotations
    name = "".join(part.title() for part in kind)
    keywords |= {"table": TABLES[kind.revision], "pk": f"{name}#{{id}}", "sk": "S"}
    return types.new_class(name, (Entity,), keywords, lambda space: space.update(body))


CLASSES: Final = {Kind(*one): _made(Kind(*one)) for one in product(RULES, SHAPES, REVISIONS)}

# -- ways to write one field -------------------------------------------------------------------------------------------

Write = Callable[[Session, Any, dict[str, Any]], Any]
"""A write of a session: its object, and the values to write; returns what the call returns."""


def save(session: Session, entity: Any, values: dict[str, Any], **options: Any) -> Any:
    for name, value in values.items():
        setattr(entity, name, value)
    return session.save(entity, **options)


def save_once(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return save(session, entity, values, exactly_once=True)


def save_in_block(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(entity, name, value)
    with session.transaction() as tx:
        tx.save(entity)
        tx.save(type(entity)(id=f"{entity.id}-{values}"))
    return entity


def save_many(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(entity, name, value)
    session.save_many([entity], per_transaction=2)
    return entity


def update(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.update(entity, values)


def update_once(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.update(entity, values, exactly_once=True)


def update_in_block(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    with session.transaction() as tx:
        tx.update(entity, values)
        tx.check(Key(type(entity), id=entity.id), F.id == entity.id)
    return entity


def update_key(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.update(Key(type(entity), id=entity.id), values)


def update_key_once(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.update(Key(type(entity), id=entity.id), values, exactly_once=True)


def update_key_in_block(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    with session.transaction() as tx:
        tx.update(Key(type(entity), id=entity.id), values)


def upsert(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.upsert(Key(type(entity), id=entity.id), values)


def overwrite(session: Session, entity: Any, values: dict[str, Any]) -> Any:
    return session.save(type(entity)(id=entity.id, **values), overwrite=True)


PLAIN: Final[tuple[Write, ...]] = (save, update, update_key, upsert)
WAYS: Final[tuple[Write, ...]] = (
    *PLAIN, save_once, save_in_block, save_many, update_once, update_in_block, update_key_once, update_key_in_block,
    overwrite,
)  # fmt: skip
OF_OBJECTS: Final = (save, save_once, save_in_block, save_many, update, update_once, update_in_block)
"""Those that write the session's object, which then is what is stored."""

_WRITES: Final = frozenset({"PutItem", "UpdateItem", "TransactWriteItems"})


class Overtaken:
    """A transport under which another writer strikes once, just before the first write request is sent.

    ``has_written``: whether one was sent.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.strike: Callable[[], object] | None = None
        self.has_written = False

    def call(self, call: Call, /) -> Any:
        if call.operation in _WRITES:
            self.has_written = True
            if (strike := self.strike) is not None:
                self.strike = None
                strike()
        return self._inner.call(call)


def items_of(transport: Transport, table: Table) -> list[Item]:
    """Every item of a table, as stored."""
    found = transport.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]
    return sorted(found, key=repr)


def adopt(transport: Transport, table: Table) -> None:
    """Take the revisions away, as if another program had written the items."""
    for item in items_of(transport, table):
        bare = {name: value for name, value in item.items() if name != "_rev"}
        transport.call(Call("PutItem", {"TableName": table.name, "Item": bare}))


def clear(transport: Transport, table: Table) -> None:
    for item in items_of(transport, table):
        key = {name: item[name] for name in table.key_names}
        transport.call(Call("DeleteItem", {"TableName": table.name, "Key": key}))
