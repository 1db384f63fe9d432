"""Every way dynaorm can fail: each error has fields, pickles, and its message ends with what to do.

DynaormError
├── DeclarationError(TypeError)      the class cannot be mapped
├── UsageError(RuntimeError)         the call cannot be planned; nothing was sent
│   ├── InvalidValue(ValueError)     a value cannot be stored or be part of a key
│   ├── PlanTooLarge · ItemTooLarge · SameItemTwice · KeyChanged · UnknownField · NotVersioned · SessionClosed
│   └── InvalidCursor(ValueError)    the cursor of another query
├── DecodeError(ValueError)          a stored item cannot become an entity
└── StoreError                       DynamoDB said no, or nothing
├── EntityNotFound(LookupError)
├── ConstraintViolation          somebody else has it: .violations
│   ├── AlreadyExists            the entity's own key is taken
│   └── UniqueViolation          .constraint .fields .value .owner of the first
├── StaleEntity                  someone saved or deleted it since
├── ConditionFailed              the caller's own condition
├── Contention · Throttled       retryable, retries spent
├── OutcomeUnknown · Unreachable · TokenReused · OwnerUnknown · TableNotFound · BulkError
└── UnexpectedRefusal            anything else DynamoDB said
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dynaorm.failure import Address as Address  # noqa: PLC0414 - a name that others take from here
from dynaorm.failure import DynaormError as DynaormError  # noqa: PLC0414 - see above
from dynaorm.failure import nearest, shown
from dynaorm.record import record

_LISTED = 5


class DeclarationError(DynaormError, TypeError):
    """A class cannot be mapped. ``problems`` are all of them, each with its own remedy."""

    entity: str
    problems: tuple[str, ...]
    problem: str = "Cannot map class {entity}"
    remedy: str = "change its declaration as each line says"

    def __str__(self) -> str:
        return "\n  - ".join([f"{self.problem}:", *self.problems])


class UsageError(DynaormError, RuntimeError):
    """The call cannot be planned, and nothing was sent."""

    problem: str
    remedy: str


class InvalidValue(UsageError, ValueError):
    """A value cannot be stored, or be part of a key. ``problem`` says why: ``is longer than 2048 bytes``."""

    entity: str
    field: str
    value: object
    remedy: str = "give the field a value that its declaration allows"

    def __str__(self) -> str:
        return f"{self.entity}.{self.field} = {shown(self.value)}: {self.problem}; {self.remedy}"


class PlanTooLarge(UsageError):
    """More than one transaction can hold."""

    actions: int
    bytes: int
    problem: str = (
        "{actions:,} actions of {bytes:,} bytes: one transaction holds 100 actions and 4 MB at most"
    )
    remedy: str = "use several transactions, or session.save_many for what need not be saved together"


class ItemTooLarge(UsageError):
    """One item over DynamoDB's limit."""

    key: Address | None
    bytes: int
    limit: int = 409_600
    problem: str = "has {bytes:,} bytes, names included, and DynamoDB's limit for an item is {limit:,}"
    remedy: str = "shorten its largest attributes, or move them to items of their own"

    def __str__(self) -> str:
        return f"{'an item' if self.key is None else repr(self.key)} {self.problem}; {self.remedy}"


class SameItemTwice(UsageError):
    """Two changes of one item that do not fold to one. ``problem`` says which: ``is written twice``."""

    key: Address | None
    remedy: str = "leave out one of the two, or make them in two transactions"

    def __str__(self) -> str:
        return f"{'an item' if self.key is None else repr(self.key)} {self.problem}; {self.remedy}"


class KeyChanged(UsageError):
    """A loaded entity's primary key is no longer the one it was loaded from, because of ``fields``."""

    entity: str
    before: Address
    after: Address
    fields: tuple[str, ...]
    problem: str = "this {entity} was loaded from {before!r} and is now {after!r}"
    remedy: str = (
        "session.move(entity) moves what is stored, session.save(detached(entity)) makes a second one"
    )


class UnknownField(UsageError):
    """A name that is no field of the class, or none that can stand here. ``known``: the names that can."""

    entity: str
    field: str
    known: tuple[str, ...]
    problem: str = "{entity} has no field {field!r} to be named here"
    remedy: str = "leave it out"

    def __post_init__(self) -> None:
        super().__post_init__()
        if found := nearest(self.field, self.known):
            self.remedy = f"did you mean {found!r}?"
        elif self.known:
            self.remedy = f"use one of {', '.join(self.known)}"


class NotVersioned(UsageError):
    """Versions were asked of a class that keeps none."""

    entity: str
    problem: str = "{entity} keeps no versions"
    remedy: str = "declare class {entity}(..., versioned=True), or mark the fields to keep with Versioned()"


class SessionClosed(UsageError):
    """A call on a session after it was closed."""

    problem: str = "this session is closed"
    remedy: str = "open another one: with Session(...) as session"


class InvalidCursor(UsageError, ValueError):
    """A cursor that is damaged, or that another query made. ``problem`` says which."""

    remedy: str = "give a cursor only to the query that made it, or begin again without after="


class DecodeError(DynaormError, ValueError):
    """A stored item cannot become an entity. ``key``: its raw primary key; ``problems``: all of them."""

    entity: str
    key: Mapping[str, Any]
    problems: tuple[str, ...]
    problem: str = "Cannot load {entity}"
    remedy: str = (
        "Correct the item or the class; Session(on_decode_error=...) decides what reads do with such items"
    )

    def __str__(self) -> str:
        key = ", ".join(f"{name}={shown(*value.values())}" for name, value in self.key.items())
        return "\n  - ".join([f"{self.problem} from the item {key}:", *self.problems]) + f"\n{self.remedy}"


