"""The tree of errors, and what every one of them promises: fields, a message that ends with the remedy, pickling."""

import ast
import copy
import dataclasses
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynaorm
from dynaorm import errors, failure
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    CheckpointExpired,
    ConditionFailed,
    ConstraintViolation,
    Contention,
    DeclarationError,
    DecodeError,
    DynaormError,
    EntityNotFound,
    InvalidCursor,
    InvalidValue,
    ItemTooLarge,
    KeyChanged,
    NotVersioned,
    OutcomeUnknown,
    OwnerUnknown,
    PlanTooLarge,
    SameItemTwice,
    SessionClosed,
    StaleEntity,
    StillCounted,
    StoreError,
    TableNotFound,
    Throttled,
    TokenReused,
    UnexpectedRefusal,
    UniqueViolation,
    UnknownField,
    Unreachable,
    UsageError,
    Violation,
)
from dynaorm.item.size import ACTION_LIMIT, ITEM_LIMIT, TRANSACTION_LIMIT

TREE: dict[type[DynaormError], tuple[type[BaseException], ...]] = {
    DynaormError: (Exception,),
    DeclarationError: (DynaormError, TypeError),
    UsageError: (DynaormError, RuntimeError),
    InvalidValue: (UsageError, ValueError),
    PlanTooLarge: (UsageError,),
    ItemTooLarge: (UsageError,),
    SameItemTwice: (UsageError,),
    KeyChanged: (UsageError,),
    UnknownField: (UsageError,),
    NotVersioned: (UsageError,),
    SessionClosed: (UsageError,),
    InvalidCursor: (UsageError, ValueError),
    DecodeError: (DynaormError, ValueError),
    StoreError: (DynaormError,),
    EntityNotFound: (StoreError, LookupError),
    ConstraintViolation: (StoreError,),
    AlreadyExists: (ConstraintViolation,),
    UniqueViolation: (ConstraintViolation,),
    StaleEntity: (StoreError,),
    ConditionFailed: (StoreError,),
    StillCounted: (ConditionFailed,),
    Contention: (StoreError,),
    Throttled: (StoreError,),
    OutcomeUnknown: (StoreError,),
    Unreachable: (StoreError,),
    TokenReused: (StoreError,),
    OwnerUnknown: (StoreError,),
    TableNotFound: (StoreError,),
    CheckpointExpired: (StoreError,),
    BulkError: (StoreError,),
    UnexpectedRefusal: (StoreError,),
}


@dataclasses.dataclass(frozen=True)
class Place:
    """An address that needs no table."""

    entity: type[Any] | None
    fields: Mapping[str, Any]
    primary_key: Mapping[str, Mapping[str, Any]]

    def __repr__(self) -> str:
        return f"Key(User, {', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


ONE = Place(dict, {"user_id": "u1"}, {"PK": {"S": "USER#u1"}, "SK": {"S": "#"}})
OTHER = Place(dict, {"user_id": "u2"}, {"PK": {"S": "USER#u2"}, "SK": {"S": "#"}})
EMAIL = Violation(constraint="email", fields=("email",), value="b@example.com", owner=OTHER)
SLUG = Violation(constraint="project_slug", fields=("project", "slug"), value=("p1", "s"), owner=None)

