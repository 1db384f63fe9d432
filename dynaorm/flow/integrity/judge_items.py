"""Judge items in memory: the findings of a verification, if these are all the items of some tables."""

from collections.abc import Iterable, Iterator, Mapping

from dynaorm.entity.ident import Ident
from dynaorm.entity.table import Table
from dynaorm.flow.integrity.finding import Diagnosis, Finding
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.judge_left import judge_left
from dynaorm.flow.integrity.ledger import MemoryLedger, remember
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, answer_from
from dynaorm.item.value import Item
from dynaorm.plan.unit_of_work import UnitOfWork


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


def _diagnoses(stored: Mapping[Ident, tuple[ItemAddress, Item]], scope: Scope) -> Iterator[Diagnosis]:
    items = {ident: item for ident, (_, item) in stored.items()}
    ledger = MemoryLedger()
    for address, _ in stored.values():
        judgement = answer_from(judge(address, scope), items)
        yield from judgement.diagnoses
        remember(judgement, ledger)
    yield from answer_from(judge_left(ledger, scope), items)
