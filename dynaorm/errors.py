"""All errors of dynaorm. Each has fields, can be pickled, and its message ends with what to do.

DynaormError
├── DeclarationError(TypeError)      the class cannot be mapped
├── UsageError(RuntimeError)         the call is refused before anything is sent
│   ├── InvalidValue(ValueError)     a value cannot be stored or be part of a key
│   ├── PlanTooLarge · ItemTooLarge · SameItemTwice · KeyChanged · UnknownField · NotVersioned · SessionClosed
│   └── InvalidCursor(ValueError)    the cursor is damaged or of another query
├── DecodeError(ValueError)          a stored item cannot become an entity
└── StoreError                       DynamoDB refused the request, or did not answer
├── EntityNotFound(LookupError)
├── ConstraintViolation          another entity has the value: .violations
│   ├── AlreadyExists            the entity's own key is taken
│   └── UniqueViolation          .constraint .fields .value .owner of the first
├── StaleEntity                  it was saved or deleted since it was loaded
├── ConditionFailed              the condition= of the call does not hold
│   └── StillCounted             the totals of a target are not 0
├── Contention · Throttled       the retries are used up; try again later
├── OutcomeUnknown · Unreachable · TokenReused · OwnerUnknown · TableNotFound · CheckpointExpired · BulkError
└── UnexpectedRefusal            any other refusal
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dynaorm.failure import Address as Address  # noqa: PLC0414 - exported from here
from dynaorm.failure import DynaormError as DynaormError  # noqa: PLC0414 - see above
from dynaorm.failure import nearest, shown, texts_of
from dynaorm.record import record
from dynaorm.remedies import remedy_of_refusal

_LISTED = 5


class DeclarationError(DynaormError, TypeError):
    """A class cannot be mapped. ``problems`` lists every problem with its remedy."""

    entity: str
    problems: tuple[str, ...]
    problem: str = "Cannot map class {entity}"
    remedy: str = "change its declaration as each line says"

    def __str__(self) -> str:
        return "\n  - ".join([f"{self.problem}:", *self.problems])


class UsageError(DynaormError, RuntimeError):
    """The call is refused before anything is written, and in most cases before anything is sent."""

    problem: str
    remedy: str


class InvalidValue(UsageError, ValueError):
    """A value cannot be stored, or be part of a key. ``problem`` says why: ``is longer than 2048 bytes``.

    ``field`` is empty for a rule about several fields; ``has_value`` is False for a field that cannot be computed.
    """

    entity: str
    field: str
    value: object
    has_value: bool = True
    remedy: str = "give the field a value that its declaration allows"

    def __str__(self) -> str:
        value = f" = {shown(self.value)}" if self.has_value else ""
        where = f"{self.entity}.{self.field}{value}" if self.field else self.entity
        return f"{where}: {self.problem}; {self.remedy}"


class PlanTooLarge(UsageError):
    """The changes do not fit into one transaction."""

    actions: int
    bytes: int
    problem: str = (
        "{actions:,} actions of {bytes:,} bytes: one transaction holds 100 actions and 4 MB at most"
    )
    remedy: str = "use several transactions, or session.save_many if the entities need not be saved together"


class ItemTooLarge(UsageError):
    """An item is larger than DynamoDB's limit."""

    key: Address | None
    bytes: int
    limit: int = 409_600
    problem: str = (
        "has {bytes:,} bytes with its attribute names, and DynamoDB's limit for an item is {limit:,}"
    )
    remedy: str = "shorten its largest attributes, or move them to items of their own"

    def __str__(self) -> str:
        return f"{'an item' if self.key is None else repr(self.key)} {self.problem}; {self.remedy}"


class SameItemTwice(UsageError):
    """Two changes of one item cannot be combined. ``problem`` says why: ``is written twice``."""

    key: Address | None
    remedy: str = "leave out one of the two, or make them in two transactions"

    def __str__(self) -> str:
        return f"{'an item' if self.key is None else repr(self.key)} {self.problem}; {self.remedy}"


class KeyChanged(UsageError):
    """A loaded entity's primary key has changed since it was loaded. ``fields`` are the changed fields."""

    entity: str
    before: Address
    after: Address
    fields: tuple[str, ...]
    problem: str = "this {entity} was loaded from {before!r} and is now {after!r}"
    remedy: str = (
        "session.move(entity) moves the stored entity, session.save(detached(entity)) stores a second one"
    )


