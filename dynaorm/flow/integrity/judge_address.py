"""Judge one item of a table: what ``verify`` would find of it, without reading the others."""

from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import Diagnosis, Finding
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.judge_left import judge_left
from dynaorm.flow.integrity.ledger import MemoryLedger, remember
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck, answer_at_once
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost


def judge_address(address: ItemAddress, context: Context) -> Flow[list[Finding] | None]:
    """What is wrong with the item at an address, read as of one moment with the items that belong to it.

    Totals are not judged: they need every item that they count. None if the items change all the time.
    """
    scope = Scope((address.table,), (), lambda: unit_of_work(context), reads_everything=False)
    found = yield from answer_at_once(lambda: _judged(address, scope), context, ReadCost())
    return None if found is None else [one.finding for one in found]


def _judged(address: ItemAddress, scope: Scope) -> StoredCheck[list[Diagnosis]]:
    judgement = yield from judge(address, scope)
    ledger = MemoryLedger()
    remember(judgement, ledger)
    return [*judgement.diagnoses, *(yield from judge_left(ledger, scope))]
