"""Verify items apart from each other: a map, a shuffle and a reduce, for engines that hold tables of any size.

Rule 1. The judgements are those of ``verify``. They ask for items by address; here a join answers, not a request.
Rule 2. Both functions are pure, and facts are texts. So any engine can group them, in any order and on any machine.
Rule 3. A judgement that asks for more begins again with every answer. So an engine keeps nothing but facts.

An engine does the following, until nothing is asked any more:

1. It calls ``facts_of`` for each item.
2. It joins each fact ``ASKED`` with the facts ``STORED`` under the address that its text names, and calls
   ``findings_of`` with the key of the question and all of these. The result may ask for more.
3. It groups the facts ``CONCERNS`` by key, and calls ``findings_of`` for each group, with every doubt. Step 2 follows.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from typing import Any, Final, NamedTuple

from dynaorm.entity.declare.catalog import catalog_of, neither_table_nor_class
from dynaorm.entity.table import Ident, Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import (
    MOST_HOLDERS,
    Amount,
    CheckResult,
    Claim,
    Fact,
    Finding,
    MemoryFactStore,
    RepairableFinding,
    RepairResult,
    Uncertainty,
)
from dynaorm.flow.integrity.judge import KINDS, judge, judge_left
from dynaorm.flow.integrity.reads import ItemAddress, StoredCheck, Unanswered, try_run
from dynaorm.flow.integrity.scope import Scope, scope_of
from dynaorm.integrity.serialize import (
    address_text,
    as_json,
    fact_text,
    found_in,
    ident_text,
    parse_address,
    parse_fact,
    parse_ident,
)
from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork
from dynaorm.record import record, replace


class FactKind(StrEnum):
    """What a keyed fact says."""

    STORED = "stored"
    """The item under an address; under that of a search, one that it may find."""

    ASKED = "asked"
    """A judgement, which is the key, asks for what is stored under the address in the text."""

    CONCERNS = "concerns"
    """What an item says of another one, whose address is the key."""

    DOUBT = "doubt"
    """Why sums are doubtful; it concerns all sums of the class that is the key."""

    FINDING = "finding"
    """What is wrong, as a line of ``verify --json``. The key is the address of the item."""


class ShuffleRecord(NamedTuple):
    """A fact, under the key by which an engine groups it. All three are texts without line breaks."""

    kind: str
    key: str
    text: str


class Answer(NamedTuple):
    """What is stored under an address that a judgement asked for.

    Attributes:
        address: the text of the fact ``ASKED``.
        item: the text of a fact ``STORED`` under that address; None if there is none.
    """

    address: str
    item: str | None


@record
class KeyedScope:
    """What is verified, as plain values that every process understands.

    Attributes:
        targets: the tables and classes, each as ``module:Name``.
        now: seconds since the Unix epoch; what has expired by then is absent.
        foreign_attributes: attributes that other programs write.
        modules: the modules that declare further classes of the tables.
        doubts: the key and text of every fact ``DOUBT``. Sums are judged with all of them.
    """

    targets: tuple[str, ...]
    now: float
    foreign_attributes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def scope(self) -> Scope:
        """The scope of the verification. Raises UsageError if a target cannot be found in this process."""
        for module in self.modules:
            import_module(module)
        scope = scope_of([target_named(one) for one in self.targets], lambda: UnitOfWork(self.now, "", str))
        return replace(scope, foreign_attributes=frozenset(self.foreign_attributes))

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """The tables whose items are needed, by name."""
        return {table.name: table for table in self.scope.known_tables}


def facts_of(item: Item, table: str, declared: KeyedScope) -> Iterator[ShuffleRecord]:
    """The facts that one stored item gives.

    Args:
        item: the item, in DynamoDB's low-level form.
        table: the declared name of its table.
        declared: what is verified.
    """
    home = declared.tables[table]
    address = ItemAddress(home, {name: item[name] for name in home.key_names})
    text = encode_body(item).decode()
    yield ShuffleRecord(FactKind.STORED, ident_text(address.ident), text)
    own = encode_body(address.key).decode()
    searches = {one.ident for kind in KINDS for one in kind.searches_for(address)}
    yield from (ShuffleRecord(FactKind.STORED, ident_text(one), own) for one in searches)
    if home in declared.scope.tables:
        yield from _judged_item(address, {address.ident: [item]}, declared)


def findings_of(key: str, facts: Iterable[str | Answer], declared: KeyedScope) -> Iterator[ShuffleRecord]:
    """What follows from all facts under one key: findings, and facts that have to be grouped again.

    Args:
        facts: under the key of a question, every answer; under an address, the texts of all facts ``CONCERNS``.
        declared: what is verified.
    """
    if key.startswith(_QUESTION):
        answers: dict[str, list[Item]] = {}
        for one in facts:
            assert isinstance(one, Answer)
            found = answers.setdefault(one.address, [])
            if one.item is not None:
                found.append(decode_body(one.item.encode()))
        known = {}
        for text, items in answers.items():
            known[parse_ident(text)] = items
        question = json.loads(key)
    else:
        known, question = {}, [_LEFT, folded([str(one) for one in facts], declared)]
    if question[0] == _LEFT:
        yield from _judged_left(question[1], known, declared)
    else:
        yield from _judged_item(parse_address(question[1], declared.tables), known, declared)


# The keys of questions begin with a number, and those of addresses with a text.
_ITEM, _LEFT = 1, 2
_QUESTION: Final = ("[1", "[2")


def _judged_item(
    address: ItemAddress, known: Mapping[Ident, Sequence[Item]], declared: KeyedScope
) -> Iterator[ShuffleRecord]:
    found = try_run(judge(address, declared.scope), known)
    if isinstance(found, Unanswered):
        question = json.dumps([_ITEM, address_text(address)])
        yield from _asked(question, found)
        return
    assert isinstance(found, CheckResult)
    yield from (keyed(one.finding) for one in found.diagnoses)
    for fact in found.facts:
        yield keyed(fact)
    if found.doubt is not None:
        yield keyed(found.doubt)


def _judged_left(
    facts: Sequence[str], known: Mapping[Ident, Sequence[Item]], declared: KeyedScope
) -> Iterator[ShuffleRecord]:
    ledger = MemoryFactStore()
    for source, reason in declared.doubts:
        ledger.doubt(Uncertainty(source or None, reason))
    for text in facts:
        ledger.add(parse_fact(text, declared.tables))
    check: StoredCheck[list[RepairableFinding]] = judge_left(ledger, declared.scope)
    found = try_run(check, known)
    if isinstance(found, Unanswered):
        yield from _asked(json.dumps([_LEFT, facts]), found)
    else:
        yield from (keyed(one.finding) for one in found)


def keyed(said: Finding | RepairResult | Fact | Uncertainty) -> ShuffleRecord:
    """What a run says, as an engine groups it."""
    match said:
        case Uncertainty():
            return ShuffleRecord(FactKind.DOUBT, said.source or "", said.reason)
        case Claim() | Amount():
            return ShuffleRecord(FactKind.CONCERNS, ident_text(said.address.ident), fact_text(said))
    finding = said.finding if isinstance(said, RepairResult) else said
    key = ident_text((finding.table, *(repr(value) for value in finding.item_key.values())))
    return ShuffleRecord(FactKind.FINDING, key, as_json(said, with_secrets=True))


def finding_of(fact: ShuffleRecord, declared: KeyedScope) -> Finding | RepairResult:
    """The finding in a fact ``FINDING``, or what became of it."""
    return found_in(fact.text, declared.tables.values())


def records_of(fact: ShuffleRecord, declared: KeyedScope) -> Fact | Uncertainty:
    """The fact or doubt that an engine groups."""
    if fact.kind == FactKind.DOUBT:
        return Uncertainty(fact.key or None, fact.text)
    return parse_fact(fact.text, declared.tables)


def _asked(question: str, asked: Unanswered) -> Iterator[ShuffleRecord]:
    for ident in asked.addresses:
        yield ShuffleRecord(FactKind.ASKED, question, ident_text(ident))


def folded(texts: Iterable[str], declared: KeyedScope) -> list[str]:
    """As few facts ``CONCERNS`` as say the same about one address. An engine may fold them as early as it likes.

    Args:
        texts: the texts of facts under one key.
        declared: what is verified.
    """
    ledger = MemoryFactStore()
    held: set[str] = set()
    for text in texts:
        fact = parse_fact(text, declared.tables)
        if isinstance(fact, Amount):
            ledger.add(fact)
        else:
            held.add(text)
    sums = [fact_text(Amount(address, numbers)) for address, numbers in ledger.sums()]
    # Those that are kept do not depend on the order of the facts.
    return [*sorted(held)[:MOST_HOLDERS], *sums]


# -- targets -----------------------------------------------------------------------------------------------------------


def target_named(text: str) -> Table | type[Any]:
    """The table or class that ``module:Name`` names. Raises UsageError."""
    module, _, path = text.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as failure:
        raise UsageError(
            problem=f"{text!r} cannot be found: {failure}",
            remedy="write module:Table or module:Class, and let every process import the module",
        ) from failure
    if not isinstance(found, Table | type):
        raise neither_table_nor_class(text)
    return found


def name_of(target: Table | type[Any] | str) -> str:
    """The name ``module:Name`` by which other processes find a table or class. Raises UsageError if it has none."""
    if isinstance(target, str):
        target_named(target)
        return target
    given: object = target
    if not isinstance(given, Table | type):
        raise neither_table_nor_class(shown(given))
    if isinstance(target, type):
        names = [f"{target.__module__}:{target.__qualname__}"]
    else:
        # The program that runs has another name in its processes.
        modules = [(name, one) for name, one in sys.modules.items() if name != "__main__"]
        found = (
            (module, name) for module, one in modules for name, value in _named_in(one) if value is target
        )
        names = sorted(f"{module}:{name}" for module, name in found)
    for name in names:
        if "<locals>" not in name and target_named(name) is target:
            return name
    named = target.__qualname__ if isinstance(target, type) else f"the table {target.name!r}"
    raise UsageError(
        problem=f"other processes cannot find {named}: no module has it under a name",
        remedy="name it as 'module:Name'",
    )


def modules_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """The modules that declare the classes of some tables, for other processes: any module may declare one."""
    found = {one.entity.__module__ for table in tables for one in catalog_of(table).mappings.values()}
    return tuple(sorted(found - {"__main__"}))


def _named_in(module: Any) -> list[tuple[str, Any]]:
    """What a module names; nothing if it is one of those that only look like a module."""
    return list(getattr(module, "__dict__", {}).items())
