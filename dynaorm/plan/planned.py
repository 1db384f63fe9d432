"""One action of a plan, why it is there, and the kind of item that it writes."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Final, TypeAlias

from dynaorm.entity.ident import Ident, ident_of
from dynaorm.entity.key import Key, key_texts, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.errors import StoreError, Violation
from dynaorm.item.action import Action, ConditionCheck, Put
from dynaorm.item.condition import Condition
from dynaorm.item.path import Path
from dynaorm.item.value import AttributeValue, Item
from dynaorm.item.value_text import name_text
from dynaorm.plan.item_change import Requirement
from dynaorm.record import record

FAILED: Final = "ConditionalCheckFailed"
"""DynamoDB's code for an action whose condition does not hold."""


class Purpose(Enum):
    """Why an action is in a plan. Each kind of item has purposes of its own."""


@record(quick=True)
class Basis:
    """What the action on an entity's item was compiled from.

    Attributes:
        expected: the revision the stored item must carry.
        expected_values: without a revision, the attribute values that must be stored, by their paths (None: absent).
        has_condition: the caller's own condition is part of the action.
        blind: nothing was known of what is stored.
        from_read: what is expected came from a read of ours, not from the caller's entity.
        bounds: of a ``blind`` action, the part of its condition that holds it to the rules of its fields.
        requires: of a deletion, what else must hold.
    """

    expected: str | None = None
    expected_values: Mapping[Path, AttributeValue | None] | None = None
    has_condition: bool = False
    blind: bool = False
    from_read: bool = False
    bounds: Condition | None = None
    requires: Requirement | None = None


NOTHING_EXPECTED: Final = Basis()


@record(quick=True)
class Planned:
    """One action and its reason.

    Attributes:
        action: what is sent.
        kind: the kind of item that it writes, which knows what a refusal of it means.
        purpose: why.
        mapping: the class it is about.
        entity_key: the primary key of the entity it is about.
        before: what is believed to be stored; None for nothing, or for not known.
        after: what will be stored; None for nothing, or for not known.
        revision: the revision this action writes, by which its own commit is recognised.
        basis: what it was compiled from.
        label: what only its kind reads, such as the number of a version.
    """

    action: Action
    kind: "Kind"
    purpose: Purpose
    mapping: EntityMapping
    entity_key: Item
    before: Item | None = None
    after: Item | None = None
    revision: str | None = None
    basis: Basis = NOTHING_EXPECTED
    label: Any = None

    def __repr__(self) -> str:
        # The action has every value.
        return f"<{self.purpose.value} of {self.subject!r}>"

    @property
    def subject(self) -> Key[Any]:
        """The entity it is about."""
        return stored_key(self.mapping, self.entity_key)

    @property
    def name(self) -> str:
        """The entity it is about, in words."""
        key = self.subject
        assert key.entity is not None
        texts = key_texts(key, name_text)
        return f"{key.entity.__name__}({', '.join(f'{name}={text}' for name, text in texts.items())})"

    @property
    def table(self) -> Table:
        """The declared table of the item it writes."""
        return self.kind.home(self.mapping)

    @property
    def item_key(self) -> Item:
        """The primary key of the item it writes; for guards, versions and token items not the ``entity_key``."""
        action = self.action
        if type(action) is Put:
            return {name: action.item[name] for name in self.table.key_names}
        return action.key

    @property
    def ident(self) -> Ident:
        """The identity of the item it writes."""
        action = self.action
        return ident_of(self.table, action.item if type(action) is Put else action.key)

    @property
    def expected(self) -> str | None:
        """The revision the stored item must carry."""
        return self.basis.expected

    @property
    def expected_values(self) -> Mapping[Path, AttributeValue | None] | None:
        """Without a revision, the attribute values that must be stored, by their paths (None: absent)."""
        return self.basis.expected_values

    @property
    def blind(self) -> bool:
        """It was compiled without knowing what is stored."""
        return self.basis.blind

    @property
    def from_read(self) -> bool:
        """What it expects came from a read of ours, not from the caller's entity."""
        return self.basis.from_read

    @property
    def is_evidence(self) -> bool:
        """Whether the item, as the action leaves it, proves that the plan was committed."""
        return self.kind.is_evidence and self.is_write

    @property
    def is_write(self) -> bool:
        """Whether it changes its item, and does not only check it."""
        return type(self.action) is not ConditionCheck

    @property
    def is_repeatable(self) -> bool:
        """Whether an equal block sends the same action, whatever is stored, and whenever it runs."""
        return self.kind.is_repeatable(self)

    @property
    def reason(self) -> str:
        """Why it is in its plan."""
        return self.kind.reason(self)

    def has_written(self, item: Item | None) -> bool:
        """Whether an item carries the revision that the action writes."""
        return (
            item is not None
            and self.revision is not None
            and self.mapping.table.mark_of(item) == self.revision
        )


