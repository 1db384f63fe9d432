"""Judging an item gives facts, each under one address, and all facts under an address decide what is wrong there."""

import copy
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from dynaorm.entity.table import Ident
from dynaorm.flow.integrity.finding import Fact, Finding, MemoryFactStore, Uncertainty
from dynaorm.flow.integrity.judge import KINDS, judge, judge_items
from dynaorm.flow.integrity.reads import ItemAddress, answer_from
from dynaorm.flow.integrity.scope import Scope
from dynaorm.plan.intent import UnitOfWork
from dynaorm.record import replace
from tests.flow.integrity.damaged import NOW, Items

DAMAGES = st.lists(
    st.tuples(st.sampled_from(["remove", "forget", "copy", "swap"]), st.integers(0, 10_000)), max_size=5
)


def damage(items: Items, do: str, place: int) -> None:
    """One thing that another program may do to any item."""
    everything = [(table, one) for table, found in items.items() for one in found]
    table, item = everything[place % len(everything)]
    names = [name for name in item if name not in table.key_names]
    if do == "remove":
        items[table].remove(item)
    elif do == "forget" and names:
        del item[names[place % len(names)]]
    elif do == "copy":
        last = table.key_names[-1]
        key = {**item[last], "S": f"{item[last]['S']}{place % 3}"}
        if all(one[last] != key for one in items[table]):
            items[table].append({**copy.deepcopy(item), last: key})
    elif do == "swap" and names:
        name = names[place % len(names)]
        others = [one for one in items[table] if name in one and one is not item]
        if others:
            item[name] = others[place % len(others)][name]


def folded(facts: Sequence[Fact]) -> MemoryFactStore:
    ledger = MemoryFactStore()
    for fact in facts:
        ledger.add(fact)
    return ledger


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damages=DAMAGES, random=st.randoms(use_true_random=False))
def test_findings_do_not_depend_on_who_judges_which_item(
    left: Items, damages: list[tuple[str, int]], random: Any
) -> None:
    items = {table: copy.deepcopy(found) for table, found in left.items()}
    for do, place in damages:
        damage(items, do, place)
    scope = Scope(tuple(items), (), lambda: UnitOfWork(NOW, "", str))
    addresses = [
        ItemAddress(table, {name: item[name] for name in table.key_names})
        for table, found in items.items()
        for item in found
    ]
    everything = [item for found in items.values() for item in found]
    stored = {one.ident: item for one, item in zip(addresses, everything, strict=True)}
    random.shuffle(addresses)
    judged = [answer_from(judge(one, scope), stored) for one in addresses]
    found = [diagnosis.finding for one in judged for diagnosis in one.diagnoses]
    doubts = [one.doubt for one in judged if one.doubt is not None]
    shuffled: dict[Ident, list[Fact]] = defaultdict(list)
    for one in judged:
        for fact in one.facts:
            shuffled[fact.address.ident].append(fact)
    for facts in shuffled.values():
        found += _findings_under(facts, scope, stored, doubts)
    event(f"{len(found)} findings")
    assert _told(found) == _told(judge_items(items, NOW))


def _told(findings: list[Finding]) -> Counter[str]:
    """The findings in any order. Of several doubts about a sum, any may be the first."""
    return Counter(
        str(replace(one, uncertain_because="some" if one.uncertain_because else "")) for one in findings
    )


def _findings_under(facts: list[Fact], scope: Scope, stored: Any, doubts: list[Uncertainty]) -> list[Finding]:
    ledger = folded(facts)
    return [
        diagnosis.finding
        for kind in KINDS
        for address, some in kind.left(ledger, scope)
        for diagnosis in answer_from(kind.judge_facts(address, some, scope, doubts), stored)
    ]
