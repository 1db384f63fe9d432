"""The verbs of a session about one entity: get and its options, update, refresh, diff and restore."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dynaorm import F, Key, Session, inspect
from dynaorm.errors import (
    DecodeError,
    EntityNotFound,
    InvalidValue,
    StaleEntity,
    UniqueViolation,
    UnknownField,
    UsageError,
)
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.cast.events import Mark
from tests.cast.orders import Login
from tests.cast.people import USER, User
from tests.flow.documents import Audit, Document

DOCUMENT = Key(Document, doc_id="d")


def operations(wire: FaultyTransport) -> list[str]:
    found = [call.operation for call in wire.calls]
    wire.calls.clear()
    return found


# -- get ---------------------------------------------------------------------------------------------------------------


def test_what_is_not_there_is_none_and_get_one_raises(session: Session) -> None:
    assert session.get(User, user_id="1") is None
    assert not session.exists(User, user_id="1")
    with pytest.raises(EntityNotFound) as raised:
        session.get_one(User, user_id="1")
    assert raised.value.key == USER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verson": 1}, r"no option 'verson'; use version, as_of, consistent"),
        ({"version": 1, "as_of": datetime.now(UTC)}, "give one"),
    ],
)
def test_options_of_get_are_checked(
    session: Session, wire: FaultyTransport, options: dict[str, Any], message: str
) -> None:
    get: Any = session.get
    with pytest.raises(UsageError, match=message):
        get(DOCUMENT, **options)
    assert wire.calls == []


@pytest.mark.parametrize(("session_wide", "option", "expected"), [
    (False, None, False), (True, None, True), (False, True, True), (True, False, False),
])  # fmt: skip
def test_a_read_is_as_consistent_as_asked(
    session: Session, wire: FaultyTransport, session_wide: bool, option: bool | None, expected: bool
) -> None:
    other = Session(transport=wire, consistent=session_wide)
    other.get(USER, consistent=option)
    other.exists(USER, consistent=option)
    other.get(User, user_id="1")
    found = [call.request["ConsistentRead"] for call in wire.calls]
    assert found == [expected, expected, session_wide]


def test_a_stored_item_that_does_not_fit_is_a_decode_error(session: Session, moto: Transport) -> None:
    item = {**USER.primary_key, "_type": {"S": "User"}, "user_id": {"S": "1"}, "visits": {"S": "many"}}
    moto.call(Call("PutItem", {"TableName": "app", "Item": item}))
    with pytest.raises(DecodeError, match="visits"):
        session.get(USER)


# -- update ------------------------------------------------------------------------------------------------------------


def test_a_loaded_entity_is_updated_in_place_under_its_revision(
    session: Session, wire: FaultyTransport
) -> None:
    user = session.save(User(user_id="1", name="a"))
    before = inspect(user).revision
    wire.calls.clear()
    assert session.update(user, F.visits.add(2), {"name": "b"}) is user
    assert operations(wire) == ["UpdateItem"]
    assert (user.visits, user.name) == (2, "b")
    assert inspect(user).revision != before
    assert inspect(user).changes == {}
    user.visits = 9
    session.save(user)


def test_a_frozen_entity_is_updated_into_another_object(session: Session) -> None:
    mark = session.save(Mark(event_id="e", name="m"))
    revision = inspect(mark).revision
    updated = session.update(mark, F.text.set("a"))
    assert (mark.text, updated.text) == ("", "a")
    assert inspect(mark).revision == revision != inspect(updated).revision
    session.update(updated, {"text": "b"})
    with pytest.raises(StaleEntity):
        session.update(mark, {"text": "c"})


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ([], UsageError, "nothing to change"),
        ([{}], UsageError, "nothing to change"),
        ([None], UsageError, r"cannot make the change None; write F\.field\.set"),
        ([F.name == "x"], UsageError, "cannot make the change"),
        ([{"nam": "x"}], UnknownField, "did you mean 'name'"),
        ([{"visits": "many"}], InvalidValue, r"User\.visits"),
        ([{"user_id": "2"}], UsageError, "primary key"),
        ([F.visits.add(1), F.visits.set(2)], UsageError, "visits"),
        ([F.name.add(1)], InvalidValue, r"User\.name"),
    ],
)
def test_what_cannot_be_updated_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport, changes: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        session.update(USER, *changes)
    assert wire.calls == []


def test_what_has_expired_is_not_updated(session: Session, clock: FakeClock) -> None:
    session.save(Login(token="t", until=datetime.fromtimestamp(clock.now() + 10, UTC)))
    assert session.update(Key(Login, token="t"), F.uses.add(1)).uses == 1
    clock.advance(10)
    with pytest.raises(EntityNotFound):
        session.update(Key(Login, token="t"), F.uses.add(1))


# -- refresh -----------------------------------------------------------------------------------------------------------


def test_refresh_reads_consistently_and_drops_what_was_not_saved(
    session: Session, wire: FaultyTransport
) -> None:
    user = session.save(User(user_id="1", name="a"))
    session.update(USER, F.visits.add(5))
    user.name = "unsaved"
    wire.calls.clear()
    assert session.refresh(user) is user
    assert wire.calls[0].request["ConsistentRead"] is True
    assert (user.name, user.visits, inspect(user).changes) == ("a", 5, {})
    user.name = "saved"
    session.save(user)


def test_refresh_of_a_frozen_entity_gives_another_object(session: Session) -> None:
    mark = session.save(Mark(event_id="e", name="m"))
    session.update(Key(Mark, event_id="e", name="m"), F.text.set("a"))
    fresh = session.refresh(mark)
    assert (mark.text, fresh.text) == ("", "a")


def test_refresh_needs_something_stored(session: Session) -> None:
    with pytest.raises(UsageError, match="is new"):
        session.refresh(User(user_id="1"))
    user = session.save(User(user_id="1"))
    session.delete(USER)
    with pytest.raises(EntityNotFound):
        session.refresh(user)
    assert user.user_id == "1"


# -- diff and restore --------------------------------------------------------------------------------------------------


def test_restore_by_key_returns_the_entity(session: Session) -> None:
    document = session.save(Document(doc_id="d", text="a"))
    document.text = "b"
    session.save(document)
    restored = session.restore(DOCUMENT, version=1)
    assert (restored.text, inspect(restored).version) == ("a", 3)
    with pytest.raises(StaleEntity):
        session.restore(document, version=1)
    assert document.text == "b"


@pytest.mark.parametrize("deleted", [False, True])
def test_a_refused_restore_changes_nothing(session: Session, deleted: bool) -> None:
    document = session.save(Document(doc_id="d", text="a", slug="s"))
    document.slug = None
    session.save(document)
    if deleted:
        session.delete(DOCUMENT)
    thief = session.save(Document(doc_id="thief", slug="s"))
    with pytest.raises(UniqueViolation) as raised:
        session.restore(DOCUMENT, version=1)
    assert (raised.value.value, raised.value.owner) == ("s", Key(Document, doc_id="thief"))
    assert session.get_by(Document, slug="s") == thief
    assert [one.number for one in session.history(DOCUMENT)] == [2, 1]
    assert (session.get(DOCUMENT) is None) is deleted


def test_restore_needs_an_entity_and_a_version(session: Session) -> None:
    with pytest.raises(EntityNotFound):
        session.restore(DOCUMENT, version=1)
    session.save(Document(doc_id="d"))
    with pytest.raises(EntityNotFound):
        session.restore(DOCUMENT, version=2)


def test_restore_of_some_fields_leaves_the_others(session: Session) -> None:
    audit = session.save(Audit(audit_id="a", result="good", note="n"))
    audit.result, audit.note = "bad", "m"
    session.save(audit)
    restored = session.restore(Key(Audit, audit_id="a"), version=1)
    assert restored == Audit(audit_id="a", result="good", note="m")
    session.delete(restored)
    with pytest.raises(UsageError, match="some fields only"):
        session.restore(Key(Audit, audit_id="a"), version=1)
