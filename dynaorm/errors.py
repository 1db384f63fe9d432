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

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dynaorm.failure import Address, DynaormError, message_of, nearest, shown, texts_of
from dynaorm.record import record
from dynaorm.remedies import remedy_of_refusal

__all__ = [
    "Address",
    "AlreadyExists",
    "BulkError",
    "CheckpointExpired",
    "ConditionFailed",
    "ConstraintViolation",
    "Contention",
    "DeclarationError",
    "DecodeError",
    "DynaormError",
    "EntityNotFound",
    "InvalidCursor",
    "InvalidValue",
    "ItemTooLarge",
    "KeyChanged",
    "NotVersioned",
    "OutcomeUnknown",
    "OwnerUnknown",
    "PlanTooLarge",
    "SameItemTwice",
    "SessionClosed",
    "StaleEntity",
    "StillCounted",
    "StoreError",
    "TableNotFound",
    "Throttled",
    "TokenReused",
    "UnexpectedRefusal",
    "UniqueViolation",
    "UnknownField",
    "Unreachable",
    "UsageError",
    "Violation",
]

_LISTED = 5


def _about(key: Address | None, error: DynaormError) -> str:
    """The message of an error whose problem is said of an item."""
    return f"{'an item' if key is None else repr(key)} {error.problem}; {error.remedy}"


class DeclarationError(DynaormError, TypeError):
    """A class cannot be mapped. All problems of a class are reported at once.

    Attributes:
        entity: the name of the class.
        problems: every problem, each with its remedy.

    Examples:
        >>> class Song(Entity, table=app, pk="SONG#{song}", sk="SONG"):
        ...     title: str
        Traceback (most recent call last):
        dynaorm.errors.DeclarationError: Cannot map class Song:
          - ...
    """

    entity: str
    problems: tuple[str, ...]
    problem: str = "Cannot map class {entity}"
    remedy: str = "change its declaration as each line says"

    def _message(self) -> str:
        return "\n  - ".join([f"{self.problem}:", *self.problems])


class UsageError(DynaormError, RuntimeError):
    """The call is refused before anything is written, and in most cases before anything is sent.

    Attributes:
        problem: what is wrong.
        remedy: what to do about it.

    Examples:
        >>> session.get(User)
        Traceback (most recent call last):
        dynaorm.errors.UsageError: ...
    """

    problem: str
    remedy: str


class InvalidValue(UsageError, ValueError):
    """A value cannot be stored, or be part of a key.

    Attributes:
        entity: the name of the class.
        field: the field; empty for a rule about several fields.
        value: the value.
        has_value: False for a field that cannot be computed.
        problem: what is wrong, such as ``is longer than 2048 bytes``.

    Examples:
        >>> session.save(Ticket(project="x" * 3000, number=1))
        Traceback (most recent call last):
        dynaorm.errors.InvalidValue: ...
    """

    entity: str
    field: str
    value: object
    has_value: bool = True
    remedy: str = "give the field a value that its declaration allows"

    def _message(self) -> str:
        value = f" = {shown(self.value)}" if self.has_value else ""
        where = f"{self.entity}.{self.field}{value}" if self.field else self.entity
        return f"{where}: {self.problem}; {self.remedy}"


class PlanTooLarge(UsageError):
    """The changes do not fit into one transaction.

    Attributes:
        actions: the number of actions; a transaction takes 100 at most.
        bytes: their size; 4 MB at most.
        first_refused: the hundred and first action, as ``explain()`` says it; empty if there is none.

    Examples:
        >>> with session.transaction() as tx:
        ...     for number in range(101):
        ...         tx.save(Ticket(project="p9", number=number))
        Traceback (most recent call last):
        dynaorm.errors.PlanTooLarge: ...
    """

    actions: int
    bytes: int
    first_refused: str = ""
    problem: str = (
        "{actions:,} actions of {bytes:,} bytes: one transaction holds 100 actions and 4 MB at most"
    )
    remedy: str = "use several transactions, or session.save_many if the entities need not be saved together"

    def _message(self) -> str:
        too_many = f" (number 101 is {self.first_refused})" if self.first_refused else ""
        return f"{self.problem}{too_many}; {self.remedy}"