class StoreError(DynaormError):
    """DynamoDB said no, or nothing. ``causes``: all errors of a refused plan, this one among them."""

    causes: tuple[DynaormError, ...] = field(default=(), repr=False, kw_only=True)
    problem: str = "DynamoDB did not do what was asked"
    remedy: str = "see .causes"

    def __str__(self) -> str:
        others = dict.fromkeys(type(cause).__name__ for cause in self.causes if cause is not self)
        also = f" (and {', '.join(others)}: see .causes)" if others else ""
        return f"{self.problem}{also}; {self.remedy}"


class EntityNotFound(StoreError, LookupError):
    """Nothing is stored under this key."""

    key: Address
    problem: str = "nothing is stored under {key!r}"
    remedy: str = (
        "check the key's fields; to allow for absence read with session.get, to insert use session.save"
    )


@record
class Violation:
    """One constraint that somebody else's item stands for; ``owner`` is None where it is not known."""

    constraint: str
    fields: tuple[str, ...]
    value: object
    owner: Address | None

    def __str__(self) -> str:
        of = "" if self.fields in ((), (self.constraint,)) else f" ({', '.join(self.fields)})"
        by = "is already taken" if self.owner is None else f"is taken by {self.owner!r}"
        return f"{self.constraint}{of} {shown(self.value)} {by}"


class ConstraintViolation(StoreError):
    """Somebody else has what must be unique. ``violations``: every one of the plan."""

    violations: tuple[Violation, ...]
    problem: str = "a unique value is taken"
    remedy: str = "choose another value, or have its owner give it up first"

    def __str__(self) -> str:
        return "; ".join([self.problem, *map(str, self.violations), self.remedy])


class AlreadyExists(ConstraintViolation):
    """The entity's own key is taken; ``violations`` are its unique values that are taken too."""

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
    """Somebody saved or deleted it since. ``expected``, ``found``: its revisions, None where it has none."""

    key: Address
    expected: str | None
    found: str | None
    problem: str = "{key!r} was saved or deleted by somebody else since it was loaded"
    remedy: str = "get it again, make the change again and save, or let session.run(work) do so"


class ConditionFailed(StoreError):
    """The caller's own condition does not hold for what is stored."""

    key: Address
    problem: str = "the condition does not hold for {key!r}, so nothing was written"
    remedy: str = "get it to see what is stored now, and decide again"


class Contention(StoreError):
    """Other writers kept touching the same items until the retries were spent."""

    attempts: int
    code: str
    problem: str = (
        "other writers kept touching the same items: {attempts} attempts, the last refused with {code}"
    )
    remedy: str = "nothing was written: try again later, and spread writes that meet often over several items"


class Throttled(StoreError):
    """DynamoDB throttled the request until the retries were spent."""

    attempts: int
    code: str
    problem: str = "DynamoDB throttled the request: {attempts} attempts, the last refused with {code}"
    remedy: str = "nothing was written: send less at a time, or raise the capacity of the table or its index"


class OutcomeUnknown(StoreError):
    """No answer to a write: it may have happened. ``plan`` can be resumed."""

    plan: object = field(repr=False, kw_only=True)
    reason: str
    problem: str = "no answer came, so the write may or may not have happened ({reason})"
    remedy: str = "session.resume(error.plan) finds out and finishes it, without writing twice"


class Unreachable(StoreError):
    """No answer to a read."""

    operation: str
    attempts: int
    reason: str
    problem: str = "{operation} got no answer in {attempts} attempts ({reason})"
    remedy: str = "check the region, the endpoint and the network, and read again"


class TokenReused(StoreError):
    """A token that another request used within the last ten minutes."""

    token: str
    problem: str = (
        "the token {token!r} was used for another request in the last ten minutes; nothing was written"
    )
    remedy: str = "repeat a token only with the same changes, and give every other transaction its own"


class OwnerUnknown(StoreError):
    """A guard item without an owner, as one written by hand may be."""

    constraint: str
    value: object
    problem: str = "{constraint} {value!r} is taken, but its guard item does not say by whom"
    remedy: str = "find the entity by its key or through an index, or write the owner into the guard item"


class TableNotFound(StoreError):
    """The table does not exist where the session looks for it."""

    table: str
    problem: str = "there is no table {table!r} in this account, region or endpoint"
    remedy: str = "create it with session.create_table(...), or check region=, endpoint= and table_names="


class BulkError(StoreError):
    """Some of many failed, the others are done. ``failures``: each entity or key, and its error."""

    failures: tuple[tuple[object, DynaormError], ...]
    remedy: str = "The others are done: correct what .failures says, and repeat only those"

    def __str__(self) -> str:
        said = [f"{shown(subject)}: {error}" for subject, error in self.failures[:_LISTED]]
        more = [f"and {len(self.failures) - _LISTED:,} more"] if len(self.failures) > _LISTED else []
        return "\n  - ".join([f"{len(self.failures):,} failed:", *said, *more]) + f"\n{self.remedy}"


class UnexpectedRefusal(StoreError):
    """Anything else that DynamoDB said; ``action`` describes the action it spoke of, if it did."""

    code: str
    message: str
    request_id: str
    reasons: tuple[str, ...]
    action: str
    problem: str = "DynamoDB refused with {code}: {message}"
    remedy: str = (
        "check the permissions and the table's definition; if they are right, please report this message"
    )

    def __str__(self) -> str:
        where = f", in the action to {self.action}" if self.action else ""
        by = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.problem}{where}{by}; {self.remedy}"
