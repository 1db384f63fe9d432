"""Judge items without a run: all items of some tables in memory, or the item at one address.

Either way the items are judged one by one, and then the addresses under which facts are left.
"""

from collections.abc import Iterable, Iterator, Mapping

from dynaorm.entity.table import Ident, Table
from dynaorm.flow.call import Context, Flow, ReadCost
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import Finding, RepairableFinding
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.ledger import FactStore, MemoryFactStore, remember
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck, answer_from, run_in_one_read
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork


def judge_items(items: Mapping[Table, Iterable[Item]], now: float) -> list[Finding]:
    """Everything that is wrong with these items, in the order of the items; what needs every item comes last.

    Args:
        items: every item of each table. Tables that depend on each other must be given together.
        now: seconds since the Unix epoch; what has expired by then is absent.
    """
    scope = Scope(tuple(items), (), lambda: UnitOfWork(now, "", str))
    stored = {
        address.ident: (address, item)
        for table, found in items.items()
        for item in found
        for address in (ItemAddress(table, {name: item[name] for name in table.key_names}),)
    }
    return [diagnosis.finding for diagnosis in _diagnoses(stored, scope)]


def _diagnoses(stored: Mapping[Ident, tuple[ItemAddress, Item]], scope: Scope) -> Iterator[RepairableFinding]:
    items = {ident: item for ident, (_, item) in stored.items()}
    ledger = MemoryFactStore()
    for address, _ in stored.values():
        judgement = answer_from(judge(address, scope), items)
        yield from judgement.diagnoses
        remember(judgement, ledger)
    yield from answer_from(judge_left(ledger, scope), items)


def judge_address(address: ItemAddress, context: Context) -> Flow[list[Finding] | None]:
    """What is wrong with the item at an address, read as of one moment with the items that belong to it.

    Totals are not judged: they need every item that they count. None if the items change all the time.
    """
    scope = Scope((address.table,), (), lambda: unit_of_work(context), reads_everything=False)
    found = yield from run_in_one_read(lambda: _judged(address, scope), context, ReadCost())
    return None if found is None else [one.finding for one in found]


def _judged(address: ItemAddress, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    judgement = yield from judge(address, scope)
    ledger = MemoryFactStore()
    remember(judgement, ledger)
    return [*judgement.diagnoses, *(yield from judge_left(ledger, scope))]


def judge_left(ledger: FactStore, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    """What is wrong at the addresses of a ledger, one address after the other."""
    found: list[RepairableFinding] = []
    for kind in KINDS:
        for address, facts in kind.left(ledger, scope):
            found += yield from kind.judge_facts(address, facts, scope, ledger.doubts())
    return found