SAMPLES: list[DynaormError] = [
    DeclarationError(
        entity="User", problems=("pk has no braces; write {user_id}", "x is unknown; leave it out")
    ),
    UsageError(problem="this User is new", remedy="save it first"),
    InvalidValue(entity="User", field="age", value=object, problem="is not an int"),
    PlanTooLarge(actions=130, bytes=5_000_000),
    ItemTooLarge(key=ONE, bytes=500_000),
    ItemTooLarge(key=None, bytes=500_000, limit=1024),
    SameItemTwice(key=ONE, problem="is written twice"),
    SameItemTwice(key=None, problem="is both deleted and changed"),
    KeyChanged(entity="User", before=ONE, after=OTHER, fields=("user_id",)),
    UnknownField(entity="User", field="emial", known=("name", "email")),
    UnknownField(entity="User", field="zip", known=("name", "email")),
    UnknownField(entity="User", field="zip", known=()),
    NotVersioned(entity="User"),
    SessionClosed(),
    InvalidCursor(problem="the cursor was made by another query"),
    DecodeError(
        entity="User", key=ONE.primary_key, problems=("email: is missing", "age: 'x' is not a number")
    ),
    StoreError(),
    EntityNotFound(key=ONE),
    ConstraintViolation(violations=(EMAIL, SLUG)),
    AlreadyExists(key=ONE, violations=()),
    AlreadyExists(key=ONE, violations=(EMAIL,)),
    UniqueViolation(entity="User", violations=(EMAIL, SLUG)),
    StaleEntity(key=ONE, expected="r1", found="r2"),
    StaleEntity(key=ONE, expected=None, found=None),
    ConditionFailed(key=ONE),
    StillCounted(key=ONE, aggregates=("Membership.in_group",), totals={"members": 2}),
    Contention(attempts=8, code="TransactionConflict"),
    Throttled(attempts=8, code="ThrottlingException"),
    OutcomeUnknown(plan=("a", "plan"), reason="read timeout"),
    Unreachable(operation="GetItem", attempts=5, reason="connection refused"),
    TokenReused(token="TRANSACTION1"),
    OwnerUnknown(constraint="email", value="b@example.com"),
    TableNotFound(table="app"),
    CheckpointExpired(table="app", reason="the shard shardId-1 is gone"),
    BulkError(failures=(("u1", ConditionFailed(key=ONE)), ("u2", SessionClosed()))),
    UnexpectedRefusal(
        code="ValidationException",
        message="One or more parameter values were invalid",
        request_id="R1",
        reasons=("None", "ValidationError"),
        action="insert User",
    ),
    UnexpectedRefusal(code="AccessDenied", message="no", request_id="", reasons=(), action=""),
]

every_error = pytest.mark.parametrize(
    "error", SAMPLES, ids=[f"{number}-{type(error).__name__}" for number, error in enumerate(SAMPLES)]
)


def subclasses(kind: type[DynaormError]) -> Iterator[type[DynaormError]]:
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from subclasses(each)


def fields_of(error: BaseException) -> dict[str, Any]:
    return {name: plain(value) for name, value in vars(error).items()}


def plain(value: object) -> object:
    if isinstance(value, DynaormError):
        return type(value), fields_of(value)
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def test_the_tree_is_the_one_promised() -> None:
    found: list[type[DynaormError]] = [DynaormError, *subclasses(DynaormError)]
    assert {kind: kind.__bases__ for kind in found} == TREE


def test_every_error_is_among_the_samples() -> None:
    assert {type(error) for error in SAMPLES} == set(TREE) - {DynaormError}


def test_the_docstring_draws_every_error() -> None:
    drawn = errors.__doc__ or ""
    assert [kind.__name__ for kind in TREE if kind.__name__ not in drawn] == []


@every_error
def test_a_pickled_error_is_equal_in_type_fields_and_message(error: DynaormError) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is type(error)
        assert fields_of(again) == fields_of(error)
        assert str(again) == str(error)


