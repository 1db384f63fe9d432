"""AWS's published priority queue: an index says what waits, and a version in a map decides every race."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from dynaorm import (
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    NumberKey,
    NumberRevision,
    Session,
    Table,
    inspect,
)
from dynaorm.errors import ConditionFailed
from tests.story.engine import Engine

shipments = Table(
    "Shipment",
    pk="id",
    sk=None,
    indexes=[
        GlobalIndex("queue", pk=NumberKey("queued"), sk="last_updated_timestamp", projection="KEYS_ONLY")
    ],
    type_attribute=None,
    revision_attribute=NumberRevision("system_info.version"),
)


class SystemInfo(BaseModel):
    """What the queue knows of a shipment. The members that the sample adds later are absent until then."""

    status: str
    creation_timestamp: str
    last_updated_timestamp: str
    queued: int = 0
    queue_add_timestamp: str | None = None
    peek_utc_timestamp: int | None = None


class Shipment(Entity, table=shipments, pk="{id}"):
    id: str
    info: Annotated[SystemInfo, Attribute("system_info")]
    updated: Annotated[str, Attribute("last_updated_timestamp")]
    queued: int | None = None
    waiting = Index("queue")


def item(number: int, *, version: int = 1, **more: Any) -> dict[str, Any]:
    """A shipment as the sample's code in Java stores it."""
    at = {"S": f"2024-05-01T12:00:0{number}Z"}
    return {
        "id": {"S": f"A-10{number}"},
        "data": {"M": {"items": {"L": [{"M": {"SKU": {"S": "1"}}}]}}},
        "last_updated_timestamp": at,
        "system_info": {
            "M": {
                "id": {"S": f"A-10{number}"}, "status": {"S": "READY_TO_SHIP"}, "creation_timestamp": at,
                "last_updated_timestamp": at, "version": {"N": str(version)}, "queued": {"N": "0"},
            }
        },
        **more,
    }  # fmt: skip


@pytest.fixture
def queue(engine: Engine) -> Iterator[Session]:
    engine.create(shipments)
    for number in (1, 2):
        engine.put(shipments, **item(number))
    with engine.session() as session:
        yield session


NOON = "2024-05-01T12:30:00Z"


def enqueue(session: Session, identifier: str, version: int, now: str) -> Shipment:
    return session.update(
        Key(Shipment, id=identifier),
        F.queued.set(1),
        F.updated.set(now),
        F.info.queued.set(1),
        F.info.last_updated_timestamp.set(now),
        F.info.queue_add_timestamp.set(now),
        condition=F.info.version == version,
    )


def test_each_step_is_one_update_that_keeps_what_the_class_does_not_know(
    queue: Session, engine: Engine
) -> None:
    shipment = enqueue(queue, "A-101", 1, NOON)
    assert engine.operations == ["UpdateItem"]
    (stored,) = [one for one in engine.raw(shipments) if one["id"] == {"S": "A-101"}]
    expected = item(1, queued={"N": "1"}, version=2, last_updated_timestamp={"S": NOON})
    expected["system_info"]["M"] |= {
        "queued": {"N": "1"}, "last_updated_timestamp": {"S": NOON}, "queue_add_timestamp": {"S": NOON},
    }  # fmt: skip
    assert stored == expected
    assert inspect(shipment).revision == "2"


def test_the_shipment_that_has_waited_longest_is_taken_by_one_worker(queue: Session, engine: Engine) -> None:
    enqueue(queue, "A-102", 1, NOON)
    enqueue(queue, "A-101", 1, "2024-05-01T12:31:00Z")
    engine.forget()
    first = queue.query(Shipment.waiting, queued=1).first()
    assert engine.operations == ["Query", "BatchGetItem"]
    assert first is not None
    assert first.id == "A-102"
    engine.forget()
    seen = int(inspect(first).revision or 0)
    take = Key(Shipment, id=first.id), F.info.peek_utc_timestamp.set(1)
    taken = queue.update(*take, condition=F.info.version == seen)
    assert engine.operations == ["UpdateItem"]
    with pytest.raises(ConditionFailed):
        queue.update(*take, condition=F.info.version == seen)
    # Its place in the queue is as it was, because the time in the index stays.
    assert [one.id for one in queue.query(Shipment.waiting, queued=1)] == ["A-102", "A-101"]
    done = queue.update(taken, F.queued.remove(), F.info.queued.set(0))
    assert [one.id for one in queue.query(Shipment.waiting, queued=1)] == ["A-101"]
    assert (done.queued, inspect(done).revision) == (None, "4")
    assert list(queue.verify(shipments)) == []