class UnknownField(UsageError):
    """The class has no such field, or the call cannot use it. ``known``: the fields that can be used."""

    entity: str
    field: str
    known: tuple[str, ...]
    problem: str = "{entity} has no field {field!r} that can be used here"
    remedy: str = "leave it out"

    def __post_init__(self) -> None:
        super().__post_init__()
        if found := nearest(self.field, self.known):
            self.remedy = f"did you mean {found!r}?"
        elif self.known:
            self.remedy = f"use one of {', '.join(self.known)}"


class NotVersioned(UsageError):
    """The class keeps no versions."""

    entity: str
    problem: str = "{entity} keeps no versions"
    remedy: str = "declare class {entity}(..., versioned=True)"


class SessionClosed(UsageError):
    """The session was closed before the call."""

    problem: str = "this session is closed"
    remedy: str = "open another one: with Session(...) as session"


class InvalidCursor(UsageError, ValueError):
    """The cursor is damaged, or comes from another query. ``problem`` says which."""

    remedy: str = "use a cursor only with the query that returned it, or begin again without after="


class DecodeError(DynaormError, ValueError):
    """A stored item cannot be loaded. ``key`` is its raw primary key; ``problems`` lists every problem."""

    entity: str
    key: Mapping[str, Any]
    problems: tuple[str, ...]
    problem: str = "Cannot load {entity}"
    remedy: str = (
        "Correct the item or the class; Session(on_decode_error=...) decides what reads do with such items"
    )

    def __str__(self) -> str:
        texts = texts_of(self.key, lambda value: shown(*value.values()))
        key = ", ".join(f"{name}={text}" for name, text in texts.items())
        return "\n  - ".join([f"{self.problem} from the item {key}:", *self.problems]) + f"\n{self.remedy}"


class StoreError(DynaormError):
    """DynamoDB refused the request or did not answer. ``causes``: all errors of a refused plan, with this one."""

    causes: tuple[DynaormError, ...] = field(default=(), repr=False, kw_only=True)
    problem: str = "DynamoDB did not carry out the request"
    remedy: str = "see .causes"

    def __str__(self) -> str:
        others = dict.fromkeys(type(cause).__name__ for cause in self.causes if cause is not self)
        also = f" (and {', '.join(others)}: see .causes)" if others else ""
        return f"{self.problem}{also}; {self.remedy}"


class EntityNotFound(StoreError, LookupError):
    """Nothing is stored under this key."""

    key: Address
    problem: str = "nothing is stored under {key!r}"
    remedy: str = "check its fields; read with session.get if it may be absent, and insert with session.save"


@record
class Violation:
    """One constraint whose value another entity has. ``owner`` is None if it is not known."""

    constraint: str
    fields: tuple[str, ...]
    value: object
    owner: Address | None

    def __str__(self) -> str:
        of = "" if self.fields in ((), (self.constraint,)) else f" ({', '.join(self.fields)})"
        by = "is already taken" if self.owner is None else f"is taken by {self.owner!r}"
        return f"{self.constraint}{of} {shown(self.value)} {by}"


class ConstraintViolation(StoreError):
    """Another entity has a value that must be unique. ``violations``: all violations of the plan."""

    violations: tuple[Violation, ...]
    problem: str = "a unique value is taken"
    remedy: str = "choose another value, or change or delete its owner first"

    def __str__(self) -> str:
        return "; ".join([self.problem, *map(str, self.violations), self.remedy])


class AlreadyExists(ConstraintViolation):
    """An entity with this key is already stored. ``violations``: the unique values that are taken too."""

    key: Address
    problem: str = "{key!r} is already stored"
    remedy: str = "get it and change it, or replace it with session.save(entity, overwrite=True)"


class UniqueViolation(ConstraintViolation):
    """A unique value is taken. The properties are those of the first violation."""

    entity: str
    problem: str = "this {entity} cannot be stored"

    @property
    def constraint(self) -> str:
        return self.violations[0].constraint

    @property
    def fields(self) -> tuple[str, ...]:
        return self.violations[0].fields

    @property
    def value(self) -> object:
        return self.violations[0].value

    @property
    def owner(self) -> Address | None:
        return self.violations[0].owner


class StaleEntity(StoreError):
    """The entity was saved or deleted since it was loaded. ``expected``, ``found``: revisions, or None."""

    key: Address
    expected: str | None
    found: str | None
    problem: str = "{key!r} was saved or deleted by another writer since it was loaded"
    remedy: str = "get it again, change it again and save it, or use session.run(work), which does that"


class ConditionFailed(StoreError):
    """The condition given by the caller does not hold for the stored entity."""

    key: Address
    problem: str = "the condition does not hold for {key!r}, so nothing was written"
    remedy: str = "get the entity to see what is stored now, and decide again"


