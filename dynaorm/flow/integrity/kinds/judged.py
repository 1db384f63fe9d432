"""What a verification asks of a kind of items that follow from entities.

Rule 1. Judging one stored item gives facts, each under the address of the item that it concerns, and what can be told
        of the item at once. (``judge_entity``, ``judge_item``)
Rule 2. All facts under one address decide what is wrong there. No other item matters but those that the judgement
        asks for by key. (``judge_facts``)
Rule 3. A fact that the stored item confirms is settled, and need not be remembered: who finds another fact under that
        address finds this one, because the item names its holder.
Rule 4. What an item must look like is asked of the kind that writes it, in ``plan.kinds``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias

from dynaorm.entity.classify import NotAnEntity
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Ident, Table
from dynaorm.flow.call import Flow, ReadCost, gather
from dynaorm.flow.integrity.finding import (
    CheckResult,
    Fact,
    FactStore,
    Finding,
    FindingKind,
    RepairableFinding,
    Uncertainty,
    finding_of,
    not_judged,
)
from dynaorm.flow.integrity.reads import ItemAddress, Lookup, RateLimiter, StoredCheck, run_in_one_read
from dynaorm.flow.integrity.repair_actions import ClaimedItem
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.windows import CONCURRENCY
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.compiler import Renewal
from dynaorm.plan.derived import DerivedKind, Holding
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import Operations, Planned
from dynaorm.record import record

WINDOW: Final = 100
"""How many items are judged together at the end."""


Holds: TypeAlias = Callable[[EntityMapping, Item, AbstractSet[str] | None], bool]
"""Whether an entity of a class with an item like this may hold something. The set: its known fields; None for all."""


@record
class Subject:
    """A live entity as it is stored."""

    mapping: EntityMapping
    item: Item
    unit: UnitOfWork

    @property
    def key(self) -> Item:
        return self.mapping.key_of(self.item)

    @property
    def address(self) -> ItemAddress:
        return ItemAddress(self.mapping.table, self.key)

    def finding(self, kind: FindingKind, detail: str, *, repairable: bool) -> Finding:
        """A finding at the entity's own item."""
        return finding_of(kind, self.mapping, self.key, detail, repairable=repairable)


@record(frozen=False)
class MissingParts:
    """An entity, and what it lacks of what its class declares; each kind adds to that.

    Attributes:
        stored: its item, as it is stored.
        now: the same entity under the key that its class declares now.
        words: what it lacks, in words.
        attributes: what its own item gets.
        taken: the items that it gets.
        checks: that others which were named there are as they were read.
        left: a diagnosis for each item that another entity holds.
        is_stuck: it cannot be completed.
        doubt: why it must not be completed.
    """

    stored: Item
    now: Subject
    words: list[str] = field(default_factory=list)
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    taken: list[ClaimedItem] = field(default_factory=list)
    checks: dict[Ident, Planned] = field(default_factory=dict)
    left: list[RepairableFinding] = field(default_factory=list)
    is_stuck: bool = False
    doubt: str = ""

    @property
    def former_key(self) -> Item:
        """The key under which it is stored."""
        return self.now.mapping.key_of(self.stored)

    @property
    def is_moved(self) -> bool:
        """Whether it is stored under another key than its class declares now."""
        return self.former_key != self.now.key


@record(frozen=False)
class Run:
    """A verification, as far as the kinds judge in it what needs every fact.

    Attributes:
        scope: what is verified.
        limiter: the rate, and the consumption so far.
        segments: into how many segments each table is divided.
        ledger: what is remembered until every item was read.
        unstable: the items whose sums changed each time they were counted.
    """

    scope: Scope
    limiter: RateLimiter
    segments: int
    ledger: FactStore
    unstable: list[ItemAddress] = field(default_factory=list)

    def confirmed(
        self, checks: Sequence[tuple[ItemAddress, Callable[[], StoredCheck[list[RepairableFinding]]]]]
    ) -> Flow[list[RepairableFinding]]:
        """The diagnoses that remain when everything concerned is read at one moment."""
        # The checks run in several threads.
        costed = [(one, ReadCost()) for _, one in checks]
        flows = [run_in_one_read(one, self.limiter.context, cost) for one, cost in costed]
        found = yield from gather(flows, CONCURRENCY)
        self.limiter.cost.take(cost for _, cost in costed)
        return [
            diagnosis
            for (address, _), diagnoses in zip(checks, found, strict=True)
            for diagnosis in (_changing(address) if diagnoses is None else diagnoses)
        ]


def _changing(address: ItemAddress) -> list[RepairableFinding]:
    detail = "what belongs to it changed each time it was read; try again when fewer writers run"
    return [not_judged(address, detail)]