class ItemTooLarge(UsageError):
    """An item is larger than DynamoDB's limit.

    Attributes:
        key: the entity's key; None for an item without an entity.
        bytes: the size of the item, with its attribute names.
        limit: DynamoDB's limit, in bytes.

    Examples:
        >>> session.save(User(user_id="9", email="ada@x.com", name="x" * 500_000))
        Traceback (most recent call last):
        dynaorm.errors.ItemTooLarge: ...
    """

    key: Address | None
    bytes: int
    limit: int = 409_600
    problem: str = (
        "has {bytes:,} bytes with its attribute names, and DynamoDB's limit for an item is {limit:,}"
    )
    remedy: str = "shorten its largest attributes, or move them to items of their own"

    def _message(self) -> str:
        return _about(self.key, self)


class SameItemTwice(UsageError):
    """Two changes of one item cannot be combined.

    Attributes:
        key: the entity's key.
        problem: why not, such as ``is written twice``.

    Examples:
        >>> with session.transaction() as tx:
        ...     tx.save(Ticket(project="p9", number=1))
        ...     tx.save(Ticket(project="p9", number=1))
        Traceback (most recent call last):
        dynaorm.errors.SameItemTwice: ...
    """

    key: Address | None
    remedy: str = "leave out one of the two, or write them in two transactions"

    def _message(self) -> str:
        return _about(self.key, self)


class KeyChanged(UsageError):
    """A loaded entity's primary key has changed since it was loaded.

    Attributes:
        entity: the name of the class.
        before: the key it was loaded from.
        after: the key it has now.
        fields: the fields that changed.

    Examples:
        >>> ticket = session.get_one(Ticket, project="p1", number=1)
        >>> ticket.number = 7
        >>> session.save(ticket)
        Traceback (most recent call last):
        dynaorm.errors.KeyChanged: ...
    """

    entity: str
    before: Address
    after: Address
    fields: tuple[str, ...]
    problem: str = "this {entity} was loaded from {before!r} and is now {after!r}"
    remedy: str = (
        "session.move(entity) moves the stored entity, session.save(detached(entity)) stores a second one"
    )


class UnknownField(UsageError):
    """The class has no such field, or the call cannot use it.

    Attributes:
        entity: the name of the class.
        field: the name that was given.
        known: the fields that can be used.

    Examples:
        >>> session.get(User, user="1")
        Traceback (most recent call last):
        dynaorm.errors.UnknownField: User has no field 'user' that can be used here; did you mean 'user_id'?
    """

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
            self.remedy = f"use {'one of ' if len(self.known) > 1 else ''}{', '.join(self.known)}"


class NotVersioned(UsageError):
    """The class keeps no versions.

    Attributes:
        entity: the name of the class.

    Examples:
        >>> session.history(Key(User, user_id="1"))
        Traceback (most recent call last):
        dynaorm.errors.NotVersioned: User keeps no versions; declare class User(..., versioned=True)
    """

    entity: str
    problem: str = "{entity} keeps no versions"
    remedy: str = "declare class {entity}(..., versioned=True)"


class SessionClosed(UsageError):
    """The session was closed before the call.

    Examples:
        >>> with Session(region="eu-west-1") as closed:
        ...     pass
        >>> closed.get(User, user_id="1")
        Traceback (most recent call last):
        dynaorm.errors.SessionClosed: this session is closed; open another one: with Session(...) as session
    """

    problem: str = "this session is closed"
    remedy: str = "open another one: with Session(...) as session"


class InvalidCursor(UsageError, ValueError):
    """The cursor is damaged, or comes from another query.

    Attributes:
        problem: which of the two.

    Examples:
        >>> session.query(Ticket, project="p1").page(10, after="damaged")
        Traceback (most recent call last):
        dynaorm.errors.InvalidCursor: ...
    """

    remedy: str = "use a cursor only with the query that returned it, or begin again without a cursor"