@record
class FailedAction:
    """One failed action: DynamoDB's code and message, and the item that its condition was evaluated on."""

    planned: Planned
    code: str
    message: str
    item: Item | None


@record
class StaleKnowledge:
    """The plan was compiled from knowledge that is out of date: compile it again with these items.

    ``foreign``: items that belong to other entities, and are left alone. ``unread``: updates without a read whose items
    have to be read first.
    """

    items: dict[Ident, Item | None] = field(default_factory=dict)
    foreign: frozenset[Ident] = frozenset()
    unread: tuple[Planned, ...] = ()


Operations: TypeAlias = Iterable[tuple[Table, frozenset[str]]]
"""Operations of DynamoDB on the items of some tables, as IAM policies name them."""

PartitionKey: TypeAlias = tuple[EntityMapping, Table, KeyPart | str]
"""What the partition keys of items in a table are: a template, or the text that they begin with. The class names it."""

Judged: TypeAlias = StoreError | Violation | StaleKnowledge
"""What the refusal of one action means."""


class Kind:
    """A kind of item: where its items are, what a refusal of an action on one means, and how the action is said.

    Each kind has one object, which a pickled plan names.

    Attributes:
        is_evidence: an item of a plan that is stored proves that the plan was committed: no other plan writes it.
        is_secondary: its refusal only says that another writer was first, if another action was refused, too.
        is_permanent: nobody gives up an item or takes over another's, so the new holder alone says what follows.
        is_contested: several entities may want one item, so what is right depends on what it says.
        is_memory: its item remembers that the block was applied. It is the last of the block.
        most_bytes: the size that no item of the kind exceeds; None if each has to be measured.
    """

    is_evidence = False
    is_secondary = False
    is_permanent = False
    is_contested = False
    is_memory = False
    most_bytes: int | None = None

    def home(self, mapping: EntityMapping) -> Table:
        """The table of the items that belong to the entities of a class."""
        return mapping.table

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        """The operations on items of this kind that belong to the writes of a class's entities."""
        raise NotImplementedError

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        """The partition keys of the items of this kind that belong to a class's entities."""
        raise NotImplementedError

    def judged(self, failed: FailedAction, now: float) -> Judged:
        """What it means that the condition of an action does not hold."""
        raise NotImplementedError

    def refused(self, mapping: EntityMapping, violations: tuple[Violation, ...]) -> StoreError:
        """The error of an entity of a class that cannot have these items, because others have them."""
        raise NotImplementedError

    def reason(self, planned: Planned) -> str:
        """Why an action is in its plan."""
        raise NotImplementedError

    def is_repeatable(self, planned: Planned) -> bool:
        """Whether the action of an equal block is equal, whatever is stored, and whenever it runs."""
        # The clock says which times a write sets, and what counts as expired in a table with TTL.
        mapping = planned.mapping
        asks_clock = bool(mapping.timed) or mapping.expires is not None or planned.table.expiry is not None
        return not asks_clock and not planned.from_read and planned.before is None

    def said(self, planned: Planned) -> str:
        """The item in words that a log may have: without its values."""
        raise NotImplementedError

    def shown_key(self, planned: Planned) -> Item:
        """The key of the item, without secrets."""
        return planned.mapping.secrets.hiding_key({**planned.item_key})
