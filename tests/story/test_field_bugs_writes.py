"""Bugs of other libraries with versions, keys, conditions and retries."""

from typing import Any

import pytest

from dynaorm import F, Key, Table, inspect
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    EntityNotFound,
    StaleEntity,
    UniqueViolation,
)
from tests.story.engine import Engine
from tests.story.field_bugs import LegacyNote, Note, User, app, table_of


@pytest.fixture(params=[Note, LegacyNote], ids=["revision", "legacy"])
def note(request: pytest.FixtureRequest, engine: Engine) -> Any:
    """A versioned class: of a table whose items have a revision, and of one whose items do not."""
    engine.create(table_of(request.param))
    return request.param


def state(entity: Any) -> tuple[object, ...]:
    seen = inspect(entity)
    return dict(entity), seen.loaded, seen.key, seen.revision, seen.version, dict(seen.changes)


def texts(engine: Engine, table: Table) -> dict[str, tuple[str, str]]:
    """Every copy of every note: sort key to version number and text."""
    return {
        item["SK"]["S"]: (item["version"]["N"], item["text"]["S"])
        for item in engine.raw(table)
        if "text" in item
    }


# -- versions ----------------------------------------------------------------------------------------------------------


def test_a_refused_save_leaves_version_and_revision_as_they_were_so_a_retry_cannot_overwrite(
    engine: Engine, note: Any
) -> None:
    """Bug: the version is raised in memory before the write, so saving the refused object again succeeds."""
    table = table_of(note)
    with engine.session() as one, engine.session() as two:
        one.save(note(note_id="n1", text="first"))
        mine, theirs = one.get_one(note, note_id="n1"), two.get_one(note, note_id="n1")
        mine.text, theirs.text = "mine", "theirs"
        two.save(theirs)
        before = state(mine)
        for _ in range(3):
            with pytest.raises(StaleEntity):
                one.save(mine)
            assert state(mine) == before
    assert texts(engine, table) == {
        "v0_NOTE": ("2", "theirs"),
        "v1_NOTE": ("1", "first"),
        "v2_NOTE": ("2", "theirs"),
    }


def test_a_save_refused_for_a_taken_value_or_a_condition_changes_no_object(engine: Engine, note: Any) -> None:
    """Bug: each refusal raises the number again, until it equals the number that somebody else stored."""
    with engine.session() as session:
        session.save(note(note_id="n1", owner_mail="a@x"))
        mine = session.save(note(note_id="n2", text="mine"))
        fresh = note(note_id="n3", owner_mail="a@x")
        mine.owner_mail = "a@x"
        before, new = state(mine), state(fresh)
        with pytest.raises(UniqueViolation):
            session.save(mine)
        with pytest.raises(UniqueViolation):
            session.save(fresh)
        mine.owner_mail = None
        with pytest.raises(ConditionFailed):
            session.save(mine, condition=F.text == "other")
        mine.owner_mail = "a@x"
        assert (state(mine), state(fresh)) == (before, new)


def test_a_partial_update_writes_a_version_and_makes_earlier_copies_stale(engine: Engine, note: Any) -> None:
    """Bug: an update neither checks nor raises the version, so a stale save overwrites it unnoticed."""
    table = table_of(note)
    with engine.session() as session:
        session.save(note(note_id="n1", text="first"))
        stale = session.get_one(note, note_id="n1")
        # By key, without an object: the number continues from the stored one, and is not set to 1 again.
        session.update(Key(note, note_id="n1"), {"text": "second"})
        with session.transaction() as tx:
            tx.update(Key(note, note_id="n1"), {"text": "third"})
        stale.text = "stale"
        with pytest.raises(StaleEntity):
            session.save(stale)
        with pytest.raises(StaleEntity):
            session.delete(stale)
        with pytest.raises(StaleEntity):
            session.update(stale, {"text": "stale"})
    assert texts(engine, table) == {
        "v0_NOTE": ("3", "third"),
        "v1_NOTE": ("1", "first"),
        "v2_NOTE": ("2", "second"),
        "v3_NOTE": ("3", "third"),
    }


def test_a_blind_counter_makes_earlier_copies_stale_too(engine: Engine) -> None:
    """Bug: an update raises a counter but not the revision, so a stale save sets the counter back."""
    engine.create(app)
    with engine.session() as session:
        stale = session.save(User(user_id="u1", city="Turin"))
        session.update(Key(User, user_id="u1"), F.visits.add(1))
        assert engine.operations[-1] == "UpdateItem"
        stale.visits = 0
        stale.city = "Rome"
        with pytest.raises(StaleEntity):
            session.save(stale)
        session.update(Key(User, user_id="u1"), {"city": "Rome"})
        assert session.get_one(User, user_id="u1").visits == 1
    (item,) = engine.items(app)
    assert (item["GSI1PK"], item["GSI1SK"]) == ({"S": "CITY#Rome"}, {"S": "USER#u1"})


def test_a_new_entity_does_not_overwrite_an_item_without_revision(engine: Engine) -> None:
    """Bug: a new object only requires that no version is stored, so it replaces an item without a version."""
    engine.create(app)
    by_hand = {"PK": {"S": "USER#u1"}, "SK": {"S": "PROFILE"}, "user_id": {"S": "u1"}, "city": {"S": "Turin"}}
    engine.put(app, **by_hand)
    with engine.session() as session:
        with pytest.raises(AlreadyExists):
            session.save(User(user_id="u1"))
        assert engine.raw(app) == [by_hand]
        one, two = session.get_one(User, user_id="u1"), session.get_one(User, user_id="u1")
        one.city, two.city = "Rome", "Milan"
        session.save(one)
        with pytest.raises(StaleEntity):
            session.save(two)
    assert [item["city"] for item in engine.raw(app)] == [{"S": "Rome"}]