class DecodeError(DynaormError, ValueError):
    """A stored item cannot be loaded.

    Attributes:
        entity: the name of the class.
        key: the raw primary key of the item.
        problems: every problem of it.

    Examples:
        >>> item = {"PK": {"S": "USER#9"}, "SK": {"S": "PROFILE"}, "_type": {"S": "User"}}
        >>> entity_of(item, app)
        Traceback (most recent call last):
        dynaorm.errors.DecodeError: Cannot load User from the item PK='USER#9', SK='PROFILE':
          - ...
    """

    entity: str
    key: Mapping[str, Any]
    problems: tuple[str, ...]
    problem: str = "Cannot load {entity}"
    remedy: str = (
        "Correct the item or the class; on_decode_error of a session decides what reads do with such items"
    )

    def _message(self) -> str:
        texts = texts_of(self.key, lambda value: shown(*value.values()))
        key = ", ".join(f"{name}={text}" for name, text in texts.items())
        return "\n  - ".join([f"{self.problem} from the item {key}:", *self.problems]) + f"\n{self.remedy}"


class StoreError(DynaormError):
    """DynamoDB refused the request or did not answer.

    Attributes:
        causes: all errors of a refused plan, this one among them.

    Examples:
        >>> try:
        ...     session.save(User(user_id="1", email="liz@x.com"))
        ... except StoreError as error:
        ...     print([type(cause).__name__ for cause in error.causes])
        ['AlreadyExists']
    """

    causes: tuple[DynaormError, ...] = field(default=(), repr=False, kw_only=True)
    problem: str = "DynamoDB did not carry out the request"
    remedy: str = "see .causes"

    def _message(self) -> str:
        others = dict.fromkeys(type(cause).__name__ for cause in self.causes if cause is not self)
        also = f" (and {', '.join(others)}: see .causes)" if others else ""
        return f"{self.problem}{also}; {self.remedy}"


class EntityNotFound(StoreError, LookupError):
    """Nothing is stored under this key.

    Attributes:
        key: the key that was read.

    Examples:
        >>> session.get_one(User, user_id="9")
        Traceback (most recent call last):
        dynaorm.errors.EntityNotFound: nothing is stored under Key(User, user_id='9'); ...
    """

    key: Address
    problem: str = "nothing is stored under {key!r}"
    remedy: str = "check its fields; if it may be absent, use get or catch EntityNotFound"


@record
class Violation:
    """One constraint whose value another entity has.

    Attributes:
        constraint: the name of the constraint.
        fields: its fields.
        value: the value that is taken.
        owner: the key of the entity that has it; None if it is not known.

    Examples:
        >>> try:
        ...     session.save(User(user_id="9", email="liz@x.com"))
        ... except UniqueViolation as error:
        ...     print(error.violations[0])
        email 'liz@x.com' is taken by Key(User, user_id='1')
    """

    constraint: str
    fields: tuple[str, ...]
    value: object
    owner: Address | None

    def __str__(self) -> str:
        of = "" if self.fields in ((), (self.constraint,)) else f" ({', '.join(self.fields)})"
        by = "is already taken" if self.owner is None else f"is taken by {self.owner!r}"
        return f"{self.constraint}{of} {shown(self.value)} {by}"


class ConstraintViolation(StoreError):
    """Another entity has a value that must be unique.

    Attributes:
        violations: all violations of the plan.

    Examples:
        >>> try:
        ...     session.save(User(user_id="9", email="liz@x.com"))
        ... except ConstraintViolation as error:
        ...     print([one.constraint for one in error.violations])
        ['email']
    """

    violations: tuple[Violation, ...]
    problem: str = "a unique value is taken"
    remedy: str = "choose another value, or change or delete its owner first"

    def _message(self) -> str:
        return "; ".join([self.problem, *map(str, self.violations), self.remedy])


