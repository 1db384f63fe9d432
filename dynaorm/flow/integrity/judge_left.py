"""Judge what is left when every item was read: the addresses under which facts are remembered."""

from dynaorm.flow.integrity.finding import Diagnosis
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.ledger import Ledger
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import StoredCheck


def judge_left(ledger: Ledger, scope: Scope) -> StoredCheck[list[Diagnosis]]:
    """What is wrong at the addresses of a ledger, one address after the other."""
    found: list[Diagnosis] = []
    for kind in KINDS:
        for address, facts in kind.left(ledger, scope):
            found += yield from kind.judge_facts(address, facts, scope, ledger.doubts())
    return found
