"""The verbs of a session about one entity: the options of get, what update refuses, and refresh."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dynaorm import F, Key, Session, inspect
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.testing.faults import FaultyTransport
from tests.cast.people import USER, User
from tests.flow.documents import Document

DOCUMENT = Key(Document, doc_id="d")


# -- get ---------------------------------------------------------------------------------------------------------------


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


# -- update ------------------------------------------------------------------------------------------------------------


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