def test_a_save_after_somebody_deleted_it_does_not_bring_it_back(engine: Engine, note: Any) -> None:
    """Bug: the condition "absent, or of my version" lets a stale object create the deleted item again."""
    table = table_of(note)
    with engine.session() as one, engine.session() as two:
        mine = one.save(note(note_id="n1", text="mine", owner_mail="a@x"))
        two.delete(Key(note, note_id="n1"))
        before = engine.raw(table)
        mine.text = "late"
        for late in (
            lambda: one.save(mine),
            lambda: one.update(mine, {"text": "x"}),
            lambda: one.delete(mine),
        ):
            with pytest.raises(StaleEntity):
                late()
        assert engine.raw(table) == before
        assert one.get(note, note_id="n1") is None


def test_an_update_of_what_is_not_there_leaves_no_ghost(engine: Engine, note: Any) -> None:
    """Bug: an update of a missing key stores an item with a few fields and no type."""
    engine.create(app)
    with engine.session() as session:
        for key, change in (
            (Key(User, user_id="u1"), {"visits": 1}),
            (Key(User, user_id="u1"), {"email": "a@x"}),
            (Key(note, note_id="n1"), {"text": "x"}),
        ):
            with pytest.raises(EntityNotFound):
                session.update(key, change)
            with pytest.raises(EntityNotFound):
                session.delete(key)
    assert engine.raw(app) == []


def test_the_tenth_and_the_hundredth_version_are_newer_than_the_ninth(engine: Engine, note: Any) -> None:
    """Bug: ``v10_`` sorts before ``v9_``, so from the tenth version on the ninth is taken for the latest."""
    table = table_of(note)
    with engine.session() as session:
        mine = session.save(note(note_id="n1", text="1"))
        for number in (*range(2, 13), 99, 100, 101):
            if number == 99:
                skip_to(engine, table, 98)
                session.refresh(mine)
            mine.text = str(number)
            session.save(mine)
            latest = session.get_one(note, note_id="n1")
            assert (latest.text, inspect(latest).version) == (str(number), number)
            assert next(session.history(mine)).number == number
        assert [one.number for one in session.history(mine)] == [101, 100, 99, *range(12, 0, -1)]
    assert texts(engine, table)["v0_NOTE"] == ("101", "101")


def skip_to(engine: Engine, table: Table, number: int) -> None:
    """Set the version number of the latest copy, by hand."""
    engine.client.update_item(
        TableName=engine.name(table.name),
        Key={"PK": {"S": "NOTE#n1"}, "SK": {"S": "v0_NOTE"}},
        UpdateExpression="SET version = :n",
        ExpressionAttributeValues={":n": {"N": str(number)}},
    )


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_error_names_what_failed_and_nothing_else(engine: Engine) -> None:
    """Bug: a taken key, a failed condition and a taken value are one error that names every unique field."""
    engine.create(app)
    with engine.session() as session:
        one = session.save(User(user_id="u1", email="a@x", phone="1"))
        with pytest.raises(AlreadyExists) as exists:
            session.save(User(user_id="u1", email="b@x", phone="2"))
        assert (exists.value.key, exists.value.violations) == (Key(User, user_id="u1"), ())
        one.phone = "3"
        with pytest.raises(ConditionFailed) as failed:
            session.save(one, condition=F.visits > 7)
        assert (failed.value.key, failed.value.causes) == (Key(User, user_id="u1"), (failed.value,))
        with pytest.raises(UniqueViolation) as taken:
            session.save(User(user_id="u2", email="a@x", phone="2"))
        (violation,) = taken.value.violations
        assert (violation.constraint, violation.value) == ("email", "a@x")
        five = session.save(User(user_id="u5", phone="5"))
        with pytest.raises(AlreadyExists) as both:
            session.save(User(user_id="u1", phone="5"))
        (violation,) = both.value.violations
        assert (violation.constraint, violation.owner) == ("phone", Key(User, user_id=five.user_id))


def test_the_culprit_of_a_block_is_named_wherever_it_stands(engine: Engine) -> None:
    """Bug: the reasons come in another order than the actions, so the wrong action is blamed."""
    engine.create(app)
    with engine.session() as session:
        other = session.save(User(user_id="u0", email="a@x"))
        gone = session.save(User(user_id="u9"))
        session.delete(Key(User, user_id="u9"))

        def block() -> None:
            with session.transaction() as tx:
                tx.save(User(user_id="u1", email="a@x"))
                tx.update(Key(User, user_id="u0"), {"visits": 5}, condition=F.visits == 4)
                tx.check(gone)

        with pytest.raises(StaleEntity) as stale:
            block()
        assert engine.reasons == [
            None,
            "ConditionalCheckFailed",
            "ConditionalCheckFailed",
            "ConditionalCheckFailed",
        ]
        assert stale.value.key == Key(User, user_id="u9")
        kinds = [type(cause) for cause in stale.value.causes]
        assert kinds == [StaleEntity, UniqueViolation, ConditionFailed]
        assert session.refresh(other).visits == 0
    assert engine.guards(app) == {"email#a@x": "USER#u0"}
