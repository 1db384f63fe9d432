"""What a service over HTTP needs of dynaorm: problem details of errors, entity tags, and ``Idempotency-Key``."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    ConditionFailed,
    ConstraintViolation,
    Contention,
    DynaormError,
    EntityNotFound,
    InvalidCursor,
    InvalidValue,
    ItemTooLarge,
    OutcomeUnknown,
    StaleEntity,
    StillCounted,
    Throttled,
    TokenReused,
    Unreachable,
    UsageError,
)
from dynaorm.failure import with_article
from dynaorm.record import record

# What a client of an HTTP service may know of an error: problem details (RFC 9457).
#
# Rule 1. A problem names fields, and never a value, a key, an owner or a revision: the client may be a stranger.
# Rule 2. An error that the client can neither cause nor correct is an internal error, without details.
# Rule 3. A status of 503 says that the same request may succeed later.
# Rule 4. What failed of many decides together: the status of all failures if they have the same, otherwise 500 before
#         503 before 400. So no mistake of the service stays unseen, and a request that may do more later is repeated.

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER: Final = {"Retry-After": "5"}
"""The header of every answer with status 503. dynaorm itself has repeated the request before."""


class Problem(BaseModel):
    """The body of an answer with the media type ``application/problem+json`` (RFC 9457).

    Attributes:
        type: the kind of problem, a URI.
        title: the kind in words.
        status: the HTTP status.
        detail: what is wrong.
        field: the field that is wrong; None if it is not one.
        fields: the fields of a violated constraint.

    Examples:
        >>> problem_of(EntityNotFound(key=Key(User, user_id="9"))).status
        404
    """

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="Names the kind of problem, for programs.")
    title: str = Field(description="The kind of problem in words.")
    status: int = Field(description="The status of the answer.")
    detail: str = Field(description="What happened, and what the client can do.")
    field: str | None = Field(default=None, description="The field at fault, or the first of several.")
    fields: tuple[str, ...] | None = Field(default=None, description="All fields at fault.")


def _problem(name: str, status: int, title: str, detail: str) -> Problem:
    return Problem(type=f"urn:problem-type:dynaorm:{name}", title=title, status=status, detail=detail)


BAD_ENTITY_TAG: Final = _problem(
    "bad-entity-tag", 400, "Bad entity tag", 'The header must be * or a list of entity tags in quotes: "...".'
)
BAD_IDEMPOTENCY_KEY: Final = _problem(
    "bad-idempotency-key",
    400,
    "Bad idempotency key",
    "Idempotency-Key must be 1 to 255 visible ASCII characters, unique for each request that is meant.",
)
NO_IF_MATCH: Final = _problem(
    "if-match-required",
    428,
    "Precondition required",
    "Read the resource, and repeat the request with If-Match and the ETag of that answer.",
)
NO_IDEMPOTENCY_KEY: Final = _problem(
    "idempotency-key-required",
    400,
    "Idempotency key required",
    "Repeat the request with a header Idempotency-Key: a random text, the same for every repetition.",
)
SOME_FAILED: Final = _problem(
    "some-failed",
    400,
    "Some failed",
    "Read what is stored, and repeat only what is missing. Some of the changes may not have been made.",
)
INTERNAL_ERROR: Final = _problem(
    "internal-error", 500, "Internal error", "The service could not handle the request."
)

PROBLEMS: Final[Mapping[type[DynaormError], Problem]] = {
    InvalidCursor: _problem(
        "invalid-cursor", 400, "Invalid cursor", "The cursor does not belong to this list: begin without it."
    ),
    EntityNotFound: _problem("not-found", 404, "Not found", "What the request refers to does not exist."),
    AlreadyExists: _problem("already-exists", 409, "Already exists", "It exists already."),
    ConstraintViolation: _problem("not-unique", 409, "Not unique", "Somebody else has this value."),
    StillCounted: _problem("in-use", 409, "In use", "It cannot be removed as long as others belong to it."),
    StaleEntity: _problem(
        "stale",
        412,
        "Changed meanwhile",
        "It was changed since you read it: read it again, and decide again.",
    ),
    ConditionFailed: _problem(
        "condition-failed", 412, "Condition failed", "What is stored now does not allow the change."
    ),
    ItemTooLarge: _problem("too-large", 413, "Too large", "It is too large to be stored."),
    InvalidValue: _problem("invalid-value", 422, "Invalid value", "A value cannot be stored."),
    TokenReused: _problem(
        "idempotency-key-reused",
        422,
        "Idempotency key reused",
        "The Idempotency-Key belongs to another request: give each request a key of its own.",
    ),
    Contention: _problem("contention", 503, "Too busy", "Nothing was changed: repeat the request later."),
    Throttled: _problem("throttled", 503, "Too busy", "Nothing was changed: repeat the request later."),
    Unreachable: _problem("unreachable", 503, "Unavailable", "Repeat the request later."),
    OutcomeUnknown: _problem(
        "outcome-unknown",
        503,
        "Outcome unknown",
        "The change may or may not have been made. Repeat the request with the same Idempotency-Key or If-Match; "
        "without one, read before you repeat it.",
    ),
}
"""The problem of each class of errors, and of its subclasses that have none of their own."""


def problem_of(error: DynaormError) -> Problem:
    """The problem details of an error; an internal error for one that is not the client's concern.

    Examples:
        >>> problem_of(EntityNotFound(key=Key(User, user_id="9"))).title
        'Not found'
    """
    if isinstance(error, BulkError):
        return _problem_of_many(error)
    classes = (base for base in type(error).__mro__ if base in PROBLEMS)
    problem = PROBLEMS.get(next(classes, DynaormError), INTERNAL_ERROR)
    return _with_fields(problem, _fields_at_fault(error))


def _problem_of_many(error: BulkError) -> Problem:
    problems = [problem_of(failure) for _, failure in error.failures]
    statuses = {problem.status for problem in problems}
    if len(statuses) == 1:
        (status,) = statuses
    else:
        # Rule 4.
        status = next((one for one in (500, 503) if one in statuses), 400)
    if status == INTERNAL_ERROR.status:
        return INTERNAL_ERROR
    fields = tuple(dict.fromkeys(name for problem in problems for name in problem.fields or ()))
    return _with_fields(SOME_FAILED.model_copy(update={"status": status}), fields)


def _with_fields(problem: Problem, fields: tuple[str, ...]) -> Problem:
    if not fields:
        return problem
    detail = f"{problem.detail.rstrip('.')}: {', '.join(fields)}."
    return problem.model_copy(update={"detail": detail, "field": fields[0], "fields": fields})


def _fields_at_fault(error: DynaormError) -> tuple[str, ...]:
    """The names of the fields whose values are refused, each once."""
    if isinstance(error, InvalidValue):
        return (error.field,) if error.field else ()
    if not isinstance(error, ConstraintViolation):
        return ()
    keys = error.key.fields if isinstance(error, AlreadyExists) else ()
    unique = [name for violation in error.violations for name in violation.fields or (violation.constraint,)]
    return tuple(dict.fromkeys([*keys, *unique]))


# Entity tags (RFC 9110, sections 8.8.3 and 13.1): the revision of an entity in HTTP headers.

# One element of a list, which may be empty, and what ends it. A tag may contain commas.
_ELEMENT: Final = re.compile(r'[ \t]*(?:(W/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|\Z)')


def etag(entity: object) -> str:
    """The revision of a loaded entity as a strong entity tag, in quotes: for the header ``ETag``.

    Every write of the entity gives it another one. Fields that you changed and have not saved make no difference.

    Args:
        entity: the loaded entity.

    Raises:
        UsageError: the entity is new, or its table keeps no revisions.

    Examples:
        >>> etag(session.get_one(User, user_id="1"))
        '"..."'
    """
    name, state = with_article(type(entity).__name__), state_of(entity)
    if state is None:
        raise UsageError(
            problem=f"{name} that was not loaded or saved by a session has no ETag",
            remedy="save or load it first",
        )
    revision = mapping_of(type(entity)).revision_of(state.item)
    if revision is None:
        raise UsageError(
            problem=f"{name} that is stored without a revision has no ETag",
            remedy="give its table a revision_attribute, and save it once",
        )
    # A revision that another program wrote may be any text.
    return f'"{quote(revision, safe="")}"'


@record
class EntityTags:
    """The entity tags of a header.

    Attributes:
        strong: the strong ones, in quotes.
        weak: the weak ones, in quotes, without ``W/``.
        is_any: whether the header is ``*``.
    """

    strong: frozenset[str]
    weak: frozenset[str] = frozenset()
    is_any: bool = False

    def match_strongly(self, tag: str) -> bool:
        """Whether the tag is one of these, and strong: the comparison of ``If-Match``."""
        return self.is_any or tag in self.strong

    def match_weakly(self, tag: str) -> bool:
        """Whether the tag is one of these, weak or not: the comparison of ``If-None-Match``."""
        return self.is_any or tag in self.strong or tag in self.weak


def entity_tags(header: str) -> EntityTags | None:
    """The tags in the value of ``If-Match`` or ``If-None-Match``; None if it is neither ``*`` nor a list of tags."""
    if header.strip(" \t") == "*":
        return EntityTags(frozenset(), is_any=True)
    found: dict[bool, set[str]] = {True: set(), False: set()}
    position = 0
    while position < len(header):
        element = _ELEMENT.match(header, position)
        if element is None:
            return None
        if element[2] is not None:
            found[element[1] is not None].add(f'"{element[2]}"')
        position = element.end()
    if not any(found.values()):
        return None
    return EntityTags(frozenset(found[False]), frozenset(found[True]))


# The header ``Idempotency-Key``: what a request is called, however often it is sent.
#
# The header is that of draft-ietf-httpapi-idempotency-key-header: a text in quotes. Many clients send it without.

_KEY: Final = re.compile(r'"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255})')
# A token has up to 36 characters.
_DIGITS: Final = 32


@record
class IdempotencyKey:
    """The ``Idempotency-Key`` of a request: ``session.transaction(token=key.token, remember=key.remember)``.

    Attributes:
        token: follows from the method, the path, the caller and the key of the request.
        remember: for how long a repetition of the request is recognised.

    Examples:
        >>> IdempotencyKey(token="t", remember=timedelta(days=1)).token
        't'
    """

    token: str
    remember: timedelta

    def id_for(self, name: str) -> str:
        """An id for what the request creates: 32 digits, the same whenever the request is repeated.

        Ids for different names differ.

        Args:
            name: what it is for.

        Examples:
            >>> key = IdempotencyKey(token="t", remember=timedelta(days=1))
            >>> key.id_for("order") == key.id_for("order"), len(key.id_for("order"))
            (True, 32)
        """
        return digits_of("id", self.token, name)


def key_in(header: str) -> str | None:
    """The key in the value of the header; None if it is not valid."""
    found = _KEY.fullmatch(header)
    return None if found is None else found[1] or found[2]


def digits_of(*parts: str) -> str:
    """32 hexadecimal digits that follow from these texts, and differ for different ones."""
    # JSON keeps the parts apart: "a" and "bc" are not "ab" and "c".
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]