class AlreadyExists(ConstraintViolation):
    """An entity with this key is already stored.

    Attributes:
        key: the key.
        stored: the entity that is stored under the key, as the refusal returned it: no request is sent for it. None if
            that is not known, or if nothing is stored.
        violations: the unique values that are taken, too.

    Examples:
        >>> session.save(Ticket(project="p1", number=1))
        Traceback (most recent call last):
        dynaorm.errors.AlreadyExists: Key(Ticket, project='p1', number=1) is already stored; ...
    """

    key: Address
    stored: Any = field(default=None, repr=False, kw_only=True)
    problem: str = "{key!r} is already stored"
    remedy: str = "get it and change it, or replace it with session.save(entity, overwrite=True)"


class UniqueViolation(ConstraintViolation):
    """A unique value is taken. The properties are those of the first violation.

    Attributes:
        entity: the name of the class that was to be stored.
        violations: all violations of the plan.

    Examples:
        >>> try:
        ...     session.save(User(user_id="9", email="liz@x.com"))
        ... except UniqueViolation as error:
        ...     print(error.constraint, error.value, error.owner)
        email liz@x.com Key(User, user_id='1')
    """

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
    """The entity was saved or deleted since it was loaded.

    Attributes:
        key: the key.
        stored: the entity that is stored under the key, as the refusal returned it: no request is sent for it. None if
            that is not known, or if nothing is stored.
        expected: the revision that was loaded, or None.
        found: the revision that is stored, or None.

    Examples:
        >>> mine, theirs = (session.get_one(User, user_id="1") for _ in range(2))
        >>> mine.name, theirs.name = "Liz A.", "Liz B."
        >>> theirs = session.save(theirs)
        >>> session.save(mine)
        Traceback (most recent call last):
        dynaorm.errors.StaleEntity: Key(User, user_id='1') was saved or deleted by another writer ...
    """

    key: Address
    expected: str | None
    found: str | None
    stored: Any = field(default=None, repr=False, kw_only=True)
    problem: str = "{key!r} was saved or deleted by another writer since it was loaded"
    remedy: str = "get it again, change it again and save it, or use session.run(work), which does that"


class ConditionFailed(StoreError):
    """The condition given by the caller does not hold for the stored entity.

    Attributes:
        key: the key.
        stored: the entity that is stored under the key, as the refusal returned it: no request is sent for it. None if
            that is not known, or if nothing is stored.

    Examples:
        >>> session.update(Key(User, user_id="1"), F.visits.add(1), condition=F.visits > 10)
        Traceback (most recent call last):
        dynaorm.errors.ConditionFailed: the condition does not hold for Key(User, user_id='1'), ...
    """

    key: Address
    stored: Any = field(default=None, repr=False, kw_only=True)
    problem: str = "the condition does not hold for {key!r}, so nothing was written"
    remedy: str = "see what is stored now in error.stored or with get, and decide again"


class StillCounted(ConditionFailed):
    """An entity was to be deleted or moved while totals of it are not 0, which ``Aggregate(restrict=True)`` forbids.

    Attributes:
        aggregates: the aggregates that forbid it, such as ``Membership.in_group``.
        totals: their fields that are not as they have to be, with what is stored.
        key: the key of the target.

    Examples:
        >>> class Group(Entity, table=app, pk="GROUP#{name}", sk="GROUP"):
        ...     name: str
        ...     members: int = 0
        >>> class Member(Entity, table=app, pk="GROUP#{name}", sk="MEMBER#{user}"):
        ...     name: str
        ...     user: str
        ...     in_group = Aggregate(Group, key={"name": "name"}, count="members", restrict=True)
        >>> group = session.save(Group(name="g"))
        >>> member = session.save(Member(name="g", user="1"))
        >>> session.delete(Key(Group, name="g"))
        Traceback (most recent call last):
        dynaorm.errors.StillCounted: ...
    """

    aggregates: tuple[str, ...]
    totals: Mapping[str, object]
    problem: str = "totals still count entities in {key!r}, so nothing was written"
    remedy: str = "delete what is counted first, or in the same transaction"

    def _message(self) -> str:
        found = ", ".join(f"{name} is {text}" for name, text in texts_of(self.totals, str).items())
        return f"{self.problem}: {' and '.join(self.aggregates)} counts ({found}); {self.remedy}"