@every_error
def test_a_copied_error_is_equal_in_type_and_fields(error: DynaormError) -> None:
    for again in (copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert fields_of(again) == fields_of(error)


@every_error
def test_a_message_ends_with_the_remedy(error: DynaormError) -> None:
    remedy = error.problems[-1] if isinstance(error, DeclarationError) else error.remedy
    assert remedy
    assert str(error).endswith(remedy)


@every_error
def test_a_message_ends_with_its_place_in_the_reference_once_the_site_has_an_address(
    error: DynaormError, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = str(error)
    monkeypatch.setattr(failure, "SITE", "https://docs.example/")
    place = f"https://docs.example/reference/errors/#dynaorm.errors.{type(error).__name__}"
    assert str(error) == f"{without}\n{place}"


@every_error
def test_a_message_leaves_no_placeholder_unfilled(error: DynaormError) -> None:
    filled = str(error).replace("{user_id}", "")
    assert "{" not in filled
    assert "}" not in filled


@every_error
def test_an_error_shows_its_fields_in_its_repr(error: DynaormError) -> None:
    assert repr(error).startswith(f"{type(error).__name__}(")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SAMPLES[0], ["class User", "pk has no braces", "x is unknown"]),
        (InvalidValue(entity="User", field="age", value="x", problem="is not an int"), ["User.age", "'x'"]),
        (PlanTooLarge(actions=1300, bytes=5_000_000), ["1,300", "5,000,000", "save_many"]),
        (ItemTooLarge(key=ONE, bytes=500_000), ["Key(User, user_id='u1')", "500,000", f"{ITEM_LIMIT:,}"]),
        (SameItemTwice(key=ONE, problem="is written twice"), ["Key(User, user_id='u1') is written twice"]),
        (
            KeyChanged(entity="User", before=ONE, after=OTHER, fields=("user_id",)),
            ["this User", "'u1'", "'u2'", "session.move", "detached"],
        ),
        (NotVersioned(entity="User"), ["User keeps no versions", "versioned=True"]),
        (SAMPLES[15], ["User", "USER#u1", "email: is missing", "age: 'x' is not a number"]),
        (EntityNotFound(key=ONE), ["Key(User, user_id='u1')"]),
        (
            ConstraintViolation(violations=(EMAIL, SLUG)),
            [
                "email 'b@example.com' is taken by Key(User, user_id='u2')",
                "project_slug (project, slug) ('p1', 's')",
            ],
        ),
        (
            AlreadyExists(key=ONE, violations=(EMAIL,)),
            ["user_id='u1'", "email 'b@example.com'", "overwrite=True"],
        ),
        (UniqueViolation(entity="User", violations=(EMAIL,)), ["this User", "email 'b@example.com'", "'u2'"]),
        (StaleEntity(key=ONE, expected="r1", found="r2"), ["Key(User, user_id='u1')", "session.run"]),
        (Contention(attempts=8, code="TransactionConflict"), ["8 attempts", "TransactionConflict"]),
        (Throttled(attempts=8, code="ThrottlingError"), ["8 attempts", "ThrottlingError"]),
        (OutcomeUnknown(plan=None, reason="read timeout"), ["read timeout", "session.resume"]),
        (
            Unreachable(operation="GetItem", attempts=5, reason="refused"),
            ["GetItem", "5 attempts", "refused"],
        ),
        (TokenReused(token="T1"), ["'T1'"]),
        (OwnerUnknown(constraint="email", value="b@x"), ["email 'b@x'"]),
        (TableNotFound(table="app"), ["'app'", "create", "endpoint"]),
        (SAMPLES[-3], ["2 failed", "'u1': the condition", "'u2': this session is closed"]),
        (SAMPLES[-2], ["ValidationException", "One or more", "insert User", "R1"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, DynaormError) else None,
)
def test_a_message_names_the_values_of_its_fields(error: DynaormError, words: list[str]) -> None:
    assert [word for word in words if word not in str(error)] == []


def test_the_limits_in_the_messages_are_dynamodbs() -> None:
    assert (ACTION_LIMIT, TRANSACTION_LIMIT) == (100, 4 * 1024 * 1024)
    assert "100 actions and 4 MB" in str(PlanTooLarge(actions=1, bytes=1))
    assert ItemTooLarge(key=None, bytes=1).limit == ITEM_LIMIT


@pytest.mark.parametrize(
    ("field", "remedy"), [("emial", "did you mean 'email'?"), ("zip", "use one of name, email")]
)
def test_an_unknown_field_is_offered_the_nearest_name_or_every_name(field: str, remedy: str) -> None:
    assert UnknownField(entity="User", field=field, known=("name", "email")).remedy == remedy


def test_a_unique_violation_has_the_fields_of_its_first_violation() -> None:
    error = UniqueViolation(entity="User", violations=(EMAIL, SLUG))
    assert (error.constraint, error.fields, error.value, error.owner) == (
        "email",
        ("email",),
        "b@example.com",
        OTHER,
    )


def test_a_message_mentions_what_else_went_wrong() -> None:
    stale = StaleEntity(key=ONE, expected="r1", found="r2")
    stale.causes = (stale, ConditionFailed(key=ONE), ConditionFailed(key=OTHER))
    assert "(and ConditionFailed: see .causes)" in str(stale)
    assert str(stale).endswith(stale.remedy)


def test_an_error_among_its_own_causes_pickles() -> None:
    stale = StaleEntity(key=ONE, expected="r1", found="r2")
    stale.causes = (stale, ConditionFailed(key=ONE))
    again = pickle.loads(pickle.dumps(stale))
    assert again.causes[0] is again
    assert fields_of(again.causes[1]) == fields_of(stale.causes[1])
    assert repr(again) == repr(stale)


def test_notes_are_carried_along() -> None:
    error = TableNotFound(table="app")
    error.add_note("seen in the morning")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["seen in the morning"]


def test_a_long_value_is_shortened_in_the_message_and_whole_in_the_field() -> None:
    error = InvalidValue(entity="User", field="bio", value="x" * 10_000, problem="is too long")
    assert len(str(error)) < 400
    assert error.value == "x" * 10_000


def test_a_bulk_error_lists_the_first_failures_and_counts_the_rest() -> None:
    error = BulkError(failures=tuple((f"u{number}", SessionClosed()) for number in range(1200)))
    assert "1,200 failed" in str(error)
    assert "'u4'" in str(error)
    assert "'u5'" not in str(error)
    assert "and 1,195 more" in str(error)


def test_fields_are_given_by_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        TableNotFound("app")  # type: ignore[call-arg, arg-type]  # the mistake under test


def test_an_error_needs_all_its_fields() -> None:
    with pytest.raises(TypeError, match="remedy"):
        UsageError(problem="x")  # type: ignore[call-arg]  # the mistake under test


def test_a_subclass_needs_no_decorator_to_have_fields() -> None:
    class Flooded(StoreError):
        litres: int
        problem: str = "{litres} litres came in"
        remedy: str = "open a window"

    assert str(Flooded(litres=3)) == "3 litres came in; open a window"


def test_each_error_is_equal_only_to_itself() -> None:
    assert TableNotFound(table="app") != TableNotFound(table="app")
    assert len({TableNotFound(table="app"), TableNotFound(table="app")}) == 2


@given(problem=st.text(), remedy=st.text(), value=st.text())
def test_what_a_caller_says_is_taken_as_it_is(problem: str, remedy: str, value: str) -> None:
    assert str(UsageError(problem=problem, remedy=remedy)) == f"{problem}; {remedy}"
    error = InvalidValue(entity="User", field="name", value=value, problem=problem, remedy=remedy)
    assert (error.problem, error.remedy, error.value) == (problem, remedy, value)
    assert str(TokenReused(token=value)).startswith(f"the token {value!r} ")


def test_the_texts_that_callers_give_to_errors_are_complete() -> None:
    """Only the texts of an error class have braces: those of a caller are used unchanged."""
    texts = [
        (path.name, text.value)
        for path in Path(dynaorm.__path__[0]).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("problem", "remedy")
        for text in ([] if isinstance(keyword.value, ast.JoinedStr) else ast.walk(keyword.value))
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]
    assert len(texts) > 100
    assert [one for one in texts if re.search(r"\{\w+(![rs])?\}", one[1])] == []