class Checker:
    """A kind of items that follow from entities, as it is verified; a kind overrides what concerns it.

    Attributes:
        derived: the kind that writes these items.
        counted: what is found only by counting, so that it is judged again by counting again.
    """

    derived: DerivedKind[Any]
    counted: frozenset[FindingKind] = frozenset()

    # -- one stored item -----------------------------------------------------------------------------------------------

    def concerns(self, mapping: EntityMapping, scope: Scope) -> bool:
        """Whether the items of this kind are verified that entities of a class hold."""
        return scope.covers(mapping) and self.derived.follows_from(mapping)

    def facts_at(self, subject: Subject, scope: Scope) -> Iterable[Fact]:
        """What an entity says of its own item, whether it can be read or not."""
        return ()

    def held(self, renewal: Renewal) -> Sequence[Holding[Any]]:
        """The items that an entity holds. Raises DynaormError if the entity does not fit its class."""
        return ()

    def facts_of(self, subject: Subject, held: Sequence[Holding[Any]]) -> Sequence[Fact]:
        """What an entity says of the items that it holds, whatever is stored there."""
        return ()

    def judge_entity(
        self, subject: Subject, renewal: Renewal, held: Sequence[Holding[Any]]
    ) -> StoredCheck[CheckResult]:
        """The facts that what is stored does not settle, and what is wrong at once."""
        yield from ()
        return CheckResult(facts=[*self.facts_of(subject, held)])

    def facts_beside(self, facts: Sequence[Fact]) -> Sequence[Fact]:
        """What an entity of a class that is not verified says of items that are verified with other classes."""
        return facts

    def judge_item(
        self, found: NotAnEntity, address: ItemAddress, item: Item, scope: Scope
    ) -> StoredCheck[CheckResult | None]:
        """What is known of an item that is no entity; None if it is not of this kind."""
        yield from ()
        return None

    def doubt_about(
        self, found: EntityMapping | NotAnEntity, table: Table, item: Item, scope: Scope
    ) -> Uncertainty | None:
        """Why an item makes sums doubtful. ``found``: its class, or what it is instead of an entity."""
        return None

    def doubt_of_unread(self, mapping: EntityMapping, scope: Scope) -> Uncertainty | None:
        """Why an entity that cannot be read makes sums doubtful."""
        return None

    def searches_for(self, address: ItemAddress) -> Iterable[Lookup]:
        """The searches of judgements that may find the item at an address."""
        return ()

    def judged_with(self, address: ItemAddress, owners: Sequence[Item]) -> StoredCheck[Sequence[ItemAddress]]:
        """The items whose judgement shows what is wrong at an address. ``owners``: those that a finding there names."""
        yield from ()
        return ()

    def facts_named(self, address: ItemAddress, owners: Sequence[Item]) -> Iterable[Fact]:
        """What the owners that a finding names say of the item at its address."""
        return ()

    def operations_of_verify(self, mapping: EntityMapping) -> Operations:
        """The operations that judge the items of this kind that entities of a class hold, but for the scans."""
        return ()

    def operations_of_repair(self, mapping: EntityMapping) -> Operations:
        """The operations that repair them, and complete entities."""
        return ()

    # -- all facts under one address -----------------------------------------------------------------------------------

    def left(self, ledger: FactStore, scope: Scope) -> Iterator[tuple[ItemAddress, Any]]:
        """The addresses that are judged at the end, each with what the ledger has under it."""
        yield from ()

    def judge_facts(
        self, address: ItemAddress, facts: Any, scope: Scope, doubts: Sequence[Uncertainty] = ()
    ) -> StoredCheck[list[RepairableFinding]]:
        """What is wrong at an address, given all facts under it."""
        raise NotImplementedError

    def judge_left(self, run: Run) -> Iterator[Flow[list[RepairableFinding]]]:
        """The last steps of a verification, each with the diagnoses that are confirmed."""
        left = self.left(run.ledger, run.scope)
        while window := list(islice(left, WINDOW)):
            checks = [(one, partial(self.judge_facts, one, facts, run.scope)) for one, facts in window]
            yield run.confirmed(checks)

    def judge_again(self, addresses: Sequence[ItemAddress], run: Run) -> Flow[list[RepairableFinding]]:
        """The diagnoses of items whose numbers were counted, counted again."""
        yield from ()
        return []

    def may_return(
        self, mapping: EntityMapping, key: Item, stored: Item | None, holds: Holds
    ) -> StoredCheck[str]:
        """Why an entity that is not stored may come back with an item of another kind; empty if it may not.

        ``stored``: what is stored under its key. ``holds``: whether it holds the item.
        """
        yield from ()
        return ""

    def operations_of_return(self, mapping: EntityMapping) -> Operations:
        """The operations of ``may_return``, but for GetItem."""
        return ()

    # -- repairs -------------------------------------------------------------------------------------------------------

    def obstacle(self, held: Holding[Any], stored: Item | None, now: float, *, is_new: bool) -> str:
        """Why an item that was read keeps an entity from being renewed, if it holds the item before or after."""
        return ""

    def under_new_key(self, mapping: EntityMapping, item: Item) -> Item | None:
        """An item stored under the key that its class had before it declared this kind, under the one it has now."""
        return None

    def complete(
        self, lacking: MissingParts, held: Sequence[Holding[Any]], scope: Scope
    ) -> StoredCheck[None]:
        """Add to what an entity lacks."""
        yield from ()


def first_doubt(doubts: Iterable[Uncertainty | None]) -> Uncertainty | None:
    """The first reason there is; None for none."""
    return next(filter(None, doubts), None)
