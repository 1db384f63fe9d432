"""A snapshot is the same text in every run, and another one where what is sent is another."""

from datetime import UTC, datetime
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import (
    Attribute,
    CreatedAt,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    Plan,
    Session,
    Table,
    Unique,
    UpdatedAt,
)
from dynaorm.codecs import EPOCH_MILLISECONDS
from dynaorm.testing import FakeClock, ScriptedTransport, snapshot
from dynaorm.transport import Call, Reply

app = Table("snapshots", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str, Unique()]
    photo: bytes | None = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Note(Entity, table=app, pk="NOTE#{text}", sk="N", versioned=True):
    text: str
    body: str = ""


class Draft(Entity, table=app, pk="DRAFT#{name}", sk="D"):
    name: str
    text: str = ""
    made: Annotated[datetime | None, CreatedAt(), Attribute("m", codec=EPOCH_MILLISECONDS)] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    latest = Index("GSI1", pk="DRAFTS#{made:%Y-%m-%d}", sk="{changed}#{name}")


def done(call: Call) -> Reply:
    return {}


def plans(start: float, ids: str | None) -> list[Plan]:
    """The plans of a story, as of a time and with identifiers of its own."""
    clock = FakeClock(start, ids=ids)
    session = Session(transport=ScriptedTransport(done, done, done), clock=clock)
    user = User(user_id="u", email="a@x", photo=b"\x00\xff", until=datetime(2100, 1, 1, tzinfo=UTC))
    note = Note(text="t")
    draft = Draft(name="d")
    found = [session.plan(user), session.plan(note), session.plan(draft)]
    session.save(user)
    session.save(note)
    session.save(draft)
    clock.advance(3600)
    user.email, note.body, draft.text = "b@x", "new", "new"
    return [*found, session.plan(user), session.plan(note), session.plan(draft)]


STARTS = st.floats(1e9, 2e9)
IDS = st.sampled_from([None, "id-", "a", "1"])


@given(STARTS, IDS, STARTS, IDS)
def test_plans_of_any_time_and_identifiers_are_one_snapshot(
    start: float, ids: str | None, other: float, others: str | None
) -> None:
    mine, theirs = plans(start, ids), plans(other, others)
    assert [snapshot(one) for one in mine] == [snapshot(one) for one in theirs]
    assert len({snapshot(one) for one in mine}) == 6


def test_everything_that_is_no_accident_is_shown() -> None:
    insert, first, draft, update, second, redraft = map(snapshot, plans(1.7e9, None))
    assert insert.startswith(
        "TransactWriteItems, 2 actions, 4 write capacity units\n1. Put snapshots PK=USER#u"
    )
    assert '"base64": "AP8="' in insert
    assert '"ClientRequestToken": "<token>"' in insert
    assert '"<now - 5 years>"' in insert
    assert '"<now + 1 s>"' in insert
    assert '"<now - 5 years + 60 s>"' in insert
    assert '"<now - 59 s>"' in insert
    assert first.count('"<now>"') == first.count('"<new revision>"') == 2
    assert "if its revision is still <expected revision>\n" in update
    assert '"b@x"' in update
    assert '"<expected revision>"' in second
    assert '"new"' in second
    assert '"DRAFTS#<now>"' in draft
    assert '"<now>#d"' in draft
    assert '"<now>#d"' in redraft


def test_an_inline_snapshot_of_a_plan() -> None:
    class Tag(Entity, table=Table("tags", sk=None), pk="{name}"):
        name: str

    session: Any = Session(transport=ScriptedTransport())
    assert snapshot(session.plan(Tag(name="blue"))) == EXPECTED


EXPECTED = """\
PutItem, 1 action, 1 write capacity unit
1. Put tags PK=blue: insert Tag(name='blue'), if nothing is stored under its key

{
  "ConditionExpression": "attribute_not_exists(#n0)",
  "ExpressionAttributeNames": {
    "#n0": "PK"
  },
  "Item": {
    "PK": {
      "S": "blue"
    },
    "_rev": {
      "S": "<new revision>"
    },
    "_type": {
      "S": "Tag"
    },
    "name": {
      "S": "blue"
    }
  },
  "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
  "TableName": "tags"
}
"""