class StillCounted(ConditionFailed):
    """An entity was to be deleted or moved while totals of it are not 0, which ``Aggregate(restrict=True)`` forbids.

    Attributes:
        aggregates: the aggregates that forbid it, such as ``Membership.in_group``.
        totals: their fields that are not as they have to be, with what is stored.
    """

    aggregates: tuple[str, ...]
    totals: Mapping[str, object]
    problem: str = "{key!r} is still counted in, so nothing was written"
    remedy: str = "delete what is counted first, or in the same transaction"

    def __str__(self) -> str:
        found = ", ".join(f"{name} is {text}" for name, text in texts_of(self.totals, str).items())
        return f"{self.problem}: {' and '.join(self.aggregates)} counts ({found}); {self.remedy}"


class Contention(StoreError):
    """Other writers changed the same items during every attempt."""

    attempts: int
    code: str
    problem: str = (
        "other writers changed the same items during {attempts} attempts; the last was refused with {code}"
    )
    remedy: str = "nothing was written; try again later, or spread frequent writes over several items"


class Throttled(StoreError):
    """DynamoDB throttled every attempt of the request."""

    attempts: int
    code: str
    problem: str = "DynamoDB throttled all {attempts} attempts of the request; the last one with {code}"
    remedy: str = "nothing was written; send less at a time, or raise the capacity of the table or its index"


class OutcomeUnknown(StoreError):
    """A write got no answer, so it may have happened. ``session.resume(plan)`` finds out."""

    plan: object = field(repr=False, kw_only=True)
    reason: str
    problem: str = "no answer came, so the write may or may not have happened ({reason})"
    remedy: str = (
        "call session.resume(error.plan), which finds out and finishes the write without repeating it"
    )


class Unreachable(StoreError):
    """A read got no answer."""

    operation: str
    attempts: int
    reason: str
    problem: str = "{operation} got no answer in {attempts} attempts ({reason})"
    remedy: str = "check the region, the endpoint and the network, and read again"


class TokenReused(StoreError):
    """Another request used the token within the last ten minutes."""

    token: str
    problem: str = (
        "the token {token!r} was used for another request in the last ten minutes; nothing was written"
    )
    remedy: str = "use the same token only for the same changes, and give every other transaction its own"


class OwnerUnknown(StoreError):
    """A guard item has no owner, because dynaorm did not write it."""

    constraint: str
    value: object
    problem: str = "{constraint} {value!r} is taken, but its guard item does not say by whom"
    remedy: str = "find the entity by its key or through an index, or write the owner into the guard item"


class TableNotFound(StoreError):
    """The table does not exist in the session's account, region or endpoint."""

    table: str
    problem: str = "there is no table {table!r} in this account, region or endpoint"
    remedy: str = "create it with session.create_table(...), or check region=, endpoint= and table_names="


class CheckpointExpired(StoreError):
    """The stream may no longer have all records that follow what was read: DynamoDB keeps them for 24 hours."""

    table: str
    reason: str
    problem: str = "the stream of {table!r} may no longer have all records after this checkpoint: {reason}"
    remedy: str = "follow without a checkpoint, from the oldest record, and rebuild what you keep from a scan"


class BulkError(StoreError):
    """Some of many operations failed. ``failures``: each entity or key that failed, and its error."""

    failures: tuple[tuple[object, DynaormError], ...]
    remedy: str = "The others are done; correct and repeat only those in .failures"

    def __str__(self) -> str:
        said = [f"{shown(subject)}: {error}" for subject, error in self.failures[:_LISTED]]
        more = [f"and {len(self.failures) - _LISTED:,} more"] if len(self.failures) > _LISTED else []
        return "\n  - ".join([f"{len(self.failures):,} failed:", *said, *more]) + f"\n{self.remedy}"


class UnexpectedRefusal(StoreError):
    """Any other refusal. ``action`` describes the refused action, if DynamoDB named one. ``remedy`` suits the code."""

    code: str
    message: str
    request_id: str
    reasons: tuple[str, ...]
    action: str
    problem: str = "DynamoDB refused with {code}: {message}"
    remedy: str = "check the permissions and the table's definition; if both are right, report this message"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.remedy == UnexpectedRefusal.remedy:
            self.remedy = remedy_of_refusal(self.code, self.message) or self.remedy

    def __str__(self) -> str:
        where = f", in the action to {self.action}" if self.action else ""
        by = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.problem}{where}{by}; {self.remedy}"