class Contention(StoreError):
    """Other writers changed the same items during every attempt.

    Attributes:
        attempts: how often it was tried.
        code: the code of the last refusal.

    Examples:
        >>> unlucky = FaultyTransport(PynamoTransport(region="eu-west-1"), conflict(times=99, operation="PutItem"))
        >>> with Session(transport=unlucky, retry=Retry(attempts=2)) as contended:
        ...     contended.save(Ticket(project="p9", number=1))
        Traceback (most recent call last):
        dynaorm.errors.Contention: other writers changed the same items during 2 attempts; ...
    """

    attempts: int
    code: str
    problem: str = (
        "other writers changed the same items during {counted attempts}; the last was refused with {code}"
    )
    remedy: str = "nothing was written; try again later, or spread frequent writes over several items"


class Throttled(StoreError):
    """DynamoDB throttled every attempt of the request.

    Attributes:
        attempts: how often it was tried.
        code: the code of the last refusal.

    Examples:
        >>> busy = FaultyTransport(PynamoTransport(region="eu-west-1"), throttle(times=99))
        >>> with Session(transport=busy, retry=Retry(attempts=2)) as throttled:
        ...     throttled.get(User, user_id="1")
        Traceback (most recent call last):
        dynaorm.errors.Throttled: DynamoDB throttled all 2 attempts of the request; ...
    """

    attempts: int
    code: str
    problem: str = "DynamoDB throttled all {counted attempts} of the request; the last one with {code}"
    remedy: str = "nothing was written; send less at a time, or raise the capacity of the table or its index"


class OutcomeUnknown(StoreError):
    """A write got no answer, so it may have happened. ``session.resume(plan)`` finds out.

    Attributes:
        plan: what was sent.
        reason: why no answer came.

    Examples:
        >>> mute = FaultyTransport(PynamoTransport(region="eu-west-1"), lost_answer(times=99))
        >>> try:
        ...     with Session(transport=mute, retry=Retry(attempts=2)) as unanswered:
        ...         unanswered.update(Key(User, user_id="1"), F.visits.add(1))
        ... except OutcomeUnknown as error:
        ...     print(session.resume(error.plan))
        True
    """

    plan: object = field(repr=False, kw_only=True)
    reason: str
    problem: str = "the write may or may not have happened: {reason}"
    remedy: str = (
        "call session.resume(error.plan), which finds out and finishes the write without repeating it"
    )


class Unreachable(StoreError):
    """A read got no answer, or a write was never sent.

    Attributes:
        operation: the DynamoDB operation.
        attempts: how often it was tried.
        reason: why no answer came.

    Examples:
        >>> mute = FaultyTransport(PynamoTransport(region="eu-west-1"), lost_answer(times=99))
        >>> with Session(transport=mute, retry=Retry(attempts=2)) as unanswered:
        ...     unanswered.get(User, user_id="1")
        Traceback (most recent call last):
        dynaorm.errors.Unreachable: GetItem got no answer in 2 attempts ...
    """

    operation: str
    attempts: int
    reason: str
    problem: str = "{operation} got no answer in {counted attempts} ({reason})"
    remedy: str = "check the region, the endpoint and the network, and try again"


class TokenReused(StoreError):
    """The token is remembered for another block.

    Attributes:
        token: the token.

    Examples:
        >>> with session.transaction(token="ORDER-1", remember=timedelta(days=1)) as tx:
        ...     tx.save(Ticket(project="p9", number=1))
        >>> with session.transaction(token="ORDER-1", remember=timedelta(days=1)) as tx:
        ...     tx.save(Ticket(project="p9", number=2))
        Traceback (most recent call last):
        dynaorm.errors.TokenReused: ...
    """

    token: str
    problem: str = "the token {token!r} is remembered for another block; nothing was written"
    remedy: str = "use the same token only for the same changes, and give every other transaction its own"


