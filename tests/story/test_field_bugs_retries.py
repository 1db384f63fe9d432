"""Bugs of other libraries with reads before writes, silent failures, and retries."""

from typing import Any

import pytest

from dynaorm import F, Key, inspect
from dynaorm.errors import ConditionFailed, PlanTooLarge
from tests.story.engine import Engine
from tests.story.field_bugs import LegacyUser, Note, User, app, table_of


@pytest.fixture(params=[User, LegacyUser], ids=["revision", "legacy"])
def kind(request: pytest.FixtureRequest, engine: Engine) -> Any:
    """A user class: of a table whose items have a revision, and of one whose items do not."""
    engine.create(table_of(request.param))
    return request.param


# -- reads before writes -----------------------------------------------------------------------------------------------


def test_every_read_that_a_write_rests_on_is_strongly_consistent(engine: Engine, kind: Any) -> None:
    """Bug: the old value comes from an eventually consistent read, and the wrong guard is released."""
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x"))
        session.update(Key(kind, user_id="u1"), {"email": "b@x"})
        session.save(kind(user_id="u1", email="c@x"), overwrite=True)
        session.refresh(user)
        assert session.get_by(kind, email="c@x") == user
        user.user_id = "u2"
        session.move(user)
        session.delete(Key(kind, user_id="u2"))
        assert engine.raw(table_of(kind)) == []
    reads = [call.request for call in engine.calls if call.operation == "GetItem"]
    # The reads: update, overwrite, refresh, guard and owner, delete, and the move of an item without revision.
    assert len(reads) == (6 if kind is User else 7)
    assert all(request["ConsistentRead"] for request in reads)


def test_reads_for_versions_are_strongly_consistent_too(engine: Engine) -> None:
    """Bug: the newest number comes from an eventually consistent read, and a version is written twice."""
    engine.create(app)
    with engine.session() as session:
        note = session.save(Note(note_id="n1", text="1"))
        session.update(Key(Note, note_id="n1"), {"text": "2"})
        session.restore(Key(Note, note_id="n1"), version=1)
        session.delete(Key(Note, note_id="n1"))
        session.save(Note(note_id="n1", text="again"))
        assert [one.number for one in session.history(note)] == [4, 3, 2, 1]
    reads = [call.request for call in engine.calls if call.operation == "GetItem"]
    assert reads
    assert all(request["ConsistentRead"] for request in reads)
    (batch,) = (call.request for call in engine.calls if call.operation == "BatchGetItem")
    assert batch["RequestItems"][engine.name("App")]["ConsistentRead"]


# -- silence -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"visits": 2}, {"email": "b@x"}, {"email": "a@x"}])
def test_an_update_whose_condition_does_not_hold_raises_and_writes_nothing(
    engine: Engine, kind: Any, change: dict[str, object]
) -> None:
    """Bug: an update with a failed condition returns None, as if it had been made."""
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x", visits=1))
        before = engine.raw(table_of(kind))
        for named in (Key(kind, user_id="u1"), user):
            with pytest.raises(ConditionFailed) as failed:
                session.update(named, change, condition=F.visits > 5)
            assert failed.value.key == Key(kind, user_id="u1")
            with pytest.raises(ConditionFailed):
                session.delete(named, condition=F.visits > 5)
        with pytest.raises(ConditionFailed):
            session.save(user, condition=F.visits > 5)
    assert engine.raw(table_of(kind)) == before


def test_a_block_of_more_than_a_hundred_actions_is_refused_and_never_split(engine: Engine) -> None:
    """Bug: writes that do not fit into one transaction are committed in several, so half of them may stay."""
    engine.create(app)
    with engine.session() as session:
        users = [User(user_id=str(number), email=f"{number}@x") for number in range(51)]

        def block(users: list[User]) -> None:
            with session.transaction() as tx:
                for user in users:
                    tx.save(user)

        with pytest.raises(PlanTooLarge) as refused:
            block(users)
        assert refused.value.actions == 102
        assert engine.calls == []
        assert not any(inspect(user).loaded for user in users)
        block(users[:50])
    assert engine.operations == ["TransactWriteItems"]
    assert len(engine.raw(app)) == 100
