"""A plan: the actions a unit of work will send, in order, each with its reason.

Rule 1. One action per item: DynamoDB refuses a transaction that names one twice.
Rule 2. What is sent is decided here once. Repeating a plan sends the same token and the same bytes.
Rule 3. The limits of TransactWriteItems (``ACTION_LIMIT``, ``TRANSACTION_LIMIT``, and ``ITEM_LIMIT`` of an item) are
        checked before sending.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import field
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeAlias

from dynaorm.entity.key import Key, key_texts, stored_key
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.state import (
    Loaded,
    PendingWrite,
    defaults_in,
    put_values,
    set_state,
    state_of,
    unsettled_of,
)
from dynaorm.entity.table import GlobalIndex, Ident, LocalIndex, Projection, Table, VectorIndex, ident_of
from dynaorm.errors import DecodeError, ItemTooLarge, PlanTooLarge, StoreError, Violation
from dynaorm.failure import counted, texts_of
from dynaorm.item.action import Action, ConditionCheck, Put, Update, operation_of, to_wire
from dynaorm.item.condition import Condition
from dynaorm.item.json_body import Request
from dynaorm.item.path import Path
from dynaorm.item.size import ACTION_LIMIT, ITEM_LIMIT, TRANSACTION_LIMIT, item_size, size_bound, write_units
from dynaorm.item.text import key_text, name_text, printable
from dynaorm.item.update import AddTo, Append, Change, Prepend, SetTo
from dynaorm.item.value import AttributeValue, Item, same, same_items
from dynaorm.plan.stored import ItemChange, ItemCheck, ItemDelete, ItemInsert, ItemUpdate, Requirement
from dynaorm.plan.values import unsaved_changes
from dynaorm.record import record, replace

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
        why_read: of an update by key, why the item was read.
    """

    expected: str | None = None
    expected_values: Mapping[Path, AttributeValue | None] | None = None
    has_condition: bool = False
    blind: bool = False
    from_read: bool = False
    bounds: Condition | None = None
    requires: Requirement | None = None
    why_read: str = ""


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
class NeedsReplan:
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

Judged: TypeAlias = StoreError | Violation | NeedsReplan
"""What the refusal of one action means."""


class Kind:
    """A kind of item: where its items are, what a refusal of an action on one means, and how the action is said.

    Each kind has one object, which a pickled plan names.

    Attributes:
        is_evidence: an item of a plan that is stored proves that the plan was committed: no other plan writes it.
        is_permanent: nobody gives up an item or takes over another's, so the new holder alone says what follows. Its
            refusal only says that another writer was first, if another action was refused, too.
        is_contested: several entities may want one item, so what is right depends on what it says.
        is_memory: its item remembers that the block was applied. It is the last of the block.
        most_bytes: the size that no item of the kind exceeds; None if each has to be measured.
    """

    is_evidence = False
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

    def said(self, planned: Planned) -> str:
        """The item in words that a log may have: without its values."""
        raise NotImplementedError

    def shown_key(self, planned: Planned) -> Item:
        """The key of the item, without secrets."""
        return planned.mapping.secrets.hiding_key({**planned.item_key})


# What the actions of a plan weigh and cost, by DynamoDB's own rules.
#
# A write costs one unit per started KB of the larger of the old and new image; a transaction doubles that. An index
# entry costs one unit per started KB of what is projected, twice where its key changes (the old entry is deleted),
# and nothing where the projected view stays as it is. Source: Amazon DynamoDB Developer Guide, "Read/write capacity
# mode".
#
# A vector of a vector index counts as four bytes for each number, and its entries cost bytes of their own, which are
# no write units.


def image_bytes(item: Item | None) -> int:
    return 0 if item is None else item_size(item)


def sent_bytes(action: Action) -> int:
    """What an action counts towards the 4 MB of a transaction: the items, keys and values of its request."""
    (body,) = to_wire(action).values()
    return sum(item_size(body.get(part, {})) for part in ("Item", "Key", "ExpressionAttributeValues"))


def item_units(planned: Planned) -> int:
    """Write units of the item itself, before a transaction doubles them."""
    table = planned.table
    return write_units(max(_billed_bytes(table, planned.before), _billed_bytes(table, planned.after)))