class OwnerUnknown(StoreError):
    """A guard item has no owner, because dynaorm did not write it.

    Attributes:
        constraint: the name of the constraint.
        value: the value that was asked for.

    Examples:
        >>> guard = {"PK": {"S": "email#ada@x.com"}, "SK": {"S": "email#ada@x.com"}}
        >>> with Session(transport=ScriptedTransport({"Item": guard})) as scripted:
        ...     scripted.get_by(User, email="ada@x.com")
        Traceback (most recent call last):
        dynaorm.errors.OwnerUnknown: ...
    """

    constraint: str
    value: object
    problem: str = "{constraint} {value!r} is taken, but its guard item does not say by whom"
    remedy: str = "find the entity by its key or an index; backfill writes owners into guard items"


class TableNotFound(StoreError):
    """The table does not exist in the session's account, Region or endpoint.

    Attributes:
        table: the name of the table, as it was sent.

    Examples:
        >>> with Session(region="us-east-1") as elsewhere:
        ...     elsewhere.get(User, user_id="1")
        Traceback (most recent call last):
        dynaorm.errors.TableNotFound: there is no table 'app' in this account, Region or endpoint; ...
    """

    table: str
    problem: str = "there is no table {table!r} in this account, Region or endpoint"
    remedy: str = (
        "create it with session.create_table(...), or check the Region, the endpoint and its physical name"
    )


class CheckpointExpired(StoreError):
    """The stream may no longer have all records that follow what was read: DynamoDB keeps them for 24 hours.

    Attributes:
        table: the name of the table.
        reason: how this is known.

    Examples:
        >>> print(CheckpointExpired(table="app", reason="it was made two days ago"))
        the stream of 'app' may no longer have all records after this checkpoint: it was made two days ago; ...
    """

    table: str
    reason: str
    problem: str = "the stream of {table!r} may no longer have all records after this checkpoint: {reason}"
    remedy: str = "follow without a checkpoint, from the oldest record, and rebuild what you keep from a scan"


class BulkError(StoreError):
    """Some of many operations failed. The others are done.

    Attributes:
        failures: each entity or key that failed, and its error.

    Examples:
        >>> try:
        ...     session.save_many([Ticket(project="p1", number=1), Ticket(project="p1", number=8)])
        ... except BulkError as error:
        ...     [(ticket, refused)] = error.failures
        ...     print(ticket.number, type(refused).__name__)
        1 AlreadyExists
    """

    failures: tuple[tuple[object, DynaormError], ...]
    remedy: str = "The others are done; correct and repeat only those in .failures"

    def _message(self) -> str:
        found = [f"{shown(subject)}: {message_of(error)}" for subject, error in self.failures[:_LISTED]]
        more = [f"and {len(self.failures) - _LISTED:,} more"] if len(self.failures) > _LISTED else []
        return "\n  - ".join([f"{len(self.failures):,} failed:", *found, *more]) + f"\n{self.remedy}"


class UnexpectedRefusal(StoreError):
    """Any other refusal.

    Attributes:
        code: DynamoDB's code.
        message: its message.
        request_id: the id of the request; empty if there was none.
        reasons: the codes of a refused transaction, one for each action.
        action: the refused action, if DynamoDB named one.
        remedy: what helps with this code.

    Examples:
        >>> denied = Refusal("AccessDeniedException", "not authorized to perform: dynamodb:GetItem")
        >>> with Session(transport=ScriptedTransport(denied)) as refused:
        ...     refused.get(User, user_id="1")
        Traceback (most recent call last):
        dynaorm.errors.UnexpectedRefusal: these credentials may not do GetItem on 'app' ...
    """

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

    def _message(self) -> str:
        where = f", in the action to {self.action}" if self.action else ""
        by = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.problem}{where}{by}; {self.remedy}"
