"""Events to load in bulk, and answers to BatchWriteItem."""

from typing import Any

from dynaorm import Entity, Retry, Session, Table
from dynaorm.errors import BulkError
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport
from dynaorm.transport import Call, NoAnswer, Refusal

app = Table("bulk-load-app")


class Event(Entity, table=app, pk="EVENT#{event_id}", sk="E"):
    event_id: int
    text: str = ""


def puts(call: Call) -> list[Item]:
    """The items of a request, of whatever table."""
    assert call.operation == "BatchWriteItem"
    found = [put["PutRequest"]["Item"] for each in call.request["RequestItems"].values() for put in each]
    assert 1 <= len(found) <= 25
    return found


def ids(call: Call) -> list[int]:
    return [int(item["event_id"]["N"]) for item in puts(call)]


def leaving(*numbers: int) -> Answer:
    """Everything is processed but these events."""

    def answer(call: Call) -> dict[str, Any]:
        ((table, requests),) = call.request["RequestItems"].items()
        left = [one for one in requests if int(one["PutRequest"]["Item"]["event_id"]["N"]) in numbers]
        return {"UnprocessedItems": {table: left} if left else {}}

    return answer


DONE = leaving()
SILENCE = NoAnswer("timeout")
REFUSED = Refusal("ValidationException", "what is wrong with an item")


def opened(*answers: Answer, attempts: int = 3) -> tuple[Session, ScriptedTransport, FakeClock]:
    transport, clock = ScriptedTransport(*answers), FakeClock(ids="id-")
    return Session(transport=transport, clock=clock, retry=Retry(attempts=attempts)), transport, clock


def events(count: int) -> list[Event]:
    return [Event(event_id=number) for number in range(count)]


def failures(error: BulkError) -> list[tuple[Any, type[Exception]]]:
    return [(one, type(why)) for one, why in error.failures]
