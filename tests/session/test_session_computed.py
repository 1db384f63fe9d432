"""Computed fields in filters, and where DynamoDB would have to look at them."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from pydantic import computed_field

from dynaorm import Entity, F, GlobalIndex, Key, Session, Table
from dynaorm.errors import DecodeError, UsageError
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Transport
from tests.cast.events import Event

app = Table("computed", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


JANUARY = datetime(2024, 1, 5, tzinfo=UTC)


KEY = Key(Event, month="2024-01", event_id="1")


def test_a_filter_on_computed_fields_is_a_filter_in_python(session: Session, wire: FaultyTransport) -> None:
    events = [
        Event(event_id=str(number), at=JANUARY, score=score, note=note)
        for number, (score, note) in enumerate([(1, "a"), (10, "a"), (12, "b"), (-1, "a"), (3, "b")])
    ]
    session.bulk_load(events)
    for condition, wanted in {
        F.rank == "gold": "12",
        (F.rank == "gold") & (F.note == "a"): "1",
        (F.rank == "gold") | (F.note == "b"): "124",
        F.rank != "tin": "123",
        F.rank == None: "3",  # noqa: E711
        ~F.rank.exists(): "3",
        F.rank.begins_with("t"): "04",
        F.month.is_in("2024-01", "2024-02"): "01234",
        F.month < F.rank: "0124",
    }.items():
        query = session.query(Event, month="2024-01").filter(condition)
        assert "".join(one.event_id for one in query) == wanted
        assert query.count() == len(wanted)
        assert [key.fields["event_id"] for key in query.keys().all()] == [*wanted]
    wire.calls.clear()
    assert session.query(Event.by_rank).filter(F.month == "2024-01", F.note == "b").count() == 2
    (call,) = wire.calls
    assert call.request["FilterExpression"] == "#n1 = :v1"  # what is stored is filtered by DynamoDB
    assert [
        tuple(row) for row in session.query(Event, month="2024-01").limit(2).values("event_id", "rank")
    ] == [
        ("0", "tin"),
        ("1", "gold"),
    ]


def test_a_computed_field_is_refused_where_dynamodb_would_have_to_look_at_it(session: Session) -> None:
    event = session.save(Event(event_id="1", at=JANUARY))
    for call in (
        lambda: session.save(event, condition=F.rank == "tin"),
        lambda: session.update(KEY, F.note.set("x"), condition=F.rank == "tin"),
        lambda: session.update(KEY, F.rank.set("tin")),
        lambda: session.query(Event, month="2024-01").filter(F.rank.first == "t").all(),
    ):
        with pytest.raises(UsageError, match="rank"):
            call()


def test_a_filter_whose_function_fails_is_reported(session: Session, moto: Transport) -> None:
    class Shared(Entity, table=app, pk="SHARED", sk="{name}"):
        name: str
        size: int = 1

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def share(self) -> int:
            return 100 // self.size

    problems: list[DecodeError] = []
    remedy = "correct the function, or the fields that it looks at"
    with Session(transport=moto, on_decode_error=problems.append) as reporting:
        reporting.bulk_load([Shared(name=str(size), size=size) for size in (0, 1, 2)])
        assert [one.name for one in reporting.query(Shared).filter(F.share > 50)] == ["1"]
        assert [problem.problems for problem in problems] == [
            ("share: cannot be computed (ZeroDivisionError: integer division or modulo by zero); " + remedy,)
        ]


def in_transaction(session: Session, event: Event) -> None:
    with session.transaction() as tx:
        tx.save(event)


@pytest.mark.parametrize(
    "write",
    [
        lambda session, event: session.save(event),
        lambda session, event: session.save(event, overwrite=True),
        lambda session, event: session.save_many([event]),
        lambda session, event: session.bulk_load([event]),
        in_transaction,
    ],
    ids=["save", "overwrite", "save_many", "bulk_load", "transaction"],
)
@pytest.mark.parametrize("score", [1, 12])
def test_a_cached_value_is_that_of_what_was_saved(
    session: Session, write: Callable[[Session, Event], object], score: int
) -> None:
    event = session.save(Event(event_id="1", at=JANUARY, score=1))
    event.score = 13 - score
    assert event.rank == ("tin" if event.score == 1 else "gold")
    event.score = score
    write(session, event)
    (stored,) = session.query(Event.by_rank)
    assert event.rank == event.model_dump()["rank"] == stored.rank == ("tin" if score == 1 else "gold")


def test_a_copy_with_another_value_loses_what_was_cached_of_the_old_one(session: Session) -> None:
    event = session.save(Event(event_id="1", at=JANUARY, score=1))
    assert event.rank == "tin"
    copy = session.save(event.model_copy(update={"score": 12}))
    assert (copy.rank, event.rank) == ("gold", "tin")