def _billed_bytes(table: Table, item: Item | None) -> int:
    """The bytes of an item, with a vector as 32-bit floats."""
    found = image_bytes(item)
    for name, dimensions in {one.vector: one.dimensions for one in table.vector_indexes}.items():
        if item is not None and name in item:
            found += len(name.encode()) + 4 * dimensions - item_size({name: item[name]})
    return found


def index_units(planned: Planned) -> int:
    """Write units of the index entries that follow.

    Whatever an item is, it is in the indexes whose keys it has: guards and versions where those are the table's own.
    """
    action = planned.action
    if isinstance(action, ConditionCheck) or (isinstance(action, Update) and planned.after is None):
        return 0
    indexes = [one for one in planned.table.indexes.values() if not isinstance(one, VectorIndex)]
    return sum(_entry_units(planned, planned.table, index) for index in indexes)


def _entry_units(planned: Planned, table: Table, index: GlobalIndex | LocalIndex) -> int:
    keys = [key.name for key in (*(index.pk or (table.pk,)), *index.sk)]
    before = _entry(table, planned.before, keys, index.projection)
    after = _entry(table, planned.after, keys, index.projection)
    if before == after:
        return 0
    if before is not None and after is not None and any(before[key] != after[key] for key in keys):
        return write_units(item_size(before)) + write_units(item_size(after))
    return write_units(max(image_bytes(before), image_bytes(after)))


def _entry(table: Table, item: Item | None, keys: Iterable[str], projection: Projection) -> Item | None:
    if item is None or any(key not in item for key in keys):
        return None
    if projection == "ALL":
        return item
    wanted = {*keys, *(key.name for key in table.keys)}
    if not isinstance(projection, str):
        wanted.update(projection)
    return {name: value for name, value in item.items() if name in wanted}


# What becomes of the caller's objects: once a plan is committed, each takes over its new item, revision and values.
#
# Rule 1. An object changes only after the commit, and gets what is stored: what validation made of its values, too.
# Rule 2. Where no revision names one write, an update is conditional on what it was judged by, and on no more. So
#         others may have changed the rest of the item. DynamoDB returns the item as the update left it, and the
#         object becomes that.
# Rule 3. What the object holds and was not saved, it keeps. If others changed that field, its snapshot still has the
#         value that it was loaded with, and no revision: so a save of the field is refused.


_NOT_LOADED: Final = Loaded({})
_MISSING: Final = object()
# Every save with a time of a write has such values, and a copy of a datetime takes 3 µs.
_UNCHANGEABLE: Final = frozenset({type(None), bool, int, float, str, bytes, datetime})


