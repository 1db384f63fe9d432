"""An error becomes a problem that names fields, and nothing else of what is stored or was given."""

from hypothesis import given
from hypothesis import strategies as st

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
    SessionClosed,
    StaleEntity,
    StillCounted,
    Throttled,
    TokenReused,
    UniqueViolation,
    Unreachable,
    Violation,
)
from dynaorm.integrations.http import INTERNAL_ERROR, PROBLEMS, SOME_FAILED, problem_of
from tests.test_errors import EMAIL, ONE, SAMPLES, SLUG, TREE

STATUSES: dict[type[DynaormError], int] = {
    **{kind: 500 for kind in TREE if kind is not DynaormError},
    InvalidCursor: 400,
    EntityNotFound: 404,
    AlreadyExists: 409,
    ConstraintViolation: 409,
    UniqueViolation: 409,
    StillCounted: 409,
    StaleEntity: 412,
    ConditionFailed: 412,
    ItemTooLarge: 413,
    InvalidValue: 422,
    TokenReused: 422,
    Contention: 503,
    Throttled: 503,
    Unreachable: 503,
    OutcomeUnknown: 503,
}

GIVEN_OR_STORED = (
    *("u1", "u2", "b@example.com", "p1", "USER#", "<class 'object'>", "r1", "r2", "TRANSACTION1", "app"),
    *("2", "in_group", "read timeout", "connection refused", "AccessDenied", "shardId-1", "R1"),
)
"""The values, keys, owners, revisions and messages of the samples."""


def test_every_error_has_its_status() -> None:
    assert {type(error): problem_of(error).status for error in SAMPLES} == STATUSES


def test_no_problem_says_what_was_given_or_is_stored() -> None:
    assert [text for text in GIVEN_OR_STORED if text not in "".join(map(repr, SAMPLES))] == []
    for error in SAMPLES:
        problem = problem_of(error)
        said = problem.model_dump(exclude={"status"})
        assert [text for text in GIVEN_OR_STORED if text in str(said)] == [], type(error)
        assert problem.status < 500 or problem in (INTERNAL_ERROR, *PROBLEMS.values())


def test_the_fields_at_fault_are_named_each_once_and_those_of_the_key_first() -> None:
    taken = problem_of(AlreadyExists(key=ONE, violations=(EMAIL, SLUG)))
    assert (taken.field, taken.fields) == ("user_id", ("user_id", "email", "project", "slug"))
    unique = problem_of(UniqueViolation(entity="User", violations=(SLUG, EMAIL, EMAIL)))
    assert (unique.field, unique.fields) == ("project", ("project", "slug", "email"))
    assert unique.detail == "Somebody else has this value: project, slug, email."
    invalid = problem_of(InvalidValue(entity="User", field="age", value=-1, problem="is less than 0"))
    assert (invalid.field, invalid.detail) == ("age", "A value cannot be stored: age.")


def test_a_constraint_without_fields_is_named_itself() -> None:
    violation = Violation(constraint="handle", fields=(), value="bob", owner=None)
    assert problem_of(UniqueViolation(entity="User", violations=(violation,))).fields == ("handle",)


def test_a_rule_about_several_fields_names_none() -> None:
    problem = problem_of(InvalidValue(entity="User", field="", value={}, problem="ends before it begins"))
    assert (problem.field, problem.fields) == (None, None)


def test_the_kinds_of_problems_have_different_types() -> None:
    assert len({problem.type for problem in PROBLEMS.values()}) == len(PROBLEMS)


FAILURES: dict[int, DynaormError] = {
    409: AlreadyExists(key=ONE, violations=(EMAIL,)),
    412: ConditionFailed(key=ONE),
    422: InvalidValue(entity="User", field="age", value=-1, problem="is less than 0"),
    503: Throttled(attempts=3, code="ThrottlingException"),
    500: SessionClosed(),
}


@given(statuses=st.lists(st.sampled_from(sorted(FAILURES)), min_size=1))
def test_what_failed_of_many_has_the_status_of_all_or_else_the_gravest(statuses: list[int]) -> None:
    error = BulkError(failures=tuple((f"u{number}", FAILURES[one]) for number, one in enumerate(statuses)))
    gravest = next((one for one in (500, 503) if one in statuses), 400)
    problem = problem_of(error)
    assert problem.status == (statuses[0] if len(set(statuses)) == 1 else gravest)
    if problem.status == 500:
        assert problem == INTERNAL_ERROR
    else:
        assert problem.type == SOME_FAILED.type
        named = {"user_id", "email"} if 409 in statuses else set()
        assert set(problem.fields or ()) == named | ({"age"} if 422 in statuses else set())
        assert "u1" not in str(problem.model_dump())


def test_a_failure_of_many_may_itself_be_one_of_many() -> None:
    inner = BulkError(failures=(("u1", FAILURES[409]),))
    assert problem_of(BulkError(failures=(("u1", inner), ("u2", FAILURES[409])))).status == 409


def test_a_subclass_is_answered_as_its_base() -> None:
    class Closed(EntityNotFound):
        pass

    assert problem_of(Closed(key=ONE)) == PROBLEMS[EntityNotFound]
