"""A server that answers every DynamoDB request at once, so that only the client's own cost is measured.

A Scan is answered with pages of events, a GetItem with the event of its key, everything else with ``{}``.
"""

import contextlib
import json
import re
import sys
from collections.abc import Iterator

from benchmarks.server import StubConnection, found_in, response, running, serve

PAGE = 1000
"""Items in a page of a Scan."""

_NUMBER = re.compile(rb'"PK": *\{"S": *"EVENT#(\d+)"')


def page_of_events(first: int, last: int, *, more: bool) -> bytes:
    """The body of a page: events from one number to another, both included; ``more`` if the table has others."""
    body: dict[str, object] = {"Items": [event_item(number) for number in range(first, last + 1)]}
    if more:
        body["LastEvaluatedKey"] = {name: event_item(last)[name] for name in ("PK", "SK")}
    return _json(body)


def event_item(number: int) -> dict[str, dict[str, object]]:
    """The stored item of an event."""
    return {
        "PK": {"S": f"EVENT#{number:09d}"},
        "SK": {"S": "EVENT"},
        "_type": {"S": "Event"},
        "_rev": {"S": "2Z4kYVzqV0nY0yRk3nYJ2n3c9nB"},
        "number": {"N": str(number)},
        "kind": {"S": "page opened"},
        "visitor": {"S": "Bobby Tables"},
        "tags": {"L": [{"S": "new"}, {"S": "gift"}]},
    }


def _json(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


class Stub(StubConnection):
    """A connection to a table of events."""

    total = 0
    _empty = response(b"{}")

    def reply(self, operation: bytes, body: bytes) -> bytes:
        if operation == b"Scan":
            first = int(found_in(body, _NUMBER, b"-1")) + 1
            last = min(first + PAGE, self.total) - 1
            return response(page_of_events(first, last, more=last + 1 < self.total))
        if operation == b"GetItem" and (number := found_in(body, _NUMBER, b"")):
            return response(_json({"Item": event_item(int(number))}))
        return self._empty


@contextlib.contextmanager
def stub_server(items: int = 0) -> Iterator[str]:
    """The endpoint of a stub in a process of its own; a Scan finds so many items."""
    with running("benchmarks.stub", str(items)) as endpoint:
        yield endpoint


if __name__ == "__main__":
    Stub.total = int(sys.argv[1])
    serve(Stub)
