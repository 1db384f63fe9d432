"""Inquiries: judgements that ask for items as they need them, and do not care how these are read.

One inquiry serves twice. Many are answered together, by batches of 100 keys, to find what looks wrong. One is answered
at once, by a transaction that reads everything it asks for at one moment, to be sure of it: no write can come between.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias, TypeVar

from dynaorm.entity.table import Table
from dynaorm.flow.bulk.limits import CONCURRENCY, windows
from dynaorm.flow.protocol.call import Call, Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import BATCH_GET_LIMIT, get_items, repeat
from dynaorm.item.value import Item
from dynaorm.plan.reads import Ident, ident_of
from dynaorm.record import record

T = TypeVar("T")

TRANSACT_GET_LIMIT: Final = 100
"""TransactGetItems takes at most 100 items (Amazon DynamoDB API Reference)."""

# How often an inquiry is begun again because what it needs changed meanwhile.
_ROUNDS: Final = 12


@record
class ItemAddress:
    """Where an item is, or would be."""

    table: Table
    key: Item

    @property
    def ident(self) -> Ident:
        return ident_of(self.table, self.key)


StoredCheck: TypeAlias = Generator[Sequence[ItemAddress], Sequence[Item | None], T]
"""Asks for items by their places, is sent them in order (None for none), and ends with what it found out."""


@record(frozen=False)
class _RunningCheck:
    check: StoredCheck[Any]
    wanted: Sequence[ItemAddress] = ()
    result: Any = None
    is_over: bool = False

    def go_on(self, items: Sequence[Item | None] | None) -> None:
        try:
            self.wanted = next(self.check) if items is None else self.check.send(items)
        except StopIteration as stop:
            self.result, self.is_over = stop.value, True


def answer_all(
    checks: Iterable[StoredCheck[T]], seen: Mapping[Ident, Item], context: Context, cost: ReadCost
) -> Flow[list[T]]:
    """The results of many inquiries, answered together, strongly consistent; ``seen`` need not be read again."""
    asking = [_RunningCheck(one) for one in checks]
    known: dict[Ident, Item | None] = dict(seen)
    for one in asking:
        one.go_on(None)
    while waiting := [one for one in asking if not one.is_over]:
        addresses = {
            address.ident: address for one in waiting for address in one.wanted if address.ident not in known
        }
        known.update(dict.fromkeys(addresses))
        known.update((yield from read_addresses(addresses.values(), context, cost)))
        for one in waiting:
            one.go_on([known[address.ident] for address in one.wanted])
    return [one.result for one in asking]


def read_addresses(
    addresses: Iterable[ItemAddress], context: Context, cost: ReadCost
) -> Flow[dict[Ident, Item]]:
    """The items that are stored in some places, strongly consistent, several batches at a time."""
    of_table: dict[str, tuple[Table, list[Item]]] = {}
    for address in addresses:
        of_table.setdefault(address.table.name, (address.table, []))[1].append(address.key)
    batches = [
        (table, batch, ReadCost())
        for table, keys in of_table.values()
        for batch in windows(keys, BATCH_GET_LIMIT)
    ]
    read = yield from gather(
        [
            get_items(context.table_name(table.name), batch, context, consistent=True, cost=each)
            for table, batch, each in batches
        ],
        CONCURRENCY,
    )
    cost.take(each for _, _, each in batches)
    return {
        ident_of(table, item): item
        for (table, _, _), items in zip(batches, read, strict=True)
        for item in items
    }


@record(frozen=False)
class _Snapshot:
    """What an inquiry may know, and what it asked for."""

    items: Mapping[Ident, Item | None]
    asked: dict[Ident, ItemAddress] = field(default_factory=dict)

    def answers(self, wanted: Sequence[ItemAddress]) -> list[Item | None] | None:
        """The items asked for; None where one of them was not read."""
        self.asked.update((address.ident, address) for address in wanted)
        if any(address.ident not in self.items for address in wanted):
            return None
        return [self.items[address.ident] for address in wanted]


def answer_at_once(begin: Callable[[], StoredCheck[T]], context: Context, cost: ReadCost) -> Flow[T | None]:
    """The result of an inquiry to which all answers are of one moment; None where it changes all the time.

    Everything it asked for is read by one transaction. Where that makes it ask for more, it begins anew.
    """
    items: Mapping[Ident, Item | None] = {}
    for _ in range(_ROUNDS):
        snapshot = _Snapshot(items)
        asking = _RunningCheck(begin())
        asking.go_on(None)
        while not asking.is_over and (answers := snapshot.answers(asking.wanted)) is not None:
            asking.go_on(answers)
        if asking.is_over:
            result: T = asking.result
            return result
        asking.check.close()
        if len(snapshot.asked) > TRANSACT_GET_LIMIT:
            return None
        items = yield from _read_at_once(snapshot.asked, context, cost)
    return None


def _read_at_once(
    addresses: Mapping[Ident, ItemAddress], context: Context, cost: ReadCost
) -> Flow[dict[Ident, Item | None]]:
    gets = [
        {"Get": {"TableName": context.table_name(address.table.name), "Key": dict(address.key)}}
        for address in addresses.values()
    ]
    call = Call("TransactGetItems", {"TransactItems": gets, "ReturnConsumedCapacity": "TOTAL"})
    reply = yield from repeat(call, context)
    cost.add(reply)
    return {ident: one.get("Item") or None for ident, one in zip(addresses, reply["Responses"], strict=True)}
