"""Replacements are what reading first would make of them, and a run repeats the refusals that it is told to."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import F, Key, Session, Transaction, tools
from dynaorm.errors import (
    ConditionFailed,
    Contention,
    EntityNotFound,
    OutcomeUnknown,
    StoreError,
    UniqueViolation,
    UsageError,
)
from dynaorm.testing import tables_of
from tests.cast.documents import Letter
from tests.cast.orders import Stock
from tests.cast.others import Loose, Spot
from tests.cast.people import User

KEYS: dict[Any, list[str]] = {
    Stock: ["sku"],
    Loose: ["name"],
    Spot: ["name"],
    User: ["user_id"],
    Letter: ["name"],
}
ENTITIES = st.one_of(
    st.builds(Stock, sku=st.just("a"), left=st.integers(0, 2)),
    st.builds(Loose, name=st.just("l"), left=st.integers(0, 2)),
    st.builds(Spot, name=st.just("p"), visits=st.integers(0, 2)),
    st.builds(User, user_id=st.just("1"), email=st.sampled_from(["a", "b"]), visits=st.integers(0, 2)),
    st.builds(Letter, name=st.just("d"), text=st.sampled_from(["a", "b"])),
)


@settings(max_examples=30)
@given(before=st.none() | st.integers(0, 2), new=ENTITIES, wanted=st.integers(0, 2), overwrites=st.booleans())
def test_a_replacement_always_does_what_reading_first_would(
    before: int | None, new: Any, wanted: int, overwrites: bool
) -> None:
    kind = type(new)
    number = next((name for name in ("left", "visits") if name in kind.model_fields), "text")
    key = {name: getattr(new, name) for name in KEYS[kind]}
    value = wanted if number != "text" else "ab"[wanted % 2]
    condition = F[number] == value
    (table,) = tables_of(kind)
    with Session(endpoint="memory:") as session:
        session.create_table(table)
        if before is not None:
            session.save(kind(**key, **{number: before if number != "text" else "ab"[before % 2]}))
        stored = session.get(Key(kind, **key))
        allowed = overwrites or stored is None or getattr(stored, number) == value
        how: Any = {"overwrite": True} if overwrites else {"replacing": condition}
        if allowed:
            session.save(new, **how)
            assert session.get(Key(kind, **key)) == new
        else:
            with pytest.raises(ConditionFailed) as refused:
                session.save(new, **how)
            assert refused.value.stored == stored == session.get(Key(kind, **key))
        assert list(tools.verify(session, table)) == []


def test_a_run_repeats_refusals_and_ends_in_contention(session: Session) -> None:
    session.save(Stock(sku="a", left=1))
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.update(Key(Stock, sku="a"), F.left.set(2), condition=F.left == len(calls) - 2)

    session.run(work, attempts=5, retry_on=ConditionFailed)
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(Contention) as lost:
        session.run(
            lambda tx: tx.check(Key(Stock, sku="a"), F.left > 9), attempts=2, retry_on=ConditionFailed
        )
    assert [type(cause) for cause in lost.value.causes] == [ConditionFailed]
    with pytest.raises(ConditionFailed):
        session.run(lambda tx: tx.check(Key(Stock, sku="a"), F.left > 9))


def test_a_run_never_repeats_what_the_work_itself_raises(session: Session) -> None:
    calls: list[int] = []

    def work(_: Transaction) -> None:
        calls.append(1)
        session.get_one(Stock, sku="none")

    with pytest.raises(EntityNotFound):
        session.run(work, retry_on=(EntityNotFound, UniqueViolation))
    assert calls == [1]


@pytest.mark.parametrize(
    "kind", [OutcomeUnknown, StoreError, ValueError, "ConditionFailed", (ConditionFailed, 1)]
)
def test_a_run_is_repeated_only_after_refusals(session: Session, kind: Any) -> None:
    with pytest.raises(UsageError, match="retry_on"):
        session.run(lambda _: None, retry_on=kind)
