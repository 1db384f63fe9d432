"""Classes that keep versions, and histories of them."""

from typing import Annotated, Any

from dynaorm import Entity, Key, Session, Table, Unique, Versioned
from dynaorm.testing.clock import FakeClock
from dynaorm.transport import Call, Reply, Transport

app = Table("history-app")


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    doc_id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None


class Audit(Entity, table=app, pk="AUDIT#{audit_id}", sk="A", versioned=True):
    audit_id: str
    result: Annotated[str, Versioned()]
    note: str = ""


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str


KEY = Key(Document, doc_id="d")


def written(session: Session, count: int, clock: FakeClock | None = None) -> Document:
    """A document with this many versions, their texts "1", "2"…, an hour apart."""
    document = Document(doc_id="d", text="1")
    session.save(document)
    for number in range(2, count + 1):
        if clock is not None:
            clock.advance(3600)
        document.text = str(number)
        session.save(document)
    return document


def seeded(session: Session, moto: Transport, count: int) -> None:
    """The same made by hand, which is quicker where there are many: as saves would have left it."""
    written(session, 1)
    latest, first = (
        moto.call(
            Call(
                "GetItem",
                {"TableName": "history-app", "Key": {"PK": {"S": "DOC#d"}, "SK": {"S": sort}}},
            )
        )["Item"]
        for sort in ("v0_D", "v1_D")
    )
    for number in range(2, count + 1):
        own = {"version": {"N": str(number)}, "text": {"S": str(number)}}
        item = {**first, **own, "SK": {"S": f"v{number}_D"}}
        moto.call(Call("PutItem", {"TableName": "history-app", "Item": item}))
    moto.call(Call("PutItem", {"TableName": "history-app", "Item": {**latest, **own}}))


def numbers(session: Session, target: Any = KEY) -> list[int]:
    return [version.number for version in session.history(target)]


def stored_sorts(moto: Transport) -> set[str]:
    reply: Reply = moto.call(Call("Scan", {"TableName": "history-app"}))
    return {item["SK"]["S"] for item in reply["Items"]}