@record(quick=True)
class Effect:
    """What an entity object becomes once the plan is committed.

    Attributes:
        entity: the caller's object.
        state: its next snapshot; None: it is new again.
        values: the fields that differ from the object's: those of a partial update, and those that validation changed.
        spares_frozen: a frozen object gets neither values nor snapshot: an update returns another object, and totals
            must be read again. It gets values that validation changed, because the caller asked to save them.
        before: what the object held in these fields when the plan was made. A field that holds something else by now
            was changed while the outcome was not known, and keeps that. None: the object gets all ``values``.
    """

    entity: Any
    state: Loaded | None
    values: Mapping[str, Any] | None = None
    spares_frozen: bool = False
    before: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Effect on {self.entity!r}>"

    def apply(self) -> None:
        if self.values is None:
            set_state(self.entity, self.state)
        elif self.spares_frozen and type(self.entity).model_config.get("frozen"):
            self.roll_back()
        else:
            put_values(self.entity, self._values_to_put(self.values))
            set_state(self.entity, self.state)

    def _values_to_put(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        before, held = self.before, vars(self.entity)
        if before is None:
            return values
        return {
            name: value
            for name, value in values.items()
            if is_equal(held.get(name, _MISSING), before.get(name, _MISSING))
        }

    def with_item(self, mapping: EntityMapping, item: Item) -> "Effect":
        """The same for the item that is stored, which may differ in times, version numbers and totals."""
        assert self.state is not None
        fresh = vars(mapping.loader.hydrate(item)) if self.values is not None else {}
        values = None if self.values is None else {name: fresh[name] for name in self.values}
        return replace(self, state=self.state.followed_by(item), values=values)

    def with_revision(self, mapping: EntityMapping, revision: str) -> "Effect":
        """The same with the revision that an equal block wrote."""
        attribute = mapping.table.revision_attribute
        assert self.state is not None
        assert attribute is not None
        return replace(self, state=replace(self.state, item={**self.state.item, attribute: {"S": revision}}))

    def is_awaited(self, plan: object) -> bool:
        """Whether the entity still waits for the outcome of a plan; it may have been settled and saved since."""
        unsettled = unsettled_of(self.entity)
        return unsettled is not None and unsettled.plan is plan

    def for_object(self, entity: Any, values: Mapping[str, Any] | None = None) -> "Effect":
        """The same for another object, with other values if given."""
        if values is None:
            return replace(self, entity=entity)
        values = {**values, **(self.values or {})}
        return replace(
            self, entity=entity, values=values, spares_frozen=True, before=field_values(entity, values)
        )

    def unsettle(self, plan: object) -> None:
        """Remember that the outcome of a plan is not known."""
        set_state(self.entity, PendingWrite(plan, self, state_of(self.entity)))

    def roll_back(self) -> None:
        """Forget the plan: it is not in effect."""
        set_state(self.entity, state_of(self.entity))


def field_values(entity: Any, names: Iterable[str]) -> dict[str, Any]:
    """What an object holds in these fields, copied, so that a later change in place is noticed."""
    held = vars(entity)
    return {name: _copied(held[name]) for name in names if name in held}


def _copied(value: Any) -> Any:
    if type(value) not in _UNCHANGEABLE:
        # A value without a copy that equals it counts as changed only if another one takes its place.
        with suppress(Exception):
            copy = deepcopy(value)
            return copy if is_equal(copy, value) else value
    return value


# -- of a change -------------------------------------------------------------------------------------------------------


def effects_of(change: ItemChange, image: Item | None) -> list[Effect]:
    """What becomes of the caller's objects: a written one is loaded, a deleted one is new again."""
    if type(change) is ItemInsert and image is not None and change.entity is not None:
        state = change.state or _NOT_LOADED
        effects = [_written_effect(change, (change.entity, state), image, change.refreshed)]
        if change.deleted is not None and change.deleted is not change.entity:
            effects.append(Effect(change.deleted, None))
        return effects
    if type(change) is ItemUpdate and change.loaded is not None and image is not None:
        names = change.changed if change.is_edit else change.refreshed
        return [_written_effect(change, change.loaded, image, names)]
    if type(change) is ItemDelete and change.entity is not None:
        return [Effect(change.entity, None)]
    if type(change) is ItemCheck and change.loaded is not None and change.altered:
        return [_giving(change.loaded.entity, change.loaded.state, change.altered)]
    return []


def _written_effect(
    change: ItemInsert | ItemUpdate, loaded: tuple[Any, Loaded], image: Item, names: frozenset[str]
) -> Effect:
    """An object is loaded from the image that is stored of it, and takes its values of some fields from that.

    ``loaded``: the object, and its snapshot before.
    """
    entity, state = loaded
    if not names:
        return _giving(entity, state.followed_by(image), change.altered)
    fields, fresh = change.mapping.fields, change.mapping.loader.hydrate(image)
    defaults = defaults_in(fresh, {fields[name].attribute for name in names & fields.keys()})
    values = {**change.altered, **{name: vars(fresh)[name] for name in names}}
    return _giving(entity, state.followed_by(image, defaults), values, spares_frozen=True)


def _giving(entity: Any, state: Loaded, values: Mapping[str, Any], *, spares_frozen: bool = False) -> Effect:
    if not values:
        return Effect(entity, state)
    return Effect(entity, state, values, spares_frozen, field_values(entity, values))


# -- of the item that DynamoDB returned --------------------------------------------------------------------------------


def hydrated(mapping: EntityMapping, item: Item) -> Any:
    """The entity of an item that was just written. Raises DecodeError, which says that it was."""
    try:
        return mapping.loader.hydrate(item)
    except DecodeError as problem:
        problem.problem = f"The item was written, but it does not load: {problem.problem}"
        raise


def take_returned(effect: Effect, mapping: EntityMapping, item: Item) -> None:
    """Give an object what others wrote beside its update; ``effect`` has been applied. Raises as ``hydrated``."""
    entity, state = effect.entity, effect.state
    # A frozen object may have been spared.
    if state is None or state_of(entity) is not state or same_items(item, state.item):
        return
    fields = {name: field for name, field in mapping.fields.items() if not field.in_key}
    others = [
        name for name, field in fields.items() if not same(field.stored_in(item), field.stored_in(state.item))
    ]
    fresh = hydrated(mapping, item)
    unsaved = unsaved_changes(mapping, entity, state).keys()
    # What others wrote may also have changed what validators and factories make of it.
    taken = (mapping.dependence.dependents(others) & mapping.fields.keys()) - unsaved
    put_values(entity, {name: vars(fresh)[name] for name in taken})
    snapshot = _snapshot(mapping, item, state.item, [name for name in others if name in unsaved])
    attributes = {fields[name].attribute for name in taken if name in fields}
    set_state(entity, state.followed_by(snapshot, defaults_in(fresh, attributes)))


def _snapshot(
    mapping: EntityMapping, item: Item, before: Mapping[str, AttributeValue], unsaved: list[str]
) -> Item:
    """The item, with the fields that others changed and the object did not save as they were."""
    if not unsaved:
        return item
    found = dict(item)
    for name in unsaved:
        for attribute in mapping.fields[name].attributes:
            found.pop(attribute, None)
            if attribute in before:
                found[attribute] = before[attribute]
    # Without a revision, a save is conditional on the values themselves.
    if mapping.table.mark_of(found) is not None and mapping.table.revision is not None:
        return mapping.table.revision.without(found)
    return found


_RETURNED = {"Update": "ALL_NEW", "Delete": "ALL_OLD"}
# A value of a form that DynamoDB does not have today counts with its text in Python, which may be longer than its JSON.
_JSON_FACTOR = 4
_NO_LIMIT = 2**63


@record(quick=True)
class _PlanFields:
    """The fields of a plan.

    Attributes:
        actions: in the order sent; the reasons of a refusal come back in the same order.
        token: the client request token of a transaction.
        effects: what becomes of the entity objects.
        made_at: when it was compiled, in seconds since the epoch; DynamoDB remembers a token for ten minutes.
        wants_item: a single update asks for the item as it leaves it.
    """

    actions: tuple[Planned, ...]
    token: str | None
    effects: tuple[Effect, ...] = ()
    made_at: float = 0.0
    wants_item: bool = False


class Plan(_PlanFields):
    """What one unit of work will send.

    Examples:
        >>> plan = session.plan(User(user_id="9", email="ada@x.com"))
        >>> plan.operation, len(plan.actions), plan.write_units
        ('TransactWriteItems', 2, 4)
    """

    def __repr__(self) -> str:
        # Error reporters show the repr of variables, and the actions have every value.
        return f"<Plan of {self.operation}: {', '.join(map(repr, self.actions))}>"

    @property
    def operation(self) -> str:
        """The DynamoDB operation: one plain conditional write, or TransactWriteItems."""
        return "TransactWriteItems" if self.is_transaction else operation_of(self.actions[0].action)

    @property
    def token_item(self) -> Planned | None:
        """The action that remembers the caller's token: the last one; None without such a token."""
        last = self.actions[-1] if self.actions else None
        return last if last is not None and last.kind.is_memory else None

    @property
    def is_transaction(self) -> bool:
        """Whether it is sent as TransactWriteItems, at twice the price of plain writes."""
        return (
            self.token is not None or len(self.actions) != 1 or type(self.actions[0].action) is ConditionCheck
        )

    def to_request(self) -> dict[str, Any]:
        """The request's parameters, exactly as they are sent (low-level form). They are yours to change.

        Examples:
            >>> session.plan(Ticket(project="p9", number=1)).to_request()["TableName"]
            'app'
        """
        return deepcopy({**self.shared_request})

    @property
    def shared_request(self) -> Request:
        """The request's parameters without a copy: their values are those of the plan and of the entities."""
        # Python's cached_property takes a lock.
        found: Request | None = self.__dict__.get("request")
        if found is None:
            found = self.__dict__["request"] = self._request()
        return found

    def _request(self) -> Request:
        if self.is_transaction:
            return Request(
                {
                    "TransactItems": [to_wire(planned.action) for planned in self.actions],
                    "ClientRequestToken": self.token,
                }
            )
        ((kind, request),) = to_wire(self.actions[0].action).items()
        if self.wants_item and kind in _RETURNED:
            request["ReturnValues"] = _RETURNED[kind]
        return Request(request)

    @property
    def write_units(self) -> int:
        """What the plan will consume, in write capacity units: items count double in a transaction, index entries not.

        Where the stored size is not known (a change by key), the item counts as 1 KB. Source: Amazon DynamoDB
        Developer Guide, "Capacity unit consumption for write operations" and "Transactions: capacity planning".
        """
        factor = 2 if self.is_transaction else 1
        return sum(factor * item_units(planned) + index_units(planned) for planned in self.actions)

    def explain(self) -> str:
        """The plan in words: what is sent, in which order, and why each action is there.

        Examples:
            >>> print(session.plan(Ticket(project="p9", number=1)).explain())
            PutItem, 1 action, ...
            1. Put app PK=PROJECT#p9 SK=TICKET#000001: insert Ticket(...), if nothing is stored under its key
        """
        if not self.actions:
            return "Nothing to send: nothing changed."
        # Stored text is part of it, and it is printed on terminals.
        lines = [printable(_sentence(planned)) for planned in self.actions]
        count = counted(len(lines), "action")
        units = self.write_units
        price = counted(units, "write capacity unit")
        head = f"{self.operation}, {count}, {price}"
        return "\n".join([head, *(f"{number}. {line}" for number, line in enumerate(lines, 1))])

    def __str__(self) -> str:
        return self.explain()


def _sentence(planned: Planned) -> str:
    """What is sent, to which item, and why."""
    texts = texts_of(planned.kind.shown_key(planned), key_text)
    where = " ".join([planned.action.table, *(f"{name}={text}" for name, text in texts.items())])
    return f"{verb_of(planned)} {where}: {planned.reason}"


def verb_of(planned: Planned) -> str:
    """The action of TransactWriteItems in one word: ``Put``, ``Update``, ``Delete`` or ``Check``."""
    return "Check" if type(planned.action) is ConditionCheck else type(planned.action).__name__


def check_limits(plan: Plan) -> Plan:
    """The plan itself. Raises PlanTooLarge, ItemTooLarge: nothing is ever split or sent that DynamoDB would refuse."""
    if not plan.actions:
        return plan
    # JSON is longer than what it stores, so the length of the request says enough of most plans.
    is_short = len(plan.actions) <= ACTION_LIMIT
    sent = len(plan.shared_request.body) if is_short else _NO_LIMIT
    for planned in plan.actions:
        if planned.kind.most_bytes is None and not (sent < ITEM_LIMIT // _JSON_FACTOR and _is_sent(planned)):
            item = _written(planned) if planned.after is None else planned.after
            if size_bound(item) > ITEM_LIMIT and (size := item_size(item)) > ITEM_LIMIT:
                raise ItemTooLarge(key=planned.subject, bytes=size)
    if sent > TRANSACTION_LIMIT // _JSON_FACTOR:
        total = sum(sent_bytes(planned.action) for planned in plan.actions)
        if not is_short or (total > TRANSACTION_LIMIT and plan.is_transaction):
            refused = [printable(_sentence(one)) for one in plan.actions[ACTION_LIMIT : ACTION_LIMIT + 1]]
            raise PlanTooLarge(actions=len(plan.actions), bytes=total, first_refused="".join(refused))
    return plan


def _is_sent(planned: Planned) -> bool:
    """Whether all that is known of the item, as the action leaves it, is in the request."""
    return planned.after is None or type(planned.action) is Put


def _written(planned: Planned) -> Item:
    """What an action stores at least, where the rest of the item is not known.

    Values at nested paths are counted like elements of one list: the names on the way may be few, and shared.
    """
    found = dict(planned.item_key)
    nested: dict[str, list[AttributeValue]] = {}
    for change in planned.action.changes if type(planned.action) is Update else ():
        if (value := _stored_by(change)) is not None:
            name = str(change.path[0])
            if len(change.path) > 1:
                nested.setdefault(name, []).append(value)
            else:
                found[name] = value
    return {**found, **{name: {"L": values} for name, values in nested.items()}}


def _stored_by(change: Change) -> AttributeValue | None:
    """What a change stores at least; None for nothing. A sum may be shorter than what is added."""
    match change:
        case SetTo(value=value):
            stored: AttributeValue = value
            return stored
        case AddTo(value=value):
            return {"N": "0"} if "N" in value else value
        case Append(values=values) | Prepend(values=values):
            return {"L": [*values]}
    return None
