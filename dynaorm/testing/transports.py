"""Transports for tests: one answers from a script, and one tells what each write does to each item."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.table import Table
from dynaorm.failure import counted
from dynaorm.flow.call import Call, NoAnswer, Refusal, Reply, Transport
from dynaorm.item.value import Item

Answer: TypeAlias = Mapping[str, Any] | Refusal | NoAnswer | Callable[[Call], Reply]
"""A reply, a failure to raise, or a function of the call that returns or raises one."""


class ScriptedTransport:
    """A ``Transport`` that gives one answer per call, in order.

    ``calls`` holds every call, including those that were refused or not answered.

    Args:
        *answers: replies, failures, or functions of the call.

    Examples:
        >>> transport = ScriptedTransport({"Item": {"PK": {"S": "USER#1"}}}, NoAnswer("timeout"))
        >>> transport.call(Call("GetItem", {}))
        {'Item': {'PK': {'S': 'USER#1'}}}
        >>> transport.remaining
        1
    """

    def __init__(self, *answers: Answer) -> None:
        self.calls: list[Call] = []
        self._answers = deque(answers)

    @property
    def remaining(self) -> int:
        """The number of answers that are left."""
        return len(self._answers)

    def call(self, call: Call, /) -> Reply:
        """Return or raise the next answer.

        Args:
            call: the request.

        Raises:
            Refusal, NoAnswer: the next answer is one.
            AssertionError: the script has no answer left; the message lists the calls.

        Examples:
            >>> ScriptedTransport({"TableNames": []}).call(Call("ListTables", {}))
            {'TableNames': []}
        """
        self.calls.append(call)
        if not self._answers:
            raise AssertionError(self._exhausted())
        answer = self._answers.popleft()
        if isinstance(answer, Refusal | NoAnswer):
            raise answer
        return answer(call) if callable(answer) else answer

    def _exhausted(self) -> str:
        operations = ", ".join(call.operation for call in self.calls)
        answers = counted(len(self.calls) - 1, "answer")
        return (
            f"The script has {answers}, and call {len(self.calls)} was made: {operations}. "
            f"Its request: {self.calls[-1].request!r}. Add an answer, or remove the call"
        )


class ItemWrite(NamedTuple):
    """What a write did to one item: the item before and after it; None where nothing is stored."""

    table: Table
    old: Item | None
    new: Item | None


Watcher = Callable[[ItemWrite], None]


class WatchedTransport:
    """Passes calls on. While somebody watches, it reads the items of a write before and after it.

    Args:
        inner: the transport to the DynamoDB.
        table_of: the declared table of a physical name; None for a table that nobody watches.
    """

    def __init__(self, inner: Transport, table_of: Callable[[str], Table | None]) -> None:
        self._inner = inner
        self._table_of = table_of
        self._watchers: list[Watcher] = []
        # One write at a time, or the items before it would be those of another one.
        self._writing = threading.RLock()

    @contextmanager
    def watching(self, watcher: Watcher) -> Iterator[None]:
        """Call a function for each item that a write of the block changed, in the order of the writes."""
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    def call(self, call: Call, /) -> Reply:
        """Make the call."""
        places = list(self._written(call)) if self._watchers else []
        if not places:
            return self._inner.call(call)
        with self._writing:
            before = [self._stored(name, key) for name, _, key in places]
            try:
                return self._inner.call(call)
            finally:
                for (name, table, key), old in zip(places, before, strict=True):
                    self._tell(ItemWrite(table, old, self._stored(name, key)))

    def _tell(self, write: ItemWrite) -> None:
        if write.old != write.new:
            for watcher in self._watchers:
                watcher(write)

    def _stored(self, name: str, key: Item) -> Item | None:
        request = {"TableName": name, "Key": dict(key), "ConsistentRead": True}
        reply: Any = self._inner.call(Call("GetItem", request))
        found: Item | None = reply.get("Item")
        return found

    def _written(self, call: Call) -> Iterator[tuple[str, Table, Item]]:
        """The items that a call may write: the physical name of their table, the table, and the key."""
        for name, action in _actions(call.operation, call.request):
            table = self._table_of(name)
            if table is not None:
                item = action.get("Item") or action["Key"]
                yield name, table, {key: item[key] for key in table.key_names}


def _actions(operation: str, request: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The writes of a request, each with the physical name of its table."""
    if operation in ("PutItem", "UpdateItem", "DeleteItem"):
        yield request["TableName"], request
    elif operation == "TransactWriteItems":
        actions = (action for one in request["TransactItems"] for action in one.values())
        yield from ((action["TableName"], action) for action in actions)
    elif operation == "BatchWriteItem":
        for name, writes in request["RequestItems"].items():
            yield from ((name, action) for write in writes for action in write.values())
